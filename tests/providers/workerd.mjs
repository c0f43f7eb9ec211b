// Starts the cases in workerd, without `nodejs_compat`.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));

export async function runInWorkerd(settings) {
  const outdir = here("../../build/providers");
  await build({
    entryPoints: [here("in-workerd.js")],
    outdir,
    bundle: true,
    format: "esm",
    conditions: ["workerd"],
    loader: { ".wasm": "copy" },
    logLevel: "warning",
  });
  const { startWorker } = await import("../harness/miniflare.mjs");
  const worker = startWorker(`${outdir}/in-workerd.js`, { SETTINGS: JSON.parse(JSON.stringify(settings)) });
  try {
    const answer = await worker.dispatchFetch("http://worker.test/");
    const { lines, failed } = await answer.json();
    for (const line of lines) console.log(line);
    return { failed };
  } finally {
    await worker.dispose();
  }
}
