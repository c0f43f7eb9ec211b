// What a terminal has printed and nobody has read yet. It is bounded: past half of the bound the server is asked to wait, where it
// can, and past all of it the terminal fails, because a gap would be worse.

import { full } from "./closing.js";
import { wrong } from "./options.js";

export class Output {
  #limit;
  #onHigh;
  #onLow;
  #chunks = [];
  #length = 0;
  #isHigh = false;
  #reader;
  #waiting;
  /** `{ error }` when nothing more comes; without an error at the proper end. */
  #end;

  constructor(limit, { onHigh, onLow }) {
    this.#limit = limit;
    this.#onHigh = onHigh;
    this.#onLow = onLow;
  }

  /** Whether so much waits that the server should. */
  get isHigh() {
    return this.#isHigh;
  }

  /** Throws what the terminal fails with when there is no room. */
  push(bytes) {
    if (this.#end || bytes.length === 0) return;
    if (this.#waiting) return this.#hand(bytes);
    if (this.#length + bytes.length > this.#limit) {
      throw full(`More than ${this.#limit} bytes of the terminal's output were not read. Read faster, or raise outputBufferBytes`);
    }
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    if (this.#isHigh || this.#length <= this.#limit / 2) return;
    this.#isHigh = true;
    this.#onHigh();
  }

  /** What was printed before can still be read. */
  end(error) {
    this.#end ??= { error };
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (error === undefined) waiting?.resolve(undefined);
    else waiting?.reject(error);
  }

  /** Claims the output for one reader. */
  claim(name) {
    if (this.#reader !== undefined) throw wrong(`The terminal's output is read by ${this.#reader} already, and cannot be read by ${name} as well`);
    this.#reader = name;
  }

  release() {
    this.#reader = undefined;
  }

  /** The next piece, or undefined at the end. */
  read() {
    if (this.#chunks.length === 0) {
      if (this.#end) return this.#end.error === undefined ? Promise.resolve(undefined) : Promise.reject(this.#end.error);
      return new Promise((resolve, reject) => (this.#waiting = { resolve, reject }));
    }
    const bytes = this.#chunks.shift();
    this.#length -= bytes.length;
    if (this.#isHigh && this.#length <= this.#limit / 4) {
      this.#isHigh = false;
      this.#onLow();
    }
    return Promise.resolve(bytes);
  }

  #hand(bytes) {
    const { resolve } = this.#waiting;
    this.#waiting = undefined;
    resolve(bytes);
  }
}
