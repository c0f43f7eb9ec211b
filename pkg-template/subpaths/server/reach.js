// The ways to the server: its own address, a port of a sandbox, or a broker that passes requests on for a page. Each is a
// function that sends one request; nothing else in this entry calls `fetch`.

import { Address } from "./address.js";
import { callback, isObject, kind, optional, stringMap, text, whole, wrong } from "./check.js";
import { RESERVED_HEADERS } from "../shared/headers.js";

/** What a broker answers when its session must be renewed. */
const OVER = ["session_expired", "session_invalid", "session_missing"];

const PORT = 9000;
const TERMINAL_PORT = 9001;

export function isSandbox(value) {
  return typeof value?.getHost === "function" && typeof value.toToken === "function";
}

/** The way that the arguments of `new ServerClient` describe: `{ origin, send(path, query, init, isAnonymous), terminalUrl(query) }`. */
export function reachOf(target, opts) {
  const token = optional(bearer, opts.token);
  const given = headersOf(opts.headers, token);
  const ask = callback(opts.fetch, "Option fetch of ServerClient");
  // Looked up with each request: programs replace it for tests and for tracing.
  const fetch = (url, init) => (ask === undefined ? globalThis.fetch(url, init) : ask(url, init));
  // Some questions are answered to everybody. Without the token a page asks them without a preflight.
  const headers = async (isAnonymous) => {
    const all = await given();
    if (token !== undefined && !isAnonymous) all.authorization = `Bearer ${token}`;
    return all;
  };
  if (!isSandbox(target)) return atAddress(target, opts, { headers, fetch });
  const port = whole(opts.port ?? PORT, "Option port of ServerClient", 1, 65_535);
  const through = opts.through ?? (typeof target.fetchPort === "function" ? "broker" : "sandbox");
  if (through !== "broker" && through !== "sandbox") throw wrong('Option through of ServerClient must be "broker" or "sandbox"');
  if (through === "broker" && typeof target.fetchPort !== "function") {
    throw wrong('Option through of ServerClient is "broker", but this sandbox was not attached through one: use Sandbox.attach({ endpoint })');
  }
  return { ...(through === "broker" ? atBroker(target, port, headers) : atSandbox(target, port, { headers, fetch })), terminalUrl: terminalOf(target, opts) };
}

function atAddress(url, opts, { headers, fetch }) {
  const address = new Address(url);
  if (opts.port !== undefined || opts.through !== undefined) throw wrong("Options port and through of ServerClient are for sandboxes: a url has its port already");
  const terminal = optional((value) => new Address(value, "terminalUrl"), opts.terminalUrl);
  const { hostname, protocol } = new URL(address.origin);
  const local = ["localhost", "127.0.0.1", "[::1]"].includes(hostname);
  return {
    origin: address.origin,
    send: async (path, query, init, isAnonymous) => fetch(address.at(path, query), { ...init, headers: { ...(await headers(isAnonymous)), ...init.headers } }),
    terminalUrl(query) {
      if (terminal === undefined && !local) throw wrong("Option terminalUrl of ServerClient must say where the server's terminal port is");
      return webSocket((terminal ?? new Address(`${protocol}//${hostname}:${TERMINAL_PORT}`)).at("/pty", query));
    },
  };
}

function atSandbox(sandbox, port, { headers, fetch }) {
  const [base] = sandbox._port(port);
  return {
    origin: new URL(base).origin,
    async send(path, query, init, isAnonymous) {
      // Asked each time: a renewed token has a new traffic token.
      const [url, routed] = sandbox._port(port);
      const { trafficAccessToken } = sandbox.toToken();
      const own = await headers(isAnonymous);
      if (routed !== undefined) Object.assign(own, { "e2b-sandbox-id": routed, "e2b-sandbox-port": String(port) });
      if (trafficAccessToken) own["e2b-traffic-access-token"] = trafficAccessToken;
      return fetch(new Address(url).at(path, query), { ...init, headers: { ...own, ...init.headers } });
    },
  };
}

/** A broker sends its own credentials to the port; those for the server have a header of their own on the way there. */
function atBroker(sandbox, port, headers) {
  const address = new Address("http://port.invalid");
  return {
    origin: `port ${port} behind the broker`,
    async send(path, query, init, isAnonymous) {
      const { authorization, ...own } = { ...(await headers(isAnonymous)), ...init.headers };
      if (authorization !== undefined) own["x-sandbox-authorization"] = authorization;
      const inside = address.at(path, query).slice(address.origin.length);
      const answer = await sandbox.fetchPort(port, inside, { ...init, headers: own });
      if (!(await sessionIsOver(answer))) return answer;
      // Refused by the broker, so nobody has acted on it.
      await answer.body?.cancel().catch(() => {});
      await sandbox.connect();
      return sandbox.fetchPort(port, inside, { ...init, headers: own });
    },
  };
}

async function sessionIsOver(answer) {
  if (answer.status !== 401) return false;
  const body = await answer.clone().json().catch(() => undefined);
  return OVER.includes(body?.error?.code);
}

function terminalOf(sandbox, opts) {
  const given = optional((value) => new Address(value, "terminalUrl"), opts.terminalUrl);
  return (query) => {
    if (given !== undefined) return webSocket(given.at("/pty", query));
    const [base] = sandbox._port(TERMINAL_PORT);
    return webSocket(`${new URL(base).protocol}//${sandbox.getHost(TERMINAL_PORT)}/pty?${new URLSearchParams(query)}`);
  };
}

function webSocket(url) {
  return url.replace(/^http/, "ws");
}

function bearer(value) {
  text(value, "Option token of ServerClient");
  if (/^[\u0021-\u007e]+$/.test(value)) return value;
  throw wrong("Option token of ServerClient must consist of printable ASCII characters without spaces");
}

/** Checks the option `headers`, and answers a function that makes them for one request. */
function headersOf(value, token) {
  if (value === undefined || value === null) return async () => ({});
  const check = (headers) => {
    const all = stringMap(headers, "Option headers of ServerClient");
    const checked = {};
    for (const [name, text] of Object.entries(all)) {
      const lower = name.toLowerCase();
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) throw wrong("Option headers of ServerClient has a name that no header can have");
      if (/[\r\n\0]/.test(text)) throw wrong(`Option headers.${name} of ServerClient must not contain line breaks`);
      if (RESERVED_HEADERS.includes(lower.replaceAll("_", "-"))) throw wrong(`Option headers.${name} of ServerClient belongs to the connection and cannot be set`);
      if (lower === "authorization" && token !== undefined) throw wrong("Options token and headers.Authorization of ServerClient exclude each other");
      checked[lower] = text;
    }
    return checked;
  };
  if (typeof value === "function") return async () => check(await value());
  if (!isObject(value)) throw wrong(`Option headers of ServerClient must be an object or a function, not ${kind(value)}`);
  const checked = check(value);
  return async () => ({ ...checked });
}
