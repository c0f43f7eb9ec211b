// What goes to the sandbox through the broker: requests of the package itself at `sandbox/…`, and those to a port at
// `port/<n>/…`. Credentials of the sandbox are added here, and those of the visitor stay here: whatever runs in the sandbox never
// sees them.

import { Refusal, parsedUrl } from "./http.js";
import { isScope } from "./session.js";

const DAEMON = 49983;
const INTERPRETER = 49999;

/** What is needed for the routes of the daemon, by their beginning and method; the first that fits decides. */
const ROUTES = [
  [/^\/health$/, undefined],
  [/^\/files$/, { GET: "files:read", HEAD: "files:read", POST: "files:write" }],
  [/^\/filesystem\.Filesystem\/(Stat|ListDir|WatchDir|CreateWatcher|GetWatcherEvents|RemoveWatcher)$/, "files:read"],
  [/^\/filesystem\.Filesystem\/(MakeDir|Move|Remove)$/, "files:write"],
  [/^\/process\.Process\/\w+$/, "run"],
];

/** Request headers that reach the sandbox, beside those of the option `forwardHeaders`. */
const FORWARDED = [
  "accept",
  "accept-language",
  "content-type",
  "content-encoding",
  "range",
  "if-match",
  "if-none-match",
  "if-modified-since",
  "if-unmodified-since",
  "if-range",
  "last-event-id",
  "connect-protocol-version",
  "connect-timeout-ms",
  "connect-content-encoding",
  "connect-accept-encoding",
  "keepalive-ping-interval",
];

/** Answer headers that stay here: those of one connection, of an encoding that is undone, and what would rule the page. */
const DROPPED = [
  "connection",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
  "trailer",
  "proxy-authenticate",
  "content-encoding",
  "set-cookie",
  "clear-site-data",
  "strict-transport-security",
  "service-worker-allowed",
  "alt-svc",
  "report-to",
  "nel",
];

export async function forward({ options, sessions, sandboxes }, visitor, request, kind, rest, url) {
  if (request.headers.has("upgrade")) throw new Refusal(501, "unsupported", "The broker passes no WebSockets on to the sandbox. Its own are terminals, at terminal");
  const aimed = kind === "port" ? atPort(rest) : atSandbox(request, rest);
  const { sandboxId } = sessions.read(visitor, aimed.scope);
  const sandbox = await sandboxes.reach(sandboxId);
  const { envdAccessToken, trafficAccessToken } = sandbox.toToken();
  const [base, routed] = sandbox._port(aimed.port);

  const headers = new Headers({ "accept-encoding": "identity" });
  for (const name of [...FORWARDED, ...options.forwardHeaders]) {
    const value = request.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (routed !== undefined) {
    headers.set("e2b-sandbox-id", routed);
    headers.set("e2b-sandbox-port", String(aimed.port));
  }
  if (trafficAccessToken) headers.set("e2b-traffic-access-token", trafficAccessToken);
  if (kind === "sandbox" && envdAccessToken) headers.set("x-access-token", envdAccessToken);
  const credentials = kind === "port" ? request.headers.get("x-sandbox-authorization") : userOf(request);
  if (credentials) headers.set("authorization", credentials);

  const target = new URL(`${base}${aimed.path}${url.search}`);
  const hasBody = request.body !== null && request.body !== undefined && request.method !== "GET" && request.method !== "HEAD";
  const body = hasBody ? await bodyFor(kind, request) : undefined;
  const init = { method: request.method, headers, redirect: "manual", signal: request.signal };
  const ask = options.connection.fetch ?? fetch;
  let answer;
  try {
    answer = await ask(target, hasBody ? { ...init, body, duplex: "half" } : init);
  } catch (cause) {
    throw new Refusal(502, "unreachable", "The sandbox does not answer", { retryAfterMs: 1000, cause });
  }
  // Refused by the sandbox, or by what leads to it: what is known of it is out of date.
  if (answer.status === 401 || answer.status === 403 || answer.status === 502) sandboxes.forget(sandboxId);
  const headersOut = answerHeaders(answer, target, kind === "port" ? aimed.port : undefined, options.path);
  if (kind === "sandbox" && aimed.path !== "/files") keepStreaming(headersOut);
  return new Response(answer.body, { status: answer.status, headers: headersOut });
}

/** The largest body that is passed on to a port in one piece, in bytes. */
const WHOLE = 10_485_760;

/**
 * What is passed on as the body. Servers of a few lines do not understand bodies in chunks, which is how a stream is sent: what has
 * a length and is small reaches a port with it.
 */
async function bodyFor(kind, request) {
  const length = Number(request.headers.get("content-length"));
  if (kind !== "port" || !(length > 0 && length <= WHOLE)) return request.body;
  try {
    return await request.arrayBuffer();
  } catch (cause) {
    throw new Refusal(400, "invalid_argument", "The body of the request broke off", { cause });
  }
}

/** `port/<n>/<path>`. */
function atPort([number, ...segments]) {
  const scope = `port:${number}`;
  if (!isScope(scope)) throw new Refusal(404, "not_found", "The path must go on with the number of a port that is not reserved");
  return { scope, port: Number(number), path: `/${segments.join("/")}` };
}

/** `sandbox/<path>`, for the daemon, or for the code interpreter when the routing header says so. */
function atSandbox(request, segments) {
  const path = `/${segments.join("/")}`;
  const port = Number(request.headers.get("e2b-sandbox-port") ?? DAEMON);
  if (port === INTERPRETER) return { scope: "run", port, path };
  if (port !== DAEMON) throw new Refusal(403, "scope_missing", "Other ports are reached at port/<n>");
  const route = ROUTES.find(([pattern]) => pattern.test(path));
  const needed = route?.[1];
  const scope = typeof needed === "object" ? needed[request.method] : needed;
  if (route === undefined || (scope === undefined && needed !== undefined)) throw new Refusal(404, "not_found", "The daemon of the sandbox has no such route");
  return { scope, port, path };
}

/** The user that a request of the package names: a name without a password. Anything else are the visitor's own credentials. */
function userOf(request) {
  const given = request.headers.get("x-sandbox-authorization") ?? request.headers.get("authorization");
  const encoded = /^Basic ([A-Za-z0-9+/]+=*)$/.exec(given ?? "")?.[1];
  try {
    return encoded !== undefined && /^[\w.-]+:$/.test(atob(encoded)) ? given : undefined;
  } catch {
    return undefined;
  }
}

/** Hosts compress JSON by themselves, and hold it back until there is enough of it: what is printed now would be seen at the end. */
function keepStreaming(headers) {
  headers.set("content-encoding", "identity");
  headers.append("cache-control", "no-transform");
}

/** What a page gets to see. Content of a sandbox is never a document of the broker's own origin. */
function answerHeaders(answer, target, port, path) {
  const headers = new Headers(answer.headers);
  // Only the length of what was sent encoded is wrong once it is not.
  if (headers.has("content-encoding")) headers.delete("content-length");
  for (const name of DROPPED) headers.delete(name);
  headers.set("content-security-policy", "sandbox; default-src 'none'");
  headers.set("x-content-type-options", "nosniff");
  headers.set("cross-origin-resource-policy", "same-site");
  const location = headers.get("location");
  const next = location === null || port === undefined ? undefined : parsedUrl(location, target);
  if (next?.origin === target.origin) headers.set("location", `${path}/port/${port}${next.pathname}${next.search}`);
  return headers;
}
