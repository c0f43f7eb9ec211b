// The least that speaks to a sandbox server: enough to load it and to check what comes back, and too little to be the
// bottleneck. It knows nothing of the SDK, so that the two are measured apart.

import http from "node:http";
import { once } from "node:events";

const ENVELOPE = 5;
const LAST = 2;
const EQUALS = 0x3d;
/** What surrounds the coded output in almost every message. */
const [BEFORE, AFTER] = ['{"event":{"data":{"stdout":"', '"}}}'].map((text) => Buffer.from(text));
const SIGNALS = { SIGKILL: "SIGNAL_SIGKILL", SIGTERM: "SIGNAL_SIGTERM" };

/** A server at `url`, over connections that are kept. */
export class Server {
  constructor({ url, apiKey }) {
    this.apiKey = apiKey;
    this.port = Number(new URL(url).port);
    this.agent = new http.Agent({ keepAlive: true, maxSockets: Infinity, maxFreeSockets: 1024 });
  }

  /** Sends a request and returns its answer once the head is there. `agent: false` takes a connection of its own. */
  async send(method, path, headers, body, agent = this.agent) {
    const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
    // An address: looking up a name takes longer than many of the requests.
    const request = http.request({ host: "127.0.0.1", port: this.port, method, path, agent, headers: { ...headers, ...length } });
    request.end(body);
    const [response] = await once(request, "response");
    response.on("error", () => {});
    return response;
  }

  /** A call of the control plane; its answer as a value. */
  async call(method, path, value) {
    const headers = { "x-api-key": this.apiKey, "content-type": "application/json" };
    const response = await this.send(method, path, headers, value && JSON.stringify(value));
    const text = Buffer.concat(await response.toArray()).toString();
    if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`);
    return text && JSON.parse(text);
  }

  async create(options) {
    const made = await this.call("POST", "/sandboxes", { templateID: "base", timeout: 3600, secure: true, ...options });
    return new Sandbox(this, made.sandboxID, made.envdAccessToken);
  }

  close() {
    this.agent.destroy();
  }
}

export class Sandbox {
  constructor(server, id, token) {
    Object.assign(this, { server, id });
    this.headers = { "e2b-sandbox-id": id, "e2b-sandbox-port": "49983", "x-access-token": token };
  }

  kill() {
    return this.server.call("DELETE", `/sandboxes/${this.id}`);
  }

  async signal(pid, signal) {
    const body = JSON.stringify({ process: { pid }, signal: SIGNALS[signal] });
    const headers = { ...this.headers, "content-type": "application/json" };
    const response = await this.server.send("POST", "/process.Process/SendSignal", headers, body);
    const text = Buffer.concat(await response.toArray()).toString();
    if (response.statusCode !== 200) throw new Error(`SendSignal: ${response.statusCode} ${text}`);
  }

  /** Starts a command without input. The answer is a stream of envelopes: see `events`. */
  async start(cmd, args = [], { encoding = "json", agent } = {}) {
    const { content, message } = encoding === "proto" ? inBinary(cmd, args) : inJson(cmd, args);
    const head = Buffer.alloc(ENVELOPE);
    head.writeUInt32BE(message.length, 1);
    const headers = { ...this.headers, "content-type": content, "connect-protocol-version": "1" };
    const response = await this.server.send("POST", "/process.Process/Start", headers, Buffer.concat([head, message]), agent);
    if (response.statusCode !== 200) {
      throw new Error(`Start: ${response.statusCode} ${Buffer.concat(await response.toArray())}`);
    }
    return response;
  }
}

/**
 * The messages of a stream, as `{ pid }`, `{ output }` as an `Output`, and `{ end }` with the exit code and the status.
 * Ends after the server's own end; anything else that ends the stream is thrown.
 */
export async function* events(response) {
  const decode = response.headers["content-type"].includes("proto") ? fromBinary : fromJson;
  for await (const [flags, payload] of envelopes(response)) {
    if (flags & LAST) {
      const trailer = JSON.parse(payload);
      if (trailer.error) throw new Error(`the stream failed: ${JSON.stringify(trailer.error)}`);
      return;
    }
    yield decode(payload);
  }
  throw new Error("the stream was cut off");
}

/** Output that is only decoded when somebody looks at it: counting it must not be what limits a measurement. */
class Output {
  #raw;
  #coded;

  constructor(raw, coded) {
    this.#raw = raw;
    this.#coded = coded;
  }

  get length() {
    const { length } = this.#raw;
    if (!this.#coded) return length;
    const padding = this.#raw.at(-1) !== EQUALS ? 0 : this.#raw.at(-2) !== EQUALS ? 1 : 2;
    return (length / 4) * 3 - padding;
  }

  get bytes() {
    return this.#coded ? Buffer.from(this.#raw.toString("latin1"), "base64") : this.#raw;
  }
}

async function* envelopes(response) {
  let rest = Buffer.alloc(0);
  for await (const chunk of response) {
    let bytes = rest.length ? Buffer.concat([rest, chunk]) : chunk;
    while (bytes.length >= ENVELOPE) {
      const end = ENVELOPE + bytes.readUInt32BE(1);
      if (bytes.length < end) break;
      yield [bytes[0], bytes.subarray(ENVELOPE, end)];
      bytes = bytes.subarray(end);
    }
    rest = bytes;
  }
}

function inJson(cmd, args) {
  const message = Buffer.from(JSON.stringify({ process: { cmd, args }, stdin: false }));
  return { content: "application/connect+json", message };
}

function fromJson(payload) {
  if (payload.subarray(0, BEFORE.length).equals(BEFORE)) {
    return { output: new Output(payload.subarray(BEFORE.length, -AFTER.length), true) };
  }
  const { event } = JSON.parse(payload);
  if (event.start) return { pid: event.start.pid };
  if (event.end) return { end: { exitCode: event.end.exitCode ?? 0, status: event.end.status } };
  const data = event.data?.stdout ?? event.data?.stderr ?? "";
  return { output: new Output(Buffer.from(data), true) };
}

/** Length-delimited fields only: that is all a start request has, but for one flag. */
function inBinary(cmd, args) {
  const field = (number, bytes) => Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(bytes.length)]), bytes]);
  const process = Buffer.concat([field(1, Buffer.from(cmd)), ...args.map((arg) => field(2, Buffer.from(arg)))]);
  const withoutInput = Buffer.from([4 << 3, 0]);
  return { content: "application/connect+proto", message: Buffer.concat([field(1, process), withoutInput]) };
}

function fromBinary(payload) {
  const event = fields(fields(payload).get(1));
  if (event.has(1)) return { pid: fields(event.get(1)).get(1) };
  if (event.has(3)) {
    const end = fields(event.get(3));
    const coded = end.get(1) ?? 0;
    // Zigzag: signed numbers by size.
    return { end: { exitCode: (coded >>> 1) ^ -(coded & 1), status: end.get(3)?.toString() } };
  }
  const data = event.has(2) ? fields(event.get(2)) : new Map();
  return { output: new Output(data.get(1) ?? data.get(2) ?? Buffer.alloc(0), false) };
}

/** The fields of a message by number: numbers, or slices of bytes. */
function fields(bytes) {
  const found = new Map();
  let at = 0;
  const number = () => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const key = number();
    const value = number();
    if ((key & 7) === 0) {
      found.set(key >>> 3, value);
    } else {
      found.set(key >>> 3, bytes.subarray(at, at + value));
      at += value;
    }
  }
  return found;
}

function varint(value) {
  const bytes = [];
  for (; value > 0x7f; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return [...bytes, value];
}
