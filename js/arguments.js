// Checks single arguments by name, as the WebAssembly side does for its own. Objects of options have `options.js`.

import { invalid, isObject, kind } from "./options.js";

/** A text that is not empty. */
export function text(value, name) {
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`${name} must be a text that is not empty, not ${described(value)}`);
}

/** A text or undefined. */
export function optionalText(value, name) {
  return value === undefined || value === null ? undefined : text(value, name);
}

/** One text, or a list of at least one. */
export function texts(value, name) {
  const list = Array.isArray(value) ? value : [value];
  if (list.length === 0) throw invalid(`${name} must not be an empty list`);
  return list.map((item) => text(item, name));
}

/** A whole number from `least` on. */
export function whole(value, name, least) {
  if (Number.isInteger(value) && value >= least) return value;
  throw invalid(`${name} must be a whole number from ${least} on, not ${described(value)}`);
}

/** An object of options; absent ones are an empty object. */
export function options(value, owner) {
  if (value === undefined || value === null) return {};
  if (isObject(value)) return value;
  throw invalid(`The options of ${owner} must be an object, not ${described(value)}`);
}

function described(value) {
  return value === "" ? "an empty text" : kind(value);
}
