// Reads options objects as the WebAssembly side does: every value is checked by name, and the error says which is wrong. Absent
// are `undefined` and `null`, for the object and for each option.

import { InvalidArgumentError } from "./errors.js";

export function invalid(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}

/** A required text argument. */
export function text(value, name, owner) {
  if (typeof value !== "string") throw invalid(`${name} of ${owner} must be a string, not ${kind(value)}`);
  if (value === "") throw invalid(`${name} of ${owner} must not be empty`);
  return value;
}

/** An argument that is an object of plain data, as JSON would bring it. */
export function plain(value, name, owner) {
  let copy;
  try {
    copy = JSON.parse(JSON.stringify(value));
  } catch {
    // What JSON cannot say is refused below.
  }
  if (isObject(copy)) return copy;
  throw invalid(`${name} of ${owner} must be an object of plain data, not ${kind(value)}`);
}

/** The options of one call. `owner` names it in errors. */
export class Options {
  #value;
  #owner;

  constructor(value, owner) {
    if (!isAbsent(value) && !isObject(value)) throw invalid(`The options of ${owner} must be an object, not ${kind(value)}`);
    this.#value = value ?? {};
    this.#owner = owner;
  }

  get(name) {
    return this.#value[name] ?? undefined;
  }

  string(name) {
    return this.#read(name, "a string", (value) => typeof value === "string");
  }

  boolean(name) {
    return this.#read(name, "a boolean", (value) => typeof value === "boolean");
  }

  /** Milliseconds of at least 1, as the control plane counts them: in seconds, rounded up so that nothing ends before its time. */
  seconds(name) {
    const ms = this.#read(name, "a positive number", (value) => Number.isFinite(value) && value >= 1);
    return ms && Math.ceil(ms / 1000);
  }

  /** A whole number from 1 to `most`. */
  count(name, most) {
    return this.#read(name, `a whole number from 1 to ${most}`, (value) => Number.isInteger(value) && value >= 1 && value <= most);
  }

  /** A `Date`. */
  date(name) {
    return this.#read(name, "a valid Date", (value) => value instanceof Date && !Number.isNaN(value.getTime()));
  }

  /** One of a few words. */
  oneOf(name, words) {
    return this.#read(name, words.map((word) => JSON.stringify(word)).join(" or "), (value) => words.includes(value));
  }

  strings(name) {
    return this.#read(name, "an array of strings", (value) => Array.isArray(value) && value.every((item) => typeof item === "string"));
  }

  /** An object whose values are all strings. Undefined ones are how callers leave a value out conditionally. */
  stringMap(name) {
    const map = this.#read(name, "an object with string values", (value) => (typeof value === "object" || typeof value === "function") && !Array.isArray(value));
    if (map === undefined) return undefined;
    const pairs = Object.entries(map).filter(([, value]) => value !== undefined);
    for (const [key, value] of pairs) this.#expect(typeof value === "string", `${name}.${key}`, "a string", value);
    return Object.fromEntries(pairs);
  }

  /** An object of plain data. */
  plain(name) {
    const value = this.get(name);
    return value === undefined ? undefined : plain(value, `Option ${name}`, this.#owner);
  }

  #read(name, wanted, fits) {
    const value = this.get(name);
    if (value !== undefined) this.#expect(fits(value), name, wanted, value);
    return value;
  }

  #expect(fits, name, wanted, value) {
    if (!fits) throw invalid(`Option ${name} of ${this.#owner} must be ${wanted}, not ${kind(value)}`);
  }
}

function isAbsent(value) {
  return value === undefined || value === null;
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a value is, for error texts. Never its contents, which may be secret. */
export function kind(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" ? `the number ${value}` : typeof value;
}
