// What is HTTP and not sandboxes: which origins may ask, JSON in and out, and refusals that say what to do.

/** An answer other than success. `retryAfterMs` becomes `Retry-After`; `cause` is for the back end's log and never told. */
export class Refusal extends Error {
  constructor(status, code, message, { retryAfterMs, headers = {}, cause } = {}) {
    super(message);
    Object.assign(this, { status, code, retryAfterMs, headers, cause });
  }

  response() {
    const { status, code, message, retryAfterMs } = this;
    const headers = { ...this.headers };
    if (retryAfterMs !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfterMs / 1000)));
    return json({ error: { code, message, retryable: retryAfterMs !== undefined } }, { status, headers });
  }
}

export function json(value, { status = 200, headers = {} } = {}) {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...headers, "content-type": "application/json", "cache-control": "no-store", "x-content-type-options": "nosniff" },
  });
}

/** Whether `authorize` has thrown or answered a response of its own, of whatever realm. */
export function isResponse(value) {
  return typeof value === "object" && value !== null && typeof value.status === "number" && typeof value.headers?.get === "function";
}

/** How long a browser may remember what it is allowed to send, in seconds. */
const PREFLIGHT_SECONDS = "600";

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";

/** Answer headers that a page may read beside those that it always may. */
const EXPOSED = "retry-after, content-length, content-range, accept-ranges, etag, location, x-request-id";

/** Which pages may ask, and what their browsers are told. */
export class Cors {
  constructor(origins) {
    this.origins = new Set(origins);
  }

  /**
   * Refuses whatever is not from a page of an allowed origin. Browsers name the origin in every request but those that read
   * from the page's own; there, a header that no page can set says where the request comes from.
   */
  check(request, origin, isTerminal) {
    // What dials a terminal without an origin is no page, and could name any.
    if (isTerminal && origin === null) return;
    const reads = request.method === "GET" || request.method === "HEAD";
    const own = origin === null && reads && request.headers.get("sec-fetch-site") === "same-origin";
    if (own || (origin !== null && this.origins.has(origin))) return;
    const message = "Requests from this origin are not allowed. Add it to allowedOrigins of createSandboxBroker, exactly as browsers send it";
    throw new Refusal(403, "origin_not_allowed", message);
  }

  /** What the page may send. Nothing is protected by naming headers one by one to an origin that is trusted. */
  preflight(request, origin) {
    const response = this.expose(new Response(null, { status: 204 }), origin);
    const wanted = request.headers.get("access-control-request-headers");
    if (wanted !== null && /^[\w\-, ]{1,2000}$/.test(wanted)) response.headers.set("access-control-allow-headers", wanted);
    response.headers.set("access-control-allow-methods", METHODS);
    response.headers.set("access-control-max-age", PREFLIGHT_SECONDS);
    return response;
  }

  /** `response` with the headers that let the page read it, and without whatever allowed it to others. */
  expose(response, origin) {
    const headers = new Headers(response.headers);
    for (const name of [...headers.keys()]) if (name.startsWith("access-control-")) headers.delete(name);
    headers.append("vary", "Origin");
    if (origin !== null && this.origins.has(origin)) {
      headers.set("access-control-allow-origin", origin);
      headers.set("access-control-allow-credentials", "true");
      headers.set("access-control-expose-headers", EXPOSED);
    }
    const { status, statusText } = response;
    return new Response(response.body, { status, statusText, headers });
  }
}

/** The longest body of an action, in bytes. */
const LONGEST = 16_384;

/** The body of an action: an object, empty when there is no body. Forms and plain text, which any page can send, are refused. */
export async function readJson(request) {
  if (!/^application\/json\s*(;|$)/i.test(request.headers.get("content-type") ?? "")) {
    throw new Refusal(415, "unsupported_media_type", "Actions of the broker are sent as application/json");
  }
  const text = await readText(request);
  if (text === "") return {};
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal(400, "invalid_argument", "The body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Refusal(400, "invalid_argument", "The body must be a JSON object");
  return value;
}

async function readText(request) {
  if (!request.body) return "";
  const reader = request.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    length += value.length;
    if (length > LONGEST) {
      reader.cancel().catch(() => {});
      throw new Refusal(413, "too_large", `The body of an action has at most ${LONGEST} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/** An absolute URL, or undefined for a text that is none. */
export function parsedUrl(text, base) {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

/** How soon to ask again when the platform has no capacity or does not answer, in ms. */
const SOON_MS = 5_000;

/** What the page is told of an error of the control plane. Nothing of the error's own text, which is the back end's business. */
export function refusalOf(cause) {
  switch (cause?.code) {
    case "session_invalid":
    case "session_expired":
      return new Refusal(401, cause.code, cause.message);
    case "sandbox_not_found":
      return new Refusal(410, "sandbox_gone", "The sandbox has ended. Open a new session");
    case "conflict":
      return new Refusal(409, "conflict", "The sandbox is in a state that does not allow this");
    case "rate_limited":
    case "service_busy":
      return new Refusal(503, "busy", "The platform has no capacity at the moment", { retryAfterMs: SOON_MS, cause });
    case "connection_failed":
    case "connection_lost":
    case "request_timeout":
      return new Refusal(504, "unreachable", "The platform does not answer at the moment", { retryAfterMs: SOON_MS, cause });
    default:
      return new Refusal(500, "broker_failed", "The broker failed. Its log says why", { cause });
  }
}
