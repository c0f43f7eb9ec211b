// The control plane that the built-in provider and REST providers share: one request for each call, sent once. Touches the network
// through http.js.

import { InvalidAPIKeyError, MissingSandbox, ProviderError, QuotaExceededError, SandboxCreationError, TemplateNotFoundError } from "./errors.js";
import { capital, concealed, excerpt, route, send } from "./http.js";
import { readInfo } from "./info.js";
import { isObject } from "./checks.js";

/** What the platform takes for a field of its own. */
const OPTIONAL = { cpu: "cpuCount", memory: "memoryMB", disk: "diskSizeMB", gpu: "gpu" };

export class ControlPlane {
  #place;

  /** `place`: provider, baseUrl, headers (with the credentials, and `secrets` among them), fetch, timeout in seconds, and defaults of what it answers. */
  constructor(place) {
    this.#place = place;
  }

  async create({ template, timeout, metadata, envs, volumeMounts = [], requestTimeout, ...sizes }, call) {
    const body = { templateID: template, timeout, autoPause: false, metadata, envVars: envs };
    for (const [name, theirs] of Object.entries(OPTIONAL)) if (sizes[name] !== undefined) body[theirs] = sizes[name];
    if (volumeMounts.length > 0) body.volumeMounts = volumeMounts;
    const answer = await this.#send("POST", "/sandboxes", { ...call, timeout: requestTimeout ?? call?.timeout }, "creating a sandbox", body);
    if (!answer.ok) throw await this.#refusal(answer, CREATION);
    return this.#info(answer, await answer.json());
  }

  async get(id, call) {
    const answer = await this.#send("GET", route("sandboxes", id), call, "reading a sandbox");
    if (!answer.ok) throw await this.#refusal(answer);
    return this.#info(answer, await answer.json());
  }

  /** The platform has no call that resumes: what is paused stays so. */
  connect(id, call) {
    return this.get(id, call);
  }

  async isRunning(id, call) {
    try {
      return (await this.get(id, call)).status === "running";
    } catch (error) {
      if (error instanceof MissingSandbox) return false;
      throw error;
    }
  }

  async list({ status, limit, offset }, call) {
    const query = new URLSearchParams({ limit, offset, ...(status !== undefined && { status }) });
    const answer = await this.#send("GET", `/sandboxes?${query}`, call, "listing sandboxes");
    if (!answer.ok) throw await this.#refusal(answer);
    const value = await answer.json();
    const list = isObject(value) ? (value.data ?? value.sandboxes) : value;
    if (!Array.isArray(list)) throw answer.unexpected("without a list");
    return list.map((one) => this.#info(answer, one));
  }

  async kill(id, call) {
    const answer = await this.#send("DELETE", route("sandboxes", id), call, "killing a sandbox");
    if (!answer.ok && answer.status !== 404) throw await this.#refusal(answer);
    answer.discard();
  }

  async setTimeout(id, timeout, call) {
    await this.#act(id, "timeout", call, "setting the timeout of a sandbox", { timeout });
  }

  async pause(id, call) {
    await this.#act(id, "pause", call, "pausing a sandbox");
  }

  async resume(id, call) {
    await this.#act(id, "resume", call, "resuming a sandbox");
  }

  async #act(id, action, call, what, body) {
    const answer = await this.#send("POST", route("sandboxes", id, action), call, what, body);
    if (!answer.ok) throw await this.#refusal(answer);
    answer.discard();
  }

  #send(method, path, call, what, body) {
    const { provider, baseUrl, headers, fetch, timeout } = this.#place;
    const sent = body === undefined ? { headers } : { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    return send({ fetch, method, url: baseUrl + path, ...sent, what, provider, signal: call?.signal, timeout: call?.timeout ?? timeout });
  }

  #info(answer, value) {
    const info = readInfo(value, this.#place.defaults);
    if (!info) throw answer.unexpected("without naming a sandbox");
    return info;
  }

  /** The error of an answer that refuses, in the server's own words. */
  async #refusal(answer, meanings = LIFECYCLE) {
    const { status, what } = answer;
    const { value, words } = await answer.complaint();
    const reason = (typeof value?.message === "string" && excerpt(value.message)) || words || "the server gave no reason";
    const [Type, advice] = meanings[status] ?? meanings.other;
    const retryable = [429, 502, 503, 504].includes(status);
    const message = `${capital(what)} was refused with ${status}: ${concealed(reason, this.#place.secrets)}. ${advice}`;
    return new Type(message, { provider: this.#place.provider, status, retryable });
  }
}

const LIFECYCLE = {
  401: [InvalidAPIKeyError, "Check the API key, and that it belongs to this address"],
  404: [MissingSandbox, "It was killed, reached its timeout, or belongs to another account"],
  other: [ProviderError, "Read the server's words for the cause"],
};
const CREATION = {
  401: LIFECYCLE[401],
  404: [TemplateNotFoundError, "Check the template's name"],
  429: [QuotaExceededError, "End sandboxes that are not needed, or wait"],
  other: [SandboxCreationError, "Read the server's words for the cause"],
};
