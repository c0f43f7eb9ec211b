import { join } from "node:path";

import { startWorker } from "../../harness/miniflare.mjs";

export const cases = [
  {
    name: "miniflare, without nodejs_compat",
    async run(lab) {
      await lab.sh("esbuild shared/fetch.js --bundle --format=esm --conditions=workerd --loader:.wasm=copy --outdir=dist");
      const { apiUrl: E2B_API_URL, apiKey: E2B_API_KEY } = lab.settings;
      const worker = startWorker(join(lab.folder, "dist/fetch.js"), { E2B_API_URL, E2B_API_KEY });
      try {
        return await (await worker.dispatchFetch("http://worker.test/")).text();
      } finally {
        await worker.dispose();
      }
    },
  },
];
