// The code of a cell: a plain text until the editor is loaded, and where it cannot be loaded a plain text field. What the page brings
// is never shown as it stands there, because it may be indented like the page's markup.

import { el } from "../base/dom.js";

export class SourceView {
  element = el("div", { class: "source", part: "editor" });
  /** Tells of changes of what the page brings, and shows nothing. */
  #slot = el("slot", { hidden: true });
  #plain = el("code");
  #onChange;
  #onRun;
  /** What the reader or the page has put in place of the text inside of the element. */
  #own;
  #initial = () => "";
  #editor;
  #options = { language: "", isReadOnly: false, label: "Code" };

  /** @param {{ initial(): string, onChange(): void, onRun(): void }} options `initial` answers the text that the page brings. */
  constructor({ initial, onChange, onRun }) {
    this.#initial = initial;
    this.#onChange = onChange;
    this.#onRun = onRun;
    this.element.append(this.#slot, el("pre", {}, this.#plain));
    // The page may fill the element after it was made.
    this.#slot.addEventListener("slotchange", () => this.#own === undefined && this.#show());
  }

  get value() {
    return this.#own ?? this.#initial();
  }

  set value(text) {
    this.#own = text;
    this.#show();
  }

  /** Whether the text is another than the one that the page brought. */
  get isChanged() {
    return this.#own !== undefined && this.#own !== this.#initial();
  }

  /** Back to the text that the page brought. */
  reset() {
    this.#own = undefined;
    this.#show();
  }

  /** @param {{ language: string, isReadOnly: boolean, label: string }} options */
  configure(options) {
    this.#options = options;
    this.#editor?.configure(options);
  }

  focus() {
    this.#editor?.focus();
  }

  #show() {
    if (this.#editor) this.#editor.value = this.value;
    else this.#plain.textContent = this.value;
  }

  /** Puts the editor in place of the plain text. */
  async load(root) {
    if (this.#editor) return;
    const make = await import("./codemirror.js").then(({ codeEditor }) => codeEditor, () => textField);
    if (this.#editor) return;
    const place = el("div", { class: "editor" });
    this.#editor = make({
      parent: place,
      root,
      text: this.value,
      ...this.#options,
      onChange: (text) => {
        this.#own = text;
        this.#onChange();
      },
      onRun: this.#onRun,
    });
    this.element.replaceChildren(this.#slot, place);
    this.element.dataset.editor = "ready";
  }
}

/** What stands in for the editor where it cannot be loaded. */
function textField({ parent, text, isReadOnly, label, onChange, onRun }) {
  const field = el("textarea", { class: "field", value: text, readOnly: isReadOnly, spellcheck: false, autocapitalize: "off", aria: { label } });
  const fit = () => (field.rows = Math.min(40, field.value.split("\n").length));
  field.addEventListener("input", () => {
    fit();
    onChange(field.value);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    onRun();
  });
  fit();
  parent.append(field);
  return {
    focus: () => field.focus(),
    configure({ isReadOnly, label }) {
      field.readOnly = isReadOnly;
      field.setAttribute("aria-label", label);
    },
    get value() {
      return field.value;
    },
    set value(text) {
      field.value = text;
      fit();
    },
  };
}

/** The text inside of an element as code: without the empty lines around it and the indentation that all its lines share. */
export function dedent(text) {
  const lines = text.replace(/\r\n?/g, "\n").replace(/^(?:[ \t]*\n)+|\s+$/g, "").split("\n");
  const filled = lines.filter((line) => line.trim() !== "");
  const indent = filled.reduce((least, line) => Math.min(least, line.length - line.trimStart().length), Infinity);
  return Number.isFinite(indent) && indent > 0 ? lines.map((line) => line.slice(indent)).join("\n") : lines.join("\n");
}
