// Says in the package's own errors why the WebAssembly core could not be started.

import { InternalError, InvalidArgumentError, SandboxError, UnsupportedError } from "./errors.js";

/** What a page has to allow. */
export const CONTENT_SECURITY_POLICY = {
  script:
    "The Content Security Policy of this page blocks WebAssembly. Add 'wasm-unsafe-eval' to its script-src directive",
  connect: "Check the address, its CORS headers, and the connect-src directive of the page's Content Security Policy",
};

/** Whether a value is of a built-in type, in whatever realm it was made: `instanceof` fails across realms. */
export function isInstance(value, type) {
  const tag = Object.prototype.toString.call(value);
  return tag === `[object ${type}]` || tag === `[object WebAssembly.${type}]`;
}

/** An error of the package for what the engine threw. `own` says whether the bytes were those of this package. */
export function translate(error, own) {
  if (error instanceof SandboxError) return error;
  const name = error?.name;
  const text = String(error?.message);
  if (/disallowed by embedder/i.test(text)) {
    return new UnsupportedError(
      "This runtime does not compile WebAssembly at run time. Bundle with its resolve condition (workerd or edge-light), or pass init() a WebAssembly.Module",
      { code: "wasm_blocked", cause: error },
    );
  }
  if (/unsafe-eval|content security policy|blocked by csp/i.test(text)) {
    return new UnsupportedError(CONTENT_SECURITY_POLICY.script, { code: "wasm_blocked", cause: error });
  }
  if (!own && (name === "CompileError" || name === "LinkError" || name === "TypeError")) {
    return new InvalidArgumentError("What init() was given is not the core.wasm of this version of agent-sandbox-web", {
      code: "wasm_invalid",
      cause: error,
    });
  }
  return new InternalError(`The WebAssembly core could not be started: ${text}`, { code: "wasm_failed", cause: error });
}
