// A stream as its caller holds it: read once, in a loop, collected, or as a `ReadableStream`; leaving it ends what feeds it. Pure.

const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

export class StreamReader {
  #source;
  #close;
  #isClosed = false;

  /** `source` is an async iterator; `close` is called once, when nobody reads any more. */
  constructor(source, close, facts = {}) {
    this.#source = source;
    this.#close = close;
    Object.assign(this, facts);
  }

  [Symbol.asyncIterator]() {
    return {
      next: () => this.#next(),
      return: async () => (await this.close(), { done: true, value: undefined }),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }

  async #next() {
    if (this.#isClosed) return { done: true, value: undefined };
    let step;
    try {
      step = await this.#source.next();
    } catch (error) {
      // After the end was asked for, it is one.
      if (this.#isClosed) return { done: true, value: undefined };
      this.#isClosed = true;
      throw error;
    }
    if (this.#isClosed) return { done: true, value: undefined };
    if (step.done) this.#isClosed = true;
    return step;
  }

  /** Everything until the end. */
  async collect() {
    const items = [];
    for await (const item of this) items.push(item);
    return items;
  }

  readable() {
    const iterator = this[Symbol.asyncIterator]();
    return new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await iterator.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        cancel: () => iterator.return(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Ends the reading. May be called any number of times. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#close();
  }

  [asyncDispose]() {
    return this.close();
  }
}

/** Between one who produces and one who consumes: the former waits until the latter has come back for more. */
export class Handoff {
  #items = [];
  #outcome;
  #waiting;
  #taken = () => {};

  /** Resolves when everything that was put has been taken, or nobody takes anything any more. */
  put(item) {
    if (this.#outcome) return undefined;
    this.#items.push(item);
    this.#wake();
    return new Promise((resolve) => (this.#taken = resolve));
  }

  /** No more comes: the consumer gets what there is, and then `value`, or `error`. */
  end(outcome) {
    this.#outcome ??= outcome;
    this.#wake();
  }

  /** The consumer is gone. */
  leave() {
    this.#items = [];
    this.end({});
    this.#taken();
  }

  /** The next item as `{ item }`, or `{ value }` at the end. */
  async take() {
    if (this.#items.length === 0) this.#taken();
    while (this.#items.length === 0 && !this.#outcome) await new Promise((resolve) => (this.#waiting = resolve));
    if (this.#items.length > 0) return { item: this.#items.shift() };
    if ("error" in this.#outcome) throw this.#outcome.error;
    return { value: this.#outcome.value };
  }

  #wake() {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}
