// The MCP gateway: a program of the template `mcp-gateway` that serves the servers named by the option `mcp`.

import { FileNotFoundError, SandboxError } from "./errors.js";

const TOKEN_FILE = "/etc/mcp-gateway/.token";

/** The tokens of the gateways that were started here. */
const tokens = new WeakMap();

/** Starts the gateway of a new sandbox. A sandbox without it is of no use, so it ends when that fails. */
export async function startGateway(sandbox, { mcp, signal, requestTimeoutMs }) {
  const token = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const config = JSON.stringify(mcp).replaceAll("'", `'"'"'`);
  try {
    await sandbox.commands.run(`mcp-gateway --config '${config}'`, { user: "root", envs: { GATEWAY_ACCESS_TOKEN: token }, signal, requestTimeoutMs });
  } catch (cause) {
    await sandbox.kill().catch(() => {});
    if (!(cause instanceof SandboxError)) throw cause;
    throw new SandboxError(`The MCP gateway could not be started, and the sandbox was ended: ${cause.message}`, {
      code: "mcp_failed",
      retryable: cause.retryable,
      cause,
    });
  }
  tokens.set(sandbox, token);
}

/** The token of the gateway; undefined in a sandbox without one. */
export async function gatewayToken(sandbox, opts) {
  const token = tokens.get(sandbox);
  if (token !== undefined) return token;
  try {
    return (await sandbox.files.read(TOKEN_FILE, { ...opts, user: "root" })).trim();
  } catch (error) {
    if (error instanceof FileNotFoundError) return undefined;
    throw error;
  }
}
