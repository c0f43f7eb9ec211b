// What was written and is not sent yet. The host's own buffer is kept short, by its `bufferedAmount`, so that what waits is here,
// where it is bounded and survives the loss of a connection.

import { full } from "./closing.js";

/** How much may wait in the host, in bytes. */
const IN_HOST = 256 * 1024;

/** How much goes into one message, in bytes: servers limit them, and what is small can wait here. */
const PIECE = 16 * 1024;

/** How often a host that is full is looked at, in ms: it tells nobody when it is not. */
const LOOK_MS = 15;

export class Input {
  #limit;
  #encode;
  #line;
  #pieces = [];
  #length = 0;
  #timer;
  #error;

  constructor(limit, encode) {
    this.#limit = limit;
    this.#encode = encode;
  }

  /** Resolves when the bytes are with the host and there is room for more. */
  write(bytes) {
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#length + bytes.length > this.#limit) {
      const message = `More than ${this.#limit} bytes would wait to be sent to the terminal. Await what was written before, or raise inputBufferBytes`;
      return Promise.reject(full(message));
    }
    return new Promise((resolve, reject) => {
      const whole = { resolve, reject };
      for (let at = 0; at < bytes.length || at === 0; at += PIECE) {
        const piece = bytes.subarray(at, at + PIECE);
        this.#pieces.push({ piece, whole, isLast: at + PIECE >= bytes.length });
      }
      this.#length += bytes.length;
      this.#flush();
    });
  }

  /** Sends by this connection from now on. */
  attach(line) {
    this.#line = line;
    this.#flush();
  }

  /** There is no connection: everything waits. */
  detach() {
    this.#line = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Nothing is sent any more. */
  end(error) {
    this.detach();
    this.#error ??= error;
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#length = 0;
    for (const { whole } of pieces) whole.reject(this.#error);
  }

  #flush() {
    while (this.#line && this.#pieces.length > 0) {
      if (this.#line.bufferedAmount > IN_HOST) {
        this.#timer ??= setTimeout(() => {
          this.#timer = undefined;
          this.#flush();
        }, LOOK_MS);
        return;
      }
      const { piece, whole, isLast } = this.#pieces.shift();
      this.#length -= piece.length;
      try {
        const frame = piece.length === 0 ? undefined : this.#encode(piece);
        if (frame !== undefined) this.#line.send(frame);
        if (isLast) whole.resolve();
      } catch (error) {
        whole.reject(error);
        this.#drop(whole);
      }
    }
  }

  /** The rest of something that failed. */
  #drop(whole) {
    this.#pieces = this.#pieces.filter((one) => {
      if (one.whole === whole) this.#length -= one.piece.length;
      return one.whole !== whole;
    });
  }
}
