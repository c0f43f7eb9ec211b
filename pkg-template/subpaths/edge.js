// The broker: what a back end runs so that its pages reach a sandbox of their own without ever seeing an API key. A handler
// `(Request) => Promise<Response>` that is mounted at one path. Keeps no state that it cannot find again: sessions are signed
// tokens, and the sandbox of a visitor is found by its metadata.
//
// | module | what it is for |
// |---|---|
// | options.js | what `createSandboxBroker` accepts, checked by name |
// | http.js | origins, JSON in and out, refusals |
// | session.js | who may do what: tokens and scopes |
// | usage.js | how much each visitor has had, and of what there is enough |
// | sandboxes.js | finds, makes and reaches the sandbox of a visitor |
// | proxy.js | what goes to the sandbox through here |
// | terminal.js | terminals over WebSockets: their addresses and tokens, and the bridge to the sandbox |
// | terminal-line.js | one such WebSocket, of whatever host |
//
// `#package` stands for the entry that fits the host, so that there is one core whatever is imported.

import { Sandbox } from "#package";
import { Cors, Refusal, isResponse, json, readJson, refusalOf } from "./edge/http.js";
import { readOptions } from "./edge/options.js";
import { forward } from "./edge/proxy.js";
import { Sandboxes } from "./edge/sandboxes.js";
import { Sessions } from "./edge/session.js";
import * as terminal from "./edge/terminal.js";
import { Usage } from "./edge/usage.js";

export { memoryStorage } from "./edge/usage.js";

export function createSandboxBroker(opts) {
  const options = readOptions(opts);
  const cors = new Cors(options.allowedOrigins);
  const usage = new Usage(options);
  const parts = { options, sessions: new Sessions(options), usage, sandboxes: new Sandboxes(options, usage) };

  return async function broker(request, context) {
    const origin = request.headers.get("origin");
    try {
      const dialled = terminalOf(options, request);
      cors.check(request, origin, dialled !== undefined);
      // The answer is the host's, and no answer of HTTP.
      if (dialled) return await terminal.upgrade(parts, request, context, dialled);
      if (request.method === "OPTIONS") return cors.preflight(request, origin);
      return cors.expose(await answer(parts, request, context), origin);
    } catch (error) {
      if (isResponse(error)) return cors.expose(error, origin);
      const refusal = error instanceof Refusal ? error : refusalOf(error);
      if (refusal.cause !== undefined) options.onError(refusal.cause);
      return cors.expose(refusal.response(), origin);
    }
  };
}

/** The URL of a request that wants to become a terminal. */
function terminalOf({ path }, request) {
  if (!terminal.isUpgrade(request)) return undefined;
  const url = new URL(request.url);
  return url.pathname === `${path}/terminal` ? url : undefined;
}

/** The actions, each a `POST` of JSON to the broker's path followed by its name. */
const ACTIONS = { "": open, refresh, extend, pause, kill, info, sign, terminal: terminalAddress };

async function answer(parts, request, context) {
  const url = new URL(request.url);
  const { path } = parts.options;
  const inside = url.pathname === path ? "/" : url.pathname.startsWith(`${path}/`) ? url.pathname.slice(path.length) : undefined;
  if (inside === undefined) throw new Refusal(404, "not_found", `The broker is at ${path || "/"}, and nothing of it is here`);
  const [, name, ...rest] = inside.split("/");
  if (name === "sandbox" || name === "port") return forward(parts, await parts.sessions.begin(request), request, name, rest, url);
  if (rest.length > 0 || !Object.hasOwn(ACTIONS, name)) throw new Refusal(404, "not_found", "The broker has no such action");
  if (request.method !== "POST") {
    throw new Refusal(405, "method_not_allowed", "Actions of the broker are sent with POST", { headers: { allow: "POST" } });
  }
  // Before anything is read: what is refused must not be costly.
  const visitor = await parts.sessions.begin(request);
  return json(await ACTIONS[name](parts, visitor, await readJson(request), context, url));
}

/** Finds the visitor's sandbox or makes it, and begins a session. */
async function open({ options, sessions, sandboxes }, visitor, { slot = "default", scopes }, context, url) {
  if (typeof slot !== "string" || !/^[\w.-]{1,64}$/.test(slot)) {
    throw new Refusal(400, "invalid_argument", "slot must be 1 to 64 letters, digits, dots, dashes or underscores");
  }
  const granted = sessions.choose(visitor, scopes);
  const sandbox = await sandboxes.open(visitor, slot, context);
  return sessions.describe(visitor, sandbox, granted, endpoint(options, url), sandboxes.endOf(sandbox.sandboxId));
}

/** The same sandbox for longer: it is resumed when it is paused. Scopes that the visitor has lost meanwhile are lost. */
async function refresh({ options, sessions, sandboxes }, visitor, _body, _context, url) {
  const { sandboxId, scopes } = sessions.read(visitor);
  const kept = scopes.filter((scope) => visitor.scopes.includes(scope));
  const sandbox = await sandboxes.renew(visitor, sandboxId, options.timeoutMs);
  return sessions.describe(visitor, sandbox, kept, endpoint(options, url), sandboxes.endOf(sandboxId));
}

async function extend({ options, sessions, usage }, visitor, { timeoutMs }) {
  const { sandboxId } = sessions.read(visitor, "lifecycle");
  const most = options.limits.timeoutMs;
  if (typeof timeoutMs !== "number" || !(timeoutMs >= 1000 && timeoutMs <= most)) {
    throw new Refusal(400, "invalid_argument", `timeoutMs must be a number from 1000 to ${most}`);
  }
  const endAt = options.now() + timeoutMs;
  await usage.lease(visitor, sandboxId, endAt);
  await Sandbox.setTimeout(sandboxId, timeoutMs, options.connection);
  return { sandboxId, endAt: new Date(endAt).toISOString() };
}

async function pause({ options, sessions, sandboxes }, visitor) {
  const { sandboxId } = sessions.read(visitor, "lifecycle");
  const paused = await Sandbox.pause(sandboxId, options.connection);
  await sandboxes.ended(visitor, sandboxId);
  return { sandboxId, paused };
}

async function kill({ options, sessions, sandboxes }, visitor) {
  const { sandboxId } = sessions.read(visitor, "lifecycle");
  const killed = await Sandbox.kill(sandboxId, options.connection);
  await sandboxes.ended(visitor, sandboxId);
  return { sandboxId, killed };
}

/** What the control plane knows, but for the metadata and whatever opens the sandbox. */
async function info({ options, sessions }, visitor) {
  const { sandboxId } = sessions.read(visitor);
  const { templateId, name, state, startedAt, endAt, cpuCount, memoryMB, envdVersion } = await Sandbox.getInfo(sandboxId, options.connection);
  return { sandboxId, templateId, name, state, startedAt, endAt, cpuCount, memoryMB, envdVersion };
}

/** A URL for one file and one operation, which works without the broker until it expires. */
async function sign({ options, sessions, sandboxes }, visitor, { path, operation, user, expiresInSeconds = 300 }) {
  if (operation !== "read" && operation !== "write") throw new Refusal(400, "invalid_argument", 'operation must be "read" or "write"');
  const { sandboxId } = sessions.read(visitor, `files:${operation}`);
  if (typeof path !== "string" || path === "") throw new Refusal(400, "invalid_argument", "path must be a text that is not empty");
  if (user !== undefined && typeof user !== "string") throw new Refusal(400, "invalid_argument", "user must be a text");
  if (!(Number.isInteger(expiresInSeconds) && expiresInSeconds >= 1 && expiresInSeconds <= 3600)) {
    throw new Refusal(400, "invalid_argument", "expiresInSeconds must be a whole number from 1 to 3600");
  }
  const sandbox = await sandboxes.reach(sandboxId);
  const method = operation === "read" ? "downloadUrl" : "uploadUrl";
  const url = await sandbox[method](path, { user, useSignatureExpiration: expiresInSeconds });
  return { url, expiresAt: new Date(options.now() + expiresInSeconds * 1000).toISOString() };
}

/** An address for one terminal, which works without a session until it expires or is dialled. */
async function terminalAddress(parts, visitor, _body, _context, url) {
  return terminal.address(parts, visitor, endpoint(parts.options, url));
}

/** The broker's address as the page has it. */
function endpoint({ publicUrl, path }, url) {
  return publicUrl ?? `${url.origin}${path}`;
}
