// How output gets onto the terminal: in small pieces, with drawing and the reader's turn in between, and no faster than that. The
// program waits meanwhile. What is on the way when the reader interrupts a flood is skipped, so that the interruption shows at once.

import { nextFrame } from "../base/dom.js";

/** How much is handed over at a time, in bytes. */
const PIECE = 8 * 1024;

/** How long output may keep the page busy between two frames, in ms. */
const BUDGET = 10;

/** When output has had to wait so shortly ago, in ms, it is a flood. */
const FLOOD = 1_000;

/** A flood is over when nothing has come for so long, in ms. */
const SILENCE = 80;

/** How much of what is skipped is shown in the end, in bytes: the prompt is in it. */
const TAIL = 2 * 1024;

export class Flow {
  #write;
  #drawn = 0;
  #waited = -FLOOD;
  /** The end of what is skipped; undefined while nothing is. */
  #skipped;
  #silence;

  /** @param {(bytes: Uint8Array) => Promise<void>} write Resolves when the bytes have been taken in. */
  constructor(write) {
    this.#write = write;
  }

  /** Resolves when there is room for more. */
  async take(bytes) {
    for (let at = 0; at < bytes.length; at += PIECE) {
      if (this.#skipped) return this.#skip(bytes.subarray(at));
      await this.#write(bytes.subarray(at, at + PIECE));
      if (performance.now() - this.#drawn < BUDGET) continue;
      // The first piece after a while is no flood.
      const isBusy = performance.now() - this.#drawn < FLOOD;
      await nextFrame();
      this.#drawn = performance.now();
      if (isBusy) this.#waited = this.#drawn;
    }
    return undefined;
  }

  /** The reader has interrupted the program. */
  interrupt() {
    if (performance.now() - this.#waited > FLOOD) return;
    this.#skipped = new Uint8Array();
    this.#awaitSilence();
  }

  #skip(bytes) {
    const both = new Uint8Array(this.#skipped.length + Math.min(bytes.length, TAIL));
    both.set(this.#skipped);
    both.set(bytes.subarray(-TAIL), this.#skipped.length);
    this.#skipped = both.slice(-TAIL);
    this.#awaitSilence();
  }

  #awaitSilence() {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => {
      const tail = this.#skipped;
      this.#skipped = undefined;
      // From a whole line on: what comes before may be half a character or half a sequence.
      this.#write(tail.subarray(tail.indexOf(10) + 1));
    }, SILENCE);
  }
}
