// Commands: events and bytes as they stream in, memory, latency, and how the cost grows.

import { cpuMs, ms, peakMb } from "../bench.mjs";
import { atLeast, atMost, beside, flat } from "../figures.mjs";

const EVERYBODY = ["ours", "ours-json", "e2b", "plain", "drain"];
const MIB = 1024 * 1024;
const KIB64 = 64 * 1024;

export async function sdk(bench, { stub, server }) {
  await smallEvents(bench, stub);
  await largeEvents(bench, stub);
  await nothingKept(bench, stub);
  await latency(bench, stub, "stub");
  if (server) {
    await latency(bench, server, "local server");
    await output(bench, server);
  }
  await growth(bench, stub);
}

async function smallEvents(bench, stub) {
  const count = bench.pick(100_000, 2_000);
  for (const callback of ["none", "sync", "async"]) {
    const job = { task: "events", count, size: 32, callback, warm: { count: count / 10 } };
    const results = await bench.compare(EVERYBODY, stub, job);
    const name = `${count.toLocaleString("en")} × 32 B, ${callback === "none" ? "no" : callback} callback`;
    bench.row(name, "1000 events/s", results, (result) => count / ms(result), [atLeast(12, "e2b"), beside("plain")]);
    bench.row(`${name}, processor time of the first run`, "ms", results, cpuMs, [atMost(1.7, "drain")]);
  }
  // What the first run costs on top is the engine compiling what has become hot, once in a process.
  const rounds = bench.pick(10, 2);
  const job = { task: "events", count, size: 32, callback: "sync", rounds, warm: { rounds: bench.pick(5, 1) } };
  const results = await bench.compare(["ours", "plain", "drain"], stub, job);
  const name = `${count.toLocaleString("en")} × 32 B, sync callback, processor time of a later run`;
  bench.row(name, "ms", results, (result) => cpuMs(result) / rounds, [atMost(1.7, "drain"), beside("plain")]);
}

async function largeEvents(bench, stub) {
  for (const count of bench.pick([1_000, 4_000], [20])) {
    const job = { task: "events", count, size: KIB64, callback: "none", warm: { count: count / 10 } };
    const results = await bench.compare(EVERYBODY, stub, job);
    const name = `${count.toLocaleString("en")} × 64 KiB`;
    bench.row(name, "MB/s", results, (result) => (count * KIB64) / 1e3 / ms(result), [atLeast(4, "e2b"), beside("drain")]);
    bench.row(`${name}, most memory`, "MiB", results, peakMb, [atMost(0.5, "e2b")]);
  }
}

/** With `maxOutput: 0` and a callback. */
async function nothingKept(bench, stub) {
  const counts = bench.pick([1_000, 4_000, 16_000], [10, 20]);
  const results = {};
  for (const count of counts) {
    const job = { task: "events", count, size: KIB64, callback: "sync", keep: false, warm: { count: 100 } };
    results[`${(count * KIB64) / MIB} MiB`] = (await bench.compare(["ours"], stub, job)).ours;
  }
  bench.row("output that is not kept, most memory", "MiB", results, peakMb, [flat(Object.keys(results), 1.2)]);
}

async function latency(bench, target, where) {
  const contestants = ["ours", "e2b", "plain"];
  const rounds = bench.pick(100, 3);
  const one = await bench.compare(contestants, target, { task: "run", rounds, warm: { rounds: bench.pick(30, 1) } });
  bench.row(`\`true\`, ${where}`, "ms", one, ms, [atMost(1.1, "plain"), beside("e2b")]);
  const parallel = bench.pick(100, 5);
  const many = { task: "run", parallel, rounds: bench.pick(10, 1), warm: { rounds: bench.pick(3, 1) } };
  const name = `${parallel} × \`true\` in parallel, ${where}`;
  bench.row(name, "ms", await bench.compare(contestants, target, many), ms, [atMost(1.1, "plain"), beside("e2b")]);
}

/** What a sandbox writes as fast as it can. */
async function output(bench, server) {
  const count = bench.pick(2_000_000, 1_000);
  const command = `yes ${".".repeat(31)} | head -n ${count}`;
  const job = { task: "events", count, size: 32, command, warm: { count: 1_000, command: command.replace(count, 1_000) } };
  const results = await bench.compare(EVERYBODY, server, job);
  const name = `${(count * 32) / 1e6} MB of stdout, local server`;
  bench.row(name, "MB/s", results, (result) => (count * 32) / 1e3 / ms(result), [beside("e2b"), beside("drain")]);
}

/** What one more event, MiB or stream costs when there are many of them. */
async function growth(bench, stub) {
  await grows(bench, stub, "ns of processor time for each of so many events of 32 B", bench.pick([10_000, 100_000, 1_000_000], [100, 200]), (count) => ({
    job: { task: "events", count, size: 32, warm: { count: 10_000 } },
    unit: 1e6 / count,
  }));
  await grows(bench, stub, "µs of processor time for each of so many events of 64 KiB", bench.pick([250, 1_000, 4_000], [4, 8]), (count) => ({
    job: { task: "events", count, size: KIB64, warm: { count: 100 } },
    unit: 1e3 / count,
  }));
  await grows(bench, stub, "µs of processor time for each of so many streams of 10,000 events at a time", bench.pick([4, 16, 64], [2, 4]), (streams) => ({
    job: { task: "events", count: bench.pick(10_000, 100), size: 32, streams, warm: { streams: 2 } },
    unit: 1e3 / streams,
  }));
}

async function grows(bench, stub, name, sizes, work) {
  const results = {};
  for (const size of sizes) {
    const { job, unit } = work(size);
    const { ours } = await bench.compare(["ours"], stub, job);
    results[size.toLocaleString("en")] = ours.map((result) => result.cpuMs * unit);
  }
  bench.row(name, "linear", results, (value) => value, [flat(Object.keys(results), 1.3)]);
}
