// Formulas as MathML, which browsers draw themselves: no fonts to load and no styles, and screen readers can read it.

import katex from "katex";
import { el } from "../base/dom.js";

/** Answers undefined for what is no single formula. */
export function latex(text) {
  const formula = text
    .trim()
    .replace(/^\$\$?([^]*?)\$?\$$/, "$1")
    .replace(/^\\[[(]([^]*)\\[\])]$/, "$1")
    .replace(/^\\begin\{(equation|displaymath|math)\*?\}([^]*)\\end\{\1\*?\}$/, "$2");
  const place = el("div", { class: "formula", part: "formula" });
  try {
    katex.render(formula, place, { output: "mathml", displayMode: true, throwOnError: true, trust: false, strict: false, maxSize: 20, maxExpand: 500 });
  } catch {
    return undefined;
  }
  return place;
}
