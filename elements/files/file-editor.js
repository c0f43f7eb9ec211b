// A text file of the sandbox, opened, changed and saved.

import { button, el } from "../base/dom.js";
import { ElementError } from "../base/failure.js";
import { bytes } from "../results/files.js";

/** The largest file that is opened, in bytes. */
const LARGEST = 2_000_000;

const LANGUAGES = { py: "python", js: "javascript", mjs: "javascript", ts: "typescript", sh: "bash", r: "r", java: "java", json: "json" };

export class FileEditor {
  element = el("div", { class: "file", part: "editor", hidden: true });
  /** The sandbox whose files are opened. */
  sandbox;
  #options;
  #path;
  #editor;
  #saved = "";
  #state = el("span", { class: "file-state", role: "status" });

  /** @param {{ onError(error): void, onSaved(name: string): void }} options */
  constructor(options) {
    this.#options = options;
  }

  async open(entry) {
    const { sandbox } = this;
    try {
      if (entry.size > LARGEST) {
        throw new ElementError("file_too_large", `${entry.name} has ${bytes(entry.size)}: files up to ${bytes(LARGEST)} are edited here. Download it instead.`);
      }
      const [data, { codeEditor }] = await Promise.all([sandbox.files.read(entry.path, { format: "bytes" }), import("../code/codemirror.js")]);
      if (this.sandbox !== sandbox) return;
      const text = decode(data, entry.name);
      this.close();
      this.#path = entry.path;
      this.#saved = text;
      const place = el("div", { class: "editor" });
      const save = button("Save", () => this.#save(), { class: "button primary" });
      const close = button("Close", () => this.close(), { class: "button quiet" });
      this.element.replaceChildren(el("div", { class: "file-bar" }, el("strong", {}, entry.name), this.#state, el("span", { class: "actions" }, close, save)), place);
      this.element.hidden = false;
      const ending = entry.name.split(".").pop();
      this.#editor = codeEditor({
        parent: place,
        root: this.element.getRootNode(),
        text,
        language: LANGUAGES[ending] ?? "",
        isReadOnly: false,
        label: `Contents of ${entry.name}`,
        onChange: (now) => this.#tell(now === this.#saved ? "Saved" : "Changed"),
      });
      this.element.onkeydown = (event) => {
        if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        this.#save();
      };
      this.#tell("");
      this.#editor.focus();
    } catch (error) {
      this.#options.onError(error);
    }
  }

  close() {
    this.#editor?.destroy();
    this.#editor = undefined;
    this.#path = undefined;
    this.element.hidden = true;
    this.element.replaceChildren();
  }

  /** Closes what is at the path or below it. */
  closeIf(path) {
    if (this.#path === path || this.#path?.startsWith(`${path}/`)) this.close();
  }

  async #save() {
    const [path, text] = [this.#path, this.#editor.value];
    this.#tell("Saving…");
    try {
      await this.sandbox.files.write(path, text);
      if (this.#path !== path) return;
      this.#saved = text;
      this.#tell(this.#editor.value === text ? "Saved" : "Changed");
      this.#options.onSaved(path);
    } catch (error) {
      this.#tell("Not saved");
      this.#options.onError(error);
    }
  }

  #tell(text) {
    this.#state.textContent = text;
  }
}

/** Bytes as text; what is no text must not be saved as one. */
function decode(data, name) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    if (!text.includes("\0")) return text;
  } catch {
    // Said below.
  }
  throw new ElementError("file_not_text", `${name} is not a text file. Download it instead.`);
}
