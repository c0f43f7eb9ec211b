// A JSON value as a tree whose branches are made when they are opened.

import { el } from "../base/dom.js";

/** How many children of one branch are shown at first, and more with each further request. */
const PAGE = 100;

/** A string longer than that is cut. */
const LONGEST = 2_000;

export function jsonTree(value) {
  return el("div", { class: "tree", part: "json" }, node(undefined, value, true));
}

function node(key, value, isOpen = false) {
  const name = key === undefined ? undefined : el("span", { class: "tree-key" }, `${key}: `);
  if (typeof value !== "object" || value === null) return el("div", { class: "tree-leaf" }, name, leaf(value));
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const size = isList ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) return el("div", { class: "tree-leaf" }, name, el("span", { class: "tree-size" }, isList ? "[]" : "{}"));
  const children = el("div", { class: "tree-children" });
  const branch = el("details", { class: "tree-branch" }, el("summary", {}, name, el("span", { class: "tree-size" }, size)), children);
  const fill = () => branch.open && children.childElementCount === 0 && more(children, entries, 0);
  branch.addEventListener("toggle", fill);
  branch.open = isOpen;
  fill();
  return branch;
}

function more(children, entries, from) {
  const next = Math.min(from + PAGE, entries.length);
  children.append(...entries.slice(from, next).map(([key, value]) => node(key, value)));
  if (next === entries.length) return;
  const left = entries.length - next;
  const button = el("button", { type: "button", class: "button quiet" }, `Show more (${left.toLocaleString("en")})`);
  button.addEventListener("click", () => {
    button.remove();
    more(children, entries, next);
  });
  children.append(button);
}

function leaf(value) {
  if (typeof value !== "string") return el("span", { class: "tree-number" }, String(value));
  return el("span", { class: "tree-string" }, JSON.stringify(value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value));
}
