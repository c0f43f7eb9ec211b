// The HTTP service that an image may run behind a port, as far as `ProviderSandbox` needs it: named commands, health, and any other
// request. Every request is sent once. Touches the network through http.js.

import { isObject, optionsOf, seconds, signalOf } from "./checks.js";
import { Binding } from "./binding.js";
import { mustLive } from "./endpoint.js";
import {
  CommandNotFoundError,
  CommandTimeoutError,
  EndpointNotAvailableError,
  MissingFile,
  PayloadTooLargeError,
  PolicyDeniedError,
  ProviderProtocolError,
  RateLimitedError,
  ServerAPIError,
  ServerAuthError,
  Unreachable,
  invalid,
} from "./errors.js";
import { concealed, excerpt, send } from "./http.js";

const PATH_CODES = ["path_not_allowed", "path_denied", "read_only", "symlink_denied", "extension_not_allowed", "file_exists", "path_invalid", "path_too_long"];

/** A client of one port. Made by `applicationClient`, `serverAt` and `startServer` of a sandbox. */
export class ApplicationClient {
  #binding;
  #expiresAt;
  #fetch;
  #provider;
  #timeout;
  #isClosed = false;

  constructor({ url, headers, token, pathMode = "prefix", expiresAt, ptyUrl, timeout = 30, fetch, provider }) {
    if (pathMode !== "prefix") throw invalid(`The provider lets requests of the mode ${excerpt(pathMode)} pass only, and this client speaks "prefix"`);
    this.#binding = new Binding(url, headers, token);
    this.#expiresAt = expiresAt;
    this.#mustLive();
    this.#fetch = fetch;
    this.#provider = provider;
    this.#timeout = timeout;
    this.ptyUrl = ptyUrl;
  }

  /** Without the query, which may hold a signature. */
  get baseUrl() {
    return this.#binding.baseUrl;
  }

  /** Whether the service says that it is well. */
  async health(opts) {
    try {
      return (await this.json("GET", "/health", opts)).status === "ok";
    } catch (error) {
      if (error instanceof Unreachable || /^E90\d\d$/.test(error?.code)) return false;
      throw error;
    }
  }

  async listCommands(opts) {
    const { commands } = await this.json("GET", "/commands", opts);
    if (!Array.isArray(commands)) throw protocolError("The service answered without a list of commands");
    return commands;
  }

  /** Runs a named command and answers its result. */
  async run(name, args = {}, opts) {
    if (typeof name !== "string" || !/^[^/\\\p{Cc}]+$/u.test(name)) throw invalid("The name of a command must be a text without slashes and control characters that is not empty");
    if (!isObject(args)) throw invalid("The arguments of a command must be an object");
    try {
      return (await this.json("POST", `/commands/${encodeURIComponent(name)}`, { ...opts, body: args })).result;
    } catch (error) {
      throw commandError(error);
    }
  }

  /** One request with JSON in and out. */
  async json(method, path, opts) {
    const { params, body, ...given } = optionsOf(opts, "the request");
    const answer = await this.#send(method, path, { params, ...given, json: body });
    if (!answer.ok) throw await refusal(answer, Object.values(this.#binding.headers).map((value) => value.replace(/^Bearer /, "")));
    let value;
    try {
      value = await answer.json();
    } catch (error) {
      if (!(error instanceof ProviderProtocolError) || error.status === undefined) throw error;
      throw protocolError(error.message, error);
    }
    if (!isObject(value)) throw protocolError(`The service answered ${method} with something that is not a JSON object`);
    return value;
  }

  /** Any request to the service: answers whatever it answers, but for redirects, which are refused. */
  async fetch(path, init) {
    const { method = "GET", body, headers, params, signal, timeout } = optionsOf(init, "fetch");
    const answer = await this.#send(method, path, { params, body, headers, signal, timeout, streams: true });
    const isBodiless = [204, 205, 304].includes(answer.status);
    const source = answer.chunks();
    const stream = new ReadableStream(
      {
        async pull(controller) {
          const { done, value } = await source.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          answer.discard();
          await source.return();
        },
      },
      { highWaterMark: 0 },
    );
    if (isBodiless) answer.discard();
    return new Response(isBodiless ? null : stream, { status: answer.status, headers: answer.headers });
  }

  /** Whatever is sent afterwards is refused. */
  close() {
    this.#isClosed = true;
  }

  #mustLive() {
    mustLive(this.#expiresAt, (why) => invalid(`The address of the service cannot be used: ${why}`));
  }

  async #send(method, path, { params, json, body, headers = {}, signal, timeout, streams }) {
    const owner = "the request";
    if (this.#isClosed) throw invalid("This client was closed. Ask the sandbox for another one");
    this.#mustLive();
    const content = json === undefined ? { body } : { body: jsonOf(json) };
    const own = this.#binding.headers;
    for (const name of Object.keys(headers)) {
      if (name.toLowerCase() in own) throw invalid(`The header ${name.toLowerCase()} belongs to the address of the service`);
    }
    const all = { ...headers, ...own, ...(json !== undefined && { "content-type": "application/json" }) };
    const limit = seconds(timeout, this.#timeout, "timeout", owner);
    const request = { fetch: this.#fetch, method: String(method).toUpperCase(), url: this.#binding.address(path, params), headers: all, ...content };
    try {
      return await send({ ...request, what: `${request.method} of the service`, provider: this.#provider, signal: signalOf(signal, owner), timeout: limit, streams });
    } catch (error) {
      const isRedirect = error instanceof ProviderProtocolError && !error.outcomeUnknown;
      throw isRedirect ? new ServerAPIError(error.message, { errorType: "BindingRedirect", status: error.status, provider: this.#provider, cause: error }) : error;
    }
  }
}

function jsonOf(value) {
  try {
    return JSON.stringify(value);
  } catch {
    throw invalid("The body of the request must be plain data");
  }
}

function protocolError(message, cause) {
  return new ServerAPIError(message, { errorType: "ProtocolError", outcomeUnknown: cause?.outcomeUnknown, cause });
}

/** What an answer of the service that is an error means. The first that fits. */
async function refusal(answer, secrets) {
  const { status } = answer;
  const { value, words } = await answer.complaint();
  const body = isObject(value) ? value : {};
  const { type, code } = body;
  const told = (typeof body.error === "string" && excerpt(body.error)) || words || `The service returned HTTP ${status}`;
  const message = concealed(told, secrets);
  const facts = { status, errorType: typeof type === "string" ? type : undefined, scope: body.scope, limit: body.limit };
  if (status === 401) return new ServerAuthError(message, facts);
  if (status === 403 || (status === 409 && (type === "PolicyDenied" || PATH_CODES.includes(code)))) return new PolicyDeniedError(message, facts);
  if (status === 404 && code === "endpoint_disabled") return new EndpointNotAvailableError(message, facts);
  if (status === 404 && (type === "FileNotFoundError" || type === "NotADirectoryError")) return new MissingFile(message, facts);
  if (status === 413) return new PayloadTooLargeError(message, facts);
  if (status === 429 && (type === "RateLimited" || ["rate_limited", "concurrency_limited"].includes(code))) {
    const retryAfter = Number(body.retry_after ?? answer.headers.get("retry-after")) || undefined;
    return new RateLimitedError(message, { ...facts, retryAfter, retryable: true });
  }
  if (type === "TimeoutError") return new CommandTimeoutError(message, facts);
  return new ServerAPIError(message, facts);
}

function commandError(error) {
  if (!(error instanceof ServerAPIError) || error.errorType === "BindingRedirect" || error.errorType === "ProtocolError") return error;
  const { status, errorType, message } = error;
  const facts = { status, errorType, cause: error };
  const words = errorType && !message.includes(errorType) ? `${errorType}: ${message}` : message;
  if (status === 404) return new CommandNotFoundError(words, facts);
  if (status === 400) return invalid(`The service refused the arguments of the command: ${words}`);
  return status === 500 ? new ServerAPIError(words, facts) : error;
}
