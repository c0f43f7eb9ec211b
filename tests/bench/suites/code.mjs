// Code: many short lines, and lines of many megabytes.

import { ms } from "../bench.mjs";
import { atLeast, beside, flat } from "../figures.mjs";

const EVERYBODY = ["ours", "e2b-code", "plain", "drain"];

export async function code(bench, { stub }) {
  const count = bench.pick(100_000, 1_000);
  const lines = await bench.compare(EVERYBODY, stub, { task: "code", count, size: 32, callback: "sync", warm: { count: count / 10 } });
  const name = `\`runCode\`, ${count.toLocaleString("en")} lines of 32 B`;
  bench.row(name, "1000 lines/s", lines, (result) => count / ms(result), [atLeast(1, "e2b-code"), beside("plain")]);
  const cost = {};
  for (const megabytes of bench.pick([1, 20, 50], [1])) {
    const size = megabytes * 1_000_000;
    const job = { task: "code", count: 1, size, callback: "sync", warm: { size: 100_000 } };
    const results = await bench.compare(EVERYBODY, stub, job);
    const figure = (result) => size / 1e3 / ms(result);
    bench.row(`\`runCode\`, one line of ${megabytes} MB`, "MB/s", results, figure, [atLeast(1, "e2b-code"), beside("plain")]);
    cost[`${megabytes} MB`] = results.ours.map((result) => result.cpuMs / megabytes);
  }
  if (!bench.quick) delete cost["1 MB"];
  bench.row("ms of processor time for each MB of one line", "linear", cost, (value) => value, [flat(Object.keys(cost), 1.3)]);
}
