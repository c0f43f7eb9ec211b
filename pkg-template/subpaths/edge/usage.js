// How much each visitor has had. The time of a sandbox is counted when it is promised and given back when the sandbox ends
// early, so that nothing has to run in between.

import { Refusal } from "./http.js";

const MINUTE_MS = 60_000;

/** How many visitors a memory keeps. */
const MOST = 10_000;

/** Storage in the memory of this process or isolate. Others count for themselves, and a restart forgets. */
export function memoryStorage() {
  const records = new Map();
  return {
    async update(key, change, ttlMs) {
      const record = records.get(key);
      const value = change(record && record.until > Date.now() ? record.value : undefined);
      // Last again, so that the first is the one that was not needed for the longest time.
      records.delete(key);
      records.set(key, { value, until: Date.now() + ttlMs });
      if (records.size > MOST) records.delete(records.keys().next().value);
    },
  };
}

export class Usage {
  constructor({ limits, storage, name, now }) {
    Object.assign(this, { limits, storage, name, now });
  }

  /** Counts a new sandbox. Refuses when the visitor has had enough of them. */
  async create(visitor) {
    const { sandboxes } = this.limits;
    await this.#change(visitor, (record) => {
      if (record.sandboxes >= sandboxes) {
        const message = `You have made ${sandboxes} sandboxes already, as many as are allowed at a time`;
        throw new Refusal(429, "too_many_sandboxes", message, { retryAfterMs: this.#rest(record) });
      }
      record.sandboxes += 1;
    });
  }

  /** Takes a sandbox back that could not be made. */
  async uncreate(visitor) {
    await this.#change(visitor, (record) => {
      record.sandboxes = Math.max(0, record.sandboxes - 1);
    });
  }

  /** Promises a sandbox until `endAt`. Refuses when the visitor's time is used up. */
  async lease(visitor, sandboxId, endAt) {
    const { minutes } = this.limits;
    await this.#change(visitor, (record) => {
      const until = Math.max(record.leases[sandboxId] ?? 0, this.now());
      const more = Math.max(0, endAt - until);
      if (record.usedMs + more > minutes * MINUTE_MS) {
        const message = `Your sandboxes have run for almost ${minutes} minutes, as long as is allowed`;
        throw new Refusal(429, "too_many_minutes", message, { retryAfterMs: this.#rest(record) });
      }
      record.usedMs += more;
      record.leases[sandboxId] = until + more;
    });
  }

  /** Gives the rest of what was promised back. */
  async release(visitor, sandboxId) {
    await this.#change(visitor, (record) => {
      record.usedMs -= Math.max(0, (record.leases[sandboxId] ?? 0) - this.now());
      delete record.leases[sandboxId];
    });
  }

  #rest(record) {
    return record.since + this.limits.windowMs - this.now();
  }

  /** `change` alters a record in place; what it throws leaves the stored one as it was. */
  async #change({ key }, change) {
    const { windowMs } = this.limits;
    let refused;
    const update = (stored) => {
      // A storage may call this again when somebody else was faster.
      refused = undefined;
      const now = this.now();
      const fresh = !stored || now >= stored.since + windowMs;
      const leases = Object.fromEntries(Object.entries(stored?.leases ?? {}).filter(([, until]) => until > now));
      const record = fresh ? { since: now, sandboxes: 0, usedMs: 0, leases } : { ...stored, leases };
      try {
        change(record);
      } catch (error) {
        refused = error;
        return stored ?? record;
      }
      return record;
    };
    await this.storage.update(`${this.name}:${key}`, update, 2 * windowMs);
    if (refused !== undefined) throw refused;
  }
}
