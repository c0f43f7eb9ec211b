// What `createSandboxBroker` accepts. Everything is checked here, by name, so that a mistake is found when the broker is made
// and not when the first visitor comes.

import { InvalidArgumentError } from "#package";
import { parsedUrl } from "./http.js";
import { isScope } from "./session.js";
import { memoryStorage } from "./usage.js";

const DAY_MS = 86_400_000;
const DEFAULT_SCOPES = ["run", "files:read", "files:write", "lifecycle"];
const DEFAULT_LIMITS = { concurrent: 1, sandboxes: 20, minutes: 480, windowMs: DAY_MS, timeoutMs: 3_600_000 };

/** The options that belong to the connection with the control plane. */
const CONNECTION = ["apiKey", "auth", "domain", "apiUrl", "sandboxUrl", "debug", "requestTimeoutMs", "headers", "apiHeaders", "retries", "fetch", "logger", "onRequest", "onResponse", "environment", "platform"];

export function readOptions(opts) {
  if (typeof opts !== "object" || opts === null) throw wrong("The options of createSandboxBroker must be an object");
  const { accessKey, secret, template = "base", sandbox = {}, authorize, publicUrl } = opts;
  const connection = Object.fromEntries(CONNECTION.filter((name) => opts[name] !== undefined).map((name) => [name, opts[name]]));
  if (accessKey !== undefined) connection.auth = accessKey;
  if (typeof authorize !== "function") {
    throw wrong("Option authorize of createSandboxBroker must be a function that answers who the visitor is: without it anybody could use your sandboxes");
  }
  const secrets = Array.isArray(secret) ? secret : [secret];
  const enough = (text) => typeof text === "string" && new TextEncoder().encode(text).length >= 32;
  if (secrets.length === 0 || !secrets.every(enough)) {
    throw wrong("Option secret of createSandboxBroker must be a text of at least 32 bytes, or a list of them. `openssl rand -base64 32` makes one");
  }
  if (typeof template !== "string") throw wrong("Option template of createSandboxBroker must be a string");
  if (typeof sandbox !== "object" || sandbox === null) throw wrong("Option sandbox of createSandboxBroker must be an object");
  const scopes = opts.scopes ?? DEFAULT_SCOPES;
  if (!Array.isArray(scopes) || !scopes.every(isScope)) {
    throw wrong('Option scopes of createSandboxBroker must be a list of "run", "files:read", "files:write", "lifecycle" and "port:<n>"');
  }
  return {
    connection,
    secrets,
    template,
    authorize,
    scopes,
    publicUrl: publicUrl === undefined ? undefined : address(publicUrl),
    sandbox: { ...restricted(scopes), ...sandbox, secure: true },
    allowedOrigins: origins(opts.allowedOrigins),
    path: path(opts.path ?? "/sandbox"),
    name: text(opts.name ?? "broker", "name"),
    direct: flag(opts.direct ?? true, "direct"),
    timeoutMs: number(opts.timeoutMs ?? 300_000, "timeoutMs", 1000),
    sessionMs: number(opts.sessionMs ?? 600_000, "sessionMs", 1000),
    terminalTokenMs: number(opts.terminalTokenMs ?? 60_000, "terminalTokenMs", 1000),
    upgradeWebSocket: opts.upgradeWebSocket === undefined ? undefined : callback(opts.upgradeWebSocket, "upgradeWebSocket"),
    clockSkewMs: number(opts.clockSkewMs ?? 30_000, "clockSkewMs", 0),
    limits: limits(opts.limits ?? {}),
    storage: storage(opts.storage ?? memoryStorage()),
    forwardHeaders: headers(opts.forwardHeaders ?? []),
    now: callback(opts.now ?? Date.now, "now"),
    onError: callback(opts.onError ?? ((error) => console.error("The sandbox broker failed:", error)), "onError"),
  };
}

/** Scopes that name ports mean something only when nobody else reaches the ports. */
function restricted(scopes) {
  return scopes.some((scope) => scope.startsWith("port:")) ? { network: { allowPublicTraffic: false } } : {};
}

function origins(value) {
  const exact = (origin) => typeof origin === "string" && parsedUrl(origin)?.origin === origin;
  if (Array.isArray(value) && value.length > 0 && value.every(exact)) return value;
  throw wrong('Option allowedOrigins of createSandboxBroker must be a list of origins as browsers send them, such as "https://app.example"; there is no wildcard');
}

function path(value) {
  if (typeof value === "string" && (value === "/" || /^(\/[\w.~-]+)+$/.test(value))) return value === "/" ? "" : value;
  throw wrong('Option path of createSandboxBroker must begin with a slash and not end with one, such as "/sandbox"');
}

function address(value) {
  if (typeof value === "string" && /^https?:$/.test(parsedUrl(value)?.protocol) && !/[?#]/.test(value)) return value.replace(/\/+$/, "");
  throw wrong("Option publicUrl of createSandboxBroker must be the broker's address as pages have it, such as https://app.example/sandbox");
}

function limits(value) {
  if (typeof value !== "object" || value === null) throw wrong("Option limits of createSandboxBroker must be an object");
  const given = Object.fromEntries(Object.entries(value).filter(([, limit]) => limit !== undefined));
  for (const [name, limit] of Object.entries(given)) {
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) throw wrong(`Option limits of createSandboxBroker has no ${name}: there are ${Object.keys(DEFAULT_LIMITS).join(", ")}`);
    if (typeof limit !== "number" || !(limit > 0)) throw wrong(`Option limits.${name} of createSandboxBroker must be a positive number`);
  }
  return { ...DEFAULT_LIMITS, ...given };
}

function storage(value) {
  if (typeof value?.update === "function") return value;
  throw wrong("Option storage of createSandboxBroker must have a function update(key, change, ttlMs)");
}

function headers(value) {
  if (Array.isArray(value) && value.every((name) => typeof name === "string" && /^[\w-]+$/.test(name))) return value.map((name) => name.toLowerCase());
  throw wrong("Option forwardHeaders of createSandboxBroker must be a list of names of headers");
}

function text(value, name) {
  if (typeof value === "string" && /^[\w.-]{1,64}$/.test(value)) return value;
  throw wrong(`Option ${name} of createSandboxBroker must be 1 to 64 letters, digits, dots, dashes or underscores`);
}

function flag(value, name) {
  if (typeof value === "boolean") return value;
  throw wrong(`Option ${name} of createSandboxBroker must be a boolean`);
}

function number(value, name, least) {
  if (typeof value === "number" && value >= least && value <= Number.MAX_SAFE_INTEGER) return value;
  throw wrong(`Option ${name} of createSandboxBroker must be a number of milliseconds from ${least} on`);
}

function callback(value, name) {
  if (typeof value === "function") return value;
  throw wrong(`Option ${name} of createSandboxBroker must be a function`);
}

function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}
