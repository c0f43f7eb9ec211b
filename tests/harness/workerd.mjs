// The end-to-end suite in workerd, without `nodejs_compat`.

import { createInterface } from "node:readline";
import { Readable } from "node:stream";

import { bundle } from "./bundle.mjs";
import { startWorker } from "./miniflare.mjs";

/** Answers whether all cases passed. */
export async function run(settings) {
  const script = await bundle("in-workerd", { format: "esm", conditions: ["workerd"], loader: { ".wasm": "copy" } });
  const worker = startWorker(script, {});
  try {
    const answer = await worker.dispatchFetch("http://worker.test/", { method: "POST", body: JSON.stringify(settings) });
    let last;
    for await (const line of createInterface({ input: Readable.fromWeb(answer.body) })) {
      if (last !== undefined) console.log(last);
      last = line;
    }
    if (!last?.startsWith("{")) throw new Error(`The suite ended early: ${last}`);
    return JSON.parse(last).failed === 0;
  } finally {
    await worker.dispose();
  }
}
