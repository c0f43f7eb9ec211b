// Checks of arguments and options, by name, so that what is wrong is said before anything is sent. Never repeats a value, which
// may be secret.

import { InvalidArgumentError } from "#package";

export function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}

/** The options of one call: an object, or nothing. */
export function options(value, owner) {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw wrong(`The options of ${owner} must be an object, not ${kind(value)}`);
}

export function text(value, name) {
  if (typeof value !== "string") throw wrong(`${name} must be a string, not ${kind(value)}`);
  if (value === "") throw wrong(`${name} must not be empty`);
  return value;
}

/** A path as the server takes it. */
export function path(value, name) {
  text(value, name);
  if (value.includes("\0")) throw wrong(`${name} must not contain a NUL character`);
  if (value.length > 4096) throw wrong(`${name} must have at most 4096 characters`);
  return value;
}

export function flag(value, name) {
  if (value === undefined || typeof value === "boolean") return value;
  throw wrong(`${name} must be a boolean, not ${kind(value)}`);
}

export function whole(value, name, least, most = Number.MAX_SAFE_INTEGER) {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  const range = most === Number.MAX_SAFE_INTEGER ? `from ${least} on` : `from ${least} to ${most}`;
  throw wrong(`${name} must be a whole number ${range}, not ${kind(value)}`);
}

export function optional(check, value, ...rest) {
  return value === undefined || value === null ? undefined : check(value, ...rest);
}

/** Milliseconds, more than 0. */
export function milliseconds(value, name) {
  if (typeof value === "number" && value > 0 && value <= 2 ** 31 - 1) return value;
  throw wrong(`${name} must be a number of milliseconds from 1 to 2147483647, not ${kind(value)}`);
}

export function oneOf(value, name, words) {
  if (words.includes(value)) return value;
  throw wrong(`${name} must be ${words.map((word) => JSON.stringify(word)).join(" or ")}, not ${kind(value)}`);
}

export function callback(value, name) {
  if (value === undefined || typeof value === "function") return value;
  throw wrong(`${name} must be a function, not ${kind(value)}`);
}

export function strings(value, name, least = 0) {
  if (Array.isArray(value) && value.length >= least && value.every((item) => typeof item === "string")) return value;
  throw wrong(`${name} must be an array of${least > 0 ? ` at least ${least}` : ""} strings, not ${kind(value)}`);
}

export function stringMap(value, name) {
  if (!isObject(value)) throw wrong(`${name} must be an object with string values, not ${kind(value)}`);
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
  for (const [key, item] of pairs) if (typeof item !== "string") throw wrong(`${name.replace(/^(Option )?\w+/, `$&.${key}`)} must be a string, not ${kind(item)}`);
  return Object.fromEntries(pairs);
}

/** Recognised by shape: realms and frameworks have signals of their own. */
export function signal(value, name) {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && typeof value.aborted === "boolean" && typeof value.addEventListener === "function") return value;
  throw wrong(`${name} must be an AbortSignal, not ${kind(value)}`);
}

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function kind(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "number" ? `the number ${value}` : value === "" ? "an empty string" : typeof value;
}
