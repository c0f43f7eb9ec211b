// Brings the WebAssembly instance into being: at the first use of an exported class, or earlier by `init()`.
//
// The generated glue reaches the instance through one variable. Until there is an instance, that variable holds a stand-in
// whose first property access makes one, so that importing the package costs nothing. Afterwards it holds the exports
// themselves and no call pays for the indirection.

import { __wbg_set_wasm as useInstance } from "./core_bg.js";
import { CONTENT_SECURITY_POLICY, isInstance, translate } from "./failure.js";
import { ConnectionError, InvalidArgumentError, UnsupportedError } from "./errors.js";
import { imports } from "./imports.js";

/** The exports of the running instance. Not called `exports`, which means something else in the CommonJS build. */
let running;
/** Gives the entry's own module or bytes, at once. Entries that bring none leave it undefined. */
let builtIn;
/** The `init` that is under way or has succeeded: what it was given, and its outcome. */
let attempt;

const standIn = new Proxy({}, { get: (_target, name) => started()[name] });
useInstance(standIn);

/** Called by an entry: `load` returns a `WebAssembly.Module` or bytes, synchronously. */
export function provide(load) {
  builtIn = load;
}

/**
 * Starts the WebAssembly core ahead of its first use, which is optional. See `init` in the type declarations.
 * Once it has succeeded, calling it again with the same source, or none, does nothing.
 */
export function init(source) {
  if (attempt === undefined && running !== undefined) attempt = { source: undefined, done: Promise.resolve() };
  if (attempt === undefined) {
    const mine = { source, done: begin(source) };
    attempt = mine;
    // A failure is forgotten, so that the next call tries again. This also marks the promise as handled: who starts early
    // without waiting learns of a failure from the first call that needs the core.
    mine.done.catch(() => {
      if (attempt === mine) attempt = undefined;
    });
  } else if (source !== undefined && !isSame(source, attempt.source)) {
    return Promise.reject(
      new InvalidArgumentError(
        "init() was given a source after the core had been started from another one. Call init(source) once, before anything else of the package is used",
        { code: "already_initialized" },
      ),
    );
  }
  return attempt.done;
}

async function begin(source) {
  const given = await source;
  const own = given === undefined;
  if (own && builtIn === undefined) throw notInitialized();
  requireWebAssembly();
  try {
    const code = own ? builtIn() : await obtain(given);
    // The two results differ in shape: bytes give a module and an instance, a module gives the instance.
    const result = await WebAssembly.instantiate(code, imports());
    attach(isInstance(result, "Instance") ? result : result.instance);
  } catch (error) {
    throw translate(error, own);
  }
}

/** The exports, from an instance that is made now if there is none. */
function started() {
  if (running !== undefined) return running;
  if (builtIn === undefined) throw notInitialized();
  requireWebAssembly();
  try {
    const code = builtIn();
    const module = isInstance(code, "Module") ? code : new WebAssembly.Module(code);
    return attach(new WebAssembly.Instance(module, imports()));
  } catch (error) {
    throw translate(error, true);
  }
}

/** Makes `instance` the one in use, unless another was faster: two must never share the glue's variable. */
function attach(instance) {
  if (running !== undefined) return running;
  useInstance(instance.exports);
  try {
    instance.exports.__wbindgen_start();
  } catch (error) {
    useInstance(standIn);
    throw error;
  }
  running = instance.exports;
  return running;
}

/** A module or bytes from whatever `init` accepts. */
async function obtain(source) {
  if (isInstance(source, "Module") || isInstance(source, "ArrayBuffer") || ArrayBuffer.isView(source)) return source;
  if (typeof source === "string" || isInstance(source, "URL")) return compile(await download(source));
  if (isInstance(source, "Response")) return compile(source);
  throw new InvalidArgumentError("init() takes a URL, a Response, the bytes of core.wasm, a WebAssembly.Module, or a promise of one of them");
}

async function download(url) {
  try {
    return await fetch(url);
  } catch (cause) {
    throw new ConnectionError(`core.wasm could not be fetched from the address given to init(). ${CONTENT_SECURITY_POLICY.connect}`, {
      code: "wasm_fetch_failed",
      retryable: true,
      cause,
    });
  }
}

async function compile(response) {
  if (!response.ok) {
    throw new ConnectionError(`The server answered ${response.status} instead of core.wasm. Check the address given to init()`, {
      code: "wasm_fetch_failed",
      status: response.status,
      retryable: response.status >= 500,
    });
  }
  const type = response.headers.get("content-type") ?? "";
  const streams = typeof WebAssembly.compileStreaming === "function" && /^application\/wasm\s*(;|$)/i.test(type);
  return streams ? WebAssembly.compileStreaming(response) : response.arrayBuffer();
}

/** Whether two sources mean the same: one value, or one address in two values. */
function isSame(one, other) {
  const isAddress = (value) => typeof value === "string" || isInstance(value, "URL");
  return one === other || (isAddress(one) && isAddress(other) && String(one) === String(other));
}

function requireWebAssembly() {
  if (typeof WebAssembly === "undefined") {
    throw new UnsupportedError("This runtime has no WebAssembly, which agent-sandbox-web needs", { code: "wasm_missing" });
  }
}

function notInitialized() {
  return new InvalidArgumentError(
    "This entry of agent-sandbox-web brings no core.wasm along: wait for init(source) before anything else of the package is used",
    { code: "not_initialized" },
  );
}
