// What axe-core finds in every state, in both themes and at two widths; with TEST_SHOTS a picture of each is kept there.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { equal } from "../e2e/assert.js";
import { control, goOffline, open, output, run, sandboxId, session, start, state } from "./steps.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const SIZES = [
  { width: 1280, height: 900 },
  { width: 390, height: 844 },
];

/** Looks at the page as it is, in every theme and size. */
async function look(page, name) {
  for (const theme of ["light", "dark"]) {
    for (const size of SIZES) {
      await page.setViewportSize(size);
      await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
      // Colours that are on their way to others are neither.
      await page.evaluate(() => Promise.all(document.getAnimations({ subtree: true }).filter((one) => one instanceof CSSTransition).map((one) => one.finished)));
      if (process.env.TEST_SHOTS) await page.screenshot({ path: `${process.env.TEST_SHOTS}/${name}-${theme}-${size.width}.png`, fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      equal(wide <= 0, true, `${name} at ${size.width} px does not scroll sideways`);
      // Each theme and each width once: looking takes its time.
      if ((theme === "dark") !== (size === SIZES[1])) continue;
      // Evaluated by the browser's driver, which no policy of the page forbids.
      if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
      // The iframes of results have no scripts, so that axe cannot look into them; what is outside counts.
      const { violations } = await page.evaluate(() => window.axe.run(document, { iframes: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, any }) => `${html.slice(0, 120)} ${any[0]?.message ?? ""}`).join(" | ")}`);
      equal(found, [], `${name}, ${theme}, ${size.width} px`);
    }
  }
}

export const cases = [
  {
    name: "access: axe finds nothing in any state, theme and width",
    timeoutMs: 300_000,
    networkErrors: true,
    policyNotices: true,
    // Nothing moves, so that every picture is of an end.
    context: { reducedMotion: "reduce" },
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      await page.locator("sandbox-code#first [role=textbox]").waitFor();
      await look(page, "idle");

      await start(page, "first", "import time, sys\nprint('\\033[32mgreen\\033[0m and plain')\nprint('a warning', file=sys.stderr, flush=True)\ntime.sleep(600)");
      await output(page, "first").getByText("a warning", { exact: true }).waitFor();
      await look(page, "running");
      await page.keyboard.press("Escape");
      await state(page, "first", "stopped");

      await run(page, "first", "import pandas as pd, matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [4, 1, 9], label='measured')\nplt.title('Growth')\nplt.legend()\nplt.show()\npd.DataFrame({'city': ['Ulm', 'Bonn'], 'degrees': [3.5, 7.25]})");
      await run(page, "second", "def f(x):\n    return 1 / x\nf(0)");
      await run(page, "apart", "for i in range(3000): print('line', i)");
      await page.locator("sandbox-terminal").getByRole("button", { name: "Open a terminal" }).click();
      await page.waitForFunction(() => document.querySelector("sandbox-terminal").state === "ready");
      await run(page, "shell", "mkdir -p src; echo hello > src/note.txt; echo 'text' > README.md; seq 3000 > numbers.txt");
      const files = page.locator("sandbox-files");
      await files.getByRole("treeitem").filter({ hasText: "src/" }).click();
      await files.getByRole("treeitem").filter({ hasText: "note.txt" }).dblclick();
      await files.getByRole("textbox", { name: "Contents of note.txt" }).waitFor();
      await look(page, "ready");

      await control(ctx, "DELETE", `/sandboxes/${await sandboxId(page)}`);
      await run(page, "second", "1");
      await session(page, "ended");
      await look(page, "ended");
    },
  },
  {
    name: "access: axe finds nothing while the sandbox is out of reach, nor when the back end refuses",
    networkErrors: true,
    context: { reducedMotion: "reduce" },
    async run(ctx) {
      const { page, context } = ctx;
      await open(ctx);
      await page.locator("sandbox-code#first [role=textbox]").waitFor();
      // A back end that lets the page wait, and then refuses.
      let release;
      const held = new Promise((resolve) => (release = resolve));
      const refusal = { status: 429, json: { error: { code: "too_many_sandboxes", message: "Only three at a time.", retryable: true } } };
      await page.route("**/sandbox", async (route) => (await held, route.fulfill(refusal)));
      await start(page, "first");
      await session(page, "starting");
      await look(page, "starting");
      release();
      await state(page, "first", "error");
      await look(page, "refused");
      await page.unroute("**/sandbox");
      await run(page, "first");
      await goOffline(ctx);
      // It fails, or waits if the file panel has found out before.
      await start(page, "first");
      await session(page, "lost");
      await look(page, "lost");
      await context.setOffline(false);
      await session(page, "ready");
    },
  },
];
