// What visitors do with the elements and where they look. Everything waits for what it names. Playwright looks into shadow trees.

import { eventually } from "../e2e/assert.js";

/** Opens the page of this folder, which has a strict policy unless it is to be without one. */
export async function open({ page, origin }, { policy = true } = {}) {
  await page.goto(`${origin}/tests/elements/${policy ? "page" : "open"}.html`);
  await page.waitForFunction(() => customElements.get("sandbox-files") !== undefined);
}

export const cell = (page, id) => page.locator(`sandbox-code#${id}`);

/** Puts code into a cell and runs it; answers the state it ended with. */
export async function run(page, id, code) {
  await start(page, id, code);
  return ended(page, id);
}

/** Puts code into a cell, if any is given, and presses its button. */
export async function start(page, id, code) {
  if (code !== undefined) await cell(page, id).evaluate((element, code) => (element.code = code), code);
  await cell(page, id).getByRole("button", { name: /^Run/ }).first().click();
}

/** Waits for the end of a run; answers its state. */
export async function ended(page, id) {
  await state(page, id, /^(ok|failed|stopped|error)$/);
  return cell(page, id).evaluate((element) => element.state);
}

/** Waits until a cell is in that state. */
export async function state(page, id, expected) {
  const pattern = expected instanceof RegExp ? expected.source : `^${expected}$`;
  await page.waitForFunction(([id, pattern]) => new RegExp(pattern).test(document.getElementById(id).state), [id, pattern]);
}

/** What a cell shows below its code. */
export const output = (page, id) => cell(page, id).locator(".output");

/** The session's state, waited for. */
export async function session(page, expected) {
  await page.waitForFunction((expected) => document.querySelector("sandbox-session").state === expected, expected);
}

/** The id of the session's sandbox. */
export const sandboxId = (page) => page.evaluate(() => document.querySelector("sandbox-session").sandbox?.sandboxId);

/** Asks the control plane directly, as somebody else would. */
export function control({ apiUrl, apiKey }, method, path) {
  return fetch(`${apiUrl}${path}`, { method, headers: { "X-API-Key": apiKey } });
}

/** Waits until the control plane no longer knows the sandbox. */
export const gone = (ctx, id) => eventually(async () => (await control(ctx, "GET", `/sandboxes/${id}`)).status === 404, `the end of ${id}`);

/** Cuts the page off, and waits until that has reached it: a request that is already under way would fail in another way. */
export async function goOffline({ page, context }) {
  await context.setOffline(true);
  await page.waitForFunction(() => fetch(location.href, { cache: "no-store", signal: AbortSignal.timeout(1_000) }).then(() => false, ({ name }) => name !== "TimeoutError"));
}
