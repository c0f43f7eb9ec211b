// Addresses of the server: the base URL with its path and query, checked once, and what becomes of it for one call. The query
// of the base is kept byte for byte, because it may be signed.

import { isObject, kind, wrong } from "./check.js";

/** How often percent-encoding is undone while looking for a separator in disguise. */
const DECODINGS = 8;

export class Address {
  constructor(url, name = "url") {
    const given = typeof url === "string" ? url : url instanceof URL || (isObject(url) && typeof url.href === "string") ? url.href : undefined;
    if (given === undefined) throw wrong(`Option ${name} of ServerClient must be an absolute http or https URL, not ${kind(url)}`);
    const refuse = (why) => wrong(`Option ${name} of ServerClient ${why}`);
    // eslint-disable-next-line no-control-regex
    if (/[\\\s\u0000-\u001f\u007f]/.test(given)) throw refuse("must not contain spaces, control characters or backslashes");
    const parts = /^(https?):\/\/([^/?#]+)([^?#]*)(\?[^#]*)?(#.*)?$/i.exec(given);
    let parsed;
    try {
      parsed = new URL(given);
    } catch {
      parsed = undefined;
    }
    if (parts === null || parsed === undefined) throw refuse("must be an absolute http or https URL with a host");
    if (parsed.username !== "" || parsed.password !== "" || parts[2].includes("@")) throw refuse("must not contain a user or password. Give the token as option token");
    if (parts[5] !== undefined) throw refuse("must not have a fragment");
    checkPath(parts[3], refuse);
    this.origin = parsed.origin;
    this.path = parts[3].replace(/\/+$/, "");
    this.query = parts[4] === undefined ? "" : parts[4].slice(1);
    this.bound = boundKeys(this.query, refuse);
  }

  /** The URL of an operation. `path` begins with a slash; `query` is a list of pairs. */
  at(path, query = []) {
    checkPath(path, (why) => wrong(`The path of the request ${why}`));
    const taken = query.find(([key]) => this.bound.has(key.toLowerCase()));
    if (taken !== undefined) throw wrong(`The query parameter ${taken[0]} of this call is bound by the url of ServerClient already`);
    const own = new URLSearchParams(query).toString();
    const all = [this.query, own].filter((part) => part !== "").join("&");
    return `${this.origin}${this.path}${path}${all === "" ? "" : `?${all}`}`;
  }
}

/** One segment of a path, made of a value. The server does not decode segments, so what would be encoded cannot be named. */
export function segment(value, name) {
  if (typeof value !== "string" && !Number.isInteger(value)) throw wrong(`${name} must be a string, not ${kind(value)}`);
  const given = String(value);
  if (given === "" || given === "." || given === ".." || encodeURIComponent(given) !== given) {
    throw wrong(`${name} must consist of letters, digits and - _ . ! ~ * ' ( ), because the server does not decode paths`);
  }
  return given;
}

function checkPath(path, refuse) {
  // eslint-disable-next-line no-control-regex
  if (/[\\\s\u0000-\u001f\u007f?#]/.test(path)) throw refuse("must not have spaces, control characters or backslashes in its path");
  const separators = count(path);
  let decoded = path;
  for (let i = 0; i < DECODINGS; i++) {
    let next;
    try {
      next = decodeURIComponent(decoded);
    } catch {
      throw refuse("must be percent-encoded correctly");
    }
    if (count(next) !== separators || /[\\?#]/.test(next)) throw refuse("must not have encoded separators in its path");
    if (next === decoded) break;
    decoded = next;
  }
  if (decoded.split("/").some((part) => part === "." || part === "..")) throw refuse("must not have . or .. in its path");
}

function count(path) {
  return path.split("/").length;
}

/** The keys of the base's query. They are compared decoded and without case, so that nobody can replace one by another form. */
function boundKeys(query, refuse) {
  const keys = new Set();
  if (query === "") return keys;
  for (const pair of query.split("&")) {
    let key;
    try {
      key = decodeURIComponent(pair.split("=")[0].replaceAll("+", " ")).toLowerCase();
    } catch {
      throw refuse("must have a correctly encoded query");
    }
    if (key === "" || keys.has(key) || /%[0-9a-f]{2}/.test(key)) throw refuse("must have a query without empty, repeated or doubly encoded names");
    keys.add(key);
  }
  return keys;
}
