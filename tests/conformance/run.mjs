// Runs the conformance checks and prints what differs. `cargo xtask conformance` starts it.

import { availableParallelism } from "node:os";
import { Servers, TOKEN } from "./servers.mjs";
import { Steps } from "./steps.mjs";
import { chosen, readTables } from "./tables.mjs";

const { env } = process;
const servers = new Servers({
  envd: env.TEST_ENVD_URL,
  controlPlane: env.TEST_API_URL,
  interpreter: env.TEST_INTERPRETER_URL,
  apiKey: env.TEST_API_KEY,
  runtime: env.TEST_RUNTIME_DIR,
  chromium: env.CHROME,
});
const given = JSON.parse(env.TEST_VARIABLES ?? "{}");

/** Checks that run at the same time. The ones that mostly wait come on top. */
const WORKERS = 2 * availableParallelism();
/** Those of the interpreter that do: each starts a kernel or two, which is work for a processor. */
const KERNELS = availableParallelism();

const tally = { passed: 0, failed: 0, notRun: 0 };
const sections = new Map();
/** Numbers of the checks that are not run, by section and reason. */
const asides = new Map();

const checks = readTables().filter(chosen(env.TEST_FILTER));
if (checks.length === 0) throw new Error("no check was chosen");
// One daemon takes one check at a time, and its token stays: what needs it comes last.
const alone = checks.filter(({ section }) => section.service === "envd" && servers.oneDaemon);
const installs = ({ secured, installs }) => (secured ? 2 : installs ? 1 : 0);
alone.sort((one, other) => installs(one) - installs(other));
const others = checks.filter((check) => !alone.includes(check));
const slow = others.filter((check) => check.slow);
const quick = others.filter((check) => !check.slow);
const code = quick.filter(({ section }) => section.service === "interpreter");
const rest = quick.filter((check) => !code.includes(check));
const several = (count, queue) => Array.from({ length: count }, () => work(queue));
await Promise.all([work(alone), ...slow.map((check) => work([check])), ...several(KERNELS, code), ...several(WORKERS, rest)]);
await servers.close();

for (const [reason, numbers] of [...asides].sort()) console.log(`not run ${reason.replace("  ", `  ${numbers.join(", ")}: `)}`);
for (const [letter, { title, passed, failed, notRun }] of [...sections].sort()) {
  const aside = notRun === 0 ? "" : `, ${notRun} not run`;
  console.log(`${letter}  ${title}: ${passed} as expected, ${failed} not${aside}`);
}
console.log(`${tally.passed} passed, ${tally.failed} failed, ${tally.notRun} not run`);
process.exit(tally.failed === 0 ? 0 : 1);

async function work(queue) {
  for (let check = queue.shift(); check !== undefined; check = queue.shift()) await report(check);
}

async function report(check) {
  const { letter, title } = check.section;
  const count = sections.get(letter) ?? { title, passed: 0, failed: 0, notRun: 0 };
  sections.set(letter, count);
  const name = `${letter} ${String(check.number).padStart(3)}  ${check.title}`;
  const reason = notRunnable(check);
  if (reason !== undefined) {
    count.notRun += 1;
    tally.notRun += 1;
    const key = `${letter}  ${reason}`;
    asides.set(key, [...(asides.get(key) ?? []), check.number]);
    return;
  }
  const problem = await verdict(check);
  const key = problem === undefined ? "passed" : "failed";
  count[key] += 1;
  tally[key] += 1;
  if (problem !== undefined) console.log(`FAILED  ${name}\n${problem.replace(/^/gmu, "        ")}`);
}

function notRunnable(check) {
  const { steps, needs = {}, fatal } = check;
  const missing = servers.missing(check);
  if (missing !== undefined) return missing;
  if (servers.page.missing !== undefined && steps.some((step) => step.page)) return servers.page.missing;
  if (fatal !== undefined && !servers.own) return fatal;
  return Object.entries(needs).find(([name]) => !(name in given))?.[1];
}

/** What is wrong, or nothing. */
async function verdict(check) {
  const problem = await attempt(check, check.steps);
  const { deviation } = check;
  if (deviation === undefined) return problem;
  // The local server has to deviate as it is written down; of others the one is as good as the other.
  if (problem === undefined) return servers.own ? `listed as a deviation, but it does not deviate: ${deviation.reason}` : undefined;
  return attempt(check, deviation.steps);
}

async function attempt(check, steps) {
  const variables = { ...given };
  let prepared;
  try {
    prepared = await servers.prepare(check.section, check, variables);
  } catch (error) {
    return `while it was prepared, ${error.stack ?? error}`;
  }
  const run = new Steps(prepared.place, variables);
  try {
    await run.run(steps);
    return undefined;
  } catch (error) {
    return String(error.sent === undefined ? error.stack : error);
  } finally {
    run.close();
    await prepared.place.clearUp(check.secured || check.installs ? TOKEN : undefined);
  }
}
