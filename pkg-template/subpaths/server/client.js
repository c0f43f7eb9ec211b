// The client of the server that an image brings: where it is, what it permits, its groups of endpoints, and any other request to
// the same port.

import { agentsOf } from "./agents.js";
import { ServerBrowser } from "./browser.js";
import { Calls, defined, encode, readText } from "./calls.js";
import { ServerCapabilities } from "./capabilities.js";
import { callback, isObject, kind, oneOf, optional, options, path as checkPath, strings, text, wrong } from "./check.js";
import { ServerCode } from "./code.js";
import { ServerCommands } from "./commands.js";
import { ServerDevTools } from "./dev-tools.js";
import { resumed } from "./events.js";
import { ServerFiles } from "./files.js";
import { parseJson } from "./json.js";
import { ServerProcesses } from "./process.js";
import { isSandbox, reachOf } from "./reach.js";
import { ServerSystem } from "./system.js";
import { ServerTerminals } from "./terminal.js";
import { SandboxError } from "#package";

export class ServerClient {
  #target;
  #opts;
  #calls;

  constructor(target, opts) {
    this.#target = target;
    this.#opts = { ...options(opts, "ServerClient") };
    this.#calls = new Calls(reachOf(target, this.#opts), this.#opts);
    const calls = this.#calls;
    this.commands = new ServerCommands(calls);
    this.process = new ServerProcesses(calls);
    this.files = new ServerFiles(calls, (command, given) => this.process.run(command, given));
    this.terminal = new ServerTerminals(calls);
    this.system = new ServerSystem(calls);
    this.devTools = new ServerDevTools(calls);
    this.browser = new ServerBrowser(calls);
    this.agents = agentsOf(calls);
    this.code = new ServerCode(this.devTools, isSandbox(target) ? target : undefined);
  }

  /** What `discover` has found last. */
  get capabilities() {
    return this.#calls.capabilities;
  }

  /** The same server with another token, or without one. It has discovered nothing yet. */
  withToken(token) {
    return new ServerClient(this.#target, { ...this.#opts, token });
  }

  /** Whether the server answers that it is well. Aborting rejects. */
  async health(opts) {
    const owner = "health";
    try {
      const { status } = await this.#calls.ask("health", "GET", "/health", { owner, opts, isAnonymous: true });
      return status === "ok";
    } catch (error) {
      if (opts?.signal?.aborted || !(error instanceof SandboxError) || error.code === "invalid_argument") throw error;
      return false;
    }
  }

  /** Waits until the server answers, asking again and again. */
  async waitUntilHealthy(given) {
    const owner = "waitUntilHealthy";
    const opts = options(given, owner);
    const clock = this.#calls.clock(owner, { signal: opts.signal, requestTimeoutMs: opts.timeoutMs ?? 30_000 });
    try {
      while (!(await this.health({ signal: clock.signal }))) await clock.sleep(100);
    } finally {
      clock.end();
    }
  }

  /** Asks what the server permits. From then on calls that it does not permit are refused without being sent. */
  async discover(opts) {
    this.forgetDiscovery();
    this.#calls.capabilities = new ServerCapabilities(await this.#calls.ask("capabilities", "GET", "/capabilities", { owner: "discover", opts }));
    return this.#calls.capabilities;
  }

  forgetDiscovery() {
    this.#calls.capabilities = undefined;
  }

  /** Asks whether one call would be permitted. */
  async check(endpoint, given) {
    const owner = "check";
    const opts = options(given, owner);
    const json = defined({
      endpoint: text(endpoint, `endpoint of ${owner}`),
      path: optional(checkPath, opts.path, `Option path of ${owner}`),
      paths: optional(strings, opts.paths, `Option paths of ${owner}`),
      op: optional(oneOf, opts.op, `Option op of ${owner}`, ["read", "write", "delete", "exec"]),
    });
    const { allowed, code, reason, rule } = await this.#calls.ask("capabilities_check", "POST", "/capabilities/check", { owner, opts, json });
    return { endpoint, allowed: allowed === true, code: code ?? undefined, reason: reason ?? undefined, rule: rule ?? undefined };
  }

  /**
   * Any request to the port, answered as it is: other routes of the image, other methods, other content. Only reaching the server
   * can fail.
   */
  async fetch(path, init = {}) {
    const owner = "fetch";
    const [at, query] = targetOf(path, owner);
    if (!isObject(init)) throw wrong(`init of ${owner} must be an object, not ${kind(init)}`);
    const { method = "GET", headers, body, signal, requestTimeoutMs } = init;
    const clock = this.#calls.clock(owner, { signal, requestTimeoutMs });
    try {
      const content = body === undefined || body === null ? {} : { body, ...(typeof body?.getReader === "function" ? { duplex: "half" } : {}) };
      // Reading the answer is the caller's, and only the caller's signal ends it. The host holds that one weakly.
      const lasting = [clock.signal, this.#calls.signal, signal].filter(Boolean);
      const all = { headers: plainHeaders(headers, owner), signal: lasting.length > 1 ? AbortSignal.any(lasting) : lasting[0], ...content };
      return await this.#calls.raw(clock, text(method, `method of ${owner}`).toUpperCase(), at, query, all);
    } finally {
      clock.end();
    }
  }

  /** A request of JSON to the port, with refusals as errors: for routes of the image that answer as the server does. */
  async request(method, path, given) {
    const owner = "request";
    const opts = options(given, owner);
    const [at, query] = targetOf(path, owner);
    const clock = this.#calls.clock(owner, opts);
    try {
      const answer = await this.#calls.raw(clock, text(method, `method of ${owner}`).toUpperCase(), at, query, jsonInit(opts, owner));
      if (answer.status < 200 || answer.status > 299) throw await this.#calls.refused(answer, clock, undefined);
      const content = await readText(answer, clock, this.#calls.largest, method);
      return content === "" ? undefined : parseJson(content);
    } finally {
      clock.end();
    }
  }

  /**
   * Events of a route of the image. After a cut they go on after the last one that had an id, which `Last-Event-ID` says. A stream
   * that the server ends is over, unless `isEnd` says which event is the last one.
   */
  async *events(path, given) {
    const owner = "events";
    const opts = options(given, owner);
    const [at, query] = targetOf(path, owner);
    const last = optional(text, opts.lastEventId, `Option lastEventId of ${owner}`);
    callback(opts.isEnd, `Option isEnd of ${owner}`);
    const isEnd = opts.isEnd === undefined ? (event) => event === undefined : (event) => event !== undefined && opts.isEnd(event) === true;
    const clock = this.#calls.clock(owner, { signal: opts.signal, requestTimeoutMs: 0 });
    const open = async (lastId) => {
      const headers = { accept: "text/event-stream", ...plainHeaders(opts.headers, owner), ...(lastId === undefined ? {} : { "last-event-id": lastId }) };
      const answer = await this.#calls.raw(clock, "GET", at, query, { headers });
      if (answer.status === 200) return answer;
      throw await this.#calls.refused(answer, clock, undefined);
    };
    yield* resumed(clock, open, { opts, owner, isEnd, lastEventId: last, maxEventSize: opts.maxEventSize });
  }
}

/** A path with a query, as callers write it. */
function targetOf(path, owner) {
  text(path, `path of ${owner}`);
  if (!path.startsWith("/") || path.startsWith("//")) throw wrong(`path of ${owner} must begin with one slash`);
  const [at, search = ""] = path.split(/\?(.*)/s);
  return [at, [...new URLSearchParams(search)]];
}

function plainHeaders(headers, owner) {
  if (headers === undefined || headers === null) return {};
  try {
    return Object.fromEntries(new Headers(headers));
  } catch {
    throw wrong(`Option headers of ${owner} must be what a Headers object is made from`);
  }
}

function jsonInit(opts, owner) {
  const headers = plainHeaders(opts.headers, owner);
  if (opts.json === undefined) return { headers };
  return { headers: { "content-type": "application/json", ...headers }, body: encode(opts.json) };
}

