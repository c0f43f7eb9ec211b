// The address of an HTTP service to which requests are bound: none of them may leave its path, override its query or shadow its
// headers. Pure.

import { invalid } from "./errors.js";
import { RESERVED_HEADERS } from "../shared/headers.js";

/** How often text may be percent-encoded before it is looked at no further. */
const ROUNDS = 8;

export class Binding {
  #origin;
  #path;
  #query;
  #bound;
  #headers;

  constructor(url, headers, token) {
    const wrong = (why) => invalid(`The address of the service is not usable: ${why}`);
    if (typeof url !== "string" || /[\p{Cc}\s\\]/u.test(url)) throw wrong("it holds blanks, backslashes or control characters");
    let parsed;
    try {
      parsed = new URL(url);
    } catch {
      throw wrong("it is not absolute");
    }
    if (!/^https?:\/\//i.test(url) || !parsed.host) throw wrong("it must begin with http:// or https://");
    if (parsed.username || parsed.password || url.includes("#")) throw wrong("it must have no user and no fragment");
    // As it was written: a parsed URL has its dots resolved and parts of it encoded anew.
    const [, path, query] = /^[a-z]+:\/\/[^/?]*([^?]*)(\?.*)?$/i.exec(url);
    checkPath(path, wrong);
    this.#origin = parsed.origin;
    this.#path = path.replace(/\/+$/, "");
    this.#query = (query ?? "").slice(1);
    this.#bound = keysOf(this.#query, wrong);
    this.#headers = headersOf(headers, token);
  }

  get baseUrl() {
    return this.#origin + this.#path;
  }

  get headers() {
    return { ...this.#headers };
  }

  /** The address of an operation, such as `/commands/x`, with parameters of the call behind the bound ones. */
  address(path, params = {}) {
    const wrong = (why) => invalid(`The path of the request is not usable: ${why}`);
    if (typeof path !== "string" || !path.startsWith("/")) throw wrong("it must begin with a slash");
    if (/[\p{Cc}\s\\?#]/u.test(path)) throw wrong("it holds blanks, backslashes, control characters, ? or #. Parameters are given apart");
    checkPath(path, wrong);
    const added = new URLSearchParams();
    for (const [key, value] of Object.entries(params)) {
      if (value === undefined || value === null) continue;
      if (this.#bound.has(folded(key))) throw wrong(`its parameter ${JSON.stringify(key)} belongs to the address of the service`);
      added.append(key, String(value));
    }
    const query = [this.#query, String(added)].filter((part) => part !== "").join("&");
    return this.#origin + this.#path + path + (query === "" ? "" : `?${query}`);
  }
}

/** No segment may lead elsewhere, however often it is encoded. */
function checkPath(path, wrong) {
  const slashes = (text) => text.split("/").length;
  const count = slashes(path);
  let decoded = path;
  for (let round = 0; round <= ROUNDS; round += 1) {
    if (slashes(decoded) !== count || /[\\\p{Cc}?#]/u.test(decoded)) throw wrong("it holds a separator that is encoded");
    if (decoded.split("/").some((segment) => segment === "." || segment === "..")) throw wrong("it has a segment of dots");
    let next;
    try {
      next = decodeURIComponent(decoded);
    } catch {
      throw wrong("its percent-encoding is broken");
    }
    if (next === decoded) return;
    decoded = next;
  }
  throw wrong("it is encoded too often");
}

function keysOf(query, wrong) {
  const keys = new Set();
  for (const pair of query === "" ? [] : query.split("&")) {
    let key = pair.split("=")[0];
    let name = key;
    for (let round = 0; ; round += 1) {
      try {
        name = decodeURIComponent(key.replaceAll("+", " "));
      } catch {
        throw wrong("the encoding of its query is broken");
      }
      if (name === key) break;
      if (round === ROUNDS) throw wrong("its query is encoded too often");
      key = name;
    }
    if (keys.has(folded(name))) throw wrong("its query has a parameter twice");
    keys.add(folded(name));
  }
  return keys;
}

function folded(key) {
  return key.toLowerCase();
}

function headersOf(given, token) {
  const headers = {};
  for (const [name, value] of Object.entries(given ?? {})) {
    const plain = name.toLowerCase();
    if (RESERVED_HEADERS.includes(plain.replaceAll("_", "-"))) throw invalid(`The service must not be sent the header ${plain}`);
    if (typeof value !== "string" || /[\r\n\0]/.test(value) || /[^\w!#$%&'*+.^`|~-]/.test(name)) throw invalid(`The header ${JSON.stringify(plain.slice(0, 60))} of the service is not one`);
    headers[plain] = value;
  }
  if (token === undefined) return headers;
  if (typeof token !== "string" || token === "" || /[^\x21-\x7e]/.test(token)) throw invalid("token must be a text that can stand in a header");
  if (headers.authorization !== undefined) throw invalid("The gateway has an Authorization of its own, so the service cannot be sent a token. Leave token out");
  headers.authorization = `Bearer ${token}`;
  headers["x-access-token"] ??= token;
  return headers;
}
