// Requests to a provider engine (`abx-engine/1`): a program that carries providers, at an address that is given. What changes
// something is sent once; only what reads is asked a second time after the connection was lost. Touches the network through http.js.

import { address, isObject } from "./checks.js";
import { BY_NAME, ProviderError, ProviderProtocolError, invalid } from "./errors.js";
import { capital, concealed, excerpt, send } from "./http.js";

const PROTOCOL = "abx-engine/1";

/** How long an engine may take to say that it is well, in seconds. */
const HEALTH_S = 3;

/** `url` of the engine, `token` (a text, or a function that answers the current one), `fetch`. */
export class EngineClient {
  #url;
  #token;
  #fetch;
  /** The token that was last sent. */
  #sent;
  #isKnown = false;
  /** Descriptors of management commands, by provider and id. */
  descriptors = new Map();

  constructor(engine, owner) {
    if (!isObject(engine)) {
      throw invalid(`Option engine of ${owner} must be an object with url and token. An engine writes both to its engine.json when it starts (\`abx provider engine serve\`)`);
    }
    const { url, token, fetch } = engine;
    this.#url = address(url, "engine.url", owner);
    if (!(typeof token === "string" && token !== "") && typeof token !== "function") throw invalid(`engine.token of ${owner} must be a text, or a function that answers one`);
    this.#token = token;
    this.#fetch = fetch;
  }

  /** JSON in and out. `once` allows no second attempt whatever happens. */
  async json(method, path, request) {
    const answer = await this.open(method, path, request);
    return answer.json();
  }

  /** The head of an answer that is a success. */
  async open(method, path, { connection, body, bytes, provider, what, signal, timeout, once = false, streams = false, accept }) {
    const isReading = method === "GET" || method === "HEAD";
    const attempt = async () => {
      await this.#meet(provider, signal);
      const headers = {
        authorization: `Bearer ${await this.#currentToken()}`,
        ...(connection && { "x-abx-connection": encoded(connection) }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(bytes !== undefined && { "content-type": "application/octet-stream" }),
        ...(accept && { accept }),
      };
      const sent = body === undefined ? bytes : JSON.stringify(body);
      return send({ fetch: this.#fetch, method, url: this.#url + path, headers, body: sent, what, provider, signal, timeout, streams });
    };
    let answer;
    try {
      answer = await attempt();
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#isKnown = false;
      if (!isReading || once) throw asLost(error, provider);
      answer = await attempt().catch((again) => {
        throw isLost(again) ? asLost(again, provider) : again;
      });
    }
    // An engine that does not know the token has done nothing. A new one can only come from a function.
    if (answer.status === 401 && !once && typeof this.#token === "function") {
      answer.discard();
      this.#isKnown = false;
      answer = await attempt();
    }
    if (!answer.ok) throw await this.#refusal(answer, provider, connection);
    return answer;
  }

  /** The error that an engine names; it may be of any class of the family. */
  async #refusal(answer, provider, connection = {}) {
    const { status, what } = answer;
    const { value, words } = await answer.complaint();
    const secrets = [this.#sent, ...secretsOf(connection), ...secretsOf(connection.provider_options)];
    const facts = { provider, status, secrets };
    const message = `${capital(what)} was refused with ${status}: ${concealed(words, secrets) || "no reason"}. That is not how an engine answers: check the address`;
    return errorOf(value, facts) ?? new ProviderProtocolError(message, { provider, status });
  }

  /** That there is an engine at the address. Asked before the first request, and again after the connection was lost. */
  async #meet(provider, signal) {
    if (this.#isKnown) return;
    const headers = { authorization: `Bearer ${await this.#currentToken()}` };
    const answer = await send({ fetch: this.#fetch, url: `${this.#url}/v1/health`, headers, what: "asking the engine for its health", provider, signal, timeout: HEALTH_S });
    if (!answer.ok) throw await this.#refusal(answer, provider);
    const health = await answer.json();
    if (health?.protocol !== PROTOCOL) throw answer.unexpected(`without the protocol ${PROTOCOL}`);
    this.#isKnown = true;
  }

  async #currentToken() {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return (this.#sent = token);
    throw invalid("engine.token must be a text that can stand in a header, or a function that answers one");
  }
}

function isLost(error) {
  return error.code === "E5001" || (error instanceof ProviderProtocolError && error.outcomeUnknown && error.status === undefined);
}

/** To its callers an engine that does not answer breaks the protocol, whatever it was asked. */
function asLost(error, provider) {
  if (error instanceof ProviderProtocolError) return error;
  return new ProviderProtocolError(error.message, { provider, retryable: true, cause: error });
}

/** What of an account must not be in a message. */
function secretsOf(values = {}) {
  return Object.entries(values).filter(([name]) => /key|secret|token|password/i.test(name)).map(([, value]) => value);
}

/** The error in an engine's envelope, if it is one. */
export function errorOf(value, { provider, status, secrets = [] }) {
  const error = value?.error;
  if (!isObject(error) || typeof error.message !== "string") return undefined;
  const Type = Object.hasOwn(BY_NAME, error.type) ? BY_NAME[error.type] : ProviderError;
  const advice = typeof error.suggestion === "string" && error.suggestion !== "" ? `. ${excerpt(error.suggestion)}` : "";
  const code = typeof error.code === "string" && /^E\d{4}$/.test(error.code) ? error.code : undefined;
  return new Type(concealed(excerpt(error.message) + advice, secrets), { provider, status, code, retryable: status === 429 || status === 503 });
}

/** JSON with sorted keys, in base64 for URLs. What is empty is left out. */
export function encoded(connection) {
  const bytes = new TextEncoder().encode(JSON.stringify(sorted(connection)));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function sorted(value) {
  if (!isObject(value)) return value;
  const pairs = Object.keys(value).sort().map((key) => [key, sorted(value[key])]);
  return Object.fromEntries(pairs.filter(([, one]) => one !== undefined && one !== ""));
}
