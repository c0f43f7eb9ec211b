// Files up and down, beside plain `fetch`.

import { ms, peakMb } from "../bench.mjs";
import { atLeast, beside, flat } from "../figures.mjs";

const CONTESTANTS = ["ours", "e2b", "plain"];
const [KB, MB] = [1_000, 1_000_000];

export async function files(bench, { stub }) {
  for (const task of ["upload", "download"]) {
    for (const [name, size, rounds] of bench.pick([["1 KB", KB, 200], ["1 MB", MB, 30], ["256 MB", 256 * MB, 1]], [["1 KB", KB, 2], ["1 MB", MB, 1]])) {
      for (const stream of size > KB ? [false, true] : [false]) {
        const job = { task, size, rounds, stream, warm: { size: Math.min(size, 10 * MB), rounds: bench.pick(20, 1) } };
        const results = await bench.compare(CONTESTANTS, stub, job);
        const figure = size === KB ? (result) => 1e3 / ms(result) : (result) => size / 1e3 / ms(result);
        const unit = size === KB ? "files/s" : "MB/s";
        bench.row(`${task}, ${name}${stream ? " as a stream" : ""}`, unit, results, figure, [atLeast(0.95, "plain"), beside("e2b")]);
      }
    }
    await memory(bench, stub, task);
  }
}

async function memory(bench, stub, task) {
  const sizes = {};
  let results;
  for (const megabytes of bench.pick([64, 256, 1024], [1, 2])) {
    results = await bench.compare(["ours", "plain"], stub, { task, size: megabytes * MB, stream: true, warm: { size: MB } });
    sizes[`${megabytes} MB`] = results.ours;
  }
  const names = Object.keys(sizes);
  bench.row(`${task} as a stream, most memory`, "MiB", sizes, peakMb, [flat(names.slice(-2), 1.2)]);
  bench.row(`${task} of ${names.at(-1)} as a stream, most memory`, "MiB", results, peakMb, [beside("plain")]);
}
