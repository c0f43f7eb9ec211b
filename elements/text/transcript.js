// The output of one command as lines, of which only the last are kept: memory and page stay small whatever is printed.

import { Escapes } from "./escapes.js";

/** A line is broken after so many characters, so that changing the last line is cheap. */
const LINE_BREAK = 4_000;

export class Transcript {
  /** `{ stream, spans: [{ text, classes }], length, version }`, oldest first. */
  lines = [];
  /** How many lines were dropped before the first kept one. */
  droppedLines = 0;
  droppedCharacters = 0;
  #characters = 0;
  #limits;
  #readers = { stdout: new Escapes(), stderr: new Escapes() };
  /** Whether the last line can be continued. */
  #open = false;
  /** Whether what comes next overwrites the last line. */
  #rewind = false;

  /** @param {{ lines: number, characters: number }} limits How much to keep. */
  constructor(limits) {
    this.#limits = limits;
  }

  /** @param {"stdout" | "stderr"} stream */
  write(stream, text) {
    this.#readers[stream].read(text, {
      text: (piece, classes) => this.#append(stream, piece, classes),
      lineEnd: () => {
        if (!this.#continues(stream)) this.#addLine(stream);
        this.#open = false;
      },
      lineStart: () => {
        this.#rewind = this.#continues(stream);
      },
    });
    this.#trim();
  }

  /** Keeps less from now on. */
  shrink(limits) {
    this.#limits = limits;
    this.#trim();
  }

  #continues(stream) {
    return this.#open && this.lines.at(-1)?.stream === stream;
  }

  #append(stream, text, classes) {
    if (!this.#continues(stream)) this.#addLine(stream);
    let line = this.lines.at(-1);
    if (this.#rewind) {
      this.#characters -= line.length;
      Object.assign(line, { spans: [], length: 0 });
      this.#rewind = false;
    }
    for (let at = 0; at < text.length; ) {
      if (line.length >= LINE_BREAK) line = this.#addLine(stream);
      const piece = cut(text, at, LINE_BREAK - line.length);
      at += piece.length;
      const last = line.spans.at(-1);
      if (last?.classes === classes) last.text += piece;
      else line.spans.push({ text: piece, classes });
      line.length += piece.length;
      line.version += 1;
      this.#characters += piece.length;
    }
  }

  #addLine(stream) {
    const line = { stream, spans: [], length: 0, version: 0 };
    this.lines.push(line);
    this.#open = true;
    this.#rewind = false;
    // Within one huge write, so that it never piles up; with slack, so that the array is not moved for every line.
    if (this.lines.length > 2 * this.#limits.lines) this.#trim();
    return line;
  }

  #trim() {
    let drop = Math.max(0, this.lines.length - this.#limits.lines);
    let characters = this.lines.slice(0, drop).reduce((sum, line) => sum + line.length, 0);
    while (this.#characters - characters > this.#limits.characters && drop < this.lines.length - 1) {
      characters += this.lines[drop].length;
      drop += 1;
    }
    if (drop === 0) return;
    this.lines.splice(0, drop);
    this.droppedLines += drop;
    this.droppedCharacters += characters;
    this.#characters -= characters;
  }
}

/** At most `length` characters of `text` from `at`; one more where a character of two units would be torn. */
function cut(text, at, length) {
  const end = at + length;
  return text.slice(at, isSecondHalf(text.charCodeAt(end)) ? end + 1 : end);
}

const isSecondHalf = (unit) => unit >= 0xdc00 && unit <= 0xdfff;
