// A result as an element: the best of the formats that its code made. All of them come from the sandbox and may be hostile.

import { el } from "../base/dom.js";
import { download, image } from "./files.js";
import { jsonTree } from "./json-tree.js";
import { plain } from "./plain.js";

/** Markup beyond that is not rendered but offered as text and as a download, in characters. */
const MARKUP_LIMIT = 8_000_000;

/** From the most telling format to the least. Each answers an element, a promise of one, or undefined when it cannot. */
const RENDERERS = [
  ["chart", async (result, hold) => (await import("./chart/chart.js")).chart(result, hold)],
  ["html", async ({ html }, hold) => (await import("./rich.js")).html(html, hold)],
  ["latex", async ({ latex }) => (await import("./latex.js")).latex(latex)],
  ["markdown", async ({ markdown }) => (await import("./rich.js")).markdown(markdown)],
  ["svg", async (result, hold) => (await import("./rich.js")).svg(result, hold)],
  ["png", (result, hold) => image(result, "png", hold)],
  ["jpeg", (result, hold) => image(result, "jpeg", hold)],
  ["json", ({ json }) => jsonTree(json)],
  ["pdf", (result, hold) => download(result.toBlob("pdf"), "result.pdf", hold)],
];

/**
 * @param {import("agent-sandbox-web").Result} result
 * @param {(release: () => void) => void} hold Called with what releases what the element holds, when it is taken away.
 */
export function renderResult(result, hold) {
  const place = el("div", { class: "rendered" });
  fill(place, result, hold, 0);
  return place;
}

/** Tries one format after the other: what cannot be rendered, or whose renderer cannot be loaded, is left to the next. */
function fill(place, result, hold, from) {
  for (let i = from; i < RENDERERS.length; i++) {
    const [format, render] = RENDERERS[i];
    const given = result[format];
    if (given === undefined || given === "" || (typeof given === "string" && isMarkup(format) && given.length > MARKUP_LIMIT)) continue;
    let made;
    try {
      made = render(result, hold);
    } catch {
      continue;
    }
    if (made === undefined) continue;
    if (!(made instanceof Promise)) return place.replaceChildren(made);
    // What is there meanwhile is what can always be shown.
    place.replaceChildren(plain(result, hold));
    place.setAttribute("aria-busy", "true");
    made.then(
      (element) => {
        place.removeAttribute("aria-busy");
        if (element) place.replaceChildren(element);
        else fill(place, result, hold, i + 1);
      },
      () => {
        place.removeAttribute("aria-busy");
        fill(place, result, hold, i + 1);
      },
    );
    return undefined;
  }
  return place.replaceChildren(plain(result, hold));
}

const isMarkup = (format) => ["html", "markdown", "svg", "latex"].includes(format);
