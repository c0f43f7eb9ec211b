// What is shorter and safer to say in JavaScript than in Rust: the places where the WebAssembly side meets the host.

/** Calls `f` and returns what it threw, or undefined. A trap inside of it (a Rust panic) ends here, not in the event loop. */
export function guard(f) {
  try {
    f();
  } catch (error) {
    return error ?? new Error("unknown failure");
  }
  return undefined;
}

/** Whether the code runs where the browser's rules (CORS, HTTP/1.1 uploads, `*.localhost` names) apply: pages and their workers. */
export function inPage() {
  return typeof location === "object" && location !== null && /^(https?|blob|file|chrome-extension|moz-extension):$/.test(location.protocol);
}

/** The value of an environment variable, where the runtime has an environment and lets it be read. */
export function environment(name) {
  try {
    const value = globalThis.process?.env?.[name];
    return typeof value === "string" ? value : undefined;
  } catch {
    // Deno throws when the program was not granted access to this variable.
    return undefined;
  }
}

/** Whether `fetch` knows the `cache` option; some edge runtimes throw when it is given. */
export function hasCacheOption() {
  return typeof Request === "function" && "cache" in Request.prototype;
}

/** Marks a promise as handled: its outcome is reported elsewhere, or does not matter any more. */
export function ignore(promise) {
  promise?.then?.(undefined, () => {});
}

/**
 * A byte stream that asks for a chunk only when its reader wants one, so that nothing is buffered here.
 * `pull` resolves to a chunk or to undefined at the end; `cancel` is called once when the reader leaves early.
 */
export function readable(pull, cancel) {
  return new ReadableStream(
    {
      async pull(controller) {
        const chunk = await pull();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel,
    },
    { highWaterMark: 0 },
  );
}

/**
 * Reads a stream chunk by chunk. After `ask()`, the function given to `listen` is called with the chunk, with undefined at the
 * end, or with what the read failed with and true. Nothing is told after `cancel()` or `drain()`.
 */
export function chunkReader(stream) {
  const reader = stream.getReader();
  let tell;
  let open = true;
  const arrived = ({ done, value }) => tell?.(done ? undefined : value, false);
  const failed = (cause) => tell?.(cause, true);
  const leave = () => {
    const left = open;
    open = false;
    tell = undefined;
    return left;
  };
  return {
    listen(callback) {
      tell = callback;
    },
    ask() {
      reader.read().then(arrived, failed);
    },
    cancel() {
      if (leave()) ignore(reader.cancel());
    },
    /** Reads the rest and drops it, for at most `limitMs`. */
    drain(limitMs) {
      if (!leave()) return;
      const timer = setTimeout(() => ignore(reader.cancel()), limitMs);
      const stop = () => clearTimeout(timer);
      const next = () => reader.read().then(({ done }) => (done ? stop() : next()), stop);
      next();
    },
  };
}

let textDecoder;

/** Bytes as text. Each maximal invalid part becomes U+FFFD; a byte order mark is kept, because command output is no document. */
export function toText(bytes) {
  textDecoder ??= new TextDecoder("utf-8", { ignoreBOM: true });
  return textDecoder.decode(bytes);
}

/** Anything `fetch` could send, read into a Blob. */
export function toBlob(data) {
  return new Response(data).blob();
}

/** Anything `fetch` could send, compressed on the way; undefined where the runtime cannot. `signal` ends it. */
export function gzipped(data, signal) {
  if (typeof CompressionStream !== "function") return undefined;
  return new Response(data).body.pipeThrough(new CompressionStream("gzip"), { signal });
}

/** Anything `fetch` could send, read into bytes. */
export async function toBytes(data) {
  return new Uint8Array(await new Response(data).arrayBuffer());
}

/** The body of a response as `"text"`, `"bytes"` or `"blob"`. */
export async function whole(response, format) {
  if (format === "text") return response.text();
  return format === "blob" ? response.blob() : new Uint8Array(await response.arrayBuffer());
}

/** The chunks of a body as `"text"`, `"bytes"` or `"blob"`. */
export function merge(chunks, format, type) {
  if (format === "blob") return new Blob(chunks, { type });
  if (format === "text") {
    const decoder = new TextDecoder();
    let text = "";
    for (const chunk of chunks) text += decoder.decode(chunk, { stream: true });
    return text + decoder.decode();
  }
  const bytes = new Uint8Array(chunks.reduce((length, chunk) => length + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** What kind of file data a value is, recognised by shape because frameworks swap globals and realms. */
export function dataKind(value) {
  if (typeof value === "string") return "string";
  if (typeof value !== "object" || value === null) return undefined;
  if (ArrayBuffer.isView(value)) return "view";
  const tag = Object.prototype.toString.call(value);
  if (tag === "[object ArrayBuffer]" || tag === "[object SharedArrayBuffer]") return "buffer";
  if (typeof value.getReader === "function") return "stream";
  if (typeof value.arrayBuffer === "function" && typeof value.size === "number") return "blob";
  return undefined;
}

/** A view on exactly the bytes of `value`, copied only when `fetch` would refuse the memory behind it. */
export function bytesOf(value) {
  const view = ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
  return Object.prototype.toString.call(view.buffer) === "[object SharedArrayBuffer]" ? view.slice() : view;
}

/** Whether the value looks like an `AbortSignal`, of whatever realm. */
export function isSignal(value) {
  return typeof value === "object" && value !== null && typeof value.aborted === "boolean" && typeof value.addEventListener === "function";
}
