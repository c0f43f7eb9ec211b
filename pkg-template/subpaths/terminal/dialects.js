// The messages of the two kinds of servers. A dialect is plain functions: what becomes of input, sizes and signals on the wire, and
// what a frame that arrived means: `{ data }`, `{ started }`, `{ exited }`, or undefined for what means nothing.

import { ProtocolError } from "#package";
import { wrong } from "./options.js";

const encoder = new TextEncoder();

/** Signals that the in-image server sends to the shell's process group. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT"];

/** Bytes of a binary frame. */
function bytesOf(frame) {
  if (ArrayBuffer.isView(frame)) return new Uint8Array(frame.buffer, frame.byteOffset, frame.byteLength);
  if (Object.prototype.toString.call(frame) === "[object ArrayBuffer]") return new Uint8Array(frame);
  throw new ProtocolError("The WebSocket gave neither text nor bytes. It must know binaryType", { code: "protocol_error" });
}

/** A frame as a JSON object, or undefined. */
function objectOf(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** The plain bridge: bytes as binary frames both ways; what is said beside them is JSON in text frames. */
export const bridge = {
  /** Whether the server lets its output wait. */
  pauses: true,
  /** What ends a terminal and leaves its shell, or lets it go. */
  leave: 4000,
  encoder: () => (bytes) => bytes,
  resize: ({ cols, rows }) => JSON.stringify({ type: "resize", cols, rows }),
  pause: () => JSON.stringify({ type: "pause" }),
  resume: () => JSON.stringify({ type: "resume" }),
  /** What servers ask for whose host does not know how much is on its way. */
  ack: (bytes) => JSON.stringify({ type: "ack", bytes }),
  signal(name) {
    if (name === "SIGINT") return Uint8Array.of(3);
    if (name === "SIGQUIT") return Uint8Array.of(28);
    throw wrong('name of signal must be "SIGINT" or "SIGQUIT" here, which are what Ctrl-C and Ctrl-\\ type; close() ends the shell');
  },
  read(frame) {
    if (typeof frame !== "string") return { data: bytesOf(frame) };
    const said = objectOf(frame);
    if (said?.type === "started" && Number.isInteger(said.pid)) return { started: { pid: said.pid, acks: said.acks > 0 ? said.acks : undefined } };
    if (said?.type === "exited") return { exited: endOf(said) };
    // Other bridges send output as text.
    return { data: encoder.encode(frame) };
  },
};

function endOf({ exitCode, signal }) {
  return { exitCode: Number.isInteger(exitCode) ? exitCode : undefined, signal: typeof signal === "string" ? signal : undefined };
}

/** The in-image server: everything is JSON in text frames. */
export const server = {
  pauses: false,
  leave: 1000,
  /**
   * Its input is text, so that bytes are put together to characters before they are sent. Wrong numbers and texts would end the
   * connection there, but none passes `options.js`.
   */
  encoder() {
    const fresh = () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    let decoder = fresh();
    return (bytes) => {
      let data;
      try {
        data = decoder.decode(bytes, { stream: true });
      } catch {
        decoder = fresh();
        throw wrong("data of write must be UTF-8 here: this server's terminals take text. The sandbox's own take any bytes");
      }
      return data === "" ? undefined : JSON.stringify({ type: "input", data });
    };
  },
  resize: ({ cols, rows }) => JSON.stringify({ type: "resize", cols, rows }),
  signal(name) {
    if (SIGNALS.includes(name)) return JSON.stringify({ type: "signal", signal: name });
    throw wrong(`name of signal must be one of ${SIGNALS.join(", ")}`);
  },
  read(frame) {
    const text = typeof frame === "string" ? frame : new TextDecoder().decode(bytesOf(frame));
    const said = objectOf(text);
    if (said === undefined) return { data: encoder.encode(text) };
    if (said.type === "output") return typeof said.data === "string" ? { data: encoder.encode(said.data) } : undefined;
    if (said.type !== "event") return undefined;
    if (said.event === "started") return { started: { pid: Number.isInteger(said.pid) ? said.pid : undefined } };
    return said.event === "exited" ? { exited: { exitCode: undefined, signal: undefined } } : undefined;
  },
};
