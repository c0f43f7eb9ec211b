// A local sandbox server of its own for each run, and what the kernel knows about it: processes, descriptors, memory.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const running = new Set();

// Whatever ends this program ends the servers, which end their sandboxes.
process.on("exit", () => running.forEach((child) => child.kill("SIGTERM")));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

/** Starts the server of `LOAD_SERVER`, and returns it when it listens. `ready` is how long that took, in ms. */
export async function startServer({ log = "/dev/null", options = [], env = {} } = {}) {
  const program = process.env.LOAD_SERVER;
  if (!program) throw new Error("LOAD_SERVER is not set: start this with `cargo xtask bench` or `cargo xtask soak`");
  const folder = mkdtempSync(path.join(tmpdir(), "agent-sandbox-load-"));
  const readyFile = path.join(folder, "ready.json");
  const started = performance.now();
  const child = spawn(program, ["serve", "--port", "0", "--ready-file", readyFile, ...options], {
    stdio: ["ignore", "pipe", openSync(log, "w")],
    // Every request is a line; written to nowhere it would still cost time that production logging does not.
    env: { ...process.env, ...env, RUST_LOG: "warn" },
  });
  running.add(child);
  const ended = once(child, "exit").then(([code]) => {
    running.delete(child);
    return code;
  });
  const announced = await Promise.race([once(child.stdout, "data"), ended]);
  if (!Array.isArray(announced)) throw new Error(`the server ended with ${announced}; see ${log}`);
  const ready = performance.now() - started;
  child.stdout.resume();
  const facts = await readFacts(readyFile);
  return {
    ...facts,
    ready,
    async stop() {
      child.kill("SIGTERM");
      const code = await ended;
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** It is written right after the announcement. */
async function readFacts(file) {
  for (;;) {
    try {
      return JSON.parse(readFileSync(file, "utf8"));
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
      await sleep(1);
    }
  }
}

/** What a process has open, in memory and running, and what descends from it. */
export function look(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const field = (name) => Number(new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return {
    descriptors: descriptors(pid),
    threads: field("Threads"),
    residentKb: field("VmRSS"),
    processes: descendants(pid).length,
  };
}

/** How many descriptors of each kind: sockets, pipes, and files by name. */
export function descriptors(pid) {
  const kinds = new Map();
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    let target;
    try {
      target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      continue;
    }
    const kind = target.replace(/^(socket|pipe):.*/, "$1");
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  return kinds;
}

/** The processes below `pid`, without it: each before its children, and the older before the younger. */
export function descendants(pid) {
  const children = families();
  const below = (parent) => (children.get(parent) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/** The processes that `pid` started and that run. */
export function children(pid) {
  return families().get(pid) ?? [];
}

function families() {
  const children = new Map();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(Number(name));
    } catch {
      // It ended while we looked.
    }
  }
  return children;
}

/** Memory of processes in kB, with what they share counted once. */
export function proportionalKb(pids) {
  return pids.reduce((sum, pid) => {
    try {
      return sum + Number(/^Pss:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))[1]);
    } catch {
      return sum;
    }
  }, 0);
}
