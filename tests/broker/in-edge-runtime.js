// The brokers in the edge runtime, whose globals are extended by the settings.

import * as edge from "agent-sandbox-web/edge";
import { brokers } from "./brokers.js";

const handler = brokers(edge, globalThis.settings);

addEventListener("fetch", (event) => event.respondWith(handler(event.request, event)));
