// The program in a Worker that answers requests, with the address and the key from its bindings.

import * as sdk from "agent-sandbox-web";
import { run } from "./program.js";

export default {
  async fetch(_request, env) {
    return new Response(await run(sdk, { apiUrl: env.E2B_API_URL, apiKey: env.E2B_API_KEY }));
  },
};
