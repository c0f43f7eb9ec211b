// The back end of every provider whose sandboxes have the package's own daemon: a control plane of REST calls, and for each sandbox
// a `Sandbox` that is attached to without a request.

import { Sandbox } from "#package";
import { ControlPlane } from "./control.js";
import { EnvdCode } from "./envd-code.js";
import { EnvdFiles } from "./envd-files.js";
import { EnvdProcess } from "./envd-process.js";
import { EnvdTerminal } from "./envd-terminal.js";
import { Place } from "./place.js";

/**
 * `id` of the provider, `baseUrl` and `domain` of the platform, `headers` with the credentials of the control plane and the `secrets`
 * in them, `fetch`, `timeout` in seconds. `sendsTokenToServers`: whether programs behind the ports of a sandbox are sent its token.
 */
export function envdBackend({ id, baseUrl, domain, headers, secrets, fetch, timeout, encoding, sendsTokenToServers, defaults }) {
  const place = new Place({ baseUrl, domain, provider: id });
  const conceal = (words) => secrets.filter((secret) => secret.length >= 4).reduce((text, secret) => text.replaceAll(secret, "***"), words);
  return {
    sandbox: new ControlPlane({ provider: id, baseUrl, headers, fetch, timeout, defaults, conceal }),
    async session(info, { secure }) {
      // The control plane is asked by control.js alone: no key of the environment may find its way to another provider.
      const sandbox = await Sandbox.attach(place.token(info), { fetch, encoding, auth: () => ({}), requestTimeoutMs: timeout * 1000, debug: false });
      return {
        process: new EnvdProcess(sandbox, id),
        filesystem: new EnvdFiles(sandbox, id),
        code: new EnvdCode(sandbox, id),
        terminal: new EnvdTerminal(sandbox, id),
        ports: portsOf({ id, place, info, secure, sendsTokenToServers }),
      };
    },
  };
}

function portsOf({ id, place, info, secure, sendsTokenToServers }) {
  const { sandboxId, envdAccessToken } = info;
  const accessHeaders = () => (secure && envdAccessToken ? { "X-Access-Token": envdAccessToken } : {});
  const serverHeaders = () => (sendsTokenToServers ? accessHeaders() : {});
  return {
    host: (port) => place.host(sandboxId, port),
    url: (port) => place.url(sandboxId, port, secure),
    accessHeaders,
    serverHeaders,
    async resolve(port) {
      const { url, headers } = place.reach(sandboxId, port, secure);
      return { url, headers: { ...headers, ...accessHeaders() } };
    },
    async endpoint(port) {
      const { url, headers } = place.reach(sandboxId, port, secure);
      return {
        provider_id: id,
        sandbox_id: sandboxId,
        port,
        url,
        headers: { ...headers, ...serverHeaders() },
        authentication_audience: "gateway",
        path_mode: "prefix",
      };
    },
  };
}
