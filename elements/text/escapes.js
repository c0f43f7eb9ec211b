// Terminal output as it comes from a program, read piece by piece: text, line ends, colours. Everything else that
// terminals understand (moving the cursor, titles, links) is taken out; control characters become visible.

import { Look } from "./sgr.js";

/** The longest sequences that are believed. What is longer was not meant as one and must not swallow the output. */
const CSI_LIMIT = 64;
const STRING_LIMIT = 2048;

const SPECIAL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/g;

/** Reads one output stream. A sequence may be split between two calls of `read`. */
export class Escapes {
  #look = new Look();
  #state = "text";
  #held = "";

  /**
   * Hands what `text` says to `sink`, in order.
   *
   * @param {string} text
   * @param {{ text(text: string, classes: string): void, lineEnd(): void, lineStart(): void }} sink
   */
  read(text, sink) {
    let at = 0;
    while (at < text.length) {
      if (this.#state === "text") at = this.#readText(text, at, sink);
      else this.#step(text[at++], sink);
    }
  }

  #readText(text, at, sink) {
    SPECIAL.lastIndex = at;
    const end = SPECIAL.exec(text)?.index ?? text.length;
    if (end > at) sink.text(text.slice(at, end), this.#look.classes);
    if (end < text.length) this.#control(text[end], sink);
    return end + 1;
  }

  #control(char, sink) {
    if (char === "\n") sink.lineEnd();
    else if (char === "\r") sink.lineStart();
    else if (char === "\x1b") this.#enter("escape");
    // The bell and the backspace make no mark; the rest is shown as the picture of itself.
    else if (char !== "\x07" && char !== "\b") sink.text(picture(char), this.#look.classes);
  }

  #step(char, sink) {
    switch (this.#state) {
      case "escape":
        if (char === "[") this.#enter("csi");
        else if ("]PX^_".includes(char)) this.#enter("string");
        else if ("()*+#% ".includes(char)) this.#enter("one more");
        else this.#leave(char, sink);
        break;
      case "csi":
        if (char >= "@" && char <= "~") {
          if (char === "m" && /^[0-9;:]*$/.test(this.#held)) this.#look.apply(this.#held);
          this.#enter("text");
        } else if (char < " " || this.#held.length >= CSI_LIMIT) this.#leave(char, sink);
        else this.#held += char;
        break;
      case "string":
        if (char === "\x07") this.#enter("text");
        else if (char === "\x1b") this.#enter("escape");
        else if (char === "\n" || this.#held.length >= STRING_LIMIT) this.#leave(char, sink);
        else this.#held += char;
        break;
      default:
        this.#leave(char, sink);
    }
  }

  #enter(state) {
    this.#state = state;
    this.#held = "";
  }

  /** The sequence is over. A control character that cut it short keeps its meaning. */
  #leave(char, sink) {
    this.#enter("text");
    if (char < " ") this.#control(char, sink);
  }
}

/** A visible character for a control character. */
function picture(char) {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "\u2421" : "\ufffd";
}
