// How many bytes each entry of the built package costs, as it is and as a server would send it, what the WebAssembly in it is
// made of, and what the standard clients cost. `cargo xtask size` and the tests start it, after building the package and
// installing those clients where `TEST_PEERS` says. An entry that outgrew its budget fails; with `TEST_WRITE_BUDGET` set, the
// budget is what there is now.

import { readFileSync, writeFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { build } from "esbuild";
import { required } from "../harness/settings.mjs";
import { contributors } from "./contributors.mjs";

const WHOLE = ["index.js", "index.cjs", "cdn.js", "workerd.js", "edge-light.js", "slim.js", "url.js"];
/** These stand on the default entry, and some on chunks that load when they are needed: they are measured without both. */
const SUBPATHS = ["code-interpreter.js", "config.js", "edge.js", "providers.js", "server.js", "terminal.js", "elements.js"];
const ENTRIES = [...WHOLE, ...SUBPATHS, "core.wasm"];
/** What is said about the code of the default entry has this file in it. */
const DEFAULT_ENTRY = "index.js";
const PEERS = ["e2b", "@e2b/code-interpreter"];
/** How much an entry may grow before somebody has to agree to it. */
const TOLERANCE = 0.02;
const BUDGET = new URL("budget.json", import.meta.url);
/** The core inside of an entry, as `xtask` writes it. */
const INLINED = /"([A-Za-z0-9+/=]{10000,})"/;

/** Leaves out what is not the package's own: modules of Node, the core as a file, and the entry that a subpath stands on. */
const withoutSurroundings = {
  name: "without-surroundings",
  setup({ onResolve, onLoad }) {
    const builtIns = new Set(builtinModules);
    onResolve({ filter: /.*/ }, ({ path, kind }) => {
      if (path.startsWith("node:") || builtIns.has(path)) return { path, namespace: "stub" };
      const isElsewhere = path.startsWith("./core.wasm") || path === `./${DEFAULT_ENTRY}` || kind === "dynamic-import";
      if (isElsewhere) return { path, external: true };
      return undefined;
    });
    onLoad({ filter: /.*/, namespace: "stub" }, () => ({ contents: "module.exports = {};" }));
  },
};

const dist = required("TEST_DIST");
const write = process.env.TEST_WRITE_BUDGET === "1";

const sizes = {};
row("bytes", "raw", "gzip", "brotli", "wasm, gzip", "JS, gzip", "minified, gzip");
for (const name of ENTRIES) {
  const bytes = readFileSync(join(dist, name));
  const size = weigh(bytes);
  sizes[name] = size;
  if (name.endsWith(".wasm")) {
    row(name, size.raw, size.gzip, size.brotli, size.gzip, "", "");
    continue;
  }
  const { wasm, code } = split(bytes.toString());
  size.minified = weigh(await bundled(join(dist, name))).gzip;
  row(name, size.raw, size.gzip, size.brotli, wasm, weigh(Buffer.from(code)).gzip, size.minified);
}
console.log("  the standard clients, bundled and minified, without what they import of Node:");
for (const name of PEERS) {
  const { raw, gzip, brotli } = weigh(await bundled(name, required("TEST_PEERS")));
  row(name, raw, gzip, brotli, "", "", gzip);
}

const { groups, functions, code, data } = contributors(readFileSync(required("TEST_NAMED_CORE")));
console.log(`  largest parts of core.wasm (${code} bytes of code, ${data} of data), bytes:`);
for (const { name, bytes, count } of groups.slice(0, 10)) row(`${name} (${count})`, bytes);
console.log("  its largest functions, bytes:");
for (const { name, bytes } of functions.slice(0, 10)) row(name, bytes);

if (write) {
  writeFileSync(BUDGET, `${JSON.stringify(Object.fromEntries(ENTRIES.map((name) => [name, sizes[name].gzip])), null, 2)}\n`);
  console.log(`  the budget is what there is now: ${BUDGET.pathname}`);
}
// What was built with another standard library cannot be held against it.
if (process.env.TEST_LARGER === "1") {
  console.log("  not held against the budget: the standard library is not one that is built for size");
  process.exit(0);
}
const { passed, failed } = judge(JSON.parse(readFileSync(BUDGET, "utf8")));
console.log(`size: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Holds each entry against its budget. An entry without one has not been agreed to. */
function judge(budget) {
  let [passed, failed] = [0, 0];
  for (const name of new Set([...ENTRIES, ...Object.keys(budget)])) {
    const [is, was] = [sizes[name]?.gzip, budget[name]];
    const problem =
      is === undefined ? "the budget names an entry that is not measured"
      : was === undefined ? "has no budget: `cargo xtask size --write` gives it one"
      : is > was * (1 + TOLERANCE) ? `${is} bytes (gzip) instead of ${was}. Make it smaller, or renew the budget with \`cargo xtask size --write\` and say why`
      : undefined;
    if (problem === undefined) passed += 1;
    else failed += 1;
    console.log(`${problem === undefined ? "ok    " : "FAILED"}  size: ${name}${problem === undefined ? "" : `\n        ${problem}`}`);
    if (is < was * (1 - TOLERANCE)) console.log(`        smaller than its budget of ${was}: \`cargo xtask size --write\` keeps it so`);
  }
  return { passed, failed };
}

function weigh(bytes) {
  return { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes).length };
}

/** How much of a file is the core (deflated already), and the rest of its text. */
function split(text) {
  const inlined = INLINED.exec(text);
  if (inlined === null) return { wasm: 0, code: text };
  return { wasm: Buffer.from(inlined[1], "base64").length, code: text.replace(INLINED, '""') };
}

/** What a bundler would make of everything that `name` exports. */
async function bundled(name, folder) {
  const result = await build({
    stdin: { contents: `export * from ${JSON.stringify(name)};`, resolveDir: folder ?? dist },
    nodePaths: folder === undefined ? [] : [folder],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2022",
    legalComments: "none",
    logLevel: "error",
    plugins: [withoutSurroundings],
  });
  return Buffer.from(result.outputFiles[0].contents);
}

function row(name, ...columns) {
  const shown = name.length > 62 ? `${name.slice(0, 59)}...` : name;
  console.log(`    ${shown.padEnd(columns.length === 1 ? 62 : 22)}${columns.map((text) => String(text).padStart(15)).join("").trimEnd()}`);
}
