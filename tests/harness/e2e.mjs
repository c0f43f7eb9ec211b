// Runs the end-to-end suite in one place, which TEST_PLACE names. `cargo xtask test --only e2e` starts it for each.

import { readFileSync } from "node:fs";
import { startFaultProxy } from "./fault-proxy.mjs";
import { required, settings } from "./settings.mjs";

/** What runs the suite in a place. */
const RUNNERS = {
  node: "process",
  deno: "process",
  bun: "process",
  workerd: "workerd",
  "edge-runtime": "edge-runtime",
  chromium: "browser",
  "chromium-worker": "browser",
  firefox: "browser",
};

const { apiUrl, apiKey, filter } = settings();
const place = required("TEST_PLACE");
const differences = JSON.parse(readFileSync(new URL("differences.json", import.meta.url), "utf8"))[place] ?? [];

const { run } = await import(`./${RUNNERS[place]}.mjs`);
const passed = await run({ place, apiUrl, apiKey, faultsUrl: await startFaultProxy(apiUrl), filter, differences });
process.exit(passed ? 0 : 1);
