// The program in a module Service Worker, without a bundler. It answers who asked.

import * as sdk from "/node_modules/agent-sandbox-web/dist/index.js";
import { run } from "/shared/program.js";

self.addEventListener("message", (event) => {
  event.waitUntil(run(sdk, "/settings.json").then((line) => event.source.postMessage(line)));
});
