// The end of one call: the caller's signal and the call's clock, whichever comes first. Every wait for the host goes through
// `run`, so that a call ends at once even where `fetch` ignores signals.

import { TimeoutError } from "#package";

export class Clock {
  #controller = new AbortController();
  #waiting = new Set();
  #reason;
  #timer;
  #outer;
  #forward;
  #end = Infinity;

  /** `timeoutMs` of 0 or undefined sets no clock. `describe(ms)` is the sentence of the error. */
  constructor(outer, timeoutMs, describe) {
    if (outer?.aborted) this.#stop(outer.reason);
    else {
      this.#outer = outer;
      this.#forward = () => this.#stop(outer.reason);
      outer?.addEventListener("abort", this.#forward);
      if (timeoutMs) {
        const { message, code } = describe(timeoutMs);
        this.#end = Date.now() + timeoutMs;
        this.#timer = setTimeout(() => this.#stop(new TimeoutError(message, { code })), timeoutMs);
      }
    }
  }

  /** What is given to the host. */
  get signal() {
    return this.#controller.signal;
  }

  /** Whether the call must end; `reason` says why. */
  get stopped() {
    return this.#controller.signal.aborted;
  }

  /** How long the call may go on, in ms. */
  get left() {
    return this.#end - Date.now();
  }

  get reason() {
    return this.#reason;
  }

  /** The outcome of `promise`, unless the call ends before. */
  run(promise) {
    return new Promise((resolve, reject) => {
      if (this.stopped) {
        promise.then(() => {}, () => {});
        return reject(this.#reason);
      }
      this.#waiting.add(reject);
      const settled = (finish) => (value) => {
        this.#waiting.delete(reject);
        // What the host throws for an abort is its own business.
        if (this.stopped) reject(this.#reason);
        else finish(value);
      };
      promise.then(settled(resolve), settled(reject));
    });
  }

  /** Waits so many milliseconds. */
  async sleep(ms) {
    let timer;
    try {
      await this.run(new Promise((resolve) => (timer = setTimeout(resolve, ms))));
    } finally {
      clearTimeout(timer);
    }
  }

  /** The call is over: no timer and no listener stays. */
  end() {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener("abort", this.#forward);
  }

  #stop(reason) {
    if (this.stopped) return;
    this.#reason = reason;
    this.end();
    this.#controller.abort(reason);
    for (const reject of this.#waiting) reject(reason);
    this.#waiting.clear();
  }
}
