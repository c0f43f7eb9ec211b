// Runs the programs of this folder with the standard clients, and with this package after nothing but their import was changed:
// in Node and in a page. All must print the same. `cargo xtask test --only migration` starts it, after installing the
// standard clients where `TEST_PEERS` says.

import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { chromium } from "playwright-core";
import { required, settings } from "../harness/settings.mjs";

const PROGRAMS = ["build-runner", "notebook", "workspace"];
const OURS = "agent-sandbox-web";
/** Longer than any of the programs takes, in ms. */
const PATIENCE = 120_000;

const { apiUrl, apiKey, origin, filter } = settings();
const out = required("TEST_SCRATCH");
mkdirSync(out, { recursive: true });

let passed = 0;
let failed = 0;
for (const program of PROGRAMS.filter((name) => !filter || `migration: ${name}`.includes(filter))) {
  const expected = await attempt(program, "the standard client, Node", () => inNode(program, true));
  if (expected === undefined) continue;
  check(program, "the standard client, Node", expected, expected);
  for (const [place, run] of [["Node", () => inNode(program, false)], ["Chromium page", () => inPage(program)]]) {
    const printed = await attempt(program, place, run);
    if (printed !== undefined) check(program, place, printed, expected);
  }
}
console.log(`migration: ${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** Where `printed` first differs from `expected` is what went wrong. An empty output is nothing to compare with. */
function check(program, place, printed, expected) {
  const [ours, theirs] = [printed, expected].map((text) => text.trimEnd().split("\n"));
  const at = theirs.findIndex((line, index) => line !== ours[index]);
  const problem =
    expected.length < 100 ? `it printed hardly anything:\n${expected}`
    : at >= 0 ? `line ${at + 1}: expected ${theirs[at]}\n     got ${ours[at]}`
    : ours.length > theirs.length ? `more lines: ${ours[theirs.length]}`
    : undefined;
  report(program, place, problem);
}

async function attempt(program, place, run) {
  try {
    return await run();
  } catch (error) {
    report(program, place, String(error?.stack ?? error));
    return undefined;
  }
}

function report(program, place, problem) {
  if (problem === undefined) passed += 1;
  else failed += 1;
  console.log(`${problem === undefined ? "ok    " : "FAILED"}  migration: ${program}, ${place}${problem === undefined ? "" : `\n        ${problem.replaceAll("\n", "\n        ")}`}`);
}

/** Runs a program as a process of its own and answers what it printed. */
async function inNode(program, original) {
  const file = join(out, `${program}.${original ? "original.cjs" : "ours.mjs"}`);
  await bundle(program, file, original ? { platform: "node", format: "cjs", nodePaths: [required("TEST_PEERS")] } : { alias: { e2b: OURS, "@e2b/code-interpreter": `${OURS}/code-interpreter` } });
  const env = { PATH: process.env.PATH, E2B_API_URL: apiUrl, E2B_SANDBOX_URL: apiUrl, E2B_API_KEY: apiKey };
  const child = spawn(process.execPath, [file], { env, timeout: PATIENCE });
  let printed = "";
  let problem = "";
  child.stdout.on("data", (chunk) => (printed += chunk));
  child.stderr.on("data", (chunk) => (problem += chunk));
  const code = await new Promise((resolve) => child.once("close", (code, signal) => resolve(code ?? signal)));
  if (code !== 0) throw new Error(`ended with ${code}\n${problem}\nafter printing\n${printed}`);
  return printed;
}

async function inPage(program) {
  await bundle(program, join(out, `${program}.page.js`), { alias: { e2b: "/pkg/dist/index.js", "@e2b/code-interpreter": "/pkg/dist/code-interpreter.js" } });
  const browser = await chromium.launch({ executablePath: required("CHROME"), args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"] });
  try {
    const page = await browser.newPage();
    const lines = [];
    await page.exposeFunction("print", (line) => lines.push(line));
    await page.goto(`${origin}/tests/migration/empty.html`);
    const settings = { apiUrl, apiKey, program: `${origin}/migration/${program}.page.js` };
    await Promise.race([
      page.evaluate(async ({ program, ...connection }) => {
        globalThis.migration = { ...connection, print: globalThis.print };
        await import(program);
        await globalThis.finished;
      }, settings),
      new Promise((_, reject) => setTimeout(() => reject(new Error(`still running after printing\n${lines.join("\n")}`)), PATIENCE).unref()),
    ]);
    return lines.join("\n");
  } finally {
    await browser.close();
  }
}

function bundle(program, outfile, options) {
  // The configuration beside the programs says that the clients are this package: true for their types only.
  const entry = join(out, `${program}.entry.ts`);
  const source = new URL(`${program}.ts`, import.meta.url).pathname;
  // The page waits for what the module leaves; a process ends by itself, and badly when this rejects.
  writeFileSync(entry, `import { main } from ${JSON.stringify(source)};\nglobalThis.finished = main();\n`);
  return build({ entryPoints: [entry], outfile, bundle: true, format: "esm", logLevel: "warning", external: [OURS, `${OURS}/*`, "/pkg/*"], tsconfigRaw: "{}", ...options });
}
