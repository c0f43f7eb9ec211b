// The back end of every provider whose sandboxes have the package's own daemon: a control plane of REST calls, and for each sandbox
// a `Sandbox` that is attached to without a request.

import { Sandbox } from "#package";
import { variable } from "./config.js";
import { ControlPlane } from "./control.js";
import { EnvdCode } from "./envd-code.js";
import { EnvdFiles } from "./envd-files.js";
import { EnvdProcess } from "./envd-process.js";
import { EnvdTerminal } from "./envd-terminal.js";
import { Place } from "./place.js";

const ENVD_PORT = 49983;
const CODE_PORT = 49999;

/**
 * `id` of the provider, `baseUrl` and `domain` of the platform, `headers` with the credentials of the control plane and the `secrets`
 * in them, `fetch`, `timeout` in seconds. `sendsTokenToServers`: whether programs behind the ports of a sandbox are sent its token.
 */
export function envdBackend({ id, baseUrl, domain, headers, secrets, fetch, timeout, encoding, sendsTokenToServers, defaults }) {
  const place = new Place({ baseUrl, domain, provider: id });
  return {
    sandbox: new ControlPlane({ provider: id, baseUrl, headers, fetch, timeout, defaults, secrets }),
    async session(info, { secure }) {
      // Another family of variables must not lead these sandboxes elsewhere: neither with a key, nor with an address.
      const isLedAway = variable(undefined, "E2B_SANDBOX_URL") !== undefined;
      const options = { fetch, encoding, auth: () => ({}), requestTimeoutMs: timeout * 1000, debug: false };
      const attach = (port) => Sandbox.attach(place.token(info, isLedAway ? port : undefined), options);
      const sandbox = await attach(ENVD_PORT);
      return {
        process: new EnvdProcess(sandbox, id),
        filesystem: new EnvdFiles(sandbox, id),
        code: new EnvdCode(isLedAway ? await attach(CODE_PORT) : sandbox, id),
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
