// Text that a program prints: its last lines on the page, drawn once per frame; the rest to be shown or downloaded on demand.

import { button, el, nextFrame, save } from "../base/dom.js";
import { LineView, count, lineElement } from "./lines.js";
import { Spool } from "./spool.js";
import { Transcript } from "./transcript.js";

/** What is on the page unless more is asked for. */
const LIMITS = { lines: 1_000, characters: 200_000 };

/** How much is taken per frame before the program's output is left waiting, in characters. Keeps the page quick in a flood. */
const PER_FRAME = 256 * 1024;

/** How near to the end the view must be to go along, in CSS pixels. */
const PINNED = 24;

/** When everything is shown: so many lines are laid out together, when they come into view. */
const GROUP = 200;

export class TextBlock {
  element;
  #transcript = new Transcript(LIMITS);
  #spool = new Spool();
  #lines = new LineView(this.#transcript);
  #omitted = el("span");
  #head;
  #showAll = button("Show all", () => this.#all(), { class: "button quiet" });
  #view;
  #frame;
  #taken = 0;
  #pinned = true;
  #isWhole = false;

  /** `name` is what a downloaded file is called. */
  constructor(name) {
    const download = button("Download", () => save(this.#spool.toBlob(), name), { class: "button quiet" });
    this.#head = el("p", { class: "omitted", hidden: true }, this.#omitted, this.#showAll, download);
    this.#view = el("div", { class: "text", part: "text", tabIndex: 0, role: "group", aria: { label: "Text output" } }, this.#lines.element);
    this.#view.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.#view;
      this.#pinned = scrollHeight - scrollTop - clientHeight < PINNED;
    });
    this.element = el("div", { class: "block" }, this.#head, this.#view);
  }

  /** Takes text. What it answers must be awaited before more is written: that is how a flood is slowed down. */
  write(stream, text) {
    this.#transcript.write(stream, text);
    this.#spool.write(stream, text);
    this.#frame ??= nextFrame().then(() => {
      this.#frame = undefined;
      this.#taken = 0;
      this.render();
    });
    this.#taken += text.length;
    return this.#taken > PER_FRAME ? this.#frame : undefined;
  }

  render() {
    if (this.#isWhole) return;
    this.#lines.render();
    const { droppedLines, droppedCharacters } = this.#transcript;
    this.#head.hidden = droppedLines === 0;
    if (droppedLines > 0) {
      const rest = this.#spool.isComplete ? "" : ` The download has the first ${count(256, "MB")}.`;
      this.#omitted.textContent = `${count(droppedLines, "earlier line")} (${count(droppedCharacters, "character")}) not shown.${rest}`;
      this.#showAll.hidden = this.#spool.segments === undefined;
    }
    if (this.#pinned) this.#view.scrollTop = this.#view.scrollHeight;
  }

  /** Shows every line. They are laid out in groups, each when it comes into view. */
  #all() {
    const { segments } = this.#spool;
    if (segments === undefined) return;
    const whole = new Transcript({ lines: Infinity, characters: Infinity });
    for (const { stream, text } of segments) whole.write(stream, text);
    const groups = [];
    for (let at = 0; at < whole.lines.length; at += GROUP) {
      groups.push(el("div", { class: "group" }, ...whole.lines.slice(at, at + GROUP).map(lineElement)));
    }
    this.#isWhole = true;
    this.#lines.element.replaceChildren(...groups);
    this.#omitted.textContent = `All ${count(whole.lines.length, "line")}.`;
    this.#showAll.hidden = true;
    this.#view.focus();
  }
}
