// `Sandbox.attach({ endpoint })`: a sandbox that a broker of `agent-sandbox-web/edge` has made for this page, found again after a
// reload, and kept open.

import {
  AuthenticationError,
  ConnectionError,
  InvalidArgumentError,
  NotFoundError,
  ProtocolError,
  RateLimitError,
  SandboxError,
  SandboxNotFoundError,
  ServiceBusyError,
  UnsupportedError,
} from "./errors.js";
import { invalid } from "./options.js";

/** How long one call of the broker may take unless the caller says otherwise, in ms. */
const REQUEST_TIMEOUT_MS = 60_000;

/** What the broker's statuses mean. */
const ERRORS = {
  400: InvalidArgumentError,
  401: AuthenticationError,
  403: AuthenticationError,
  404: NotFoundError,
  410: SandboxNotFoundError,
  429: RateLimitError,
  501: UnsupportedError,
  502: ConnectionError,
  503: ServiceBusyError,
  504: ConnectionError,
};

/** Codes that mean: this session is over, another one may begin. */
const OVER = ["session_expired", "session_invalid", "session_of_another", "session_missing"];

export async function attachTo(attach, given, opts) {
  const broker = new Broker(given, opts ?? {});
  const token = await broker.begin();
  const through = token.proxied ? { fetch: (input, init) => broker.carry(input, init) } : {};
  const sandbox = await attach(token, { ...opts, ...through, refresh: () => broker.renew(token.sandboxId) });
  const act = (action, body, opts) => broker.act(token.sandboxId, action, body, opts);
  const own = {
    kill: async (opts) => {
      const { killed } = await act("kill", {}, opts);
      broker.forget();
      return killed;
    },
    pause: async (opts) => (await act("pause", {}, opts)).paused,
    setTimeout: async (timeoutMs, opts) => void (await act("extend", { timeoutMs }, opts)),
    getInfo: async (opts) => infoOf(await act("info", {}, opts)),
    connect: async (opts) => (await broker.renew(token.sandboxId, opts), sandbox),
    _openTerminal: () => broker.terminal(token.sandboxId),
    fetchPort: (port, path, init) => broker.fetchPort(port, path, init),
  };
  if (token.proxied) {
    const sign = (operation) => async (path, { user, useSignatureExpiration } = {}) =>
      (await act("sign", { path, operation, user, expiresInSeconds: useSignatureExpiration })).url;
    Object.assign(own, { downloadUrl: sign("read"), uploadUrl: sign("write") });
  }
  for (const [name, value] of Object.entries(own)) Object.defineProperty(sandbox, name, { value, configurable: true, writable: true });
  return sandbox;
}

class Broker {
  #opts;
  #given;
  #endpoint;
  #session;
  #store;
  #key;

  constructor(given, opts) {
    const { endpoint, slot, scopes, headers, credentials } = given;
    const address = typeof endpoint === "string" || endpoint instanceof URL ? resolved(String(endpoint)) : undefined;
    if (address === undefined) throw invalid("endpoint of Sandbox.attach must be the address of a broker, such as https://app.example/sandbox");
    for (const [name, value] of Object.entries({ slot, credentials })) {
      if (value !== undefined && typeof value !== "string") throw invalid(`${name} of Sandbox.attach must be a string`);
    }
    if (scopes !== undefined && !Array.isArray(scopes)) throw invalid("scopes of Sandbox.attach must be a list of strings");
    if (headers !== undefined && typeof headers !== "object" && typeof headers !== "function") {
      throw invalid("headers of Sandbox.attach must be an object, or a function that answers one");
    }
    this.#opts = opts;
    this.#given = given;
    this.#endpoint = address;
    this.#store = storageOf(given.storage);
    this.#key = ["agent-sandbox", address, slot ?? "", ...(scopes ?? [])].join(" ");
  }

  /** The token of the session that an earlier page has begun, if it lives; else of a new one. */
  async begin() {
    this.#session = this.#remembered();
    if (this.#session) {
      try {
        return this.#take(await this.ask("refresh"));
      } catch (error) {
        if (!OVER.includes(error.code) && error.code !== "sandbox_gone") throw error;
      }
    }
    return this.#open();
  }

  /** The next token for the same sandbox. */
  async renew(sandboxId, opts) {
    try {
      return this.#take(await this.ask("refresh", {}, opts));
    } catch (error) {
      if (!OVER.includes(error.code)) throw error;
    }
    const token = await this.#open(opts);
    if (token.sandboxId === sandboxId) return token;
    throw new SandboxNotFoundError("The sandbox has ended. Attach to the endpoint again for the one that takes its place", { code: "sandbox_gone" });
  }

  /** An action on that sandbox, in another session when the one there was has ended meanwhile. */
  async act(sandboxId, action, body, opts) {
    try {
      return await this.ask(action, body, opts);
    } catch (error) {
      // Without one it was given up on purpose.
      if (this.#session === undefined || !OVER.includes(error.code)) throw error;
    }
    await this.renew(sandboxId, opts);
    return this.ask(action, body, opts);
  }

  /** Gives the session up: there is nothing left that it opens. */
  forget() {
    this.#session = undefined;
    this.#remember(undefined);
  }

  /** `opts` of one call (`signal`, `requestTimeoutMs`, `fetch`) go before those that were given to `attach`. */
  async ask(action, body = {}, opts = {}) {
    const init = { method: "POST", body: JSON.stringify(body) };
    const answer = await this.#send(action === "" ? "" : `/${action}`, init, { "content-type": "application/json" }, opts);
    const text = await answer.text();
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    if (answer.ok && typeof value === "object" && value !== null) return value;
    const { code, message, retryable = false } = value?.error ?? {};
    if (typeof code !== "string") {
      throw new ProtocolError(`The endpoint answered ${answer.status}, but not as a broker does. Check the address`, { code: "protocol_error", status: answer.status });
    }
    throw new (ERRORS[answer.status] ?? SandboxError)(String(message), { code, status: answer.status, retryable });
  }

  /** The address of one terminal, for `agent-sandbox-web/terminal`. */
  async terminal(sandboxId) {
    const { url } = await this.act(sandboxId, "terminal");
    // The broker may not know by which name it is reached.
    return { url: `${this.#endpoint}/terminal${new URL(url).search}` };
  }

  fetchPort(port, path, init = {}) {
    if (!(Number.isInteger(port) && port >= 1 && port <= 65_535)) throw invalid("port of fetchPort must be a whole number from 1 to 65535");
    return this.#send(`/port/${port}/${String(path).replace(/^\//, "")}`, init, Object.fromEntries(new Headers(init.headers)));
  }

  /** A request of the package that goes through the broker, which wants to know the visitor. */
  async carry(input, init) {
    const all = new Headers(init.headers);
    for (const [name, value] of Object.entries(await this.#visitor())) {
      // The package names a user of the sandbox there.
      if (name.toLowerCase() === "authorization" && all.has(name)) all.set("x-sandbox-authorization", all.get(name));
      all.set(name, value);
    }
    return this.#fetch(input, { ...init, headers: Object.fromEntries(all) }, this.#opts);
  }

  /** Headers by which the back end knows the visitor. */
  async #visitor() {
    const { headers = {} } = this.#given;
    return typeof headers === "function" ? headers() : headers;
  }

  #fetch(input, init, { fetch: ask = globalThis.fetch }) {
    const { credentials } = this.#given;
    // Some edge runtimes throw when the option is there at all.
    return ask(input, credentials === undefined ? init : { ...init, credentials });
  }

  async #send(path, init, headers, opts = {}) {
    const own = Object.entries(opts).filter(([, value]) => value !== undefined);
    const call = { ...this.#opts, ...Object.fromEntries(own) };
    const { requestTimeoutMs = REQUEST_TIMEOUT_MS, signal } = call;
    const all = { ...(await this.#visitor()), ...headers };
    if (this.#session) all["x-sandbox-session"] = this.#session;
    const timeout = requestTimeoutMs > 0 && !init.signal ? AbortSignal.timeout(requestTimeoutMs) : undefined;
    const signals = [init.signal ?? signal, timeout].filter(Boolean);
    const request = { ...init, headers: all, signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0] };
    try {
      return await this.#fetch(`${this.#endpoint}${path}`, request, call);
    } catch (cause) {
      const aborted = [init.signal, signal].find((one) => one?.aborted);
      if (aborted) throw aborted.reason;
      throw new ConnectionError("The endpoint cannot be reached. Check the address, and that the broker's allowedOrigins has the origin of this page", {
        code: timeout?.aborted ? "request_timeout" : "connection_failed",
        retryable: true,
        cause,
      });
    }
  }

  async #open(opts) {
    const { slot, scopes } = this.#given;
    this.#session = undefined;
    return this.#take(await this.ask("", { slot, scopes }, opts));
  }

  /** Keeps the session of an answer, which is a token. */
  #take(token) {
    if (typeof token.session !== "string" || typeof token.sandboxId !== "string") {
      throw new ProtocolError("The endpoint did not answer a session, as a broker does. Check the address", { code: "protocol_error" });
    }
    this.#session = token.session;
    this.#remember(token.session);
    // The broker may not know by which name it is reached.
    return token.proxied ? { ...token, url: `${this.#endpoint}/sandbox` } : token;
  }

  #remembered() {
    try {
      return this.#store?.getItem(this.#key) ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** A storage that is full or forbidden costs no more than the session after a reload. */
  #remember(session) {
    try {
      if (session === undefined) this.#store?.removeItem(this.#key);
      else this.#store?.setItem(this.#key, session);
    } catch {
      // Nothing to do about it.
    }
  }
}

/** An address without the slashes at its end; relative ones belong to the page. */
function resolved(text) {
  try {
    const url = new URL(text, globalThis.location?.href);
    const usable = /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
    return usable ? url.href.replace(/\/+$/, "") : undefined;
  } catch {
    return undefined;
  }
}

/** Where sessions survive a reload: the given storage, else that of the tab, else nowhere. */
function storageOf(given) {
  if (given === null) return undefined;
  if (given !== undefined) {
    if (typeof given.getItem === "function" && typeof given.setItem === "function" && typeof given.removeItem === "function") return given;
    throw invalid("storage of Sandbox.attach must have getItem, setItem and removeItem, as sessionStorage does, or be null");
  }
  try {
    return globalThis.location ? globalThis.sessionStorage : undefined;
  } catch {
    return undefined;
  }
}

function infoOf({ startedAt, endAt, ...info }) {
  return { metadata: {}, ...info, startedAt: new Date(startedAt), endAt: new Date(endAt) };
}
