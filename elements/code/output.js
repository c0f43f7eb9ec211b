// What a cell's code came to, in the order in which it came: text, results, and how it failed.

import { el } from "../base/dom.js";
import { lineElement } from "../text/lines.js";
import { TextBlock } from "../text/text-block.js";
import { Transcript } from "../text/transcript.js";
import { renderResult } from "../results/render.js";

/** How many results are shown; code can display them in a loop. */
const MAX_RESULTS = 100;

/** How much of a traceback is shown: an endless recursion has a long one. */
const TRACEBACK = { lines: 400, characters: 100_000 };

/** How IPython begins a traceback: a rule, and the name of the error again. */
const HEADING = /^(?:\u001b\[[\d;]*m)*-{10,}(?:\s|\u001b\[[\d;]*m)*[\w.]+(?:\s|\u001b\[[\d;]*m)*Traceback \(most recent call last\)(?:\s|\u001b\[[\d;]*m)*/;

export class Output {
  element = el("div", { class: "output", part: "output", role: "group", aria: { label: "Output" } });
  #text;
  #results = 0;
  #more;
  /** Functions that release what a result holds. */
  #held = [];

  /** Whether nothing has come yet. */
  get isEmpty() {
    return this.element.childElementCount === 0;
  }

  clear() {
    for (const release of this.#held.splice(0)) release();
    this.element.replaceChildren();
    this.#text = undefined;
    this.#results = 0;
    this.#more = undefined;
  }

  /** Takes text. What it answers must be awaited before more is written. */
  write(stream, text) {
    if (this.#text === undefined) {
      this.#text = new TextBlock("output.txt");
      this.element.append(this.#text.element);
    }
    return this.#text.write(stream, text);
  }

  /** Shows a result: a `Result` of the package. */
  result(result) {
    this.finish();
    this.#results += 1;
    if (this.#results > MAX_RESULTS) {
      this.#more ??= this.element.appendChild(el("p", { class: "note" }));
      this.#more.textContent = `${this.#results - MAX_RESULTS} more results are not shown.`;
      return;
    }
    const figure = el("div", { class: "block result", part: "result" });
    figure.append(renderResult(result, (release) => this.#held.push(release)));
    this.element.append(figure);
  }

  /** Shows how the code failed: an `ExecutionError` of the package. */
  failure({ name, value, traceback }) {
    this.finish();
    const transcript = new Transcript(TRACEBACK);
    transcript.write("stdout", traceback.replace(HEADING, ""));
    const head = el("p", { class: "failure-head" }, el("strong", { class: "failure-name" }, name || "Failed"), value && `: ${plainText(value)}`);
    const label = { label: "Traceback" };
    const lines = el("div", { class: "text", tabIndex: 0, role: "group", aria: label }, ...transcript.lines.map(lineElement));
    this.element.append(el("div", { class: "block failure", part: "failure" }, head, traceback.trim() !== "" && lines));
  }

  /** What comes next is apart from the text so far, which is drawn to its end. */
  finish() {
    this.#text?.render();
    this.#text = undefined;
  }
}

/** A message as text alone: it may have colours, which are those of the traceback. */
function plainText(message) {
  const transcript = new Transcript({ lines: 20, characters: 2_000 });
  transcript.write("stdout", message);
  return transcript.lines.map(({ spans }) => spans.map(({ text }) => text).join("")).join("\n");
}
