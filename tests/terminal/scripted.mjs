// A WebSocket server that does what a case says, and a client that it is dialled with.

import { once } from "node:events";
import { WebSocket, WebSocketServer } from "ws";

/** A server on a port of its own: `peers` are its connections in the order they came, which `next` waits for. */
export async function startServer(options = {}) {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false, ...options });
  await once(server, "listening");
  const peers = [];
  const waiting = [];
  server.on("connection", (socket, request) => {
    const peer = new Peer(socket, request);
    const waiter = waiting.shift();
    if (waiter) waiter(peer);
    else peers.push(peer);
  });
  return {
    url: `ws://127.0.0.1:${server.address().port}`,
    next: () => (peers.length > 0 ? Promise.resolve(peers.shift()) : new Promise((resolve) => waiting.push(resolve))),
    close() {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

/** The server's end of a connection. */
class Peer {
  #messages = [];
  #waiting = [];

  constructor(socket, request) {
    this.socket = socket;
    this.url = new URL(request.url, "ws://server");
    this.headers = request.headers;
    this.closed = new Promise((resolve) => socket.once("close", (code, reason) => resolve({ code, reason: String(reason) })));
    socket.on("message", (data, isBinary) => {
      const message = isBinary ? new Uint8Array(data) : String(data);
      const waiter = this.#waiting.shift();
      if (waiter) waiter(message);
      else this.#messages.push(message);
    });
  }

  /** The next message: text as a string, bytes as a Uint8Array. */
  message() {
    return this.#messages.length > 0 ? Promise.resolve(this.#messages.shift()) : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** How many messages came that nobody has looked at. */
  get pending() {
    return this.#messages.length;
  }

  json(value) {
    this.socket.send(JSON.stringify(value));
  }

  bytes(data) {
    this.socket.send(typeof data === "string" ? Buffer.from(data) : data);
  }

  close(code, reason = "") {
    this.socket.close(code, reason);
  }

  /** Breaks off, as a network does. */
  drop() {
    this.socket.terminate();
  }
}

/** Runs `body` with a server of its own. */
export const withServer = (body, options) => async (ctx) => {
  const server = await startServer(options);
  try {
    await body(server, ctx);
  } finally {
    server.close();
  }
};

/** What each opening is given: a WebSocket, which older Nodes have not, and no patience between attempts. */
export const QUICK = { WebSocket, reconnect: { attempts: 5, initialDelayMs: 1, maxDelayMs: 5 } };

/** Opens the bridge of a scripted server, which says that it has started process 42: `{ terminal, peer }`. */
export async function openBridge({ url, next }, { openTerminal }, opts) {
  const opening = openTerminal(`${url}/terminal?token=the-secret`, { ...QUICK, ...opts });
  const peer = await next();
  peer.json({ type: "started", pid: 42 });
  return { terminal: await opening, peer };
}

/** The text of what a terminal prints, until it fits. Reads on where it has stopped. */
export async function readUntil(terminal, pattern) {
  let text = "";
  for await (const piece of terminal.text()) {
    text += piece;
    if (pattern.test(text)) return text;
  }
  throw new Error(`the terminal has ended after ${JSON.stringify(text.slice(-200))}`);
}
