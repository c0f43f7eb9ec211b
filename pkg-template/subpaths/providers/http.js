// One HTTP exchange of the provider family: bounded in time and size, redirects refused, sent exactly once. It tells apart what a
// caller must know after a failure: that nothing was sent, that nothing was changed, or that nobody can say (E8020).
// Touches `fetch`, the caller's or the host's.

import { ProviderProtocolError, ProviderTimeoutError, Unreachable, invalid } from "./errors.js";
import { Ending } from "./signals.js";

/** The longest JSON answer that is read, in bytes. */
export const MOST_JSON = 32 << 20;

/** How long the text of an error may be, in characters. */
const EXCERPT = 300;

/** Requests that change nothing, so that their loss leaves no question. */
const READING = ["GET", "HEAD"];

/** What runtimes name as the reason when no connection was made at all. Codes, not words. */
const NEVER_SENT = ["ENOTFOUND", "ECONNREFUSED", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT", "ConnectionRefused", "FailedToOpenSocket"];

/** Whether an error, or what caused it, says that the request never left. */
export function neverSent(error) {
  for (let depth = 0; error && depth < 6; depth += 1, error = error.cause) {
    if (NEVER_SENT.includes(error.code)) return true;
    const inner = Array.isArray(error.errors) ? error.errors : [];
    if (inner.length > 0 && inner.every((one) => NEVER_SENT.includes(one?.code))) return true;
  }
  return false;
}

/** That a request may have been carried out, and what to do about it. */
export function unknownOutcome(what, cause, facts = {}) {
  const message = `The connection was lost before the answer to ${what} could be read, so it may or may not have been carried out. It was not sent again. Inspect the state (list, getInfo) before repeating it`;
  return new ProviderProtocolError(message, { ...facts, outcomeUnknown: true, cause });
}

/**
 * Sends a request and answers its head; the body is read with the methods of the answer.
 *
 * `what` names the request in errors, which never hold more of its address than the origin. `timeout` are seconds for all of it,
 * or, with `streams`, until the head has arrived.
 */
export async function send({ fetch, method = "GET", url, headers = {}, body, what, provider, signal, timeout = 60, streams = false }) {
  const call = new Ending(signal);
  const changes = !READING.includes(method);
  const facts = { provider };
  const request = { url, what, changes, facts, call };
  call.after(timeout, () => {
    const outcome = changes ? "It may or may not have been carried out: inspect the state before repeating it" : "Try again, or give it more time";
    return new ProviderTimeoutError(`${capital(what)} was not answered within ${timeout} s. ${outcome}`, { ...facts, outcomeUnknown: changes || undefined, retryable: !changes });
  });
  try {
    const init = { method, headers, signal: call.signal, redirect: "manual", ...(body !== undefined && { body }) };
    const ask = fetch ?? globalThis.fetch;
    const response = await call.race(Promise.resolve(ask(url, init)));
    const moved = response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400);
    if (moved) {
      response.body?.cancel().catch(() => {});
      throw new ProviderProtocolError(`${originOf(url)} answered ${what} with a redirect, which is never followed. Check the address`, { ...facts, status: response.status || undefined });
    }
    if (streams) call.calm();
    return new Answer(response, request);
  } catch (error) {
    const failure = failed(request, error);
    call.free();
    throw failure;
  }
}

/** What a failure of the network means. */
function failed({ url, what, changes, facts, call }, error) {
  if (call.isOver) return call.reason;
  if (error instanceof ProviderProtocolError) return error;
  if (changes && !neverSent(error)) return unknownOutcome(what, error, facts);
  const message = `${capital(what)} could not reach ${originOf(url)}. Check that the server runs and that this place may call it (in a page: CORS)`;
  return new Unreachable(message, { ...facts, retryable: true, cause: error });
}

class Answer {
  #response;
  #request;
  #reader;

  constructor(response, request) {
    this.#response = response;
    this.#request = request;
    this.status = response.status;
    this.ok = response.status >= 200 && response.status < 300;
    this.headers = response.headers;
    this.what = request.what;
  }

  /** The pieces of the body as they come. Leaving the loop ends the transfer. */
  async *chunks() {
    const { call } = this.#request;
    const reader = this.#response.body?.getReader();
    this.#reader = reader;
    let complete = reader === undefined;
    try {
      while (!complete) {
        const { done, value } = await call.race(reader.read());
        if (done) complete = true;
        else yield value;
      }
    } catch (error) {
      throw failed(this.#request, error);
    } finally {
      call.free();
      if (!complete) reader.cancel().catch(() => {});
    }
  }

  /** The whole body, of at most `most` bytes. */
  async bytes(most = MOST_JSON) {
    const pieces = [];
    let length = 0;
    for await (const piece of this.chunks()) {
      length += piece.length;
      if (length > most) throw this.unexpected(`with more than ${most} bytes`);
      pieces.push(piece);
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  /** The body as JSON; undefined when it is empty. */
  async json() {
    const words = new TextDecoder().decode(await this.bytes());
    if (words.trim() === "") return undefined;
    try {
      return JSON.parse(words);
    } catch {
      throw this.unexpected("with something that is not JSON");
    }
  }

  /** What an answer that is an error says: its JSON if it is any, and words for a message. Bodies of errors are cut, never refused. */
  async complaint() {
    let words = "";
    const decoder = new TextDecoder();
    try {
      for await (const piece of this.chunks()) {
        words += decoder.decode(piece, { stream: true });
        if (words.length > 65_536) break;
      }
    } catch (error) {
      // The status says more than the break of its body; but an abort is an abort.
      if (this.#request.call.isOver) throw error;
    }
    let value;
    try {
      value = JSON.parse(words);
    } catch {
      value = undefined;
    }
    const isPage = /^\s*</.test(words);
    return { value, words: isPage || words.trim() === "" ? "" : excerpt(words) };
  }

  /** Ends the transfer without reading the rest. */
  discard() {
    this.#request.call.free();
    (this.#reader ?? this.#response.body)?.cancel().catch(() => {});
  }

  /** An answer that is not the protocol. What was asked for may have been done all the same. */
  unexpected(how) {
    const { what, changes, facts, url } = this.#request;
    const outcome = changes && this.ok ? ". It may have been carried out: inspect the state before repeating it" : "";
    const message = `${originOf(url)} answered ${what} ${how}. Check the address: this is not what such a server says${outcome}`;
    return new ProviderProtocolError(message, { ...facts, status: this.status, outcomeUnknown: (changes && this.ok) || undefined });
  }
}

/** A text for a message: one line, and not long. */
export function excerpt(words) {
  const line = String(words).replace(/[\s\p{Cc}]+/gu, " ").trim();
  return line.length > EXCERPT ? `${line.slice(0, EXCERPT)}…` : line;
}

/** A name of a request at the beginning of a sentence. */
export function capital(what) {
  return what.charAt(0).toUpperCase() + what.slice(1);
}

/** Scheme, host and port: paths and queries can hold secrets. */
export function originOf(url) {
  try {
    return new URL(url).origin;
  } catch {
    return "the server";
  }
}

/** Words of a server without what must not be repeated. What is short could be any word. */
export function concealed(words, secrets) {
  return secrets.filter((secret) => typeof secret === "string" && secret.length >= 6).reduce((text, secret) => text.replaceAll(secret, "***"), words);
}

/** A path of encoded segments. Encoding leaves dots alone, and a segment of dots would be resolved away to another route. */
export function route(...segments) {
  if (segments.includes(".") || segments.includes("..")) throw invalid("An id must not be a path");
  return segments.map((segment) => `/${encodeURIComponent(String(segment))}`).join("");
}
