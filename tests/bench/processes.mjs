// The stub and the contestants, each in a process of its own, and the end of them all.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const file = (name) => fileURLToPath(new URL(name, import.meta.url));
const tool = (name) => file(`../harness/node_modules/.bin/${name}`);

/** How a script is started in each runtime that has processes. */
export const RUNTIMES = {
  node: [process.execPath],
  deno: [tool("deno"), "run", "--allow-all", "--quiet"],
  bun: [tool("bun"), "run"],
};

const running = new Set();

process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

function start(runtime, script, env) {
  const [program, ...words] = RUNTIMES[runtime];
  // Not as arguments: every user of the machine can list those, and a target has a key.
  const child = spawn(program, [...words, file(script)], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  running.add(child);
  const ended = once(child, "close").then(() => running.delete(child));
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async line() {
      const { done, value } = await lines.next();
      if (done) throw new Error(`${runtime} ${script} ended instead of answering`);
      return value;
    },
    say: (text) => child.stdin.write(`${text}\n`),
    /** Ends its input, and waits until it is gone. */
    async end() {
      child.stdin.end();
      await ended;
    },
  };
}

/** The stub, when it listens. `pages` is a folder that it serves below `/pages/`. */
export async function startStub(pages = "") {
  const stub = start("node", "stub.mjs", { BENCH_PAGES: pages });
  const url = await stub.line();
  return { target: { url, apiKey: "stub", sandboxId: "bench", token: "t" }, end: stub.end };
}

/** A contestant that waits for jobs. */
export function startContestant(contestant, target, runtime = "node") {
  const child = start(runtime, "child.mjs", { BENCH_CONTESTANT: JSON.stringify({ contestant, target }) });
  return {
    /** Does one job. See `child.mjs` for the answer. */
    async perform(job) {
      child.say(JSON.stringify(job));
      const answer = JSON.parse(await child.line());
      if (answer.error) throw new Error(`${contestant}: ${job.task}: ${answer.error}`);
      return answer;
    },
    end: child.end,
  };
}

/** What a script of its own process prints as its last line, as a value. */
export async function report(script, env, runtime = "node") {
  const child = start(runtime, script, env);
  const answer = JSON.parse(await child.line());
  await child.end();
  if (answer.error) throw new Error(answer.error);
  return answer;
}
