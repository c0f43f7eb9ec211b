// Runs the packed package in every host, one folder each, and compares what the program of `shared/` comes to there.
// `cargo xtask test` starts it for the hosts of BY_DEFAULT, `cargo xtask test --packaging` for all of HOSTS.

import { EXPECTED } from "./shared/program.js";
import { Lab } from "./lab.mjs";
import { runCases } from "../harness/run-cases.js";
import { equal } from "../e2e/assert.js";
import { required, settings } from "../harness/settings.mjs";

/** What installs and runs within seconds. */
const BY_DEFAULT = ["published", "types", "node", "deno", "bun", "esbuild", "rollup", "edge-runtime", "workerd", "page"];
const HOSTS = [...BY_DEFAULT, "webpack", "vite", "wrangler", "next"];

const { apiUrl, apiKey, filter } = settings();
const chosen = process.env.TEST_PACKAGING === "all" ? HOSTS : BY_DEFAULT;

let current;
process.once("SIGTERM", () => (current?.end() ?? Promise.resolve()).finally(() => process.exit(143)));

/** A host's own cases, after one that installs it, and with the last one ending what runs there. */
async function ofHost(name) {
  const { cases } = await import(`./${name}/host.mjs`);
  const wanted = cases.filter((one) => !filter || `${name}: ${one.name}`.includes(filter));
  const lab = new Lab(name, { apiUrl, apiKey, tarball: required("TEST_TARBALL") });
  let prepared;
  return wanted.map((one, index) => ({
    name: `${name}: ${one.name}`,
    timeoutMs: 600_000,
    async run() {
      current = lab;
      try {
        await (prepared ??= lab.prepare());
        equal(await one.run(lab), one.expected ?? EXPECTED, "the line");
      } finally {
        if (index === wanted.length - 1) await lab.end();
      }
    },
  }));
}

const cases = (await Promise.all(chosen.map(ofHost))).flat();
const { failed } = await runCases(cases, {}, { place: "packaging", print: console.log, faults: [] });
process.exit(failed === 0 ? 0 : 1);
