// Recorded exchanges, replayed: a stub in place of `fetch` that answers what was recorded and notes what was asked, and forms in
// which ours and theirs can be compared.

import { readFileSync } from "node:fs";
import { equal } from "../e2e/assert.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}.json`, import.meta.url), "utf8"));

/** A file of recordings with its placeholders filled in. */
export function load(file) {
  const text = readFileSync(new URL(`../vectors/${file}.json`, import.meta.url), "utf8");
  const filled = text
    .replaceAll("{BASE}", "/base")
    .replaceAll("<base-enc>", "%2Fbase")
    .replaceAll("<base>", "/base")
    .replaceAll("<base64 zip>", "UEsFBg==")
    // Ids of the agents end in 24 hex digits.
    .replace(/<(\d+)>/g, (_, digits) => digits.padStart(24, "0"));
  return JSON.parse(filled);
}

/** The cases of a list that are known to differ, by name: `"differs"` or `"not covered"`. */
export function known(file, list) {
  return new Map((read("known-differences")[file]?.[list] ?? []).map(({ case: name, outcome }) => [name, outcome]));
}

/** A `fetch` that answers the recorded responses one after the other, and what it was asked. */
export function stub(responses) {
  const asked = [];
  const waiting = [...responses];
  const fetch = async (input, init) => {
    const url = new URL(input);
    asked.push({
      method: init.method,
      path: url.pathname,
      query: [...url.searchParams],
      headers: { ...init.headers },
      json: jsonOf(init.body),
      body: init.body,
    });
    const response = waiting.shift();
    if (response === undefined) throw new Error(`a request that was not recorded: ${init.method} ${url.pathname}`);
    // The server hung up.
    if (response.status === 0) throw new TypeError("fetch failed");
    return new Response(bodyOf(response), { status: response.status, headers: (response.headers ?? []).filter(([name]) => !/^(content-length|date)$/i.test(name)) });
  };
  return { fetch, asked };
}

function jsonOf(body) {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function bodyOf({ status, body_json, body, body_text, body_base64, timeline_ms_bytes }) {
  if (status === 204) return null;
  const content = body_json ?? body;
  if (content !== undefined) return JSON.stringify(content);
  if (body_base64 !== undefined) return Uint8Array.from(atob(body_base64), (one) => one.charCodeAt(0));
  const bytes = new TextEncoder().encode(body_text ?? "");
  // In the pieces in which they came, or byte by byte, which is worse.
  const sizes = timeline_ms_bytes?.slice(1).map(([, size]) => size) ?? Array.from(bytes, () => 1);
  let at = 0;
  const parts = sizes.map((size) => bytes.slice(at, (at += size))).filter(({ length }) => length > 0);
  if (at < bytes.length) parts.push(bytes.slice(at));
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part);
    },
  });
}

/** The events of a recorded stream, as plainly as they can be read. */
export function eventsOf(text) {
  return text
    .split("\n\n")
    .map((block) => Object.fromEntries(block.split("\n").filter((line) => line !== "" && !line.startsWith(":")).map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()])))
    .filter(({ data }) => data !== undefined)
    .map(({ event, data, id = "" }) => ({ event, data: JSON.parse(data), id }));
}

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

/**
 * A value in the form in which both are compared: names as on the wire, times in whole milliseconds, and without what is absent
 * (undefined, null, an empty text), since one of both leaves it out.
 */
export function plain(value, name = "") {
  if (value instanceof Uint8Array) return [...value];
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map((item) => plain(item));
  if (Number.isNaN(value)) return "NaN";
  if (typeof value === "number" && /(_at|timestamp|startedAt|createdAt)$/.test(name) && value > 1e9) return new Date(value * 1000).toISOString();
  if (typeof value === "string") return MOMENT.test(value) ? new Date(value).toISOString() : value;
  if (typeof value !== "object" || value === null) return value;
  const pairs = Object.entries(value)
    .map(([key, item]) => [wireName(key), plain(item, key)])
    .filter(([key, item]) => item !== undefined && item !== null && item !== "" && !["ws_url", "_security_note"].includes(key));
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function wireName(name) {
  if (name === "bytes") return "size";
  return name.replace(/(?<=[a-z])(\d+m)$/, "_$1").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function samePlain(ours, theirs, what) {
  equal(plain(ours), plain(theirs), what);
}
