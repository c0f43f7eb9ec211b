// The broker's end of a terminal's WebSocket, of whatever host: frames in and out, with bounded buffers.

/** How much output may wait in the host before the sandbox has to, in bytes, and how often a host that is full is looked at, in ms. */
const IN_HOST = 1_048_576;
const LOOK_MS = 20;

/**
 * How much output may be on its way to a client that says what it has got, in bytes, and after how much it is asked to say so. Not
 * every host knows how much waits in it.
 */
const ON_THE_WAY = 1_048_576;
const ACKNOWLEDGED = 262_144;

/** How much input may wait for the sandbox, in bytes. */
const WAITING = 1_048_576;

export class TerminalLine {
  #socket;
  #isOpen;
  #orders;
  /** Bytes and sizes, in the order they came: a program that asks for its size gets the one that was set before. */
  #waiting = [];
  #length = 0;
  #isSending = false;
  /** Bytes that were sent and that the client says it has got; it does not say anything unless it is asked to. */
  #sent = 0;
  #got = Infinity;
  #arrived = () => {};
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
    this.#send();
  }

  /** Asks the client to say what it has got, with the first thing that is said to it. */
  start(event) {
    this.#got = 0;
    this.say({ ...event, acks: ACKNOWLEDGED });
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
    this.#sent += bytes.length;
    while (this.#left === undefined && this.#sent - this.#got > ON_THE_WAY) await new Promise((resolve) => (this.#arrived = resolve));
    await this.#room(IN_HOST);
  }

  /** Resolves when the host has sent all it was given, if it tells: in some, what comes last overtakes what waits. */
  drained() {
    return this.#room(0);
  }

  async #room(most) {
    while (this.#left === undefined && this.#socket.bufferedAmount > most) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
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
    this.#arrived();
    this.#waiting = [];
    this.onLeft();
  }

  #heard(data) {
    if (this.#left !== undefined) return;
    const order = typeof data === "string" ? orderOf(data) : undefined;
    if (order?.type === "resize") this.#resize(order);
    else if (order?.type === "pause") this.#hold ??= new Promise((resolve) => (this.#release = resolve));
    else if (order?.type === "resume") this.#goOn();
    else if (order?.type === "ack") this.#acknowledge(order.bytes);
    else this.#type(typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data));
  }

  #acknowledge(bytes) {
    if (bytes > this.#sent || bytes <= this.#got) return;
    this.#got = bytes;
    this.#arrived();
  }

  #goOn() {
    this.#release?.();
    this.#hold = undefined;
  }

  #resize({ cols, rows }) {
    // Of many only the last ones matter: two, because a program that is to draw anew is given another size and then its own.
    if (this.#waiting.at(-1)?.cols && this.#waiting.at(-2)?.cols) this.#waiting.pop();
    this.#waiting.push({ cols, rows });
    return void this.#send();
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
      const end = this.#waiting.findIndex(({ cols }) => cols !== undefined);
      const typed = this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
      // A sandbox that is gone is told of by the output, which ends with it.
      if (typed.length === 0) await this.#orders.resize(this.#waiting.shift()).catch(() => {});
      else {
        const bytes = joined(typed);
        await this.#orders.input(bytes).catch(() => {});
        this.#length -= bytes.length;
      }
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
  const { type, cols, rows, bytes, ...more } = order;
  if (Object.keys(more).length > 0) return undefined;
  const isSize = (value) => Number.isInteger(value) && value >= 1 && value <= 65_535;
  if (type === "resize") return isSize(cols) && isSize(rows) && bytes === undefined ? order : undefined;
  if (cols !== undefined || rows !== undefined) return undefined;
  if (type === "ack") return Number.isSafeInteger(bytes) ? order : undefined;
  return (type === "pause" || type === "resume") && bytes === undefined ? order : undefined;
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
