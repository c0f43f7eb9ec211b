// Secrets: values that the platform keeps and puts into requests of a sandbox on their way out, so that no code inside ever has
// them. They can be written, and never be read back.

import { options as read, text, whole } from "./arguments.js";
import { SandboxError, SecretError, SecretNotFoundError } from "./errors.js";
import { ask, askPage, route, translate, unexpected } from "./exchange.js";
import { invalid } from "./options.js";

/** The static methods that send requests, and which of the arguments has their options. */
export const STATICS = { create: 2, update: 2, getInfo: 1, list: 0, exists: 1, destroy: 1 };

/** How many secrets a page has at most. */
const PAGE = 100;

export class Secret {
  static async create(name, value, opts) {
    const json = { name: text(name, "name of Secret.create"), ...content(value, opts, "Secret.create") };
    return info(await refused(ask("POST", "/secrets", opts, { json })));
  }

  static async update(secret, value, opts) {
    const json = content(value, opts, "Secret.update");
    return info(await refused(ask("POST", path(secret, "Secret.update"), opts, { json })));
  }

  static async getInfo(secret, opts) {
    return info(await refused(ask("GET", path(secret, "Secret.getInfo"), opts)));
  }

  static list(opts) {
    return new SecretPaginator(opts);
  }

  static async exists(secret, opts) {
    return unlessMissing(refused(ask("GET", path(secret, "Secret.exists"), opts)));
  }

  static async destroy(secret, opts) {
    return unlessMissing(refused(ask("DELETE", path(secret, "Secret.destroy"), opts)));
  }

  static fill(secret) {
    return placeholder("secrets", text(secret, "secret of Secret.fill"));
  }

  static iamToken(token) {
    const { audience, tokenType } = read(token, "Secret.iamToken");
    return { audience: text(audience, "audience of Secret.iamToken"), tokenType: text(tokenType, "tokenType of Secret.iamToken") };
  }
}

export class SecretPaginator {
  #opts;
  #query;
  #hasNext = true;
  #isBusy = false;

  constructor(opts) {
    const { limit, nextToken, ...connection } = read(opts, "Secret.list");
    if (limit !== undefined && limit !== null && whole(limit, "Option limit of Secret.list", 1) > PAGE) {
      throw invalid(`Option limit of Secret.list must be a whole number from 1 to ${PAGE}`);
    }
    if (nextToken !== undefined && nextToken !== null) text(nextToken, "Option nextToken of Secret.list");
    this.#opts = connection;
    this.#query = { limit, nextToken };
  }

  get hasNext() {
    return this.#hasNext;
  }

  get nextToken() {
    return this.#query.nextToken ?? undefined;
  }

  async nextItems(opts) {
    if (!this.#hasNext) throw invalid("There are no more pages. Check hasNext before calling nextItems()");
    // Two calls at once would answer the same page twice and lose one.
    if (this.#isBusy) throw invalid("A call of nextItems() is under way. Await it before the next one");
    this.#isBusy = true;
    try {
      const { items, nextToken } = await refused(askPage("/secrets", { ...this.#opts, ...read(opts, "nextItems") }, { query: this.#query }));
      const page = items.map(info);
      this.#query = { ...this.#query, nextToken };
      this.#hasNext = nextToken !== undefined;
      return page;
    } finally {
      this.#isBusy = false;
    }
  }

  async *[Symbol.asyncIterator]() {
    while (this.#hasNext) yield* await this.nextItems();
  }
}

/**
 * What stands for a value in a header of `network.rules`, until the platform replaces it. Braces begin and end it, and a header
 * has no control characters.
 */
export function placeholder(kind, name) {
  if (name === "" || /[{}\p{Cc}]/u.test(name)) {
    throw invalid(`The name ${JSON.stringify(name)} of a secret or token must not be empty, nor hold braces or control characters`);
  }
  return `\${e2b.${kind}.${name}}`;
}

/** What is stored. No error repeats the value. */
function content(value, opts, owner) {
  const { metadata } = read(opts, owner);
  if (typeof value !== "string") throw invalid(`value of ${owner} must be a string`);
  if (metadata === undefined || metadata === null) return { value };
  if (!Object.values(read(metadata, `metadata of ${owner}`)).every((item) => typeof item === "string")) {
    throw invalid(`Option metadata of ${owner} must be an object with string values`);
  }
  return { value, metadata };
}

function path(secret, owner) {
  return route("secrets", text(secret, `secret of ${owner}`));
}

/** Lets refusals be errors about secrets. */
async function refused(request) {
  try {
    return await request;
  } catch (error) {
    const isMissing = error instanceof SandboxError && error.code === "not_found";
    throw isMissing ? translate(SecretNotFoundError, error, { not_found: "secret_not_found" }) : translate(SecretError, error);
  }
}

/** True when the request succeeds, false when there is no such secret. */
async function unlessMissing(request) {
  try {
    await request;
    return true;
  } catch (error) {
    if (error instanceof SecretNotFoundError) return false;
    throw error;
  }
}

function info(answer) {
  if (typeof answer?.secretID !== "string") throw unexpected();
  const { secretID: secretId, name, currentVersion: version, metadata, createdAt, updatedAt } = answer;
  return { secretId, name, version, metadata: metadata ?? {}, createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
}
