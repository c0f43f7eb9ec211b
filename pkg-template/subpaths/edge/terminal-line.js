// The broker's end of a terminal's WebSocket, of whatever host: frames in and out, with bounded buffers.

/** How much output may wait in the host before the sandbox has to, in bytes, and how often a host that is full is looked at, in ms. */
const IN_HOST = 1_048_576;
const LOOK_MS = 20;

/** How much input may wait for the sandbox, in bytes. */
const WAITING = 1_048_576;

export class TerminalLine {
  #socket;
  #isOpen;
  #orders;
  #waiting = [];
  #length = 0;
  #isSending = false;
  #size;
  #hold;
  #release;
  #left;
  /** Called once when the client has gone. */
  onLeft = () => {};

  constructor(socket) {
    this.#socket = socket;
    try {
      socket.binaryType = "arraybuffer";
    } catch {
      // Some hosts know nothing else.
    }
    // Some are not open before the answer is sent.
    this.#isOpen = socket.readyState === 0 ? new Promise((resolve) => socket.addEventListener("open", resolve, { once: true })) : Promise.resolve();
    socket.addEventListener("message", ({ data }) => this.#heard(data));
    socket.addEventListener("close", ({ code = 1006 }) => {
      this.#leave(code);
      // Not every host answers a goodbye by itself.
      this.#end();
    });
    socket.addEventListener("error", () => this.#leave(1006));
  }

  /** The close code that the client has gone with: 1006 when it was cut off. */
  get leftWith() {
    return this.#left;
  }

  /** What comes goes there from now on: `{ input(bytes), resize(size) }`, which answer promises. */
  begin(orders) {
    this.#orders = orders;
    if (this.#size) this.#resize(this.#size);
    this.#send();
  }

  say(event) {
    this.#put(JSON.stringify(event));
  }

  /** Sends output, and resolves when there is room for more. */
  async output(bytes) {
    await this.#isOpen;
    if (this.#left !== undefined) return;
    await this.#hold;
    this.#put(bytes);
    // Hosts that do not say how much waits are held up by clients that say so.
    while (this.#left === undefined && this.#socket.bufferedAmount > IN_HOST) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }

  async close(code, reason) {
    await this.#isOpen;
    if (this.#left !== undefined) return;
    this.#leave(code);
    this.#end(code, fitting(reason));
  }

  #put(frame) {
    if (this.#left !== undefined) return;
    try {
      this.#socket.send(frame);
    } catch {
      // It has been cut off, and nobody has said so yet.
      this.#leave(1006);
    }
  }

  #end(...words) {
    try {
      this.#socket.close(...words);
    } catch {
      // It is over already.
    }
  }

  #leave(code) {
    if (this.#left !== undefined) return;
    this.#left = code;
    this.#release?.();
    this.#waiting = [];
    this.onLeft();
  }

  #heard(data) {
    if (this.#left !== undefined) return;
    const order = typeof data === "string" ? orderOf(data) : undefined;
    if (order?.type === "resize") this.#resize(order);
    else if (order?.type === "pause") this.#hold ??= new Promise((resolve) => (this.#release = resolve));
    else if (order?.type === "resume") this.#goOn();
    else this.#type(typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data));
  }

  #goOn() {
    this.#release?.();
    this.#hold = undefined;
  }

  #resize({ cols, rows }) {
    this.#size = { cols, rows };
    // A shell that has ended says so in a moment.
    this.#orders?.resize(this.#size).catch(() => {});
  }

  #type(bytes) {
    if (this.#length + bytes.length > WAITING) return void this.close(4008, "More input than the program takes");
    this.#length += bytes.length;
    this.#waiting.push(bytes);
    return void this.#send();
  }

  /** One request at a time, in order, each with all that waits. */
  async #send() {
    if (this.#isSending || !this.#orders) return;
    this.#isSending = true;
    while (this.#waiting.length > 0) {
      const bytes = joined(this.#waiting);
      this.#waiting = [];
      // A sandbox that is gone is told of by the output, which ends with it.
      await this.#orders.input(bytes).catch(() => {});
      this.#length -= bytes.length;
    }
    this.#isSending = false;
  }
}

/** A text frame that is no input: exactly an order. */
function orderOf(text) {
  if (text[0] !== "{") return undefined;
  let order;
  try {
    order = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { type, cols, rows, ...more } = order;
  if (Object.keys(more).length > 0) return undefined;
  const isSize = (value) => Number.isInteger(value) && value >= 1 && value <= 65_535;
  if (type === "resize") return isSize(cols) && isSize(rows) ? order : undefined;
  return (type === "pause" || type === "resume") && cols === undefined && rows === undefined ? order : undefined;
}

function joined(parts) {
  if (parts.length === 1) return parts[0];
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** As much of a reason as a close frame has room for, in bytes. */
function fitting(reason) {
  let text = String(reason);
  while (new TextEncoder().encode(text).length > 123) text = text.slice(0, -1);
  return text;
}
