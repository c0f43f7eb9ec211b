// The sandbox of the page: its life, and what the page says when something is wrong with it.

import { assert, equal, eventually } from "../e2e/assert.js";
import { control, ended, enter, gone, notice, open, openReady, ready, run, save, state } from "./steps.js";

export const cases = [
  {
    name: "session: nothing runs until asked for; start, extend, end",
    async run(ctx) {
      const { page } = ctx;
      const requests = [];
      page.on("request", (request) => requests.push(request.url()));
      await open(ctx);
      await state(page, "No sandbox");
      assert(!requests.some((url) => url.startsWith(ctx.apiUrl)), `requests before the first click: ${requests}`);

      await page.getByRole("button", { name: "Start a sandbox" }).click();
      const id = await ready(page);
      equal((await control(ctx, "GET", `/sandboxes/${id}`)).status, 200, "status of the sandbox");
      await page.getByText(/ends in\s+[45]:\d\d/).waitFor();

      const left = async () => new Date((await (await control(ctx, "GET", `/sandboxes/${id}`)).json()).endAt) - Date.now();
      await control(ctx, "POST", `/sandboxes/${id}/timeout`, { timeout: 60 });
      assert((await left()) < 100_000, "a minute is left");
      await page.getByRole("button", { name: "Reset to 5 minutes" }).click();
      await page.locator("#code").filter({ hasText: "sandbox.setTimeout(300_000)" }).waitFor();
      await eventually(async () => (await left()) > 200_000, "five minutes are left");
      await page.getByRole("button", { name: "End it" }).click();
      await state(page, "No sandbox");
      await gone(ctx, id);
    },
  },
  {
    name: "session: leaving the page ends the sandbox",
    async run(ctx) {
      const id = await openReady(ctx);
      await ctx.page.goto("about:blank");
      await gone(ctx, id);
    },
  },
  {
    name: "session: closing the tab ends the sandbox",
    async run(ctx) {
      const id = await openReady(ctx);
      await ctx.page.close({ runBeforeUnload: true });
      await gone(ctx, id);
    },
  },
  {
    name: "session: a sandbox killed elsewhere is announced, and a new one takes its place",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      const id = await openReady(ctx);
      await save(page, "/home/user/kept.txt", "only in the editor now");
      await control(ctx, "DELETE", `/sandboxes/${id}`);

      equal((await run(page, "echo anybody there")).state, "error");
      await state(page, "Gone");
      const panel = await notice(page, /SandboxNotFoundError|TimeoutError/);
      await panel.getByText(/sandbox_not_found|sandbox_gone/).waitFor();
      equal(await page.getByRole("textbox", { name: "Contents of the file" }).inputValue(), "only in the editor now", "text");

      await panel.getByRole("button", { name: "Start a new sandbox" }).click();
      const next = await ready(page);
      assert(next !== id, "another sandbox");
      equal(await page.getByRole("alert").count(), 0, "error panels after the restart");
      equal((await run(page, "echo back again")).output, "back again");
      await page.getByText("Not in the sandbox yet").waitFor();
    },
  },
  {
    name: "session: a sandbox killed under a running command ends the command with an error",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      const id = await openReady(ctx);
      const entry = await enter(page, "echo running; sleep 300");
      await entry.getByText("running", { exact: true }).first().waitFor();
      await entry.locator(".line").filter({ hasText: "running" }).waitFor();
      await control(ctx, "DELETE", `/sandboxes/${id}`);
      const { state: end, output } = await ended(entry);
      equal([end, output], ["error", "running"]);
      await state(page, "Gone");
      await page.locator("#session").getByRole("button", { name: "Start a new sandbox" }).click();
      assert((await ready(page)) !== id, "another sandbox");
    },
  },
  {
    name: "session: when the server is down the page says so, and trying again works",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await page.route(`${ctx.apiUrl}/**`, (route) => route.abort("connectionrefused"));
      await open(ctx);
      await page.getByRole("button", { name: "Start a sandbox" }).click();
      const panel = await notice(page, "ConnectionError");
      await panel.getByText("connection_failed").waitFor();
      await panel.getByText("cargo xtask demo").waitFor();
      await state(page, "No sandbox");
      await page.unrouteAll();
      await panel.getByRole("button", { name: "Try again" }).click();
      await ready(page);
      equal(await page.getByRole("alert").count(), 0, "error panels");
    },
  },
  {
    name: "session: a refused key is an AuthenticationError, and no key is shown, kept or logged",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      const wrong = "e2b_00000000000000000000000000000000deadbeef";
      const logged = [];
      page.on("console", (message) => logged.push(message.text()));
      await page.route("**/local.json", (route) => route.fulfill({ json: { apiUrl: ctx.apiUrl, apiKey: wrong } }));
      await open(ctx);
      await page.getByRole("button", { name: "Start a sandbox" }).click();
      await (await notice(page, "AuthenticationError")).getByText("unauthenticated").waitFor();
      await page.unrouteAll();
      await page.getByRole("button", { name: "Try again" }).click();
      await ready(page);
      const seen = await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }));
      for (const key of [wrong, ctx.apiKey]) assert(!(seen + logged.join("\n")).includes(key), "a key was shown");
    },
  },
  {
    name: "session: stopping a command that waits for the sandbox does not wait",
    async run(ctx) {
      const { page } = ctx;
      let release;
      const held = new Promise((resolve) => (release = resolve));
      await page.route("**/local.json", async (route) => (await held, route.continue()));
      await open(ctx);
      const entry = await enter(page, "echo never");
      await page.getByRole("button", { name: "Stop" }).click();
      equal((await ended(entry)).state, "stopped");
      await state(page, "Starting");
      release();
      await ready(page);
      equal(await entry.getAttribute("data-state"), "stopped");
    },
  },
  {
    name: "session: a missing package is named",
    networkErrors: true,
    async run(ctx) {
      await open(ctx);
      await ctx.page.route("**/assets/**", (route) => route.fulfill({ status: 404 }));
      await ctx.page.getByRole("button", { name: "Start a sandbox" }).click();
      await (await notice(ctx.page, "DemoError")).getByText("cargo xtask demo").waitFor();
    },
  },
];
