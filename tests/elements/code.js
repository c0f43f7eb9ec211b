// <sandbox-session> and <sandbox-code>: running, stopping, failing, losing the sandbox.

import { assert, equal } from "../e2e/assert.js";
import { cell, control, ended, goOffline, gone, open, output, run, sandboxId, session, start, state } from "./steps.js";

/** What a back end says to a visitor who has enough. */
const REFUSAL = { status: 429, json: { error: { code: "too_many_sandboxes", message: "Only three at a time.", retryable: true } } };

export const cases = [
  {
    name: "code: nothing is asked for until the first run; cells share variables unless they are apart",
    async run(ctx) {
      const { page } = ctx;
      const asked = [];
      page.on("request", (request) => asked.push(new URL(request.url()).pathname));
      await open(ctx);
      await session(page, "idle");
      assert(!asked.includes("/sandbox") && !asked.includes("/pkg/dist/index.js"), "requests before the first run");

      equal(await run(page, "first"), "ok");
      equal((await output(page, "first").innerText()).trim(), "42");
      equal(await run(page, "second"), "ok");
      equal((await output(page, "second").innerText()).trim(), "43");
      equal(await run(page, "apart"), "ok");
      equal((await output(page, "apart").innerText()).trim(), "False");
      equal(await run(page, "shell", "cat /etc/hostname > name; echo kept"), "ok");
      equal((await output(page, "shell").innerText()).trim(), "kept");
      await cell(page, "second").getByText("[2]", { exact: true }).waitFor();
      equal(asked.filter((path) => path === "/sandbox").length, 1, "sandboxes asked for");
      const id = await sandboxId(page);
      equal((await control(ctx, "GET", `/sandboxes/${id}`)).status, 200);
      await page.evaluate(() => document.querySelector("sandbox-session").setAttribute("on-disconnect", "kill"));
      await page.goto("about:blank");
      await gone(ctx, id);
    },
  },
  {
    name: "code: properties that are set before the elements are defined are kept",
    async run(ctx) {
      const { page } = ctx;
      await page.addInitScript(() => {
        const early = () => {
          Object.assign(document.getElementById("first"), { code: "echo early", language: "bash" });
          document.getElementById("files").path = "/tmp";
        };
        // Modules run after that.
        document.addEventListener("readystatechange", early, { once: true });
      });
      await open(ctx);
      equal(await run(page, "first"), "ok");
      equal((await output(page, "first").innerText()).trim(), "early");
      equal(await page.evaluate(() => document.getElementById("files").path), "/tmp");
    },
  },
  {
    name: "code: the text is there without JavaScript, and the editor takes its place",
    async run(ctx) {
      const { page, context, origin } = ctx;
      const plain = await ctx.browser.newContext({ javaScriptEnabled: false });
      try {
        const bare = await plain.newPage();
        await bare.goto(`${origin}/tests/elements/page.html`);
        await bare.getByText("x = 6 * 7").waitFor();
        await bare.goto(`${origin}/`);
        await bare.locator("p.noscript").waitFor();
        const code = await bare.locator("sandbox-code#plot").innerText();
        assert(/^import matplotlib[^]*\nfor city in months:\n    plt/.test(code), `the code as it should be read: ${code}`);
      } finally {
        await plain.close();
      }
      let release;
      const held = new Promise((resolve) => (release = resolve));
      await page.route("**/elements-codemirror-*", async (route) => (await held, route.continue()));
      await open({ ...ctx, context });
      equal(await cell(page, "first").locator(".source").innerText(), "x = 6 * 7\nprint(x)", "before the editor");
      release();
      const editor = cell(page, "first").getByRole("textbox", { name: "First cell" });
      await editor.waitFor();
      await editor.click();
      await page.keyboard.press("ControlOrMeta+A");
      await page.keyboard.type("1 + 1");
      await page.keyboard.press("ControlOrMeta+Enter");
      equal(await ended(page, "first"), "ok");
      equal((await output(page, "first").innerText()).trim(), "2");
      await cell(page, "first").getByRole("button", { name: "Reset" }).click();
      equal(await cell(page, "first").evaluate((element) => element.code), "x = 6 * 7\nprint(x)");
    },
  },
  {
    name: "code: output streams, and a stopped run keeps its variables",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await start(page, "first", "import time\ny = 5\nprint('begun', flush=True)\ntime.sleep(600)");
      await output(page, "first").getByText("begun").waitFor();
      await state(page, "first", "running");
      await cell(page, "first").getByRole("button", { name: /^Stop/ }).click();
      equal(await ended(page, "first"), "stopped");
      await output(page, "first").getByText("begun").waitFor();
      equal(await run(page, "second", "y"), "ok");
      equal((await output(page, "second").innerText()).trim(), "5");
      // Escape does the same.
      await start(page, "first", "print('again', flush=True)\ntime.sleep(600)");
      await output(page, "first").getByText("again").waitFor();
      await page.keyboard.press("Escape");
      equal(await ended(page, "first"), "stopped");
    },
  },
  {
    name: "code: a failure shows its name and a traceback in colours",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      equal(await run(page, "first", "def f():\n    return 1 / 0\nf()"), "failed");
      const failure = output(page, "first").locator(".failure");
      await failure.locator(".failure-name").getByText("ZeroDivisionError").waitFor();
      await failure.getByText("return 1 / 0").first().waitFor();
      const traceback = await failure.locator(".text").innerText();
      assert(traceback.startsWith("Cell In[1]"), `the head of the traceback: ${traceback.slice(0, 200)}`);
      equal(await run(page, "second", "raise ValueError('\\033[31mred\\033[0m and plain')"), "failed");
      equal(await output(page, "second").locator(".text .in-1").first().innerText(), "red");
      assert(!(await output(page, "second").innerText()).includes("\u001b"), "escape characters");
      await cell(page, "first").getByText(/^Failed: ZeroDivisionError · /).first().waitFor();
      equal(await run(page, "first", "import sys\nprint('out')\nprint('err', file=sys.stderr)"), "ok");
      equal(await output(page, "first").locator("[data-stream=stderr]").first().innerText(), "err");
    },
  },
  {
    name: "code: a sandbox that was killed elsewhere is announced, and a new one takes its place",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      equal(await run(page, "first"), "ok");
      const id = await sandboxId(page);
      await control(ctx, "DELETE", `/sandboxes/${id}`);
      equal(await run(page, "second"), "error");
      await session(page, "ended");
      const notice = cell(page, "second").getByRole("alert");
      await notice.getByText("sandbox_gone").waitFor();
      await notice.getByRole("button", { name: "Start a new sandbox" }).click();
      await session(page, "ready");
      assert((await sandboxId(page)) !== id, "another sandbox");
      equal(await run(page, "second", "1"), "ok");
    },
  },
  {
    name: "code: a dropped connection is shown, and found again",
    networkErrors: true,
    async run(ctx) {
      const { page, context } = ctx;
      await open(ctx);
      // It would find out too, and maybe first.
      await page.evaluate(() => document.querySelector("sandbox-files").remove());
      equal(await run(page, "first", "z = 3"), "ok");
      const id = await sandboxId(page);
      await goOffline(ctx);
      equal(await run(page, "second", "z"), "error");
      await session(page, "lost");
      await page.getByText("Connection lost").waitFor();
      await cell(page, "second").getByRole("alert").getByText("connection_failed").waitFor();
      // What is run now waits for the sandbox.
      await start(page, "second", "z");
      await state(page, "second", "waiting");
      await context.setOffline(false);
      equal(await ended(page, "second"), "ok");
      equal(await sandboxId(page), id, "the same sandbox");
      await session(page, "ready");
      equal((await output(page, "second").innerText()).trim(), "3");
    },
  },
  {
    name: "code: an expired token is renewed, for the same sandbox",
    async run(ctx) {
      const { page } = ctx;
      const asked = [];
      await page.route("**/sandbox{,/**}", async (route) => {
        asked.push(new URL(route.request().url()).pathname);
        const response = await route.fetch();
        const token = await response.json();
        // The first is over as soon as it is there.
        if (asked.length === 1) token.expiresAt = new Date(Date.now() - 1000).toISOString();
        await route.fulfill({ response, json: token });
      });
      await open(ctx);
      equal(await run(page, "first"), "ok");
      equal(await run(page, "second"), "ok");
      equal((await output(page, "second").innerText()).trim(), "43");
      equal(asked, ["/sandbox", "/sandbox/refresh"]);
    },
  },
  {
    name: "code: a back end that refuses says why, and trying again works",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await page.route("**/sandbox", (route) => route.fulfill(REFUSAL));
      await open(ctx);
      equal(await run(page, "first"), "error");
      await session(page, "idle");
      await cell(page, "first").getByRole("alert").getByText("Only three at a time.").waitFor();
      await page.unroute("**/sandbox");
      await cell(page, "first").getByRole("button", { name: "Run again" }).click();
      equal(await ended(page, "first"), "ok");
    },
  },
  {
    name: "code: after a reload the same sandbox is found again, until it is ended",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      equal(await run(page, "first"), "ok");
      const id = await sandboxId(page);
      await page.reload();
      await session(page, "idle");
      equal(await run(page, "second"), "ok");
      equal((await output(page, "second").innerText()).trim(), "43", "a variable of the former page");
      equal(await sandboxId(page), id);
      await page.getByRole("button", { name: "Restart" }).click();
      await gone(ctx, id);
      await session(page, "ready");
      const next = await sandboxId(page);
      assert(next !== id, "another sandbox");
      await page.getByRole("button", { name: "End" }).click();
      await session(page, "ended");
      await gone(ctx, next);
      await page.getByRole("button", { name: "Start a new sandbox" }).click();
      await session(page, "ready");
    },
  },
  {
    name: "code: a back end that does not end sandboxes is no way to another one, and the bar says so",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await page.route("**/sandbox/kill", (route) => route.fulfill({ status: 403, json: { error: { code: "scope_missing", message: "No." } } }));
      await open(ctx);
      equal(await run(page, "first"), "ok");
      const id = await sandboxId(page);
      await page.getByRole("button", { name: "Restart" }).click();
      await page.locator("sandbox-session").getByRole("alert").getByText("sandbox_kept").waitFor();
      equal(await run(page, "second"), "ok");
      equal(await sandboxId(page), id);
    },
  },
  {
    name: "code: 100 MB of output leave the page quick and its memory flat, and can be downloaded",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await cell(page, "first").evaluate((element) => element.setAttribute("timeout", "0"));
      await start(page, "first", "line = 'x' * 99 + '\\n'\nfor i in range(1000):\n    print(line * 1000, end='')\nprint('the end')");
      await output(page, "first").getByText("earlier lines").waitFor();
      // The page answers in the middle of it.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
      const heap = () => page.evaluate(() => performance.memory.usedJSHeapSize);
      const before = await heap();
      equal(await ended(page, "first"), "ok");
      const grown = (await heap()) - before;
      assert(grown < 60e6, `the heap grew by ${grown} bytes`);
      await output(page, "first").getByText("the end", { exact: true }).waitFor();
      const shown = await output(page, "first").locator(".lines").evaluate((lines) => [lines.childElementCount, lines.textContent.length]);
      assert(shown[0] > 100 && shown[0] <= 1_000 && shown[1] <= 200_000, `${shown} lines and characters`);
      const [download] = await Promise.all([page.waitForEvent("download"), output(page, "first").getByRole("button", { name: "Download" }).click()]);
      let size = 0;
      for await (const chunk of await download.createReadStream()) size += chunk.length;
      equal(size, 100_000_008);
      // What is not that much can be shown whole.
      equal(await run(page, "first", "for i in range(5000): print(i)"), "ok");
      await output(page, "first").getByRole("button", { name: "Show all" }).click();
      await output(page, "first").getByText("All 5,000 lines.").waitFor();
      equal(await output(page, "first").locator(".line").count(), 5000);
    },
  },
];
