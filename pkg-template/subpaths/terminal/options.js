// What the functions of this entry accept. Everything is checked here, by name, before anything is dialled.

import { InvalidArgumentError, UnsupportedError } from "#package";

/** The largest size of a terminal in either direction: the kernel keeps 16 bits. */
const LARGEST = 65_535;

const MB = 1_048_576;

const RECONNECT = { attempts: 8, initialDelayMs: 500, maxDelayMs: 8_000 };

export function readOptions(opts = {}, owner) {
  const given = object(opts, `The options of ${owner}`);
  const { signal, user, cwd } = given;
  const WebSocket = given.WebSocket ?? globalThis.WebSocket;
  if (signal !== undefined && !(typeof signal?.aborted === "boolean" && typeof signal.addEventListener === "function")) {
    throw wrong(`signal of ${owner} must be an AbortSignal`);
  }
  if (typeof WebSocket !== "function") {
    if (given.WebSocket !== undefined) throw wrong(`WebSocket of ${owner} must be a class such as the global WebSocket`);
    const message = "This runtime has no WebSocket. Give one as the option WebSocket, such as the class of the package ws in Node before 22";
    throw new UnsupportedError(message, { code: "unsupported" });
  }
  return {
    signal,
    WebSocket,
    cols: count(given.cols ?? 80, "cols", owner, LARGEST),
    rows: count(given.rows ?? 24, "rows", owner, LARGEST),
    /** Whether the caller has said a size: a terminal that is open already keeps its own otherwise. */
    isSized: given.cols !== undefined || given.rows !== undefined,
    user: text(user, "user", owner),
    cwd: text(cwd, "cwd", owner),
    pid: given.pid === undefined ? undefined : count(given.pid, "pid", owner, 4_294_967_295),
    onData: callback(given.onData, "onData", owner),
    onState: callback(given.onState, "onState", owner),
    connectTimeoutMs: milliseconds(given.connectTimeoutMs ?? 30_000, "connectTimeoutMs", owner),
    outputBufferBytes: count(given.outputBufferBytes ?? 4 * MB, "outputBufferBytes", owner, Number.MAX_SAFE_INTEGER),
    inputBufferBytes: count(given.inputBufferBytes ?? MB, "inputBufferBytes", owner, Number.MAX_SAFE_INTEGER),
    reconnect: reconnect(given.reconnect ?? {}, owner),
  };
}

/** The in-image server's terminal: `{ url, sessionId, token }`. */
export function readServer(target) {
  const owner = "openServerTerminal";
  const { url, sessionId, token } = object(target, `The target of ${owner}`);
  if (typeof sessionId !== "string" || sessionId === "") throw wrong(`sessionId of ${owner} must be the session_id that POST /pty/sessions answered`);
  return { url, sessionId, token: text(token, "token", owner) };
}

/** A size as `resize` takes it. */
export function readSize(size) {
  const { cols, rows } = object(size, "The size of resize");
  return { cols: count(cols, "cols", "resize", LARGEST), rows: count(rows, "rows", "resize", LARGEST) };
}

/** Data that is written, as bytes. */
export function readData(data) {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  if (/^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data))) return new Uint8Array(data).slice();
  throw wrong("data of write must be a string, a Uint8Array or an ArrayBuffer");
}

function reconnect(value, owner) {
  if (value === false) return { ...RECONNECT, attempts: 0 };
  const given = object(value === true ? {} : value, `reconnect of ${owner}, unless it is false,`);
  const { attempts, initialDelayMs, maxDelayMs } = { ...RECONNECT, ...given };
  if (!(Number.isInteger(attempts) && attempts >= 0)) throw wrong(`reconnect.attempts of ${owner} must be a whole number from 0 on`);
  return {
    attempts,
    initialDelayMs: milliseconds(initialDelayMs, "reconnect.initialDelayMs", owner),
    maxDelayMs: milliseconds(maxDelayMs, "reconnect.maxDelayMs", owner),
  };
}

function object(value, what) {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  throw wrong(`${what} must be an object`);
}

function count(value, name, owner, most) {
  if (Number.isInteger(value) && value >= 1 && value <= most) return value;
  throw wrong(`${name} of ${owner} must be a whole number from 1 to ${most}`);
}

function text(value, name, owner) {
  if (value === undefined || (typeof value === "string" && value !== "")) return value;
  throw wrong(`${name} of ${owner} must be a text that is not empty`);
}

function callback(value, name, owner) {
  if (value === undefined || typeof value === "function") return value;
  throw wrong(`${name} of ${owner} must be a function`);
}

function milliseconds(value, name, owner) {
  // Longer clocks fire at once in some hosts.
  if (typeof value === "number" && value >= 0 && value <= 2_147_483_647) return value;
  throw wrong(`${name} of ${owner} must be a number of milliseconds from 0 to 2147483647`);
}

export function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}
