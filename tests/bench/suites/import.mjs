// Import, and import plus the first call, each in a fresh process.

import { below, beside } from "../figures.mjs";
import { report } from "../processes.mjs";

const PACKAGES = ["ours", "e2b", "e2b-code"];

export async function imports(bench, { stub }) {
  const run = (contestant) => report("import.mjs", { BENCH_CONTESTANT: JSON.stringify({ contestant, target: stub }) });
  const results = await bench.alternate([...PACKAGES, "plain"], run);
  const { plain, ...packages } = results;
  bench.row("import", "ms", packages, ({ importMs }) => importMs, [below(20, "ms"), beside("e2b")]);
  bench.row("import and first call", "ms", results, ({ totalMs }) => totalMs, [below(40, "ms"), beside("plain"), beside("e2b")]);
}
