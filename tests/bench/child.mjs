// One contestant in a process of its own, in Node, Deno or Bun. Reads one job per line, answers with one line per job: how
// long it took, how much processor time, and the most memory that the process has had.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { perform } from "./tasks.js";

const { contestant: name, target } = JSON.parse(process.env.BENCH_CONTESTANT);
const { open } = await import(`./contestants/${name}.js`);
const contestant = await open(target);

for await (const line of createInterface({ input: process.stdin })) {
  const job = JSON.parse(line);
  let answer;
  try {
    answer = await measured(job);
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);

async function measured({ warm, ...job }) {
  // Compiles what has to be compiled, and looks at every character that comes back.
  if (warm) await perform(contestant, { ...job, ...warm, check: true });
  const resting = memory("VmRSS");
  const before = process.cpuUsage();
  const samples = await perform(contestant, job);
  const { user, system } = process.cpuUsage(before);
  return { samples, cpuMs: (user + system) / 1000, restingKb: resting, peakKb: memory("VmHWM") };
}

function memory(name) {
  return Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(readFileSync("/proc/self/status", "utf8"))[1]);
}
