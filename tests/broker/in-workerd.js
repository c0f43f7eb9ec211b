// The brokers in a Worker.

import * as edge from "agent-sandbox-web/edge";
import { brokers } from "./brokers.js";

let handler;

export default {
  async fetch(request, env, context) {
    handler ??= brokers(edge, env.SETTINGS);
    return handler(request, context);
  },
};
