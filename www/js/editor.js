// The editor: a path, a text, and whether they are as in the sandbox.

import { byId } from "./dom.js";
import { Document } from "./document.js";

/** How long the visitor is not told that something is being done, in ms. */
const PATIENCE = 300;

export class Editor extends EventTarget {
  #path = byId("path");
  #text = byId("text");
  #state = byId("editor-state");
  #save = byId("save");
  #document = new Document();
  /** The path that the text was read from or written to; undefined when it is not in the sandbox. */
  #savedPath;
  /** What the text was when it was last read, written or drafted. */
  #savedText = "";
  /** Whether the sandbox that had the text is gone, so that it exists only here. */
  #orphan = false;
  #busy = false;
  #busyTimer;

  constructor() {
    super();
    for (const field of [this.#path, this.#text]) field.addEventListener("input", () => this.#show());
    this.#save.addEventListener("click", () => this.dispatchEvent(new Event("save")));
  }

  get path() {
    return this.#path.value.trim();
  }

  set path(path) {
    this.#path.value = path;
    this.#show();
  }

  get savedPath() {
    return this.#savedPath;
  }

  /** The text as it is to be written. */
  get contents() {
    return this.#document.encode(this.#text.value);
  }

  get readOnly() {
    return this.#document.readOnly;
  }

  /** Whether the visitor changed the text since. */
  get edited() {
    return this.#text.value !== this.#savedText;
  }

  /** Whether replacing the text would lose something. */
  get dirty() {
    return this.edited || this.#orphan;
  }

  /** Shows a file of the sandbox. */
  load(path, bytes) {
    this.#fill(path, new Document(bytes));
    this.saved(path, this.#document.text);
  }

  /** Shows a text that is not in the sandbox yet. */
  draft(path, text) {
    this.#fill(path, new Document(new TextEncoder().encode(text)));
    this.#savedPath = undefined;
    this.#savedText = text;
    this.#orphan = false;
    this.#show();
  }

  /** Notes that `text`, as the field held it, is what the sandbox has at `path`. The visitor may have typed on. */
  saved(path, text) {
    this.#savedPath = path;
    this.#savedText = text;
    this.#orphan = false;
    this.#show();
  }

  /** Notes that the sandbox is gone, and what was saved with it. */
  forget() {
    this.#orphan ||= this.#savedPath !== undefined && !this.#document.readOnly;
    this.#savedPath = undefined;
    this.#show();
  }

  /** The text as the field holds it. */
  get text() {
    return this.#text.value;
  }

  set busy(busy) {
    clearTimeout(this.#busyTimer);
    const show = () => {
      this.#busy = busy;
      this.#show();
    };
    if (busy) this.#busyTimer = setTimeout(show, PATIENCE);
    else show();
  }

  focus() {
    this.#text.focus();
  }

  #fill(path, document) {
    this.#document = document;
    this.#path.value = path;
    this.#text.value = document.text;
    this.#text.readOnly = document.readOnly !== undefined;
    this.#text.scrollTop = 0;
    this.#text.setSelectionRange(0, 0);
  }

  #show() {
    const [state, text] = this.#describe();
    this.#state.dataset.state = state;
    this.#state.textContent = text;
    this.#save.disabled = this.readOnly !== undefined || this.path === "";
  }

  #describe() {
    const { readOnly, remark } = this.#document;
    if (this.#busy) return ["busy", "Working…"];
    if (readOnly) return ["read-only", readOnly];
    if (this.#savedPath === undefined) return ["new", "Not in the sandbox yet"];
    if (this.edited) return ["dirty", remark ? `Unsaved changes. ${remark}` : "Unsaved changes"];
    if (this.path !== this.#savedPath) return ["new", "Not saved at this path"];
    return ["clean", remark ?? "As in the sandbox"];
  }
}
