// Where a terminal is. URLs made here carry tokens in their query, because a page's WebSocket can carry them nowhere else: no error
// and no log may have one, and so none has the host's own words about a URL either.

import { wrong } from "./options.js";

const ENVD_PORT = 49983;

/** The bridge's own path, of the local server below a sandbox's host name. */
const BRIDGE = "/terminal";

/** What a bridge is told in the query. */
const PARAMETERS = ["cols", "rows", "user", "cwd", "pid"];

/**
 * A function that answers the address to dial, anew for each connection: `address({ pid, attempt })`.
 *
 * @param {string | URL | Function | object} target A URL, what answers one, or a sandbox.
 */
export function bridgeAddress(target, options) {
  const { cols, rows, user, cwd, signal, isSized } = options;
  const ask =
    typeof target === "function" ? target : typeof target?.toToken === "function" ? () => terminalUrl(target, { signal }) : () => target;
  return async ({ pid = options.pid, attempt }) => {
    const url = socketUrl(await ask({ pid, attempt, signal }), "the target of openTerminal");
    const own = pid === undefined ? { cols, rows, user, cwd } : { ...(isSized && { cols, rows }), pid };
    for (const name of PARAMETERS) {
      // What the caller has written into the URL is meant.
      if (own[name] !== undefined && (name === "pid" || !url.searchParams.has(name))) url.searchParams.set(name, String(own[name]));
    }
    url.searchParams.set("events", "1");
    // A shell that was started for this terminal ends with it, also when it was lost in between.
    if (pid !== undefined && options.pid === undefined) url.searchParams.set("own", "1");
    return url;
  };
}

/** The same for the in-image server, whose path does not matter. */
export function serverAddress({ url: given, sessionId, token }) {
  const url = socketUrl(given, "url of openServerTerminal");
  if (url.pathname === "/") url.pathname = "/pty";
  url.searchParams.set("session_id", sessionId);
  if (token !== undefined) url.searchParams.set("token", token);
  return async () => new URL(url);
}

export async function terminalUrl(sandbox, opts = {}) {
  if (typeof sandbox?.toToken !== "function") throw wrong("The first argument of terminalUrl must be a Sandbox");
  if (typeof opts !== "object" || opts === null) throw wrong("The options of terminalUrl must be an object");
  opts.signal?.throwIfAborted();
  const url = await ofSandbox(sandbox, opts.signal);
  for (const name of PARAMETERS) if (opts[name] !== undefined) url.searchParams.set(name, String(opts[name]));
  return url.href;
}

async function ofSandbox(sandbox, signal) {
  // The broker mints a token that is good for this and for nothing else.
  if (sandbox._openTerminal) return socketUrl((await sandbox._openTerminal(signal)).url, "the broker's answer");
  const { sandboxId, envdAccessToken } = sandbox.toToken();
  const [base, routed] = sandbox._port(ENVD_PORT);
  // No WebSocket of a page carries the headers that would say which sandbox is meant, so the path does.
  const url = socketUrl(`${base}${BRIDGE}${routed === undefined ? "" : `/${sandboxId}`}`, "the sandbox's address");
  if (envdAccessToken) url.searchParams.set("token", envdAccessToken);
  return url;
}

/** `given` as a URL that a WebSocket can have. */
function socketUrl(given, what) {
  let url;
  try {
    url = new URL(String(given), globalThis.location?.href);
  } catch {
    // Without a cause: the host's error would repeat the URL.
    throw wrong(`${what} must be a URL of a WebSocket, such as wss://app.example/sandbox/terminal`);
  }
  if (url.protocol === "http:") url.protocol = "ws:";
  if (url.protocol === "https:") url.protocol = "wss:";
  if (url.protocol !== "ws:" && url.protocol !== "wss:") throw wrong(`${what} must begin with ws:, wss:, http: or https:`);
  if (url.username !== "" || url.password !== "") throw wrong(`${what} must not have a user or a password: WebSockets drop them`);
  url.hash = "";
  return url;
}
