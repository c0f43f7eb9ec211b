// The one sandbox that a session's elements share: made when first needed, watched, replaced on request, ended.

import { ElementError, mayBeGone, saysGone } from "../base/failure.js";
import { within } from "../base/waiting.js";

/** How long a question about the sandbox may take, in ms. */
const PATIENCE = 5_000;

/** How long to wait between two attempts to reach a lost sandbox, in ms. */
const BACK_OFF = [500, 1_000, 2_000, 4_000, 8_000, 15_000];

/**
 * `state` is `idle` (none yet), `starting`, `ready`, `lost` (it does not answer, and is looked for) or `ended`. Dispatches
 * `change` whenever that changes.
 */
export class Session extends EventTarget {
  state = "idle";
  /** The package's `Sandbox` while there is one, also while it is lost. */
  sandbox;
  /** Why there is no sandbox; undefined when nothing is wrong. */
  error;
  #source;
  #starting;
  #search;
  #contexts = new Map();

  /**
   * @param {object} source Where sandboxes come from:
   * `create()` answers a `Sandbox`; `end(sandbox)` ends one; `ask(sandbox)` rejects with an error that says `sandbox_gone` when
   * it has ended, and may be absent.
   */
  constructor(source) {
    super();
    this.#source = source;
    if (source.sandbox) this.#become("ready", source.sandbox);
  }

  /** The sandbox, started if there was none yet. One that has ended is not replaced unasked: its files were somebody's work. */
  async ensure() {
    if (this.state === "ready") return this.sandbox;
    if (this.state === "lost") return this.#found();
    if (this.state === "ended") throw this.error ?? new ElementError("sandbox_gone", "The sandbox has ended.");
    return this.start();
  }

  /** Starts a sandbox, in place of the one there was, which ends. */
  start() {
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #start() {
    const former = this.sandbox;
    this.#stopSearch();
    this.#become("starting", undefined);
    try {
      if (former) await this.#source.end(former).catch(() => {});
      const sandbox = await this.#source.create();
      // The session may have been closed meanwhile.
      if (this.state !== "starting") {
        await this.#source.end(sandbox).catch(() => {});
        throw new ElementError("sandbox_gone", "The sandbox was ended while it started.");
      }
      this.#become("ready", sandbox);
      return sandbox;
    } catch (error) {
      if (this.state === "starting") this.#become("idle", undefined, error);
      throw error;
    }
  }

  /** Ends the sandbox. */
  async end() {
    const { sandbox } = this;
    this.#stopSearch();
    if (this.state === "idle" || this.state === "ended") return;
    this.#become("ended", undefined);
    if (sandbox) await this.#source.end(sandbox);
  }

  /** Forgets the sandbox and leaves it running. */
  leave() {
    this.#stopSearch();
    this.#become("idle", undefined);
  }

  /** The context of that name, made at its first use; undefined for the default one of the language. */
  async context(name, language) {
    if (name === undefined) return undefined;
    const sandbox = await this.ensure();
    const key = JSON.stringify([name, language]);
    if (!this.#contexts.has(key)) {
      const made = sandbox.createCodeContext({ language });
      this.#contexts.set(key, made);
      // One that could not be made is made again at the next use.
      made.catch(() => this.#contexts.get(key) === made && this.#contexts.delete(key));
    }
    return this.#contexts.get(key);
  }

  /** Finds out what an error of a call means for the sandbox, and answers the error to show. */
  async examine(error) {
    const { sandbox } = this;
    if (this.state !== "ready" || !sandbox) return error;
    if (!saysGone(error) && !mayBeGone(error)) return error;
    const verdict = saysGone(error) ? error : await this.#ask(sandbox);
    if (this.sandbox !== sandbox || this.state !== "ready") return error;
    if (verdict === undefined) return error;
    if (saysGone(verdict)) {
      this.#become("ended", undefined, verdict);
      return verdict;
    }
    this.#become("lost", sandbox, verdict);
    this.#startSearch(sandbox);
    return error;
  }

  /** Looks for a lost sandbox now. */
  retry() {
    this.#search?.wake();
  }

  /** The lost sandbox once it has been found; rejects when it has ended. */
  #found() {
    return new Promise((resolve, reject) => {
      const settle = () => {
        if (this.state === "lost") return;
        this.removeEventListener("change", settle);
        if (this.state === "ready") resolve(this.sandbox);
        else reject(this.error ?? new ElementError("sandbox_gone", "The sandbox has ended."));
      };
      this.addEventListener("change", settle);
    });
  }

  /** Undefined when the sandbox is there; otherwise the error that says what is wrong. */
  async #ask(sandbox) {
    let failure;
    try {
      if (await sandbox.isRunning({ requestTimeoutMs: PATIENCE })) return undefined;
      return new ElementError("sandbox_gone", "The sandbox has ended.");
    } catch (error) {
      failure = error;
    }
    // A page cannot read the answer of an address that serves no sandbox. Who made it knows.
    try {
      await within(PATIENCE, this.#source.ask?.(sandbox));
    } catch (error) {
      if (saysGone(error)) return error;
    }
    return failure;
  }

  #startSearch(sandbox) {
    const search = { wake: () => {} };
    this.#search = search;
    const wake = () => search.wake();
    addEventListener("online", wake);
    (async () => {
      for (let attempt = 0; this.#search === search; attempt++) {
        await new Promise((resolve) => {
          search.wake = resolve;
          setTimeout(resolve, BACK_OFF[Math.min(attempt, BACK_OFF.length - 1)]);
        });
        if (this.#search !== search) break;
        const verdict = await this.#ask(sandbox);
        if (this.#search !== search) break;
        if (verdict === undefined) this.#become("ready", sandbox);
        else if (saysGone(verdict)) this.#become("ended", undefined, verdict);
        else continue;
        break;
      }
      removeEventListener("online", wake);
      if (this.#search === search) this.#search = undefined;
    })();
  }

  #stopSearch() {
    this.#search?.wake();
    this.#search = undefined;
  }

  #become(state, sandbox, error) {
    if (sandbox !== this.sandbox) this.#contexts.clear();
    this.state = state;
    this.sandbox = sandbox;
    this.error = error;
    this.dispatchEvent(new Event("change"));
  }
}
