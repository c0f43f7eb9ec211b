// Where a session's sandboxes come from: the page's back end, or the page itself.

import { ElementError, saysGone } from "../base/failure.js";
import { Endpoint } from "./endpoint.js";

/** Sandboxes of the page's back end. The package is loaded with the first of them. */
export function fromEndpoint(url, credentials) {
  const endpoint = new Endpoint(url, credentials);
  return {
    async create() {
      const [{ Sandbox }, token] = await Promise.all([import("#package"), endpoint.token()]);
      return Sandbox.attach(token, { refresh: () => endpoint.token(token.sandboxId) });
    },
    ask: (sandbox) => endpoint.token(sandbox.sandboxId),
    end: (sandbox) => endpoint.end(sandbox.sandboxId),
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
    // Fails for a sandbox that was attached with a token: only who has a key may ask.
    async ask(sandbox) {
      try {
        await sandbox.getInfo();
      } catch (error) {
        if (saysGone(error)) throw error;
      }
    },
    async end(sandbox) {
      const outliving = (input, init) => fetch(input, { ...init, keepalive: true });
      await sandbox.kill({ fetch: outliving });
    },
  };
}
