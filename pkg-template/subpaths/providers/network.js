// `sandbox.network`: where the ports of the sandbox are, as its provider says it.

import { port as checked } from "./checks.js";
import { callOf } from "./commands.js";

export class ProviderNetwork {
  #ports;
  #resolve;

  /** `resolve(port, call)` answers `{ url, headers }`. */
  constructor(ports, resolve) {
    this.#ports = ports;
    this.#resolve = resolve;
  }

  getHost(port) {
    return this.#ports.host(checked(port, "network.getHost"));
  }

  getUrl(port) {
    return this.#ports.url(checked(port, "network.getUrl"));
  }

  /** For ports behind the gateway. */
  getAccessHeaders() {
    return this.#ports.accessHeaders();
  }

  /** For the server of the image, which must not be sent what the gateway wants. */
  getServerHeaders() {
    return this.#ports.serverHeaders();
  }

  /** The address of a port with the headers of its gateway. Asks the provider where it must. */
  async resolve(port, opts) {
    const { url, headers } = await this.#resolve(checked(port, "network.resolve"), callOf(opts, "network.resolve"));
    return [url, headers];
  }

  async resolveUrl(port, opts) {
    return (await this.resolve(port, opts))[0];
  }
}
