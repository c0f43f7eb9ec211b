// Requests of the control plane for the modules in JavaScript: JSON out and in. The WebAssembly side sends them, with everything
// that calls have in common: credentials, the clock, the signal, the hooks, repetitions and errors.

import { _exchange } from "./core_bg.js";
import { ProtocolError, SandboxError } from "./errors.js";
import { invalid } from "./options.js";

export const JSON_TYPE = "application/json";

/** Sends a request; the JSON of its answer, undefined when it is empty. `query` leaves out what is undefined. */
export async function ask(method, path, opts, request) {
  return (await exchange(method, path, opts, request)).answer;
}

/** The same for one page of a list: its items, and the token of the next page, if there is one. */
export async function askPage(path, opts, request) {
  const { answer, nextToken } = await exchange("GET", path, opts, request);
  if (!Array.isArray(answer)) throw unexpected();
  return { items: answer, nextToken };
}

async function exchange(method, path, opts, { query, json, subject = "account" } = {}) {
  const pairs = String(new URLSearchParams(defined(query)));
  const parts = json === undefined ? undefined : { type: JSON_TYPE, body: JSON.stringify(json) };
  const [text, , headers] = await _exchange(method, pairs === "" ? path : `${path}?${pairs}`, subject, parts, opts);
  // What was deleted is gone, whatever is said about it.
  const isSilent = method === "DELETE" || text === "";
  return { answer: isSilent ? undefined : parsed(text), nextToken: new Headers(headers).get("x-next-token") || undefined };
}

/** A path of encoded segments. */
export function route(...segments) {
  for (const segment of segments) {
    // Encoding leaves dots alone, and a segment of dots would be resolved away to another route.
    if (segment === "." || segment === "..") throw invalid("A name or id must not be a path");
  }
  return segments.map((segment) => `/${encodeURIComponent(segment)}`).join("");
}

/**
 * Lets the server's refusals be errors of `type`, with other codes where `codes` names some. What says nothing about the thing
 * that was asked for stays what it is: aborts, clocks, the network, keys, limits.
 */
export function translate(type, error, codes = {}) {
  const isRefusal = error instanceof SandboxError && error.status >= 300 && ![401, 429, 503].includes(error.status);
  if (!isRefusal) return error;
  const { code, status, requestId, retryable } = error;
  return new type(error.message, { code: codes[code] ?? code, status, requestId, retryable, cause: error });
}

export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw unexpected();
  }
}

export function unexpected() {
  return new ProtocolError("The server answered something else than was asked for. Check apiUrl and domain", { code: "protocol_error" });
}

/** The members that are neither undefined nor null: both count as absent. */
export function defined(members) {
  return Object.fromEntries(Object.entries(members ?? {}).filter(([, value]) => value !== undefined && value !== null));
}
