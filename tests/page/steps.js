// What visitors do on the page and where they look, in the words of the page. Everything waits for what it names.

import { eventually } from "../e2e/assert.js";

/** Opens the page. */
export async function open({ page, origin }) {
  await page.goto(`${origin}/playground.html`);
  await page.getByRole("button", { name: "Say hello" }).waitFor();
}

/** Opens the page and starts a sandbox; answers its id. */
export async function openReady(ctx) {
  await open(ctx);
  await ctx.page.getByRole("button", { name: "Start a sandbox" }).click();
  return ready(ctx.page);
}

/** Waits for a sandbox with its files listed; answers its id. */
export async function ready(page) {
  await state(page, "Ready");
  await page.locator(".list-entry").first().waitFor();
  return page.locator("#session-id").textContent();
}

/** Waits until the bar shows that state of the sandbox. */
export const state = (page, text) => page.locator("#session-state").filter({ hasText: text }).waitFor();

/** Enters a command and answers its part of the terminal, without waiting for its end. */
export async function enter(page, command) {
  const before = await page.locator(".entry").count();
  await page.getByRole("textbox", { name: "Command" }).fill(command);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const entry = page.locator(".entry").nth(before);
  await entry.waitFor();
  return entry;
}

/** Enters a command and waits for its end; answers what the terminal shows of it. */
export async function run(page, command) {
  const entry = await enter(page, command);
  return ended(entry);
}

/** Waits for the end of a command; answers `{ state, output, result }`. */
export async function ended(entry) {
  await entry.and(entry.page().locator(":not([data-state=running])")).waitFor();
  return {
    state: await entry.getAttribute("data-state"),
    output: await entry.locator(".lines").innerText(),
    result: await entry.locator(".result").innerText(),
  };
}

/** Types a path and a text, saves, and waits until the page says that it is done. */
export async function save(page, path, text) {
  await page.getByRole("textbox", { name: "Path" }).fill(path);
  await page.getByRole("textbox", { name: "Contents of the file" }).fill(text);
  await page.getByRole("button", { name: "Save" }).click();
  await editorState(page, "As in the sandbox");
}

/** Opens what is at a path, without waiting. */
export async function openPath(page, path) {
  await page.getByRole("textbox", { name: "Path" }).fill(path);
  await page.getByRole("button", { name: "Open", exact: true }).click();
}

export const editorState = (page, text) => page.locator("#editor-state").filter({ hasText: text }).waitFor();

/** Waits for an error panel of that class; answers it. */
export async function notice(page, name) {
  const panel = page.getByRole("alert").filter({ hasText: name });
  await panel.waitFor();
  return panel;
}

/** Asks the control plane directly, as somebody else would. */
export function control({ apiUrl, apiKey }, method, path, body) {
  const headers = { "X-API-Key": apiKey, ...(body && { "Content-Type": "application/json" }) };
  return fetch(`${apiUrl}${path}`, { method, headers, body: body && JSON.stringify(body) });
}

/** Waits until the control plane no longer knows the sandbox. */
export const gone = (ctx, id) => eventually(async () => (await control(ctx, "GET", `/sandboxes/${id}`)).status === 404, `the end of ${id}`);
