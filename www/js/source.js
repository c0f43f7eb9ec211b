// Source text as it is shown: quoting values, and telling words apart by colour.

import { el } from "./dom.js";

const LONGEST = 240;

/** A string as a literal of the language, cut when it is long. */
export function quoted(text) {
  return JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

const TOKEN = /(?<comment>\/\/.*)|(?<string>"(?:[^"\\\n]|\\.)*")|(?<word>\b(?:const|await|import|from)\b)|(?<number>\b\d[\d_]*\b)/g;

/** `text` as nodes, its comments, strings, keywords and numbers marked. */
export function highlighted(text) {
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const kind = Object.entries(match.groups).find(([, found]) => found !== undefined)[0];
    nodes.push(text.slice(at, match.index), el("span", { class: `code-${kind}` }, match[0]));
    at = match.index + match[0].length;
  }
  nodes.push(text.slice(at));
  return nodes;
}
