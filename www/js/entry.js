// One command in the terminal: what was asked, what it printed, how it ended.

import { el } from "./dom.js";
import { LineView, count } from "../../elements/text/lines.js";
import { Transcript } from "../../elements/text/transcript.js";

/** What is kept of the newest command, and of each older one. */
const NEWEST = { lines: 2_000, characters: 200_000 };
const OLDER = { lines: 200, characters: 20_000 };

const MARKS = { running: "…", ok: "✓", failed: "✕", stopped: "■", error: "!" };

export class Entry {
  element;
  #transcript = new Transcript(NEWEST);
  #omitted = el("p", { class: "omitted", hidden: true });
  #lines = new LineView(this.#transcript);
  #result = el("p", { class: "result" });

  constructor(command) {
    const prompt = el("span", { class: "prompt", aria: { hidden: "true" } }, "$ ");
    const line = el("p", { class: "command" }, prompt, el("code", {}, command));
    this.element = el("article", { class: "entry", aria: { label: `Command ${command}` } }, line, this.#omitted, this.#lines.element, this.#result);
    this.end("running", "running");
  }

  write(stream, text) {
    this.#transcript.write(stream, text);
  }

  /** @param {"running" | "ok" | "failed" | "stopped" | "error"} state */
  end(state, text) {
    this.element.dataset.state = state;
    this.#result.replaceChildren(el("span", { class: "mark", aria: { hidden: "true" } }, MARKS[state]), ` ${text}`);
  }

  /** Makes room for the commands that follow. */
  retire() {
    this.#transcript.shrink(OLDER);
    this.render();
  }

  /** Brings the page up to date with the transcript. */
  render() {
    const { droppedLines, droppedCharacters } = this.#transcript;
    this.#lines.render();
    this.#omitted.hidden = droppedLines === 0;
    if (droppedLines > 0) {
      this.#omitted.textContent = `${count(droppedLines, "earlier line")} (${count(droppedCharacters, "character")}) not shown`;
    }
  }
}
