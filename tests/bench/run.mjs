// What the package costs, beside the standard client, a plain loop and `fetch` alone. `cargo xtask bench` starts it after
// building the package and installing the standard client, and says by `BENCH_…` what to run.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import path from "node:path";

import { Bench } from "./bench.mjs";
import { lineOf, tableOf } from "./report.mjs";
import { startStub } from "./processes.mjs";
import { code } from "./suites/code.mjs";
import { files } from "./suites/files.mjs";
import { imports } from "./suites/import.mjs";
import { PLACES, runtimes } from "./suites/runtimes.mjs";
import { sdk } from "./suites/sdk.mjs";

const SUITES = { sdk, import: imports, files, code, runtimes };

const names = process.env.BENCH_SUITES.split(",");
const scratch = process.env.BENCH_RESULTS;
const quick = process.env.BENCH_QUICK === "1";
const places = process.env.BENCH_PLACES?.split(",") ?? Object.keys(PLACES);
const repetitions = Number(process.env.BENCH_REPETITIONS ?? 5);

/** A sandbox of the local server, where there is one. */
async function ofServer() {
  if (!process.env.LOAD_SERVER) return undefined;
  const [{ startServer }, { Server }] = await Promise.all([import("../load/local-server.mjs"), import("../load/wire.mjs")]);
  const facts = await startServer();
  const server = new Server(facts);
  const sandbox = await server.create();
  const target = { url: facts.url, apiKey: facts.apiKey, sandboxId: sandbox.id, token: sandbox.headers["x-access-token"] };
  return {
    target,
    async end() {
      server.close();
      await facts.stop();
    },
  };
}

const stub = await startStub();
const server = names.includes("sdk") ? await ofServer() : undefined;
let passed = 0;
let failed = 0;
for (const name of names) {
  console.log(`${name}:`);
  const bench = new Bench({ repetitions, quick, print: (row) => console.log(lineOf(row)) });
  try {
    await SUITES[name](bench, { stub: stub.target, server: server?.target, scratch, places });
    passed += 1;
    finish(name, bench);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  bench: ${name}\n        ${error?.stack ?? error}`);
  }
  await bench.end();
}
await server?.end();
await stub.end();
console.log(`bench: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function finish(suite, { rows, repetitions }) {
  if (!quick) console.log(`\n${tableOf(rows)}\n`);
  const machine = { cores: availableParallelism(), processor: cpus()[0].model, load: loadavg(), node: process.version, realTime: isRealTime() };
  const file = path.join(scratch, `${suite}.json`);
  mkdirSync(scratch, { recursive: true });
  const facts = { suite, date: new Date().toISOString(), quick, repetitions, machine, packages: versions(), rows };
  writeFileSync(file, `${JSON.stringify(facts, null, 2)}\n`);
  console.log(`written to ${file}`);
}

function versions() {
  const folders = { ours: "../../node_modules/agent-sandbox-web", e2b: "../clients/node/node_modules/e2b", "e2b-code": "../clients/node/node_modules/@e2b/code-interpreter" };
  const version = (folder) => JSON.parse(readFileSync(new URL(`${folder}/package.json`, import.meta.url), "utf8")).version;
  return Object.fromEntries(Object.entries(folders).map(([name, folder]) => [name, version(folder)]));
}

/** Whether other programs on the machine have to wait for this one. */
function isRealTime() {
  try {
    return /SCHED_(RR|FIFO)/.test(execFileSync("chrt", ["-p", String(process.pid)], { encoding: "utf8" }));
  } catch {
    return false;
  }
}
