// The sandbox of a visitor: found by its metadata, made when there is none, resumed when it is paused.

import { Sandbox, SandboxNotFoundError } from "#package";
import { Refusal } from "./http.js";

/** Metadata by which sandboxes are found again. Only the account of the API key sees it. */
const BROKER = "broker";
const VISITOR = "broker-visitor";
const SLOT = "broker-slot";

/** How many sandboxes are remembered. */
const MOST = 1000;

/** How long one visit waits for another one of the same visitor before it looks for itself, in ms. */
const PATIENCE_MS = 30_000;

/** How soon to ask again when another sandbox must end first, in ms. */
const SOON_MS = 5_000;

export class Sandboxes {
  /** Visits under way, by visitor and slot: those that come meanwhile wait for the same sandbox. */
  #flights = new Map();
  /** Sandboxes that are known to run, by id. */
  #known = new Map();

  constructor(options, usage) {
    this.options = options;
    this.usage = usage;
  }

  /** The visitor's sandbox in that slot. `context.waitUntil` keeps the work alive when the page that began it goes away. */
  async open(visitor, slot, context) {
    const place = `${visitor.key} ${slot}`;
    for (;;) {
      const waiting = this.#flights.get(place);
      if (waiting === undefined) break;
      const sandbox = await within(waiting, PATIENCE_MS);
      if (sandbox !== undefined) return sandbox;
      // A host may have stopped the other visit half-way, and then it never ends.
      if (this.#flights.get(place) === waiting) this.#flights.delete(place);
    }
    const flight = this.#find(visitor, slot).finally(() => {
      if (this.#flights.get(place) === flight) this.#flights.delete(place);
    });
    this.#flights.set(place, flight);
    // Whoever waits is told of a failure; this is for the one that nobody waits for any more.
    const settled = flight.catch(() => {});
    context?.waitUntil?.(settled);
    return flight;
  }

  /** Lengthens the life of a sandbox to so many milliseconds from now, and resumes it when it is paused. */
  async renew(visitor, sandboxId, timeoutMs) {
    const { connection, now } = this.options;
    const endAt = now() + timeoutMs;
    await this.usage.lease(visitor, sandboxId, endAt);
    try {
      return this.#remember(await Sandbox.connect(sandboxId, { ...connection, timeoutMs }), endAt);
    } catch (error) {
      await this.ended(visitor, sandboxId);
      throw error;
    }
  }

  /** A sandbox that runs, without lengthening its life. */
  async reach(sandboxId) {
    const known = this.#known.get(sandboxId);
    if (known !== undefined && known.endAt > this.options.now()) return known.sandbox;
    const { state, endAt } = await Sandbox.getInfo(sandboxId, this.options.connection);
    if (state !== "running") throw new Refusal(409, "sandbox_paused", "The sandbox is paused. Refresh the session to resume it");
    // Never shortens a life, so the least there is.
    const sandbox = await Sandbox.connect(sandboxId, { ...this.options.connection, timeoutMs: 1000 });
    return this.#remember(sandbox, endAt.getTime());
  }

  /** What is remembered of a sandbox may be wrong from now on. */
  forget(sandboxId) {
    this.#known.delete(sandboxId);
  }

  /** The sandbox does not run any more: the rest of its time is the visitor's again. */
  async ended(visitor, sandboxId) {
    this.forget(sandboxId);
    await this.usage.release(visitor, sandboxId);
  }

  /** When a sandbox ends as far as is known, in milliseconds since the epoch. */
  endOf(sandboxId) {
    return this.#known.get(sandboxId)?.endAt ?? Infinity;
  }

  async #find(visitor, slot) {
    const found = await this.#list(visitor);
    const mine = inOrder(found.filter(({ metadata }) => metadata[SLOT] === slot));
    if (mine[0]?.state !== "running") this.#refuseMore(found.filter((one) => !mine.includes(one) && one.state === "running"));
    for (const { sandboxId } of mine) {
      try {
        return await this.renew(visitor, sandboxId, this.options.timeoutMs);
      } catch (error) {
        // It has ended since it was listed.
        if (!(error instanceof SandboxNotFoundError)) throw error;
      }
    }
    return this.#elected(visitor, slot, await this.#create(visitor, slot));
  }

  /** Refuses when the visitor has as many sandboxes in other slots as may run at once. */
  #refuseMore(others) {
    const { concurrent } = this.options.limits;
    if (others.length < concurrent) return;
    const restMs = Math.min(...others.map(({ endAt }) => endAt.getTime())) - this.options.now();
    const message = `You have ${others.length} sandboxes already, and ${concurrent} at a time is the limit. Kill one first`;
    throw new Refusal(429, "too_many_at_once", message, { retryAfterMs: Math.max(restMs, SOON_MS) });
  }

  async #create(visitor, slot) {
    const { connection, template, sandbox, timeoutMs, name, now } = this.options;
    await this.usage.create(visitor);
    const endAt = now() + timeoutMs;
    // The time is promised before there is an id to write it down by.
    const promised = `new ${slot}`;
    try {
      await this.usage.lease(visitor, promised, endAt);
      const metadata = { ...sandbox.metadata, ...visitor.sandbox.metadata, [BROKER]: name, [VISITOR]: visitor.key, [SLOT]: slot };
      const made = await Sandbox.create(visitor.sandbox.template ?? template, {
        ...sandbox,
        ...visitor.sandbox,
        ...connection,
        template: undefined,
        secure: true,
        timeoutMs,
        metadata,
      });
      await this.usage.release(visitor, promised);
      await this.usage.lease(visitor, made.sandboxId, endAt);
      return this.#remember(made, endAt);
    } catch (error) {
      await this.usage.release(visitor, promised);
      await this.usage.uncreate(visitor);
      throw error;
    }
  }

  /**
   * Another process or isolate may have made a sandbox for the same place at the same time. Both look at all of them after
   * theirs exists, and both choose the same one.
   */
  async #elected(visitor, slot, made) {
    const rivals = (await this.#list(visitor)).filter(({ metadata, state }) => metadata[SLOT] === slot && state === "running");
    const winner = inOrder(rivals)[0];
    if (winner === undefined || winner.sandboxId === made.sandboxId) return made;
    await made.kill();
    await this.ended(visitor, made.sandboxId);
    await this.usage.uncreate(visitor);
    return this.renew(visitor, winner.sandboxId, this.options.timeoutMs);
  }

  async #list(visitor) {
    const { connection, name } = this.options;
    const found = [];
    const query = { metadata: { [BROKER]: name, [VISITOR]: visitor.key } };
    for await (const one of Sandbox.list({ ...connection, query })) found.push(one);
    return found;
  }

  #remember(sandbox, endAt) {
    this.#known.delete(sandbox.sandboxId);
    this.#known.set(sandbox.sandboxId, { sandbox, endAt });
    if (this.#known.size > MOST) this.#known.delete(this.#known.keys().next().value);
    return sandbox;
  }
}

/** Those that run first, and of them the oldest. */
function inOrder(sandboxes) {
  const rank = ({ state, startedAt, sandboxId }) => [state === "running" ? 0 : 1, startedAt.getTime(), sandboxId];
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  return [...sandboxes].sort((one, other) => {
    const [a, b] = [rank(one), rank(other)];
    return compare(a[0], b[0]) || compare(a[1], b[1]) || compare(a[2], b[2]);
  });
}

/** What a promise resolves to, or undefined when it takes longer. */
async function within(promise, ms) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
