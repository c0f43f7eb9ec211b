// The page's own back end, which holds the API key: asks it for access to a sandbox, and to end it.
//
//   POST   { }             a new sandbox, or the visitor's: answers an attach token as JSON
//   POST   { sandboxId }   access to that sandbox again; 404 or 410 when it has ended
//   DELETE { sandboxId }   ends it

import { ElementError } from "../base/failure.js";

/** How long the back end may take, in ms: it may have to start a sandbox. */
const PATIENCE = 60_000;

export class Endpoint {
  #url;
  #credentials;

  /**
   * @param {string} url Relative to the page.
   * @param {RequestCredentials} credentials
   */
  constructor(url, credentials) {
    this.#url = new URL(url, document.baseURI);
    this.#credentials = credentials;
  }

  /** The attach token of a new sandbox, or of the one with that id. */
  async token(sandboxId) {
    const response = await this.#send("POST", sandboxId === undefined ? {} : { sandboxId });
    if (!response.ok) throw await refusal(response, sandboxId);
    const token = await response.json().catch(() => undefined);
    if (typeof token?.sandboxId !== "string") {
      throw new ElementError("endpoint_failed", `${this.#url.origin} answered with something that is not an attach token.`);
    }
    return token;
  }

  /** Ends the sandbox. The request outlives the page. */
  async end(sandboxId) {
    const response = await this.#send("DELETE", { sandboxId }, { keepalive: true });
    if (!response.ok && response.status !== 404 && response.status !== 410) throw await refusal(response, sandboxId);
  }

  async #send(method, body, init) {
    try {
      return await fetch(this.#url, {
        method,
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(body),
        credentials: this.#credentials,
        cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE),
        ...init,
      });
    } catch (cause) {
      const what = cause?.name === "TimeoutError" ? "did not answer in time" : "could not be reached";
      throw new ElementError("endpoint_unreachable", `The back end of this page, ${this.#url.origin}, ${what}.`, { cause, retryable: true });
    }
  }
}

/** What an answer other than 2xx means. The back end may say more in `message`. */
async function refusal(response, sandboxId) {
  const { status } = response;
  const said = await response.json().catch(() => undefined);
  const message = typeof said?.message === "string" ? said.message.slice(0, 500) : undefined;
  if (sandboxId !== undefined && (status === 404 || status === 410)) {
    return new ElementError("sandbox_gone", message ?? "The sandbox has ended.", { status });
  }
  if (status === 401 || status === 403) {
    return new ElementError("endpoint_refused", message ?? "The back end of this page refused access to a sandbox.", { status });
  }
  if (status === 429) {
    return new ElementError("rate_limited", message ?? "The back end of this page allows no further sandbox now.", { status, retryable: true });
  }
  return new ElementError("endpoint_failed", message ?? `The back end of this page answered ${status}.`, { status, retryable: status >= 500 });
}
