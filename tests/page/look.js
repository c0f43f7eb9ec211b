// What the page looks like, as far as a machine can tell: themes, widths, contrast, names.

import { assert, equal } from "../e2e/assert.js";
import { ended, enter, notice, open, openPath, openReady, run, save } from "./steps.js";

const scheme = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

/** Fills the page with one of everything it can show. */
async function fill(ctx) {
  const { page } = ctx;
  await openReady(ctx);
  await save(page, "greet.sh", "echo hello");
  await run(page, "echo out; echo err >&2; exit 3");
  // Every front on every ground, and every look.
  const each = "0 1 2 3 4 5 6 7";
  await run(page, `for a in ${each}; do for b in ${each}; do printf "\\e[3\${a};4\${b}mx\\e[9\${a};10\${b}mx\\e[0m"; done; echo; done`);
  await run(page, `for a in ${each}; do printf "\\e[3\${a}mx\\e[9\${a}mx\\e[0;4\${a}mx\\e[10\${a}mx\\e[0m"; done`);
  await run(page, `for a in 1 2 3 4 7 9; do printf "\\e[\${a}mx\\e[31mx\\e[0m"; done`);
  const stopped = await enter(page, "exec sleep 300");
  await page.getByRole("button", { name: "Stop" }).click();
  await ended(stopped);
  await run(page, `echo ${"a-long-word".repeat(40)}`);
  await openPath(page, "/no/such/file");
  await notice(page, "FileNotFoundError");
}

/** The texts on the page whose contrast with their ground is below what WCAG AA asks for. */
function faintTexts() {
  const parse = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return { rgb: [r, g, b], a };
  };
  const over = (top, ground) => top.rgb.map((value, i) => value * top.a + ground[i] * (1 - top.a));
  const groundOf = (node) => {
    if (!node) return [255, 255, 255];
    const own = parse(getComputedStyle(node).backgroundColor);
    return own.a === 1 ? own.rgb : over(own, groundOf(node.parentElement));
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const faint = [];
  for (const node of document.body.querySelectorAll("*")) {
    const ownText = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim() !== "");
    const hasText = ownText || node.matches("input, textarea");
    if (!hasText || node.matches(":disabled, .visually-hidden") || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const ground = groundOf(node);
    const [high, low] = [luminance(over(parse(style.color), ground)), luminance(ground)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) faint.push(`${ratio.toFixed(2)} ${node.tagName}.${node.className} "${node.textContent.slice(0, 30)}"`);
  }
  return faint;
}

export const cases = [
  {
    name: "look: the theme follows the system until the visitor chooses, and the choice stays",
    context: { colorScheme: "dark" },
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      const button = page.getByRole("button", { name: "Dark theme" });
      equal(await button.getAttribute("aria-pressed"), "true");
      const dark = await scheme(page);
      await page.emulateMedia({ colorScheme: "light" });
      const light = await scheme(page);
      assert(light !== dark, `${light} and ${dark}`);
      await page.locator("#theme[aria-pressed=false]").waitFor();

      await button.click();
      equal(await scheme(page), dark, "after the click");
      await page.reload();
      equal(await scheme(page), dark, "after a reload");
      equal(await button.getAttribute("aria-pressed"), "true");
    },
  },
  {
    name: "look: nothing scrolls sideways at 320 pixels",
    context: { viewport: { width: 320, height: 640 } },
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      const width = () => page.evaluate(() => document.documentElement.scrollWidth);
      await open(ctx);
      equal(await width(), 320, "empty");
      await fill(ctx);
      equal(await width(), 320, "full");
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("button, input, textarea")]
          .filter((node) => {
            const { left, right } = node.getBoundingClientRect();
            // The examples are a row of their own that scrolls.
            return node.checkVisibility() && !node.closest(".examples") && (left < 0 || right > innerWidth);
          })
          .map((node) => node.id || node.textContent),
      );
      equal(cut, [], "controls outside of the view");
    },
  },
  ...["light", "dark"].map((colorScheme) => ({
    name: `look: every text has enough contrast, ${colorScheme}`,
    context: { colorScheme, reducedMotion: "reduce" },
    networkErrors: true,
    async run(ctx) {
      await open(ctx);
      equal(await ctx.page.evaluate(faintTexts), [], "empty page");
      await fill(ctx);
      equal(await ctx.page.evaluate(faintTexts), [], "full page");
    },
  })),
  {
    name: "look: every control has a name, and headings and regions give the page a shape",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      const controls = await page.locator("button:visible, input:visible, textarea:visible, summary:visible").all();
      assert(controls.length > 10, `${controls.length} controls`);
      for (const control of controls) {
        const name = await control.ariaSnapshot();
        assert(/"[^"]+"/.test(name), `a control without a name: ${name}`);
      }
      for (const name of ["Sandbox", "Terminal", "Files", "The code behind this", "Output"]) {
        equal(await page.getByRole("region", { name, exact: true }).count(), 1, name);
      }
      equal(await page.getByRole("heading", { level: 1 }).count(), 1, "h1");
    },
  },
  {
    name: "look: the page lives under its own strict policy",
    async run(ctx) {
      const { page } = ctx;
      await page.addInitScript(() => {
        globalThis.violations = [];
        addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
      });
      await openReady(ctx);
      await run(page, "echo hello");
      equal(await page.evaluate(() => violations), []);
      const policy = await page.locator("meta[http-equiv=Content-Security-Policy]").getAttribute("content");
      for (const part of ["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "style-src 'self'", "require-trusted-types-for 'script'"]) {
        assert(policy.includes(part), part);
      }
      const requests = [];
      page.on("request", (request) => requests.push(new URL(request.url()).hostname));
      await page.reload();
      await page.getByRole("button", { name: "Say hello" }).waitFor();
      assert(requests.every((host) => host === "127.0.0.1" || host === "localhost" || host.endsWith(".localhost")), requests.join(" "));
    },
  },
];
