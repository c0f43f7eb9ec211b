// Where a session's sandboxes come from: a broker, which is the page's own back end, or the page itself.

import { ElementError, saysGone } from "../base/failure.js";

/**
 * Sandboxes of a broker (`agent-sandbox-web/edge`): each visitor's own, found again after a reload. The package is loaded with the
 * first of them.
 *
 * @param {{ endpoint: string, slot?: string, credentials?: RequestCredentials }} given As for `Sandbox.attach`.
 */
export function fromEndpoint(given) {
  /** The sandbox that was to be ended, and that the broker did not end. */
  let kept;
  const made = fromSandbox(async () => {
    const { Sandbox } = await import("#package");
    const sandbox = await Sandbox.attach(given);
    const isKept = sandbox.sandboxId === kept;
    kept = undefined;
    if (!isKept) return sandbox;
    throw new ElementError("sandbox_kept", "The back end of this page does not end sandboxes, so that there is no other one for now.");
  });
  return {
    ...made,
    async end(sandbox) {
      try {
        await made.end(sandbox);
      } catch (error) {
        if (!saysGone(error)) kept = sandbox.sandboxId;
        throw error;
      }
    },
  };
}

/** One sandbox that the page has made or attached itself, or a function that makes one. */
export function fromSandbox(given) {
  const isMaker = typeof given === "function";
  return {
    sandbox: isMaker ? undefined : given,
    async create() {
      if (isMaker) return given();
      throw new ElementError("no_endpoint", "The sandbox of this page has ended, and the page has no way to make another.");
    },
    // Fails for a sandbox that was attached with a token: only who has a key, or a broker, may ask.
    async ask(sandbox) {
      try {
        await sandbox.getInfo();
      } catch (error) {
        if (saysGone(error)) throw error;
      }
    },
    /** Ends the sandbox. The request outlives the page. */
    async end(sandbox) {
      const outliving = (input, init) => fetch(input, { ...init, keepalive: true });
      await sandbox.kill({ fetch: outliving });
    },
  };
}
