// What connection options and the environment come to, and how options lie over others.

import { _settings } from "./core_bg.js";

/** `opts` over `defaults`. What is undefined in `opts` says nothing; what is no object is left for the call to refuse. */
export function merged(defaults, opts) {
  if (opts === undefined || opts === null) return { ...defaults };
  if (typeof opts !== "object" || Array.isArray(opts)) return opts;
  return { ...defaults, ...Object.fromEntries(Object.entries(opts).filter(([, value]) => value !== undefined)) };
}

/** The options that settings were made from: those that calls take are more than those that can be read. */
const given = new WeakMap();

export function givenTo(settings) {
  return given.get(settings);
}

export class ConnectionConfig {
  static envdPort = 49983;

  static mergeOpts(bound, opts) {
    return merged(bound, opts);
  }

  constructor(opts) {
    const { apiKey, ...settings } = _settings(opts);
    given.set(this, opts ?? {});
    Object.assign(this, settings, { retries: opts?.retries ?? 3 });
    // Not enumerable, so that printing the settings does not print the key.
    Object.defineProperty(this, "apiKey", { value: apiKey });
    Object.defineProperty(this, "logger", { value: opts?.logger });
  }

  getHost(sandboxId, port, sandboxDomain = this.domain) {
    return this.debug ? `localhost:${port}` : `${port}-${sandboxId}.${sandboxDomain}`;
  }

  getSandboxUrl(sandboxId, { sandboxDomain, envdPort = ConnectionConfig.envdPort } = {}) {
    return this.sandboxUrl ?? `${this.debug ? "http" : "https"}://${this.getHost(sandboxId, envdPort, sandboxDomain)}`;
  }

  getSignal(requestTimeoutMs = this.requestTimeoutMs, signal = undefined) {
    const signals = [signal, requestTimeoutMs > 0 ? AbortSignal.timeout(requestTimeoutMs) : undefined].filter((one) => one !== undefined);
    return signals.length > 1 ? AbortSignal.any(signals) : signals[0];
  }
}
