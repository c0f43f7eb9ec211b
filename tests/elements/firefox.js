// The elements in Firefox, as far as it may differ: what draws, what sanitises, what streams. Puppeteer drives it, whose pages have
// other methods than the rest of these cases use, so that these are asked from inside of the page.

import { assert, equal, eventually } from "../e2e/assert.js";
import { HOSTILE, LEAK, display } from "./results.js";

/** Opens the page with the strict policy. */
async function open({ page, origin }) {
  await page.goto(`${origin}/tests/elements/page.html`);
  await page.waitForFunction(() => customElements.get("sandbox-files") !== undefined);
}

/** Puts code into a cell and runs it; answers the state that it ended with, and the text of its output. */
const run = (page, id, code) =>
  page.evaluate(
    async (id, code) => {
      const cell = document.getElementById(id);
      cell.code = code;
      const state = await cell.run();
      return [state, cell.shadowRoot.querySelector(".output").innerText.trim()];
    },
    id,
    code,
  );

/** The frame of an HTML result, once it is there: how many elements of each kind it has. */
const inFrame = (page, id, selectors) =>
  page.evaluate(
    async (id, selectors) => {
      const root = document.getElementById(id).shadowRoot;
      const ready = () => root.querySelector("iframe")?.contentDocument?.body?.childElementCount > 0 && !root.querySelector("[aria-busy=true]");
      while (!ready()) await new Promise(requestAnimationFrame);
      return selectors.map((selector) => root.querySelector("iframe").contentDocument.querySelectorAll(selector).length);
    },
    id,
    selectors,
  );

export const cases = [
  {
    name: "cells run, stream, fail, stop, and share variables",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      equal(await run(page, "first", "x = 42\nprint(x)"), ["ok", "42"]);
      equal(await run(page, "second", "x + 1"), ["ok", "43"]);
      equal(await run(page, "shell", "echo from bash"), ["ok", "from bash"]);
      const [state, text] = await run(page, "first", "1 / 0");
      equal(state, "failed");
      assert(text.includes("ZeroDivisionError"), text);
      await page.evaluate(() => {
        const cell = document.getElementById("first");
        cell.code = "import time\nprint('begun', flush=True)\ntime.sleep(600)";
        globalThis.ended = cell.run();
      });
      await page.waitForFunction(() => document.getElementById("first").shadowRoot.querySelector(".output").innerText.includes("begun"));
      equal(await page.evaluate(() => (document.getElementById("first").stop(), globalThis.ended)), "stopped");
    },
  },
  {
    name: "a DataFrame is a table, a plot a drawing, and hostile markup runs nothing and sends nothing",
    policyNotices: true,
    async run(ctx) {
      const { page } = ctx;
      const left = [];
      page.on("request", (request) => request.url().startsWith(LEAK) && left.push(request.url()));
      await open(ctx);
      equal((await run(page, "first", "import pandas as pd\npd.DataFrame({'a': range(5)})"))[0], "ok");
      equal(await inFrame(page, "first", ["tr", "td"]), [6, 5]);
      equal((await run(page, "second", "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.show()"))[0], "ok");
      await page.waitForFunction(() => document.getElementById("second").shadowRoot.querySelector("svg.chart path.line-path"));
      equal((await run(page, "first", display({ "text/html": HOSTILE, "text/plain": "x" })))[0], "ok");
      equal(await inFrame(page, "first", ["script, iframe, object, embed, form, input, link, base, video, audio, style", "a[href]"]), [0, 0]);
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
      equal([await page.evaluate(() => document.documentElement.dataset.hacked), left], [undefined, []]);
    },
  },
  {
    name: "the editor, the terminal and the files can be used",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await page.waitForFunction(() => document.getElementById("first").shadowRoot.querySelector(".cm-content"));
      await page.evaluate(() => document.getElementById("first").shadowRoot.querySelector(".cm-content").focus());
      await page.keyboard.down("Control");
      await page.keyboard.press("a");
      await page.keyboard.up("Control");
      await page.keyboard.type("open('made.txt', 'w').write('x')");
      await page.keyboard.down("Control");
      await page.keyboard.press("Enter");
      await page.keyboard.up("Control");
      await page.waitForFunction(() => document.getElementById("first").state === "ok");
      await page.waitForFunction(() => document.getElementById("files").shadowRoot.textContent.includes("made.txt"));

      await page.evaluate(() => {
        const terminal = document.getElementById("terminal");
        // What is out of sight is not drawn.
        terminal.scrollIntoView();
        return terminal.open();
      });
      await page.waitForFunction(() => document.getElementById("terminal").state === "ready");
      const rows = () => page.evaluate(() => [...document.getElementById("terminal").shadowRoot.querySelectorAll(".xterm-rows > *")].map((row) => row.textContent.trim()).join("\n"));
      await eventually(async () => /\$$/m.test(await rows()), "a prompt");
      await page.evaluate(() => document.getElementById("terminal").shadowRoot.querySelector("textarea").focus());
      await page.keyboard.type("echo $((6*7)); ls");
      await page.keyboard.press("Enter");
      await eventually(async () => /^42\nmade\.txt/m.test(await rows()), "what was typed and what came of it");
    },
  },
];
