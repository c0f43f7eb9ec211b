// The few assertions the suite needs, the same in every runtime.

export function assert(condition, message) {
  if (!condition) throw new Error(message);
}

export function equal(actual, expected, what = "value") {
  const a = show(actual);
  const b = show(expected);
  if (a !== b) throw new Error(`${what}: expected ${cut(b)}, got ${cut(a)}`);
}

/** Awaits a rejection with an instance of `type` (and the stable `code`, if given); answers the error. */
export async function rejects(promise, type, code) {
  let value;
  try {
    value = await promise;
  } catch (error) {
    if (!(error instanceof type)) {
      throw new Error(`expected ${type.name}, got ${error?.name}: ${error?.message}`, { cause: error });
    }
    if (code !== undefined) equal(error.code, code, `code of "${error.message}"`);
    return error;
  }
  throw new Error(`expected ${type.name}, but it resolved with ${cut(show(value))}`);
}

/** Awaits a rejection with exactly `reason`. */
export async function rejectsWith(promise, reason) {
  try {
    await promise;
  } catch (error) {
    if (error !== reason) throw new Error(`rejected with ${error}, not with the given reason`, { cause: error });
    return;
  }
  throw new Error("expected a rejection, but it resolved");
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Polls until `check` answers something truthy, which is answered. It may take its time: machines that run tests are busy, and
 * a case that hangs is ended anyway.
 */
export async function eventually(check, what, tries = 600) {
  for (let i = 0; i < tries; i++) {
    const value = await check();
    if (value) return value;
    await sleep(50);
  }
  throw new Error(`never happened: ${what}`);
}

/**
 * Makes `attempt(ms)` with ever more time until its outcome is what `fits` says, and answers that: of something whose clock
 * runs out there must first have been some output, which takes longer on a busy machine.
 */
export async function withTime(attempt, fits) {
  for (const ms of [500, 3_000, 20_000]) {
    const outcome = await attempt(ms);
    if (fits(outcome)) return outcome;
  }
  throw new Error("never happened, however much time there was");
}

function show(value) {
  if (value instanceof Uint8Array) return `Uint8Array[${value.join(",")}]`;
  return JSON.stringify(value, (_, v) => (v === undefined ? "<undefined>" : typeof v === "bigint" ? `${v}n` : v)) ?? String(value);
}

function cut(text) {
  return text.length > 300 ? `${text.slice(0, 300)}… (${text.length} characters)` : text;
}
