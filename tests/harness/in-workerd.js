// The end-to-end suite in a Worker: asked with the settings, answers with lines as they come, the last one the result.

import * as sdk from "agent-sandbox-web";
import * as config from "agent-sandbox-web/config";
import { runSuite } from "./suite.js";

export default {
  async fetch(request) {
    const settings = await request.json();
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    const print = (line) => void writer.write(encoder.encode(`${line}\n`));
    runSuite(sdk, settings, print, undefined, { config })
      .then((result) => print(JSON.stringify(result)), (error) => print(`The suite broke: ${error.stack}`))
      .finally(() => writer.close());
    return new Response(readable);
  },
};
