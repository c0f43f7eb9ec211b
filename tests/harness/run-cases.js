// Runs plain cases and reports them, in whatever runtime it is imported: no test framework, no import of its own.

/** How long a case may take before it counts as hanging, in ms, unless it names its own `timeoutMs`. */
const CASE_TIMEOUT = 60_000;

/**
 * Runs the cases one after the other and prints a line for each. One that fails is tried once more, because machines stall and
 * browsers lose connections; one that passes only then is printed as flaky. With a filter, which is for looking closely, there
 * is no second attempt.
 *
 * @param {Array<{ name: string, run(ctx: object): Promise<void>, timeoutMs?: number, look?(): Promise<string[]>, close?(): Promise<void> }>} cases
 * `look` says where a case stands that failed, `close` ends what is left of it, also where it hangs.
 * @param {object} ctx What every case is given.
 * @param {{ place: string, filter?: string, print(line: string): void, faults: string[], differences?: object[] }} options
 * `faults` collects what went wrong outside of any promise (console errors, unhandled rejections): each belongs to the case
 * during which it came. `differences` lists what cannot work in this place: `{ case, error, code, why }` with the name of the
 * case, and the class and code of the error that it must meet instead.
 * @returns {Promise<{ passed: number, failed: number }>}
 */
export async function runCases(cases, ctx, { place, filter, print, faults, differences = [] }) {
  const names = new Set();
  for (const { name } of cases) {
    if (names.has(name)) throw new Error(`Two cases are called "${name}"`);
    names.add(name);
  }
  for (const one of differences) {
    if (!names.has(one.case)) throw new Error(`A difference names the case "${one.case}", which does not exist`);
  }
  const chosen = filter ? cases.filter(({ name }) => name.includes(filter)) : cases;
  let passed = 0;
  let failed = 0;
  for (const one of chosen) {
    const difference = differences.find((listed) => listed.case === one.name);
    const tried = difference ? { ...one, run: () => differs(one, ctx, difference) } : one;
    let problem = await attempt(tried, ctx, faults);
    let verdict = "ok    ";
    if (problem !== undefined && !filter) {
      print(`again   ${place}  ${one.name}\n${indent(problem)}`);
      problem = await attempt(tried, ctx, faults);
      verdict = "flaky ";
    }
    if (problem === undefined) passed += 1;
    else failed += 1;
    print(problem === undefined ? `${verdict}  ${place}  ${one.name}` : `FAILED  ${place}  ${one.name}\n${indent(problem)}`);
  }
  print(`${place}: ${passed} passed, ${failed} failed`);
  return { passed, failed };
}

/** Passes when the case meets the error that is listed for it, which it may report as the cause of its own. */
async function differs(one, ctx, { error: name, code }) {
  try {
    await one.run(ctx);
  } catch (error) {
    for (let met = error; met; met = met.cause) {
      if (met.name === name && met.code === code) return;
    }
    throw new Error(`listed as a difference that gives ${name} ${code}, but it failed otherwise`, { cause: error });
  }
  throw new Error(`listed as a difference that gives ${name} ${code}, but it passed: take it off the list`);
}

/** What went wrong with a case, or undefined. */
async function attempt(one, ctx, faults) {
  faults.length = 0;
  const limit = one.timeoutMs ?? CASE_TIMEOUT;
  let timer;
  const hang = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`still running after ${limit} ms`)), limit);
  });
  try {
    await Promise.race([one.run(ctx), hang]);
  } catch (error) {
    return [describe(error), ...faults, ...((await one.look?.()) ?? [])].join("\n");
  } finally {
    clearTimeout(timer);
    await one.close?.();
  }
  // An unhandled rejection is announced after the microtasks of the turn in which it came.
  await new Promise((resolve) => setTimeout(resolve, 0));
  return faults.length > 0 ? faults.join("\n") : undefined;
}

/** An error with its stack and causes, or whatever else was thrown. */
export function describe(error) {
  if (typeof error !== "object" || error === null) return `thrown: ${String(error)}`;
  const head = `${error.name}: ${error.message}`;
  const stack = String(error.stack ?? "");
  const text = stack.includes(String(error.message)) ? stack : `${head}\n${stack}`;
  const code = error.code === undefined ? "" : `\ncode: ${error.code}`;
  return error.cause === undefined ? text + code : `${text}${code}\ncaused by ${describe(error.cause)}`;
}

function indent(text) {
  return text.replace(/^/gm, "        ");
}
