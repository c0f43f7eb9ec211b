// One terminal over as many connections as it takes. It is `connecting`, `ready`, `lost` while it dials again, and `ended` for ever;
// every way to the end passes `#end`, once.

import { ConnectionError, SandboxError } from "#package";
import { meaningOf } from "./closing.js";
import { dial } from "./dial.js";
import { Input } from "./input.js";
import { readData, readSize } from "./options.js";
import { Output } from "./output.js";

/** How much a stream hands over at a time, in bytes. */
const PIECE = 64 * 1024;

/** A connection that lasted so long, in ms, was a good one: the next is dialled as soon as the first was. */
const LASTING_MS = 30_000;

export class Terminal {
  #address;
  #dialect;
  #options;
  #state = "connecting";
  #pid;
  #size;
  /** Whether the terminal has this size, or another one that is its own. */
  #isSized;
  #line;
  /** What this connection's server wants to be told: `{ every, got, told }`, in bytes. */
  #acks;
  #output;
  #input;
  #stream;
  #sink;
  /** Ends whatever waits: dialling, and the pause before it. */
  #over = new AbortController();
  #settle;
  /** How often in a row a connection was lost before anything came of it, and since when there is one. */
  #attempt = 0;
  #since = 0;

  exit = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));

  static async open(address, dialect, options) {
    options.signal?.throwIfAborted();
    const terminal = new Terminal(address, dialect, options);
    await terminal.#begin();
    return terminal;
  }

  constructor(address, dialect, options) {
    this.#address = address;
    this.#dialect = dialect;
    this.#options = options;
    this.#size = { cols: options.cols, rows: options.rows };
    this.#isSized = options.isSized || (dialect.pauses && options.pid === undefined);
    this.#pid = options.pid;
    this.#output = new Output(options.outputBufferBytes, {
      onHigh: () => dialect.pauses && this.#line?.send(dialect.pause()),
      onLow: () => dialect.pauses && this.#line?.send(dialect.resume()),
    });
    this.#input = new Input(options.inputBufferBytes, dialect.encoder());
    // Whoever wants to know asks; nobody has to.
    this.exit.catch(() => {});
  }

  get state() {
    return this.#state;
  }

  get pid() {
    return this.#pid;
  }

  get size() {
    return { ...this.#size };
  }

  write(data) {
    const written = new Promise((resolve) => resolve(this.#input.write(readData(data))));
    // Whoever types does not have to wait for each key.
    written.catch(() => {});
    return written;
  }

  resize(size) {
    this.#size = readSize(size);
    this.#isSized = true;
    this.#line?.send(this.#dialect.resize(this.#size));
  }

  signal(name = "SIGINT") {
    this.#line?.send(this.#dialect.signal(name));
  }

  get output() {
    if (this.#stream) return this.#stream;
    this.#output.claim("output");
    const pull = async (controller) => {
      const bytes = await this.#output.read();
      if (bytes === undefined) controller.close();
      else controller.enqueue(bytes);
    };
    this.#stream = new ReadableStream({ pull, cancel: () => this.close() }, { highWaterMark: 0 });
    return this.#stream;
  }

  get input() {
    this.#sink ??= new WritableStream({
      write: async (chunk) => {
        const bytes = readData(chunk);
        const step = Math.min(PIECE, this.#options.inputBufferBytes);
        for (let at = 0; at < bytes.length; at += step) await this.#input.write(bytes.subarray(at, at + step));
      },
      abort: () => this.close(),
    });
    return this.#sink;
  }

  async *[Symbol.asyncIterator]() {
    this.#output.claim("for await");
    try {
      for (let bytes; (bytes = await this.#output.read()) !== undefined; ) yield bytes;
    } finally {
      this.#output.release();
    }
  }

  async *text() {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    for await (const bytes of this) {
      const text = decoder.decode(bytes, { stream: true });
      if (text !== "") yield text;
    }
    const rest = decoder.decode();
    if (rest !== "") yield rest;
  }

  close() {
    this.#end({ code: 1000, result: { exitCode: undefined, signal: undefined, reason: "closed" } });
  }

  detach() {
    this.#end({ code: this.#dialect.leave, result: { exitCode: undefined, signal: undefined, reason: "detached" } });
  }

  dispose() {
    this.close();
  }

  async #begin() {
    const { signal, onData } = this.#options;
    const abort = () => this.#end({ code: 1000, error: signal.reason });
    signal?.addEventListener("abort", abort);
    this.#over.signal.addEventListener("abort", () => signal?.removeEventListener("abort", abort));
    try {
      this.#tell("connecting");
      await this.#connect();
    } catch (error) {
      this.#end({ code: 1000, error });
      throw error;
    }
    // A bridge has read it in the address.
    if (this.#isSized && !this.#dialect.pauses) this.#line?.send(this.#dialect.resize(this.#size));
    if (onData) this.#hand(onData);
  }

  /** Dials, and listens to what comes. Rejects when nothing does. */
  async #connect() {
    const { WebSocket, connectTimeoutMs: timeoutMs } = this.#options;
    const { signal } = this.#over;
    const url = await orAborted(this.#address({ pid: this.#pid, attempt: this.#attempt }), signal);
    const line = await dial({ url, dialect: this.#dialect, WebSocket, timeoutMs, signal });
    this.#line = line;
    this.#since = Date.now();
    line.listen({ onEvent: (event) => this.#take(event), onClosed: (closed) => this.#closed(closed) });
    if (this.#line !== line || this.#state === "ended") return;
    this.#tell("ready");
    this.#input.attach(line);
  }

  #take({ data, started, exited, error }) {
    if (data) this.#attempt = 0;
    if (started) this.#begun(started);
    if (exited) return this.#end({ code: 1000, result: { ...exited, reason: "exited" } });
    if (error) return this.#end({ code: 1000, error });
    try {
      if (data) this.#got(data);
    } catch (full) {
      this.#end({ code: 1000, error: full });
    }
    return undefined;
  }

  #begun({ pid, acks }) {
    this.#pid = pid ?? this.#pid;
    this.#acks = acks && { every: acks, got: 0, told: 0 };
  }

  #got(data) {
    this.#output.push(data);
    const acks = this.#acks;
    if (!acks) return;
    acks.got += data.length;
    if (acks.got - acks.told < acks.every) return;
    acks.told = acks.got;
    this.#line?.send(this.#dialect.ack(acks.got));
  }

  #closed(closed) {
    this.#line = undefined;
    this.#input.detach();
    if (Date.now() - this.#since > LASTING_MS) this.#attempt = 0;
    const { end, error, lost } = meaningOf(this.#dialect, closed);
    if (end) return this.#end({ result: { ...end, reason: "exited" } });
    if (error) return this.#end({ error });
    return void this.#recover(lost);
  }

  /** Dials the same terminal again, ever more rarely. Never rejects. */
  async #recover(lost) {
    const { attempts, initialDelayMs, maxDelayMs } = this.#options.reconnect;
    const { signal } = this.#over;
    // A bridge that has not said which process it is would begin another one.
    const isKnown = this.#pid !== undefined || !this.#dialect.pauses;
    let failure = lost;
    while (isKnown && this.#attempt < attempts) {
      // Not all at once, when it was the server that was away.
      const delayMs = Math.round(Math.min(maxDelayMs, initialDelayMs * 2 ** this.#attempt) * (0.5 + Math.random() / 2));
      this.#attempt += 1;
      this.#tell("lost", { error: failure, attempt: this.#attempt, delayMs });
      try {
        await pause(delayMs, signal);
        await this.#connect();
        return this.#redraw();
      } catch (error) {
        if (signal.aborted) return undefined;
        failure = error;
        if (!(error?.retryable === true)) return this.#end({ error });
      }
    }
    const message = isKnown ? `The connection to the terminal is lost, and ${attempts} attempts to open it again have failed` : lost.message;
    return this.#end({ error: new ConnectionError(message, { code: "connection_lost", retryable: true, cause: failure }) });
  }

  /** Nothing is replayed: a program that draws the screen does it anew when its size changes. */
  #redraw() {
    const { cols, rows } = this.#size;
    const line = this.#line;
    for (const size of this.#isSized ? [{ cols, rows: Math.max(1, rows - 1) }, { cols, rows }] : []) line?.send(this.#dialect.resize(size));
    if (this.#output.isHigh && this.#dialect.pauses) line?.send(this.#dialect.pause());
  }

  async #hand(onData) {
    try {
      this.#output.claim("onData");
      for (let bytes; (bytes = await this.#output.read()) !== undefined; ) await onData(bytes);
    } catch (error) {
      this.#end({ code: 1000, error });
    }
  }

  #tell(state, facts = {}) {
    if (this.#state === "ended") return;
    this.#state = state;
    try {
      this.#options.onState?.(state, facts);
    } catch (error) {
      this.#end({ code: 1000, error });
    }
  }

  /** The only way to the end. `code` closes the connection; the server has closed it when there is none. */
  #end({ code, result, error }) {
    if (this.#state === "ended") return;
    this.#state = "ended";
    const line = this.#line;
    this.#line = undefined;
    if (code !== undefined) line?.close(code);
    this.#over.abort(error ?? ended());
    this.#input.end(error ?? ended());
    this.#output.end(result ? undefined : error);
    if (result) this.#settle.resolve(result);
    else this.#settle.reject(error);
    try {
      this.#options.onState?.("ended", { error, ...result });
    } catch {
      // There is nothing left that it could end.
    }
  }
}

if (Symbol.dispose) Terminal.prototype[Symbol.dispose] = Terminal.prototype.close;
if (Symbol.asyncDispose) {
  Terminal.prototype[Symbol.asyncDispose] = async function dispose() {
    this.close();
  };
}

function ended() {
  return new SandboxError("The terminal has ended", { code: "disconnected" });
}

/** What a promise resolves to, unless the signal fires first. */
function orAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

function pause(ms, signal) {
  let timer;
  const passed = new Promise((resolve) => (timer = setTimeout(resolve, ms)));
  return orAborted(passed, signal).finally(() => clearTimeout(timer));
}
