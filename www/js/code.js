// “The code behind this”: the calls of the SDK that the page just made, as a program that could be written with it.

import { announce, byId, el } from "./dom.js";
import { highlighted } from "./source.js";

const IMPORT = 'import { Sandbox } from "agent-sandbox-web";';

/** How many calls are shown after the one that made the sandbox. */
const CALLS = 2;

export class Code {
  #view = byId("code");
  #create = '// Press “Start a sandbox”, run a command, save a file: each shows here what it called.';
  #calls = [];

  constructor() {
    byId("copy").addEventListener("click", () => this.#copy());
    this.#render();
  }

  /** A new sandbox: the program starts over. */
  begin(source) {
    this.#create = source;
    this.#calls = [];
    this.#render();
  }

  /** Adds a call; answers a function that adds a remark on what came of it. */
  call(source) {
    const entry = { source, remark: undefined };
    this.#calls.push(entry);
    if (this.#calls.length > CALLS) this.#calls.shift();
    this.#render();
    return (remark) => {
      entry.remark = remark;
      this.#render();
    };
  }

  #text({ source, remark }) {
    return remark ? `${source} ${remark}` : source;
  }

  #render() {
    const head = el("span", { class: "code-part" }, ...highlighted(`${IMPORT}\n\n${this.#create}`));
    const calls = this.#calls.map((entry) => el("span", { class: "code-part" }, ...highlighted(`\n\n${this.#text(entry)}`)));
    calls.at(-1)?.classList.add("latest");
    this.#view.replaceChildren(head, ...calls);
  }

  async #copy() {
    try {
      await navigator.clipboard.writeText(`${this.#view.textContent}\n`);
      announce("Copied");
      this.#flash("Copied");
    } catch {
      // Without permission for the clipboard the text is selected, so that the visitor can copy it.
      getSelection().selectAllChildren(this.#view);
      this.#flash("Selected");
    }
  }

  #flash(text) {
    const button = byId("copy");
    button.textContent = text;
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }
}
