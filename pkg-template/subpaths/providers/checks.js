// Options and arguments, checked by name before anything is sent. Values are never repeated in a message, for they may be secret.

import { invalid } from "./errors.js";

export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An object of options; absent ones are an empty object. */
export function optionsOf(value, owner) {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw invalid(`The options of ${owner} must be an object`);
}

export function text(value, what, owner) {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${what} of ${owner} must be a text that is not empty`);
}

/** A text, `otherwise` when absent. */
export function textOr(value, otherwise, what, owner) {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "string") return value;
  throw invalid(`Option ${what} of ${owner} must be a text`);
}

export function whole(value, least, most, what, owner) {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw invalid(`${what} of ${owner} must be a whole number from ${least} to ${most}`);
}

/** A number of seconds above 0, `otherwise` when absent. */
export function seconds(value, otherwise, what, owner) {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "number" && value > 0 && value < 1e9) return value;
  throw invalid(`Option ${what} of ${owner} must be a number of seconds above 0`);
}

export function flag(value, otherwise, what, owner) {
  if (value === undefined || value === null) return otherwise;
  if (typeof value === "boolean") return value;
  throw invalid(`Option ${what} of ${owner} must be a boolean`);
}

export function callback(value, what, owner) {
  if (value === undefined || value === null || typeof value === "function") return value ?? undefined;
  throw invalid(`Option ${what} of ${owner} must be a function`);
}

/** A map of texts; undefined values are how callers leave one out. */
export function texts(value, what, owner) {
  if (value === undefined || value === null) return {};
  if (!isObject(value)) throw invalid(`Option ${what} of ${owner} must be an object with text values`);
  const pairs = Object.entries(value).filter(([, one]) => one !== undefined);
  for (const [name, one] of pairs) if (typeof one !== "string") throw invalid(`Option ${what}.${name} of ${owner} must be a text`);
  return Object.fromEntries(pairs);
}

export function signalOf(value, owner) {
  if (value === undefined || value === null) return undefined;
  if (typeof value.addEventListener === "function" && typeof value.aborted === "boolean") return value;
  throw invalid(`Option signal of ${owner} must be an AbortSignal`);
}

export function port(value, owner) {
  return whole(value, 1, 65_535, "port", owner);
}

/** An absolute http(s) address without credentials, query and fragment, and without slashes at its end. */
export function address(value, what, owner) {
  let url;
  try {
    url = new URL(value);
  } catch {
    url = undefined;
  }
  const usable = url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.search && !url.hash;
  if (!usable) throw invalid(`${what} of ${owner} must be an absolute http or https address without credentials and query, such as https://api.example`);
  return url.href.replace(/\/+$/, "");
}
