// `Sandbox.list` and `Sandbox.listSnapshots`: pages.

import { during, encode, queryOf, sandboxInfo, send, snapshotInfo } from "./control.js";
import { ControlCall } from "./core_bg.js";
import { SandboxError } from "./errors.js";
import { Options } from "./options.js";

/** What makes paginators: only the functions of this module have it. */
const OWN = Symbol("paginator");

/** A class of lists that are fetched page by page. */
function paginator() {
  return class {
    #opts;
    #ask;
    #hasNext = true;
    #nextToken;
    /** Whether a page is being fetched: two calls at once would both get the same one. */
    #busy = false;

    /** `ask(call, next token)` answers the items of a page, and where the next one begins. */
    constructor(own, opts, nextToken, ask) {
      if (own !== OWN) throw new TypeError("Lists are made by Sandbox.list and Sandbox.listSnapshots");
      this.#opts = { ...opts };
      this.#nextToken = nextToken;
      this.#ask = ask;
    }

    get hasNext() {
      return this.#hasNext;
    }

    get nextToken() {
      return this.#nextToken;
    }

    async nextItems(opts) {
      new Options(opts, "nextItems");
      const own = ["requestTimeoutMs", "signal"].filter((name) => (opts?.[name] ?? undefined) !== undefined).map((name) => [name, opts[name]]);
      if (this.#busy) {
        throw new SandboxError("A page is being fetched already. Wait for nextItems() before calling it again", { code: "conflict" });
      }
      if (!this.#hasNext) {
        throw new SandboxError("There are no more pages. Check hasNext before calling nextItems()", { code: "out_of_range" });
      }
      const call = new ControlCall({ ...this.#opts, ...Object.fromEntries(own) }, "nextItems");
      this.#busy = true;
      try {
        const [items, nextToken] = await during(call, () => this.#ask(call, this.#nextToken));
        this.#nextToken = nextToken;
        this.#hasNext = nextToken !== undefined;
        return items;
      } finally {
        this.#busy = false;
      }
    }

    async *[Symbol.asyncIterator]() {
      while (this.hasNext) yield* await this.nextItems();
    }
  };
}

export const SandboxPaginator = paginator();
export const SnapshotPaginator = paginator();

export function listSandboxes(opts) {
  const options = begin(opts, "Sandbox.list");
  const filter = new Options(options.get("query"), "Sandbox.list({ query })");
  const [metadata, states, limit] = [filter.stringMap("metadata") ?? {}, filter.strings("state") ?? [], options.count("limit", 100)];
  const [startedAfter, template, order] = [filter.date("startedAfter"), filter.string("template"), options.oneOf("order", ["asc", "desc"])];
  // Every pair is encoded twice before the query is; the server undoes all three layers.
  const pairs = Object.entries(metadata).map((pair) => pair.map((text) => encode(encode(text))).join("="));
  /** What the server knows: older ones have another route, which answers everything at once. */
  let prefix = "/v2";
  const ask = async (call, nextToken) => {
    const query = queryOf({
      metadata: pairs.join("&") || undefined,
      state: states.join(",") || undefined,
      nextToken,
      limit,
      order,
      startedAfter: startedAfter?.toISOString(),
      template,
    });
    const request = { subject: "route", shape: "list" };
    let answer = await send(call, "GET", `${prefix}/sandboxes${query}`, { ...request, expected: prefix === "" ? undefined : 404 });
    if (answer[0] === 404) {
      prefix = "";
      answer = await send(call, "GET", `/sandboxes${query}`, request);
    }
    const found = answer[1].filter(hasText("sandboxID")).map(sandboxInfo);
    if (prefix !== "") return [found, answer[2]];
    // Older servers answer running ones, the newest first, whatever else was asked for.
    const isAsked = (info) =>
      (states.length === 0 || states.includes(info.state)) &&
      (startedAfter === undefined || info.startedAt >= startedAfter) &&
      (template === undefined || [info.templateId, info.name].includes(template));
    const asked = found.filter(isAsked);
    return [order === "asc" ? asked.reverse() : asked, answer[2]];
  };
  return new SandboxPaginator(OWN, opts, options.string("nextToken"), ask);
}

export function listSnapshots(opts) {
  const options = begin(opts, "Sandbox.listSnapshots");
  const query = { sandboxID: options.string("sandboxId"), name: options.string("name"), limit: options.count("limit", 100) };
  const ask = async (call, nextToken) => {
    const [, entries, next] = await send(call, "GET", `/snapshots${queryOf({ ...query, nextToken })}`, { subject: "route", shape: "list" });
    return [entries.filter(hasText("snapshotID")).map(snapshotInfo), next];
  };
  return new SnapshotPaginator(OWN, opts, options.string("nextToken"), ask);
}

/** The options of a list. Wrong ones of its connection are refused now, and not by the first page. */
function begin(opts, owner) {
  const options = new Options(opts, owner);
  new ControlCall(opts, owner).free();
  return options;
}

/** Whether an entry of a list has an id. */
function hasText(name) {
  return (entry) => typeof entry?.[name] === "string" && entry[name] !== "";
}
