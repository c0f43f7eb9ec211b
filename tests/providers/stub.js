// A server in memory: a `fetch` that answers what it is told and keeps what it was asked.

/**
 * @param {Array<object | ((request: object) => Response | Promise<Response>)>} answers One for each request, in order; the last one
 * also answers all that follow with `{ repeats: true }`.
 */
export function stub(answers = [], { repeats = false } = {}) {
  const requests = [];
  const fetch = async (url, init = {}) => {
    const request = await readRequest(url, init);
    requests.push(request);
    const at = repeats ? Math.min(requests.length, answers.length) - 1 : requests.length - 1;
    const answer = answers[at];
    if (answer === undefined) throw new TypeError(`fetch failed: there is no answer for request ${requests.length}, ${request.method} ${request.target}`);
    if (typeof answer === "function") return answer(request, init);
    return respond(answer, init.signal);
  };
  return { fetch, requests, answers };
}

/** A request as recordings have it. */
async function readRequest(url, { method = "GET", headers = {}, body }) {
  const { origin, pathname, search } = new URL(url);
  const all = Object.fromEntries(new Headers(headers));
  const bytes = body === undefined || body === null ? undefined : new Uint8Array(await new Response(body).arrayBuffer());
  return { origin, method, target: pathname + search, headers: all, bytes, isFramed: all["content-type"] === "application/connect+json", json: jsonOf(all["content-type"], bytes) };
}

function jsonOf(type, bytes) {
  if (bytes === undefined) return undefined;
  const isFrame = type === "application/connect+json";
  if (!isFrame && type !== "application/json") return undefined;
  return JSON.parse(new TextDecoder().decode(isFrame ? bytes.subarray(5) : bytes));
}

/** A response as recordings have it; each of its chunks is a piece of the body. What lacks an end stays open until the signal fires. */
export function respond({ status = 200, headers = {}, json, body_text: text, body_chunks_hex: chunks, hangs = false, breaks = false }, signal) {
  let pieces = [];
  if (chunks !== undefined) pieces = chunks.map((hex) => Uint8Array.from(hex.match(/../g), (byte) => Number.parseInt(byte, 16)));
  else if (json !== undefined || text !== undefined) pieces = [new TextEncoder().encode(text ?? JSON.stringify(json))];
  const type = json !== undefined ? { "content-type": "application/json" } : chunks !== undefined ? { "content-type": "application/connect+json" } : {};
  if ([204, 205, 304].includes(status)) return new Response(null, { status, headers });
  const body = new ReadableStream({
    async pull(controller) {
      const piece = pieces.shift();
      if (piece !== undefined) controller.enqueue(piece);
      else if (breaks) controller.error(new TypeError("terminated"));
      else if (!hangs) controller.close();
      else await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));
    },
  });
  return new Response(body, { status, headers: { ...type, ...headers } });
}

/** What runtimes throw when the connection is cut after the request has been sent. */
export function lost() {
  const error = new TypeError("fetch failed");
  error.cause = Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" });
  throw error;
}

/** What Node throws when there was no connection at all. */
export function refused() {
  const error = new TypeError("fetch failed");
  error.cause = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:9"), { code: "ECONNREFUSED" });
  throw error;
}
