// What the local server costs: times beside the figures of the original daemon, and memory. `cargo xtask bench server`
// starts it with a release build. A busy machine only ever adds to a time, so the least of a row says most; the control,
// which does the same without a server, says how busy it was.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, tmpdir } from "node:os";
import path from "node:path";

import { descendants, proportionalKb, startServer } from "./local-server.mjs";
import { Server, events } from "./wire.mjs";

const REPETITIONS = Number(process.env.BENCH_REPETITIONS ?? 5);
/** Short things are done this often in each repetition. */
const ROUNDS = 20;
const BYTES = 200_000_000;
const IDLE_SANDBOXES = 20;
const MIB = 1024;

/** Of the original daemon on two cores over loopback in JSON, and what "no slower" means. */
const ORIGINAL = {
  "`/bin/true`, end of the stream": 5.1,
  "`/bin/true`, first byte": 2.7,
  "`bash -l -c 'echo hello'`": 7.5,
  "100 × `true` in parallel": 473,
  "200 MB of stdout, JSON": 99,
  "`seq 1000000`": 87,
};

const rows = new Map();

/** Adds one measurement to a row. */
function record(name, unit, value) {
  if (!rows.has(name)) rows.set(name, { unit, values: [] });
  rows.get(name).values.push(value);
}

const timed = async (run) => {
  const start = performance.now();
  await run();
  return performance.now() - start;
};

/** Runs a command to its end. Returns the ms to the first byte and to the end, and how many bytes came out. */
async function run(sandbox, cmd, args, options) {
  const start = performance.now();
  const response = await sandbox.start(cmd, args, options);
  let [first, output, bytes, end] = [undefined, undefined, 0, undefined];
  response.once("data", () => (first = performance.now() - start));
  for await (const event of events(response)) {
    if (event.output) {
      output ??= performance.now() - start;
      bytes += event.output.length;
    }
    end = event.end ?? end;
  }
  if (end?.exitCode !== 0) throw new Error(`${cmd} ended with ${JSON.stringify(end)}`);
  return { first, output, bytes, total: performance.now() - start };
}

/** The same without a server: fork, exec, read. */
async function control(cmd, args) {
  // Without the profile of whoever measures: sandboxes have none either.
  const child = spawn(cmd, args, { stdio: ["ignore", "pipe", "pipe"], env: { PATH: process.env.PATH, HOME: "/nonexistent" } });
  child.stdout.resume();
  child.stderr.resume();
  await once(child, "close");
}

const HELLO = ["-l", "-c", "echo hello"];

async function life(server) {
  let sandbox;
  record("create", "ms", await timed(async () => (sandbox = await server.create())));
  await sandbox.kill();
  const start = performance.now();
  sandbox = await server.create();
  const created = performance.now() - start;
  const { output, total } = await run(sandbox, "/bin/bash", HELLO);
  record("create → first output", "ms", created + output);
  record("create → end of the command", "ms", created + total);
  record("kill", "ms", await timed(() => sandbox.kill()));
}

async function commands(sandbox) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const { first, total } = await run(sandbox, "/bin/true", []);
    record("`/bin/true`, first byte", "ms", first);
    record("`/bin/true`, end of the stream", "ms", total);
    record("control: `/bin/true` without a server", "ms", await timed(() => control("/bin/true", [])));
    record("`bash -l -c 'echo hello'`", "ms", (await run(sandbox, "/bin/bash", HELLO)).total);
    record("control: `bash -l -c 'echo hello'` without a server", "ms", await timed(() => control("/bin/bash", HELLO)));
  }
  const hundred = () => Promise.all(Array.from({ length: 100 }, () => run(sandbox, "/bin/true", [])));
  record("100 × `true` in parallel", "ms", await timed(hundred));
}

async function output(sandbox) {
  for (const [name, encoding] of [["JSON", "json"], ["binary", "proto"]]) {
    const { bytes, total } = await run(sandbox, "/usr/bin/head", ["-c", String(BYTES), "/dev/zero"], { encoding });
    if (bytes !== BYTES) throw new Error(`${bytes} bytes of ${BYTES} arrived`);
    record(`200 MB of stdout, ${name}`, "MB/s", bytes / 1e3 / total);
  }
  const { bytes, total } = await run(sandbox, "/usr/bin/seq", ["1000000"]);
  if (bytes !== 6_888_896) throw new Error(`seq wrote ${bytes} bytes`);
  record("`seq 1000000`", "ms", total);
}

/** What one more idle sandbox costs: processes of its own, and what the server keeps for it. */
async function memory() {
  const facts = await startServer();
  const server = new Server(facts);
  const all = () => proportionalKb([facts.pid, ...descendants(facts.pid)]);
  const before = all();
  const sandboxes = await Promise.all(Array.from({ length: IDLE_SANDBOXES }, () => server.create()));
  const each = (all() - before) / sandboxes.length / MIB;
  record("memory of an idle sandbox", "MiB", each);
  record("idle sandboxes in 1 GiB", "", Math.floor(MIB / each));
  record("memory of the server alone", "MiB", before / MIB);
  server.close();
  await facts.stop();
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

function results() {
  return [...rows].map(([name, { unit, values }]) => {
    const figures = { median: median(values), min: Math.min(...values), max: Math.max(...values) };
    return { name, unit, ...figures, count: values.length, original: ORIGINAL[name] ?? null };
  });
}

function print(table) {
  const text = (value) => (value === null ? "" : value >= 100 ? value.toFixed(0) : value.toFixed(1));
  const line = (...cells) => console.log(`| ${cells.map((cell, i) => (i ? cell.padStart(9) : cell.padEnd(52))).join(" | ")} |`);
  line("", "median", "min", "max", "unit", "original");
  console.log(`|${"-".repeat(54)}|${"----------:|".repeat(5)}`);
  for (const { name, unit, median, min, max, original } of table) {
    line(name, text(median), text(min), text(max), unit, text(original));
  }
}

for (let repetition = 0; repetition < REPETITIONS; repetition += 1) {
  const facts = await startServer();
  record("start of the server until it listens", "ms", facts.ready);
  const server = new Server(facts);
  // The first of everything pays for what the others find done.
  await (await server.create()).kill();
  for (let round = 0; round < 4; round += 1) await life(server);
  const sandbox = await server.create();
  await run(sandbox, "/bin/bash", HELLO);
  await commands(sandbox);
  await output(sandbox);
  server.close();
  await facts.stop();
  await memory();
  console.log(`repetition ${repetition + 1} of ${REPETITIONS}`);
}
const table = results();
print(table);
const file = path.join(process.env.BENCH_RESULTS ?? tmpdir(), "server.json");
mkdirSync(path.dirname(file), { recursive: true });
const machine = { cores: availableParallelism(), processor: cpus()[0].model, node: process.version };
writeFileSync(file, `${JSON.stringify({ suite: "server", date: new Date().toISOString(), machine, results: table }, null, 2)}\n`);
console.log(`written to ${file}`);
