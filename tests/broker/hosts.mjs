// Starts the brokers in a host. Each answers `{ url, stop }`.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
/** What `tests/harness` has installed. */
const installed = createRequire(new URL("../harness/package.json", import.meta.url));
const program = (name) => fileURLToPath(new URL(`../harness/node_modules/.bin/${name}`, import.meta.url));

const COMMANDS = {
  node: () => [process.execPath, here("in-process.mjs")],
  deno: () => [program("deno"), "run", "--allow-all", "--quiet", here("in-process.mjs")],
  bun: () => [program("bun"), "run", here("in-process.mjs")],
};

export async function start(place, settings) {
  if (place === "workerd") return workerd(settings);
  if (place === "edge-runtime") return edgeRuntime(settings);
  return inProcess(COMMANDS[place](), settings);
}

async function inProcess([command, ...words], settings) {
  const child = spawn(command, words, {
    stdio: ["ignore", "pipe", "inherit"],
    // Not as an argument: every user of the machine can list arguments, and the settings hold a key.
    env: { ...process.env, TEST_SETTINGS: JSON.stringify(settings) },
  });
  const stop = () => void child.kill("SIGKILL");
  process.once("exit", stop);
  // The end by a signal is no exit that anybody is told of.
  process.once("SIGTERM", () => process.exit(143));
  for await (const line of createInterface({ input: child.stdout })) return { url: `http://127.0.0.1:${Number(line)}`, stop };
  throw new Error(`${command} ended before it listened`);
}

async function workerd(settings) {
  const script = await bundle("in-workerd", { format: "esm", conditions: ["workerd"], loader: { ".wasm": "copy" } });
  const { startWorker } = await import("../harness/miniflare.mjs");
  const worker = startWorker(script, { SETTINGS: settings });
  const url = await worker.ready;
  return { url: url.origin, stop: () => worker.dispose() };
}

async function edgeRuntime(settings) {
  const script = await bundle("in-edge-runtime", { format: "iife" });
  const { EdgeRuntime, runServer } = await import(pathToFileURL(installed.resolve("edge-runtime")));
  const runtime = new EdgeRuntime({ initialCode: readFileSync(script, "utf8"), extend: (context) => Object.assign(context, { settings }) });
  const server = await runServer({ runtime, host: "127.0.0.1", port: 0 });
  return { url: server.url.replace(/\/$/, ""), stop: () => server.close() };
}

/** A script of this folder as one file. */
async function bundle(name, options) {
  const outdir = here(`../../build/broker/${name}`);
  await build({ entryPoints: [here(`${name}.js`)], outdir, bundle: true, logLevel: "warning", ...options });
  return `${outdir}/${name}.js`;
}
