// The one sandbox of the page: made on demand, watched, extended, ended with the page.

import { DemoError, mayBeGone, saysGone } from "./failure.js";
import { localSettings } from "./settings.js";

/** How long a sandbox lives unless it is extended, in ms. */
export const LIFETIME = 300_000;

/** How often a sandbox that nobody uses is asked whether it is still there, in ms. */
const HEARTBEAT = 10_000;

/** How long a question about the sandbox may take, in ms. */
const PATIENCE = 5_000;

/**
 * `state` is `idle` (none yet, or ended here), `starting`, `ready`, `ending` or `gone` (ended, but not by this page).
 * Dispatches `change` whenever it changes, and `call` with the source text of each SDK call that is made.
 */
export class Session extends EventTarget {
  state = "idle";
  /** The SDK's `Sandbox` while the state is `ready`. */
  sandbox;
  /** When the sandbox ends by itself, in ms since 1970. */
  endsAt;
  #starting;
  #watch;

  get id() {
    return this.sandbox?.sandboxId;
  }

  /** The sandbox, started if there was none yet. A sandbox that was lost is not replaced unasked. */
  async ensure() {
    if (this.state === "ready") return this.sandbox;
    if (this.state === "gone") throw new DemoError("sandbox_gone", "The sandbox has ended.");
    return this.start();
  }

  /** Starts a sandbox, in place of the one there was. */
  start() {
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #start() {
    const former = this.sandbox;
    this.#become("starting", undefined);
    try {
      const [{ Sandbox }, settings] = await Promise.all([loadPackage(), localSettings()]);
      if (former) await former.kill({ requestTimeoutMs: PATIENCE }).catch(() => {});
      this.#call(`const sandbox = await Sandbox.create("base", { apiUrl, apiKey, timeoutMs: ${number(LIFETIME)} });`);
      const sandbox = await Sandbox.create("base", { ...settings, timeoutMs: LIFETIME });
      this.endsAt = Date.now() + LIFETIME;
      this.#become("ready", sandbox);
      this.#beat();
      return sandbox;
    } catch (error) {
      this.#become("idle", undefined);
      throw error;
    }
  }

  /** Ends the sandbox. */
  async end() {
    const { sandbox } = this;
    if (this.state !== "ready") return;
    this.#become("ending", sandbox);
    this.#call("await sandbox.kill();");
    try {
      await sandbox.kill();
      this.#become("idle", undefined);
    } catch (error) {
      this.#become("ready", sandbox);
      throw error;
    }
  }

  /** Gives the sandbox its full lifetime again. */
  async extend() {
    this.#call(`await sandbox.setTimeout(${number(LIFETIME)});`);
    await this.sandbox.setTimeout(LIFETIME);
    this.endsAt = Date.now() + LIFETIME;
    this.dispatchEvent(new Event("change"));
  }

  /** Ends the sandbox while the page is being left: the request outlives the page. */
  abandon() {
    clearTimeout(this.#watch);
    if (!this.sandbox) return;
    const outliving = (input, init) => fetch(input, { ...init, keepalive: true });
    this.sandbox.kill({ fetch: outliving }).catch(() => {});
    this.#become("gone", undefined);
  }

  /**
   * Finds out what an error of a call means for the sandbox. Answers the error to show: the given one, or the better one
   * that says that the sandbox is gone. (A page cannot read the answer of an address that serves no sandbox.)
   */
  async examine(error) {
    if (this.state !== "ready") return error;
    if (saysGone(error)) this.#become("gone", undefined);
    else if (mayBeGone(error)) return (await this.check()) ?? error;
    return error;
  }

  /** Asks the control plane after the sandbox. Answers the error that says that it is gone, if it is. */
  async check() {
    const { sandbox } = this;
    if (this.state !== "ready") return undefined;
    try {
      const { endAt } = await sandbox.getInfo({ requestTimeoutMs: PATIENCE });
      if (this.sandbox === sandbox) this.endsAt = endAt.getTime();
    } catch (error) {
      // That the server does not answer just now says nothing about the sandbox.
      if (!saysGone(error)) return undefined;
      if (this.sandbox === sandbox && this.state === "ready") this.#become("gone", undefined);
      return error;
    }
    return undefined;
  }

  #beat() {
    clearTimeout(this.#watch);
    this.#watch = setTimeout(async () => {
      if (document.visibilityState === "visible") await this.check();
      if (this.state === "ready") this.#beat();
    }, HEARTBEAT);
  }

  #become(state, sandbox) {
    this.state = state;
    this.sandbox = sandbox;
    this.dispatchEvent(new Event("change"));
  }

  /** Tells the page about a call of the SDK. */
  #call(source) {
    this.dispatchEvent(new CustomEvent("call", { detail: source }));
  }
}

async function loadPackage() {
  try {
    return await import("agent-sandbox-web");
  } catch (cause) {
    throw new DemoError("demo_package_missing", "The package agent-sandbox-web could not be loaded.", { cause });
  }
}

/** A number as one would write it in a program. */
function number(value) {
  return value.toLocaleString("en").replaceAll(",", "_");
}
