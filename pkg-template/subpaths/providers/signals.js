// Aborts and clocks: one signal made of several, and what is thrown when it fires. Touches timers, and puts every one away again.

/** A signal that follows `signal` and can also be ended by itself. `free()` forgets both. */
export class Ending {
  #controller = new AbortController();
  #timers = [];
  #listened;
  #forward;

  constructor(signal) {
    if (!signal) return;
    if (signal.aborted) return this.#controller.abort(signal.reason);
    this.#listened = signal;
    this.#forward = () => this.end(signal.reason);
    signal.addEventListener("abort", this.#forward, { once: true });
  }

  get signal() {
    return this.#controller.signal;
  }

  get isOver() {
    return this.#controller.signal.aborted;
  }

  get reason() {
    return this.#controller.signal.reason;
  }

  end(reason) {
    this.#controller.abort(reason);
  }

  /** Ends with what `reason()` answers after so many seconds; undefined means never. */
  after(seconds, reason) {
    if (seconds === undefined) return;
    // Longer than timers can be set to is as good as never.
    const ms = Math.min(Math.ceil(seconds * 1000), 2 ** 31 - 1);
    this.#timers.push(setTimeout(() => this.end(reason()), ms));
  }

  /** Forgets the clocks. */
  calm() {
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
  }

  free() {
    this.calm();
    this.#listened?.removeEventListener("abort", this.#forward);
    this.#listened = undefined;
  }

  /** What `promise` answers, or a rejection with the reason as soon as this ends, whatever the promise does then. */
  async race(promise) {
    promise.catch(() => {});
    if (this.isOver) throw this.reason;
    let over;
    const ended = new Promise((_, reject) => {
      over = () => reject(this.reason);
      this.signal.addEventListener("abort", over, { once: true });
    });
    try {
      return await Promise.race([promise, ended]);
    } finally {
      this.signal.removeEventListener("abort", over);
    }
  }
}

/** Waits, but not beyond the end of the signal. */
export async function pause(ms, signal) {
  const ending = new Ending(signal);
  let timer;
  try {
    await ending.race(new Promise((resolve) => (timer = setTimeout(resolve, ms))));
  } finally {
    clearTimeout(timer);
    ending.free();
  }
}
