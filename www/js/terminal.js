// The output side of the terminal: the commands run so far, drawn once per frame, scrolled along unless the reader
// scrolled back.

import { byId } from "./dom.js";
import { Entry } from "./entry.js";

const MAX_ENTRIES = 20;

/** How near to the end the view must be to go along, in CSS pixels. */
const PINNED = 24;

/** How much is taken per frame before the sandbox is asked to wait, in characters. Keeps the page quick in a flood. */
const PER_FRAME = 128 * 1024;

/** Drawing that takes longer than that is done less often, in ms. */
const SLOW = 8;

/** How long to wait for a frame at most, in ms: hidden pages draw none. */
const FRAME_LIMIT = 250;

export class Terminal {
  #view = byId("output");
  #empty = byId("output-empty");
  #jump = byId("jump");
  #entries = [];
  #pinned = true;
  #frame;
  #taken = 0;
  /** How long the last drawing took, in ms. */
  #effort = 0;

  constructor() {
    this.#view.addEventListener("scroll", () => {
      const { scrollTop, scrollHeight, clientHeight } = this.#view;
      this.#pinned = scrollHeight - scrollTop - clientHeight < PINNED;
      this.#jump.hidden = this.#pinned;
    });
    // An error panel takes room from the view; its end stays in sight.
    new ResizeObserver(() => this.#pinned && this.#scrollToEnd()).observe(this.#view);
    this.#jump.addEventListener("click", () => {
      this.#scrollToEnd();
      this.#view.focus({ preventScroll: true });
    });
  }

  /** Starts a new command; the view goes to it. */
  begin(command) {
    this.#entries.at(-1)?.retire();
    if (this.#entries.length === MAX_ENTRIES) this.#entries.shift().element.remove();
    const entry = new Entry(command);
    this.#entries.push(entry);
    this.#view.append(entry.element);
    this.#empty.hidden = true;
    this.#scrollToEnd();
    return entry;
  }

  /** Takes output. What it answers must be awaited before more is written: that is how a flood is slowed down. */
  write(entry, stream, text) {
    entry.write(stream, text);
    this.#frame ??= this.#nextFrame().then(() => {
      this.#frame = undefined;
      this.#taken = 0;
      this.#draw(entry);
    });
    this.#taken += text.length;
    return this.#taken > PER_FRAME ? this.#frame : undefined;
  }

  /** Says how a command ended, with all of its output drawn. */
  end(entry, state, text) {
    entry.end(state, text);
    this.#draw(entry);
  }

  clear() {
    const running = this.#entries.filter(({ element }) => element.dataset.state === "running");
    for (const entry of this.#entries) if (!running.includes(entry)) entry.element.remove();
    this.#entries = running;
    this.#empty.hidden = running.length > 0;
    this.#scrollToEnd();
  }

  #draw(entry) {
    const start = performance.now();
    entry.render();
    if (this.#pinned) this.#scrollToEnd();
    this.#effort = performance.now() - start;
  }

  #scrollToEnd() {
    this.#pinned = true;
    this.#jump.hidden = true;
    this.#view.scrollTop = this.#view.scrollHeight;
  }

  /** The next time to draw. On a slow machine it takes its time, so that drawing leaves room for everything else. */
  async #nextFrame() {
    if (this.#effort > SLOW) await new Promise((resolve) => setTimeout(resolve, Math.min(2 * this.#effort, FRAME_LIMIT)));
    await new Promise((resolve) => {
      const limit = setTimeout(resolve, FRAME_LIMIT);
      requestAnimationFrame(() => {
        clearTimeout(limit);
        resolve();
      });
    });
  }
}
