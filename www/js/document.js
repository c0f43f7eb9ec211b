// A file as the editor holds it: its text, and what must be remembered to write it back as it was.

const MAX_SIZE = 1_000_000;

export class Document {
  /** The text with plain line feeds, as a text field gives it back. */
  text;
  /** Why it must not be saved, or undefined. */
  readOnly;
  /** What the visitor should know about saving it, or undefined. */
  remark;
  #lineEnd;

  /** The largest file that is opened, in bytes. */
  static maxSize = MAX_SIZE;

  /** @param {Uint8Array} bytes */
  constructor(bytes = new Uint8Array()) {
    let text;
    try {
      // A byte order mark is part of the file and must survive.
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      text = new TextDecoder().decode(bytes);
      this.readOnly = "Not UTF-8 text: shown with � and not to be saved, so that nothing is damaged.";
    }
    const windows = text.includes("\r\n");
    const mixed = /\r(?!\n)/.test(text) || (windows && /(?<!\r)\n/.test(text));
    this.#lineEnd = windows && !mixed ? "\r\n" : "\n";
    if (mixed && !this.readOnly) this.remark = "Its line ends are mixed; saving makes them all line feeds.";
    this.text = text.replaceAll(/\r\n?/g, "\n");
  }

  /** What to write so that only what was edited changes. */
  encode(text) {
    return this.#lineEnd === "\n" ? text : text.replaceAll("\n", this.#lineEnd);
  }
}
