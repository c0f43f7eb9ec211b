// The decoding of small events wherever the package runs.

import { copyFileSync, mkdirSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { ms } from "../bench.mjs";
import { bundle } from "../bundles.mjs";
import { atLeast, beside } from "../figures.mjs";
import { startContestant, startStub } from "../processes.mjs";
import { launch } from "../../harness/engines.mjs";

const CONTESTANTS = ["ours", "e2b", "plain", "drain"];

export async function runtimes(bench, { scratch, places }) {
  const count = bench.pick(100_000, 1_000);
  const job = { task: "events", count, size: 32, callback: "sync", warm: { count: count / 10 } };
  for (const place of places) {
    const host = await PLACES[place](path.join(scratch, place));
    try {
      const results = await bench.alternate(CONTESTANTS, (contestant) => host.perform(contestant, job));
      const name = `${count.toLocaleString("en")} × 32 B, sync callback, ${host.name}`;
      bench.row(name, "1000 events/s", results, (result) => count / ms(result), [atLeast(8, "e2b"), beside("drain")]);
    } finally {
      await host.end();
    }
  }
}

/** How each place is started: `perform` does a job with a fresh contestant. */
export const PLACES = {
  chromium: async (folder) => {
    mkdirSync(folder, { recursive: true });
    for (const name of CONTESTANTS) await bundle(name, runner(name, "export const run = (target, job) => performWith(open, target, job);"), { outdir: folder });
    copyFileSync(fileURLToPath(new URL("../page.html", import.meta.url)), path.join(folder, "page.html"));
    const stub = await startStub(folder);
    const browser = await launch("chromium");
    return {
      name: "Chromium page",
      async perform(contestant, job) {
        const page = await browser.newPage();
        try {
          await page.goto(`${stub.target.url}/pages/page.html`);
          const arguments_ = { contestant, target: stub.target, job };
          const samples = await page.evaluate(async ({ contestant, target, job }) => (await import(`/pages/${contestant}.js`)).run(target, job), arguments_);
          return { samples };
        } finally {
          await page.close();
        }
      },
      async end() {
        await browser.close();
        await stub.end();
      },
    };
  },

  /** Its clock stands still while a program runs, so that the time is taken outside, and that of the way there is in it. */
  workerd: async (folder) => {
    // Installed beside the other runtimes, which is where its module is found from.
    const { startWorker } = await import("../../harness/miniflare.mjs");
    const scripts = {};
    for (const name of CONTESTANTS) {
      const handler = "export default { async fetch(request) { const { target, job } = await request.json(); await performWith(open, target, job); return new Response('done'); } };";
      const options = { outdir: path.join(folder, name), conditions: ["workerd", "worker"], loader: { ".wasm": "copy" } };
      scripts[name] = await bundle(name, runner(name, handler), options);
    }
    const stub = await startStub();
    return {
      name: "workerd",
      async perform(contestant, { warm, ...job }) {
        const worker = startWorker(scripts[contestant], {});
        const ask = async (job) => {
          const body = JSON.stringify({ target: stub.target, job });
          const answer = await worker.dispatchFetch("http://worker.test/", { method: "POST", body });
          const text = await answer.text();
          if (text !== "done") throw new Error(`${contestant} in workerd: ${text}`);
        };
        try {
          await ask({ ...job, ...warm });
          const start = performance.now();
          await ask(job);
          return { samples: [performance.now() - start] };
        } finally {
          await worker.dispose();
        }
      },
      end: stub.end,
    };
  },

  deno: () => inProcesses("deno", "Deno"),
  bun: () => inProcesses("bun", "Bun"),
};

const runner = (name, then) => `import { open } from "./contestants/${name}.js";\nimport { performWith } from "./hosted.js";\n${then}`;

async function inProcesses(runtime, name) {
  const stub = await startStub();
  return {
    name,
    async perform(contestant, job) {
      const child = startContestant(contestant, stub.target, runtime);
      try {
        return await child.perform(job);
      } finally {
        await child.end();
      }
    },
    end: stub.end,
  };
}
