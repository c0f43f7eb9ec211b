// Requests to the server: what is sent, how its answers are read, how long all of it may take, and what is sent again. Knows no
// endpoint.

import { ConnectionError, ProtocolError, RateLimitError, SandboxError } from "#package";
import { isObject, milliseconds, optional, options, signal as checkSignal, whole, wrong } from "./check.js";
import { Clock } from "./clock.js";
import { PayloadTooLargeError, factsOf, failure, refusal, tooLarge } from "./errors.js";
import { camelKeys, parseJson } from "./json.js";

const REQUEST_TIMEOUT_MS = 30_000;

/** The largest body of a request that the server reads, in bytes. It hangs up on larger ones before it says so. */
const LARGEST_REQUEST = 10_485_760;

/** The largest answer that is read into memory, in bytes, and how much of a refusal. */
const LARGEST_ANSWER = 256 * 1024 * 1024;
const LARGEST_REFUSAL = 64 * 1024;

/** The waits before a request is sent again, in ms. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 10_000;

export class Calls {
  /** What `discover` has found; calls are checked against it. */
  capabilities = undefined;

  constructor(reach, opts) {
    this.reach = reach;
    this.requestTimeoutMs = opts.requestTimeoutMs === 0 ? 0 : (optional(milliseconds, opts.requestTimeoutMs, "Option requestTimeoutMs of ServerClient") ?? REQUEST_TIMEOUT_MS);
    this.retries = optional(whole, opts.retries, "Option retries of ServerClient", 0, 100) ?? 0;
    this.largest = optional(whole, opts.maxResponseBytes, "Option maxResponseBytes of ServerClient", 1) ?? LARGEST_ANSWER;
    this.signal = optional(checkSignal, opts.signal, "Option signal of ServerClient");
  }

  /** The clock of one call, with the caller's options for it. */
  clock(owner, given, timeoutMs) {
    const opts = options(given, owner);
    const own = opts.requestTimeoutMs === 0 ? 0 : optional(milliseconds, opts.requestTimeoutMs, `Option requestTimeoutMs of ${owner}`);
    const describe = (ms) => ({ message: `The server did not answer ${owner} within ${ms} ms. Raise requestTimeoutMs if it may take longer`, code: "request_timeout" });
    return this.#begin(optional(checkSignal, opts.signal, `Option signal of ${owner}`), own ?? timeoutMs ?? this.requestTimeoutMs, describe);
  }

  /** Asks an endpoint, and answers the JSON object that it answers. */
  async ask(endpoint, method, path, { owner, opts, timeoutMs, ...request }) {
    const clock = this.clock(owner, opts, timeoutMs);
    try {
      const answer = await this.send(clock, endpoint, method, path, request);
      const text = await readText(answer, clock, this.largest, method);
      // What has no content says nothing.
      if (request.mayBeEmpty && text === "") return {};
      const value = jsonOf(text);
      if (isObject(value)) return value;
      throw failure(ProtocolError, "protocol_error", `Endpoint ${endpoint} answered something other than a JSON object. Is this the server's port?`, { status: answer.status, endpoint });
    } finally {
      clock.end();
    }
  }

  /**
   * Sends one request, again where that is safe, and answers its response when that is a success. The body is the caller's to
   * read or to cancel; `clock` stays open.
   */
  async send(clock, endpoint, method, path, { query = [], json, body, headers = {}, accept, isAnonymous }) {
    this.capabilities?.demand(endpoint);
    const content = json === undefined ? body : encode(json);
    if (typeof content === "string") this.#checkSize(endpoint, content);
    const all = { ...headers };
    if (accept !== undefined) all.accept = accept;
    if (json !== undefined) all["content-type"] = "application/json";
    for (let attempt = 0; ; attempt++) {
      let problem;
      try {
        const answer = await this.raw(clock, method, path, query, { headers: all, ...(content === undefined ? {} : { body: content }) }, isAnonymous);
        if (answer.status >= 200 && answer.status < 300) return answer;
        problem = await this.refused(answer, clock, endpoint);
      } catch (error) {
        problem = error;
      }
      const wait = attempt < this.retries && !clock.stopped ? waitBefore(problem, method, attempt) : undefined;
      if (wait === undefined || wait >= clock.left) throw problem;
      await clock.sleep(wait);
    }
  }

  /** One request as it is, and whatever is answered. */
  async raw(clock, method, path, query, init, isAnonymous = false) {
    if (clock.stopped) throw clock.reason;
    const sending = this.reach.send(path, query, { method, redirect: "manual", signal: clock.signal, ...init }, isAnonymous);
    try {
      return await clock.run(sending);
    } catch (cause) {
      if (clock.stopped) {
        // A host that ignores signals answers all the same; nobody reads that.
        sending.then((answer) => answer.body?.cancel(), () => {}).catch(() => {});
        throw clock.reason;
      }
      if (cause instanceof SandboxError) throw cause;
      throw unreachable(method, this.reach.origin, cause);
    }
  }

  /** The error that a response other than success stands for. */
  async refused(answer, clock, endpoint) {
    // A browser hides what a redirect says.
    const status = answer.type === "opaqueredirect" ? 302 : answer.status;
    const text = await readText(answer, clock, LARGEST_REFUSAL, "GET", true);
    const value = jsonOf(text);
    return refusal(factsOf(status, isObject(value) ? value : undefined, answer.headers, endpoint));
  }

  /** The clock of a call whose options have been read already. */
  #begin(signal, timeoutMs, describe) {
    const signals = [this.signal, signal].filter((one) => one !== undefined);
    return new Clock(signals.length > 1 ? AbortSignal.any(signals) : signals[0], timeoutMs, describe);
  }

  #checkSize(endpoint, content) {
    const limit = Math.min(this.capabilities?.limit(endpoint, "maxRequestBytes") ?? LARGEST_REQUEST, LARGEST_REQUEST);
    if (content.length > limit || new TextEncoder().encode(content).length > limit) {
      throw failure(PayloadTooLargeError, "payload_too_large", tooLarge(`endpoint ${endpoint}`, limit), { endpoint, limit });
    }
  }
}

/** Options that every call has beside its own, for callers who build an object of the others. */
export function callOptions(opts) {
  return { signal: opts?.signal, requestTimeoutMs: opts?.requestTimeoutMs };
}

/** The pairs of a query, without what is undefined. */
export function queryOf(values) {
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [key, String(value)]);
}

/** An object without what is undefined. */
export function defined(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** A file's answer calls its size `bytes`. */
export function withSize({ bytes, ...rest }) {
  return camelKeys(bytes === undefined ? rest : { ...rest, size: bytes });
}

/** JSON of what JSON can say; anything else would arrive as something else. */
export function encode(json) {
  const found = unspeakable(json, "The body", new Set());
  if (found !== undefined) throw wrong(found);
  return JSON.stringify(json);
}

/** What in a value JSON would drop or change, as a sentence. */
function unspeakable(value, name, parents) {
  if (value === null || typeof value === "string" || typeof value === "boolean" || value === undefined) return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${name} is ${value}, which JSON cannot express`;
  if (typeof value !== "object") return `${name} is a ${typeof value}, which JSON cannot express`;
  if (parents.has(value)) return `${name} contains itself`;
  if (typeof value.toJSON === "function") return undefined;
  parents.add(value);
  for (const [key, item] of Object.entries(value)) {
    const found = Array.isArray(value) && item === undefined ? `${name}[${key}] is undefined` : unspeakable(item, Array.isArray(value) ? `${name}[${key}]` : `${name}.${key}`, parents);
    if (found !== undefined) return found;
  }
  parents.delete(value);
  return undefined;
}

/** How long to wait before a request is sent again, in ms; undefined when it must not be. */
function waitBefore(problem, method, attempt) {
  const { retryAfterMs } = problem.server ?? {};
  // Refused before anybody has acted on it.
  if (problem instanceof RateLimitError && retryAfterMs !== undefined) return Math.min(retryAfterMs, 60_000);
  const may = method === "GET" && problem.retryable === true && !(problem instanceof RateLimitError);
  return may ? Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) : undefined;
}

function unreachable(method, origin, cause) {
  // Only pages have a place that a browser loaded them from.
  const inPage = typeof location === "object" && location !== null && /^https?:$/.test(location.protocol);
  const reach = inPage
    ? "The server sends no CORS headers, so pages reach it through a broker: attach with Sandbox.attach({ endpoint }) and give that sandbox to ServerClient"
    : "Check the address, and that the server is started and listens on this port";
  if (method === "GET" || method === "HEAD") {
    return new ConnectionError(`The server at ${origin} cannot be reached. ${reach}`, { code: "connection_failed", retryable: true, cause });
  }
  // The server also hangs up instead of answering.
  return new ConnectionError(`The server at ${origin} did not answer, and whether it has acted on the request is unknown. ${reach}`, { code: "outcome_unknown", cause });
}

function lost(method, cause) {
  if (method === "GET") return new ConnectionError("The connection to the server broke while its answer was read", { code: "connection_lost", retryable: true, cause });
  return new ConnectionError("The connection broke while the answer was read. The server has acted on the request", { code: "connection_lost", cause });
}

/** The text of a body, up to `limit` bytes. Of a refusal (`isCut`) the beginning does. */
export async function readText(answer, clock, limit, method, isCut = false) {
  const chunks = [];
  const decoder = new TextDecoder();
  for await (const bytes of chunksOf(answer, clock, method, isCut)) {
    limit -= bytes.length;
    if (limit < 0) {
      if (isCut) break;
      throw new ProtocolError("The answer of the server is larger than maxResponseBytes of ServerClient", { code: "response_too_large", status: answer.status });
    }
    chunks.push(decoder.decode(bytes, { stream: true }));
  }
  chunks.push(decoder.decode());
  return chunks.join("");
}

/** The chunks of a body. However this ends, the body is cancelled. */
export async function* chunksOf(answer, clock, method, isCut = false) {
  if (!answer.body) return;
  const reader = answer.body.getReader();
  let isDone = false;
  try {
    for (;;) {
      let part;
      try {
        part = await clock.run(reader.read());
      } catch (cause) {
        if (clock.stopped) throw clock.reason;
        if (isCut) return;
        throw lost(method, cause);
      }
      if (part.done) {
        isDone = true;
        return;
      }
      yield part.value;
    }
  } finally {
    if (!isDone) reader.cancel().catch(() => {});
  }
}

function jsonOf(text) {
  try {
    return parseJson(text);
  } catch {
    return undefined;
  }
}
