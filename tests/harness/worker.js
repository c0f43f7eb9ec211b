// The end-to-end suite in a module Web Worker: told its settings by a message, answers with lines and the result.

import { runSuite } from "./in-browser.js";

self.addEventListener("message", async ({ data: settings }) => {
  try {
    self.postMessage({ result: await runSuite(settings, (line) => self.postMessage({ line })) });
  } catch (error) {
    self.postMessage({ problem: String(error?.stack ?? error) });
  }
});
