// How far the transfer of a file is. Answers are counted where they are read; for requests, `fetch` tells nothing, so they are
// counted here in the most truthful way that the host has.

import { inPage } from "./host.js";

/** How much of a body is handed over between two reports, in bytes. */
const PIECE = 64 * 1024;

/** A function of `(loaded, total)` that tells `onProgress`. What that throws, at once or later, goes to `fail`, and the rest is not told. */
export function reporter(onProgress, path, fail) {
  let open = true;
  const failed = (error) => {
    open = false;
    fail(error);
  };
  return (loaded, total) => {
    if (!open) return;
    const progress = { loaded };
    if (total !== undefined) progress.total = total;
    if (path !== undefined) progress.path = path;
    try {
      onProgress(progress)?.then?.(undefined, failed);
    } catch (error) {
      failed(error);
    }
  };
}

/**
 * Calls `fetch` and tells `report` how much of the body has been sent. A page cannot stream a body, but `XMLHttpRequest` knows;
 * where the caller's own `fetch` must be used, or there is none, only the beginning and the end are known. Elsewhere the body
 * is streamed and counted as the connection takes it.
 */
export async function fetchReporting(fetch, isCustom, url, init, report) {
  const body = typeof init.body === "string" ? new TextEncoder().encode(init.body) : init.body;
  const total = body.byteLength ?? body.size;
  report(0, total);
  if (!inPage()) return fetch(url, { ...init, body: counted(body, total, report), duplex: "half" });
  if (!isCustom && typeof XMLHttpRequest === "function") return send(url, { ...init, body }, report);
  const response = await fetch(url, { ...init, body });
  report(total, total);
  return response;
}

/** A stream of the body that reports each piece when it is taken. */
function counted(body, total, report) {
  let rest = new Uint8Array(0);
  let reader;
  if (ArrayBuffer.isView(body)) rest = body;
  else reader = (body.getReader ? body : new Response(body).body).getReader();
  let loaded = 0;
  return new ReadableStream(
    {
      async pull(controller) {
        while (rest.length === 0) {
          const { done, value } = (await reader?.read()) ?? { done: true };
          if (done) return controller.close();
          rest = value;
        }
        const piece = rest.subarray(0, PIECE);
        rest = rest.subarray(PIECE);
        controller.enqueue(piece);
        report((loaded += piece.length), total);
      },
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** `fetch` by the means of `XMLHttpRequest`, as far as this package needs it. */
function send(url, { method, headers, body, signal }, report) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.open(method, url);
    request.responseType = "arraybuffer";
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.upload.onprogress = ({ loaded, total }) => report(loaded, total);
    request.onload = () => {
      // It follows redirects, which `fetch` was told not to: said in the way `fetch` says it.
      if (request.responseURL !== new URL(url).href) resolve({ type: "opaqueredirect", status: 0, headers: new Headers(), body: null });
      else resolve(new Response(request.response.byteLength > 0 ? request.response : null, { status: request.status, headers: headersOf(request) }));
    };
    request.onerror = () => reject(new TypeError("The upload failed before an answer could be read"));
    request.onabort = () => reject(signal.reason);
    request.onloadend = () => signal.removeEventListener("abort", abort);
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", abort);
    request.send(body);
  });
}

function headersOf(request) {
  const headers = new Headers();
  for (const line of request.getAllResponseHeaders().trim().split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}
