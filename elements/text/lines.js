// The lines of a transcript as elements, brought up to date at a cost that depends on the change only.

import { el } from "../base/dom.js";

export class LineView {
  element = el("div", { class: "lines" });
  #transcript;
  /** The number of the first line that is on the page, counted from the first line printed. */
  #first = 0;
  /** The version of the last line that is on the page. */
  #shownVersion = -1;

  constructor(transcript) {
    this.#transcript = transcript;
  }

  render() {
    const { lines, droppedLines } = this.#transcript;
    const { element } = this;
    const gone = Math.min(droppedLines - this.#first, element.childElementCount);
    if (gone === element.childElementCount) element.replaceChildren();
    else for (let i = 0; i < gone; i++) element.firstElementChild.remove();
    this.#first = droppedLines;

    let next = element.childElementCount;
    // Of the lines that are shown, only the last can have changed.
    if (next > 0 && lines[next - 1].version !== this.#shownVersion) {
      element.lastElementChild.remove();
      next -= 1;
    }
    const added = document.createDocumentFragment();
    for (const line of lines.slice(next)) added.append(lineElement(line));
    element.append(added);
    this.#shownVersion = lines.at(-1)?.version ?? -1;
  }
}

export function lineElement({ stream, spans }) {
  const parts = spans.map(({ text, classes }) => (classes ? el("span", { class: classes }, text) : text));
  // An empty line keeps its height, and its place in what is copied.
  return el("div", { class: "line", data: { stream } }, ...(parts.length > 0 ? parts : [el("br")]));
}

/** `1,234 lines`. */
export const count = (value, noun) => `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : "s"}`;
