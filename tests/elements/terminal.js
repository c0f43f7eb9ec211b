// <sandbox-terminal>: typing, colours, resizing, floods, lost connections.

import { assert, equal, eventually } from "../e2e/assert.js";
import { withLane } from "../e2e/context.js";
import { control, open, run, sandboxId, session } from "./steps.js";

const terminal = (page) => page.locator("sandbox-terminal");

const state = (page, expected) => page.waitForFunction((expected) => document.querySelector("sandbox-terminal").state === expected, expected);

/** Opens the shell and waits for its prompt. */
async function openShell(page) {
  await terminal(page).getByRole("button", { name: "Open a terminal" }).click();
  await state(page, "ready");
  await shows(page, /\$$/m);
}

/** Types a line. */
async function type(page, text) {
  await terminal(page).locator("textarea").focus();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

const rows = (page) => terminal(page).locator(".xterm-rows").evaluate((rows) => [...rows.children].map((row) => row.textContent.replaceAll("\u00a0", " ").trimEnd()).join("\n"));

const shows = (page, pattern) => eventually(async () => pattern.test(await rows(page)), `${pattern} on the screen`);

export const cases = [
  {
    name: "terminal: typing, colours and the size arrive, under a strict policy",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await openShell(page);
      await type(page, "echo $((6*7)); printf '\\033[38;2;10;200;30mtrue colour\\033[0m\\n'");
      await shows(page, /^42$/m);
      await shows(page, /^true colour/m);
      // A colour of its own comes as a style attribute, which the policy would block.
      const colour = await terminal(page).locator(".xterm-rows span").filter({ hasText: "true colour" }).last().evaluate((span) => getComputedStyle(span).color);
      equal(colour, "rgb(10, 200, 30)");
      await type(page, "stty size");
      await shows(page, /^\d+ \d+$/m);
      await page.setViewportSize({ width: 420, height: 800 });
      await type(page, "clear; stty size | sed s/^/size:/");
      await eventually(async () => Number(/^size:\d+ (\d+)$/m.exec(await rows(page))?.[1]) < 60 || (await type(page, "clear; stty size | sed s/^/size:/"), false), "a narrower shell");
      await type(page, "exit");
      await state(page, "ended");
      await terminal(page).getByRole("button", { name: "Open another" }).click();
      await state(page, "ready");
    },
  },
  {
    name: "terminal: a flood neither stops the page nor outgrows what the terminal keeps",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await openShell(page);
      await type(page, "yes");
      await shows(page, /^y\ny\ny/m);
      const heap = () => page.evaluate(() => performance.memory.usedJSHeapSize);
      const drawn = (count) => page.evaluate((count) => new Promise((resolve) => {
        const next = () => (count-- > 0 ? requestAnimationFrame(next) : resolve());
        next();
      }), count);
      await drawn(20);
      const before = await heap();
      await drawn(60);
      const grown = (await heap()) - before;
      assert(grown < 60e6, `the heap grew by ${grown} bytes`);
      await terminal(page).locator("textarea").focus();
      await page.keyboard.press("Control+C");
      await shows(page, /\^C[^]*\$$/m);
      await type(page, "clear; echo af''ter");
      await shows(page, /^after$/m);
    },
  },
  {
    name: "terminal: after a dropped connection it is the same shell",
    networkErrors: true,
    run: (ctx) =>
      withLane(ctx, async (lane) => {
        const { page } = ctx;
        // The sandbox is reached through the lane, which cuts the shell's output off, and refuses the first attempt to go on.
        const [target, through] = [ctx.apiUrl, lane.url].map((url) => `localhost:${new URL(url).port}`);
        await page.route("**/sandbox", async (route) => {
          const response = await route.fetch();
          await route.fulfill({ response, body: (await response.text()).replaceAll(target, through) });
        });
        await lane.rules([
          { match: "/process.Process/Start", times: 1, fault: { cut: 4_000 } },
          { match: "/process.Process/Connect", times: 1, fault: { refuse: true } },
        ]);
        await open(ctx);
        await terminal(page).evaluate((element) => {
          window.states = [];
          new MutationObserver(() => window.states.push(element.state)).observe(element, { attributeFilter: ["state"] });
        });
        await openShell(page);
        await type(page, "kept=here; seq 3000");
        await page.waitForFunction(() => window.states.includes("lost") && window.states.at(-1) === "ready");
        await type(page, "clear; echo \"<$kept>\"");
        await shows(page, /^<here>$/m);
      }),
  },
  {
    name: "terminal: over a WebSocket, typing, the size and the end arrive, and a lost connection is found again",
    async run(ctx) {
      const { page } = ctx;
      const dialled = [];
      // The first connection can be cut off; the server keeps its shell.
      await page.routeWebSocket(/\/terminal\?/, (route) => {
        const server = route.connectToServer();
        dialled.push({ url: new URL(route.url()), route, server });
      });
      await open(ctx);
      await terminal(page).evaluate((element) => {
        element.setAttribute("transport", "websocket");
        window.states = [];
        new MutationObserver(() => window.states.push(element.state)).observe(element, { attributeFilter: ["state"] });
      });
      await openShell(page);
      await type(page, "kept=here; echo $((6*7))");
      await shows(page, /^42$/m);
      await page.setViewportSize({ width: 420, height: 800 });
      await eventually(async () => (await type(page, "clear; stty size | sed s/^/size:/"), Number(/^size:\d+ (\d+)$/m.exec(await rows(page))?.[1]) < 60), "a narrower shell");
      const [{ url, route, server }] = dialled;
      assert(url.searchParams.has("cols") && !url.searchParams.has("pid"), "a new shell");
      await server.close({ code: 4000 });
      await route.close({ code: 1012 });
      await page.waitForFunction(() => window.states.includes("lost") && window.states.at(-1) === "ready");
      assert(dialled[1].url.searchParams.has("pid"), "the same shell");
      await type(page, "clear; echo \"<$kept>\"");
      await shows(page, /^<here>$/m);
      await type(page, "exit");
      await state(page, "ended");
      await terminal(page).getByRole("button", { name: "Open another" }).click();
      await state(page, "ready");
      await terminal(page).getByRole("button", { name: "Close" }).click();
      await state(page, "ended");
    },
  },
  {
    name: "terminal: an address in place of a session, and one that is wrong",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await page.evaluate(async () => {
        const sandbox = await document.querySelector("sandbox-session").ensure();
        const { terminalUrl } = await import("/pkg/dist/terminal.js");
        const element = document.createElement("sandbox-terminal");
        element.id = "dialled";
        element.socket = () => terminalUrl(sandbox, { cwd: "/tmp" });
        document.querySelector("sandbox-terminal").remove();
        document.querySelector("main").append(element);
      });
      await openShell(page);
      await type(page, "pwd");
      await shows(page, /^\/tmp$/m);
      await terminal(page).getByRole("button", { name: "Close" }).click();
      await state(page, "ended");
      await page.evaluate(() => void (document.getElementById("dialled").socket = "ws://x.localhost:1/?token=a-secret"));
      await terminal(page).getByRole("button", { name: "Open another" }).click();
      const notice = terminal(page).getByRole("alert");
      await notice.waitFor();
      const told = await notice.textContent();
      assert(told.includes("cannot be reached") && !told.includes("a-secret"), told);
    },
  },
  {
    name: "terminal: it ends with its sandbox, and opens again in the next one",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await openShell(page);
      await control(ctx, "DELETE", `/sandboxes/${await sandboxId(page)}`);
      await state(page, "ended");
      await session(page, "ended");
      await page.locator("sandbox-session").evaluate((element) => element.restart());
      await terminal(page).getByRole("button", { name: "Open another" }).click();
      await state(page, "ready");
      await shows(page, /\$$/m);
      equal(await run(page, "first", "1"), "ok");
    },
  },
];
