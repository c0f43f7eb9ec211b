// Where a platform and the ports of its sandboxes are. Pure, but for asking whether this is a page.

import { ProviderConfigError } from "./errors.js";


export class Place {
  /** `baseUrl` of the control plane without a slash at its end, `domain` that the names of ports end in. */
  constructor({ baseUrl, domain, provider }) {
    if (!/^[\p{L}\p{N}._:[\]-]+$/u.test(domain) || /^[.:]/.test(domain)) {
      throw new ProviderConfigError("sandboxDomain must be a host name with an optional port, without scheme or path", { provider });
    }
    this.baseUrl = baseUrl;
    this.domain = domain;
    this.isLocal = /^(localhost|127(\.\d+){3}|\[::1\]|.*\.localhost)$/.test(domain.replace(/:\d+$/, ""));
  }

  host(sandboxId, port) {
    return `${port}-${sandboxId}.${this.domain}`;
  }

  /** A server on this machine has no TLS. */
  url(sandboxId, port, secure) {
    const scheme = this.isLocal ? this.baseUrl.split(":")[0] : secure ? "https" : "http";
    return `${scheme}://${this.host(sandboxId, port)}`;
  }

  /**
   * The same with the headers that it needs. Not every resolver knows the names below `localhost`, so outside of a page, where
   * headers may be set, a local server is asked at its own address.
   */
  reach(sandboxId, port, secure) {
    if (!this.isLocal || inPage()) return { url: this.url(sandboxId, port, secure), headers: {} };
    return { url: new URL(this.baseUrl).origin, headers: { "E2b-Sandbox-Id": sandboxId, "E2b-Sandbox-Port": String(port) } };
  }

  /**
   * What opens the daemon of a sandbox, for `Sandbox.attach`. The address that the platform names counts before the domain; with
   * `port`, the domain is written out as the address of that port.
   */
  token({ sandboxId, envdVersion, envdAccessToken, envdUrl }, port) {
    const access = { sandboxId, envdVersion: envdVersion ?? undefined, envdAccessToken: envdAccessToken ?? undefined };
    if (typeof envdUrl === "string" && envdUrl !== "") return { ...access, url: envdUrl };
    return port === undefined ? { ...access, domain: this.domain } : { ...access, url: this.reach(sandboxId, port, true).url };
  }
}

/** The domain that belongs to the address of a control plane, which is `api.` in front of it. */
export function domainBehind(baseUrl) {
  return new URL(baseUrl).host.replace(/^api\./, "");
}


function inPage() {
  return typeof location === "object" && location !== null && /^(https?|blob|file|chrome-extension|moz-extension):$/.test(location.protocol);
}
