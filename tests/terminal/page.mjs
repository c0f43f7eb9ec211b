// Terminals in a page: a stock client that knows an address and nothing else, and this package.

import { build } from "esbuild";
import { chromium } from "playwright-core";

import { assert, equal, eventually } from "../e2e/assert.js";
import { withSandbox } from "../e2e/context.js";
import { CHROMIUM_ARGUMENTS } from "../harness/arguments.mjs";
import { required } from "../harness/settings.mjs";

/** What a page writes that wants xterm.js on a WebSocket. */
const STOCK = `
import { AttachAddon } from "@xterm/addon-attach";
import { Terminal } from "@xterm/xterm";
window.attach = (url) => {
  const terminal = new Terminal({ cols: 80, rows: 24 });
  const socket = new WebSocket(url);
  terminal.open(document.body);
  terminal.loadAddon(new AttachAddon(socket));
  window.ended = new Promise((resolve) => socket.addEventListener("close", ({ code, reason }) => resolve([code, reason])));
  window.screen_ = () => Array.from({ length: terminal.buffer.active.length }, (_, y) => terminal.buffer.active.getLine(y).translateToString(true)).join("\\n");
  window.type = (text) => terminal.input(text, true);
};
`;

const inPage = (run) => async (ctx) => {
  const browser = await chromium.launch({ executablePath: required("CHROME"), args: CHROMIUM_ARGUMENTS });
  try {
    const page = await browser.newPage();
    await page.goto(`${ctx.origin}/tests/broker/page.html`);
    await withSandbox(ctx, (sandbox) => run(page, sandbox, ctx), { secure: true });
  } finally {
    await browser.close();
  }
};

/** The sandbox's address as a page has it. */
function addressOf(sandbox, ctx) {
  const url = new URL(`ws://49983-${sandbox.sandboxId}.localhost:${new URL(ctx.apiUrl).port}/terminal`);
  url.searchParams.set("token", sandbox.toToken().envdAccessToken);
  return url.href;
}

export const cases = [
  {
    name: "page: @xterm/addon-attach dials one address and has a shell",
    timeoutMs: 120_000,
    run: inPage(async (page, sandbox, ctx) => {
      const bundle = await build({ stdin: { contents: STOCK, resolveDir: import.meta.dirname }, bundle: true, write: false, format: "iife", logLevel: "warning" });
      await page.addScriptTag({ content: bundle.outputFiles[0].text });
      await page.evaluate((url) => window.attach(url), `${addressOf(sandbox, ctx)}&cols=80&rows=24`);
      const shows = (pattern) => eventually(async () => pattern.test(await page.evaluate(() => window.screen_())), `${pattern}`);
      await shows(/\$ *$/m);
      await page.evaluate(() => window.type("stty size; echo h\u00e9llo \u{1f600} $((6*7))\r"));
      await shows(/^24 80$/m);
      await shows(/^h\u00e9llo \u{1f600} 42$/mu);
      await page.evaluate(() => window.type("exit 3\r"));
      equal(await page.evaluate(() => window.ended), [4503, "exit 3"]);
    }),
  },
  {
    name: "page: openTerminal of an attached sandbox, with streams",
    timeoutMs: 120_000,
    run: inPage(async (page, sandbox) => {
      const facts = await page.evaluate(async (token) => {
        const [{ Sandbox }, { openTerminal, terminalUrl }] = await Promise.all([import("/pkg/dist/index.js"), import("/pkg/dist/terminal.js")]);
        const own = await Sandbox.attach(token);
        const terminal = await openTerminal(own, { cols: 70, rows: 20 });
        const writer = terminal.input.getWriter();
        await writer.write("stty size; echo done-$((1+1)); exit 4\n");
        const text = await new Response(terminal.output).text();
        const refused = await openTerminal(`${await terminalUrl(own)}x`).then(String, ({ name, code }) => `${name} ${code}`);
        return { text, exit: await terminal.exit, refused };
      }, sandbox.toToken());
      assert(/20 70\r\ndone-2\r\n/.test(facts.text), facts.text);
      equal([facts.exit.exitCode, facts.refused], [4, "AuthenticationError unauthenticated"]);
    }),
  },
  {
    name: "page: of another machine it is refused",
    timeoutMs: 120_000,
    run: inPage(async (page, sandbox, ctx) => {
      await page.route("http://evil.example/", (route) => route.fulfill({ contentType: "text/html", body: "<!doctype html>" }));
      await page.goto("http://evil.example/");
      const end = await page.evaluate((url) => new Promise((resolve) => {
        const socket = new WebSocket(url);
        socket.onopen = () => resolve("open");
        socket.onclose = ({ code }) => resolve(code);
      }), addressOf(sandbox, ctx));
      equal(end, 1006);
    }),
  },
];
