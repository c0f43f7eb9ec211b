// Holding recordings of the original against this package: requests, results and errors.

import { assert, equal } from "../e2e/assert.js";

/** Headers of the recordings that are left out here, and why. */
const OMITTED = {
  // Announces that nothing is compressed, which is what its absence means.
  "connect-content-encoding": () => true,
  // The daemon looks at the user only where a program is started or a path begins at somebody's home; elsewhere it has no effect.
  authorization: (value, target) => value === "Basic dXNlcjo=" && /^\/(files\?|process\.Process\/(List|SendSignal|SendInput)$)/.test(target),
};

/** Headers that the package adds on purpose. */
const ADDED = ["connect-protocol-version", "keepalive-ping-interval", "connect-timeout-ms", "accept", "range"];

/** Classes of the original that are called otherwise here. `ValueError` is what its language throws for a wrong argument. */
const CLASSES = { FileNotFoundError_: "FileNotFoundError", ConnectionError_: "ConnectionError", ValueError: "InvalidArgumentError" };

export async function load(file) {
  const files = {
    "provider-sandbox": () => import("../vectors/provider-sandbox.json", { with: { type: "json" } }),
    "providers-wire": () => import("../vectors/providers-wire.json", { with: { type: "json" } }),
  };
  const { default: recorded } = await files[file]();
  const { default: known } = await import("../vectors/known-differences.json", { with: { type: "json" } });
  return { recorded, differences: known[file] ?? {} };
}

/** That the requests are those of the recording. */
export function equalRequests(ours, theirs, what) {
  equal(ours.map(({ method, target }) => `${method} ${target}`), theirs.map(({ method, target }) => `${method} ${target}`), `${what}: requests`);
  for (const [at, recorded] of theirs.entries()) {
    const sent = ours[at];
    const wanted = Object.fromEntries((Array.isArray(recorded.headers) ? recorded.headers : Object.entries(recorded.headers ?? {})).map(([name, value]) => [name.toLowerCase(), value]));
    for (const [name, value] of Object.entries(wanted)) {
      if (sent.headers[name] === undefined && OMITTED[name]?.(value, sent.target)) continue;
      equal(sent.headers[name], value, `${what}: header ${name}`);
    }
    const extra = Object.keys(sent.headers).filter((name) => !(name in wanted) && !ADDED.includes(name));
    equal(extra, [], `${what}: headers that the recording does not have`);
    const isFramed = (recorded.envelope ?? recorded.body_envelope) !== undefined;
    equal(sent.isFramed, isFramed, `${what}: whether the body is in an envelope`);
    const json = recorded.json ?? recorded.message ?? recorded.body_json;
    if (json !== undefined) equal(canonical(sent.json), canonical(json), `${what}: body`);
    if (recorded.body_base64 !== undefined) equal(btoa(String.fromCharCode(...sent.bytes)), recorded.body_base64, `${what}: body`);
  }
}

/** That an error is the recorded one. Its cause has the body that the original keeps as `envd_error`. */
export function equalError(error, theirs, what, types) {
  equal(error?.name, CLASSES[theirs.class] ?? theirs.class, `${what}: class of "${error?.message}"`);
  assert(error instanceof types.SandboxError, `${what}: of the package`);
  if (theirs.code) equal(error.code, theirs.code, `${what}: code of "${error.message}"`);
  if (theirs.message_contains) assert(error.message.includes(theirs.message_contains), `${what}: "${error.message}" does not hold "${theirs.message_contains}"`);
  if (theirs.status_code) equal(error.statusCode, theirs.status_code, `${what}: status`);
  if (theirs.rpc_path) equal(error.rpcPath, theirs.rpc_path, `${what}: path`);
  if (theirs.limit) equal(error.limit, theirs.limit, `${what}: limit`);
}

/** A value as the recordings write it: bytes as hex, what has no value as null. */
export function recordable(value) {
  if (value === undefined || value === null) return null;
  if (value instanceof Uint8Array) return Array.from(value, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Set) return [...value].sort();
  if (Array.isArray(value)) return value.map(recordable);
  if (typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, recordable(one)]));
}

/** Of `ours`, what the recording speaks of, by its names: those of the original are in snake case. */
export function narrowed(ours, theirs) {
  if (Array.isArray(theirs) && Array.isArray(ours)) return ours.map((one, at) => narrowed(one, theirs[at] ?? theirs[0]));
  if (typeof theirs !== "object" || theirs === null || typeof ours !== "object" || ours === null) return ours;
  const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
  return Object.fromEntries(Object.keys(theirs).map((name) => [name, narrowed(name in ours ? ours[name] : ours[camel(name)], theirs[name])]));
}

export function canonical(value) {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.keys(value).sort().map((name) => [name, canonical(value[name])]));
}

/** Runs `act`; its outcome as a value or an error. */
export async function outcomeOf(act) {
  try {
    return { value: await act() };
  } catch (error) {
    return { error };
  }
}
