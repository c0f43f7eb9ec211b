// The program in the edge runtime, which answers requests.

import * as sdk from "agent-sandbox-web";
import { run } from "./shared/program.js";

addEventListener("fetch", (event) => {
  const { searchParams } = new URL(event.request.url);
  event.respondWith(run(sdk, Object.fromEntries(searchParams)).then((line) => new Response(line)));
});
