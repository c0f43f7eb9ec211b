// A terminal in a sandbox, over the package's own `Sandbox`.

import { translated } from "./translate.js";

export class EnvdTerminal {
  #sandbox;
  #provider;

  constructor(sandbox, provider) {
    this.#sandbox = sandbox;
    this.#provider = provider;
  }

  async open({ cols, rows }, call = {}) {
    const about = { provider: this.#provider, kind: "process", rpc: "/process.Process/Start", what: "opening a terminal", changes: true };
    const handle = await translated(this.#sandbox.pty.create({ cols, rows, user: "user", signal: call.signal }), about);
    return new Terminal(handle, about);
  }
}

/** A terminal as its caller holds it. */
class Terminal {
  #handle;
  #about;
  #reader;
  #isClosed = false;

  constructor(handle, about) {
    this.#handle = handle;
    this.#about = about;
    handle.wait().catch(() => {}).finally(() => (this.#isClosed = true));
  }

  get isConnected() {
    return !this.#isClosed;
  }

  async send(text) {
    await this.sendBytes(new TextEncoder().encode(text));
  }

  async sendBytes(bytes) {
    await translated(this.#handle.sendStdin(bytes), this.#about);
  }

  async resize(cols, rows) {
    await translated(this.#handle.resize({ cols, rows }), this.#about);
  }

  /** The next bytes; undefined after the end. */
  async receive() {
    this.#reader ??= this.outputStream();
    const { value } = await this.#reader.next();
    return value;
  }

  async *outputStream() {
    for await (const { data } of this.#handle) yield data;
  }

  /** Ends the shell. May be called any number of times. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await translated(this.#handle.kill(), this.#about);
  }
}
