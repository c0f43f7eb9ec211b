// Calls of the control plane about sandboxes: which request each becomes, and what its answer says. The WebAssembly side sends
// them, with everything that calls have in common: credentials, the clock, the signal, the hooks, repetitions and errors.

import { ControlCall } from "./core_bg.js";
import { SandboxError } from "./errors.js";
import { readLogs } from "./logs.js";
import { networkOnWire } from "./network.js";
import { Options, invalid, isObject, plain, text } from "./options.js";

/** How long a sandbox lives unless the caller says otherwise, in seconds. */
const DEFAULT_TIMEOUT_S = 300;

/** What stands in for the answer of a control plane in debug mode: a sandbox on this machine, of the newest version. */
const debugRecord = (sandboxID) => ({ sandboxID, envdVersion: "99.99.99" });

export async function create(template, opts) {
  if (typeof template !== "string" && template !== undefined && template !== null) {
    throw invalid("template of Sandbox.create must be a string");
  }
  const options = new Options(opts, "Sandbox.create");
  const body = newSandbox(template, options);
  return during(new ControlCall(opts, "Sandbox.create"), async (call) => {
    if (call.isDebug) return call._sandbox(debugRecord("debug_sandbox_id"), false);
    const [, record] = await send(call, "POST", "/sandboxes", { body, subject: "template", shape: "sandboxID" });
    try {
      return call._sandbox(record, true);
    } catch (error) {
      // Nobody could use it, so it must not go on running. What matters to the caller is why, not how the end went.
      await send(call, "DELETE", route(record.sandboxID), { expected: 404 }).catch(() => {});
      throw error;
    }
  });
}

/** The body of a request that makes a sandbox. */
function newSandbox(template, options) {
  const [named, mcp] = [options.string("template"), options.plain("mcp")];
  const [network, mounts] = [options.plain("network"), mountsOf(options)];
  return {
    templateID: template ?? named ?? (mcp === undefined ? "base" : "mcp-gateway"),
    timeout: options.seconds("timeoutMs") ?? DEFAULT_TIMEOUT_S,
    metadata: options.stringMap("metadata") ?? {},
    envVars: options.stringMap("envs") ?? {},
    secure: options.boolean("secure") ?? true,
    allow_internet_access: options.boolean("allowInternetAccess") ?? true,
    ...lifecycleOf(options),
    network: network && Object.keys(network).length > 0 ? { allowPublicTraffic: true, ...network } : undefined,
    mcp,
    iam: iamOf(options),
    volumeMounts: mounts.length > 0 ? mounts : undefined,
  };
}

/** `lifecycle: { onTimeout, autoResume }`. */
function lifecycleOf(options) {
  const lifecycle = new Options(options.get("lifecycle"), "lifecycle");
  const autoResume = lifecycle.boolean("autoResume") ?? false;
  const onTimeout = lifecycle.get("onTimeout");
  const detailed = typeof onTimeout === "object" ? new Options(onTimeout, "lifecycle.onTimeout") : undefined;
  const action = (detailed === undefined ? lifecycle.string("onTimeout") : detailed.string("action")) ?? "kill";
  const keepMemory = detailed?.boolean("keepMemory");
  if (action === "kill") {
    if (keepMemory !== undefined) throw invalid('lifecycle.onTimeout.keepMemory only makes sense with the action "pause"');
    if (autoResume) throw invalid('lifecycle.autoResume only makes sense with onTimeout: "pause"');
    return { autoPause: false, autoResume: { enabled: false } };
  }
  if (action !== "pause") throw invalid('lifecycle.onTimeout must be "kill" or "pause"');
  if (keepMemory === false && autoResume) {
    throw invalid(
      "lifecycle asks to resume automatically a sandbox that is paused without its memory, which is not possible. Set keepMemory to true or autoResume to false.",
    );
  }
  return { autoPause: true, autoPauseMemory: keepMemory ?? true, autoResume: { enabled: autoResume } };
}

/** `iam: { tokens }`. The names of tokens end up in places where braces begin and end something. */
function iamOf(options) {
  const iam = options.plain("iam");
  for (const name of Object.keys(iam?.tokens ?? {})) {
    if (/[{}\p{Cc}]/u.test(name)) throw invalid(`The name ${JSON.stringify(name)} in iam.tokens must not hold braces or control characters`);
  }
  return iam;
}

/** `volumeMounts`: volumes or their names by path. */
function mountsOf(options) {
  const given = options.get("volumeMounts");
  const mounts = new Options(given, "volumeMounts");
  return Object.keys(given ?? {}).map((path) => {
    const volume = mounts.get(path);
    const name = typeof volume === "object" ? new Options(volume, "volumeMounts").string("name") : mounts.string(path);
    if (name === undefined) throw invalid(`volumeMounts[${JSON.stringify(path)}] names no volume`);
    return { name, path };
  });
}

export async function connect(sandboxId, opts) {
  const owner = "Sandbox.connect";
  const [id, body] = [text(sandboxId, "sandboxId", owner), connectBody(opts, owner)];
  return during(new ControlCall(opts, owner), async (call) => {
    return call._sandbox(call.isDebug ? debugRecord(id) : await connected(call, id, body), false);
  });
}

/** The same for an object that exists, which uses the sandbox's new tokens from then on. */
export async function reconnect(sandbox, opts) {
  const body = connectBody(opts, "connect");
  await during(sandbox._call(opts, "connect"), async (call) => {
    if (!call.isDebug) sandbox._renew(await connected(call, sandbox.sandboxId, body));
  });
}

/** What the options ask of a server. That memory is restored goes without saying: older servers do not know the question. */
function connectBody(opts, owner) {
  const options = new Options(opts, owner);
  const reboots = options.oneOf("onResume", ["restore", "reboot"]) === "reboot";
  return { timeout: options.seconds("timeoutMs") ?? DEFAULT_TIMEOUT_S, ...(reboots && { memory: false }) };
}

async function connected(call, id, body) {
  const [, record] = await send(call, "POST", route(id, "connect"), { body, shape: "sandboxID" });
  return record;
}

/**
 * The calls about one sandbox, as static and as instance methods: `id` says which it is, `call` is the way to ask, `options` are
 * what the caller gave last. What follows are the arguments before that.
 */
export const CALLS = {
  async kill({ call, id }) {
    if (call.isDebug) return true;
    const [status] = await send(call, "DELETE", route(id), { expected: 404 });
    return status !== 404;
  },

  async getInfo({ call, id }) {
    const [, detail] = await send(call, "GET", route(id), { shape: "sandboxID" });
    return sandboxInfo(detail);
  },

  async setTimeout({ call, id }, timeoutMs) {
    if (!(Number.isFinite(timeoutMs) && timeoutMs >= 0)) throw invalid("timeoutMs of setTimeout must be a number of 0 or more");
    if (!call.isDebug) await send(call, "POST", route(id, "timeout"), { body: { timeout: Math.ceil(timeoutMs / 1000) } });
  },

  async pause({ call, id, options }) {
    const memory = options.boolean("keepMemory") ?? true;
    const [status] = await send(call, "POST", route(id, "pause"), { body: { memory }, expected: 409 });
    return status !== 409;
  },

  async fork({ call, id, options }) {
    const body = { count: options.count("count", 100) ?? 1, timeout: options.seconds("timeoutMs") ?? DEFAULT_TIMEOUT_S };
    const [, entries] = await send(call, "POST", route(id, "fork"), { body, shape: "list" });
    return entries.map((entry) => copyOf(call, entry));
  },

  async getMetrics({ call, id, options, sandbox }) {
    sandbox?._requireMetrics();
    if (call.isDebug) return [];
    const [start, end] = ["start", "end"].map((name) => options.date(name)).map((date) => date && Math.floor(date.getTime() / 1000));
    const query = queryOf({ start, end });
    const [, entries] = await send(call, "GET", route(id, "metrics") + query, { shape: "list" });
    return entries.map(metrics);
  },

  async updateNetwork({ call, id }, network) {
    const { allowInternetAccess, ...rules } = plain(networkOnWire(network), "network", "updateNetwork");
    // The one name of the protocol that is not in camel case.
    await send(call, "PUT", route(id, "network"), { body: { ...rules, allow_internet_access: allowInternetAccess } });
  },

  async createSnapshot({ call, id, options }) {
    const [, entry] = await send(call, "POST", route(id, "snapshots"), { body: { name: options.string("name") }, shape: "snapshotID" });
    return snapshotInfo(entry);
  },

  async getLogs({ id, opts, begin }) {
    const ask = async (version, query, options) => {
      const path = `${version === 1 ? "" : "/v2"}${route(id, "logs")}${query}`;
      const [, logs] = await during(begin(options), (call) => send(call, "GET", path, { shape: "json" }));
      return logs;
    };
    return readLogs(ask, opts);
  },
};

export async function deleteSnapshot(snapshotId, opts) {
  const owner = "Sandbox.deleteSnapshot";
  const path = `/templates/${segment(text(snapshotId, "snapshotId", owner), "snapshot")}`;
  const [status] = await during(new ControlCall(opts, owner), (call) => send(call, "DELETE", path, { expected: 404 }));
  return status !== 404;
}

/** What `use` makes of a call, whose memory is given back afterwards. */
export async function during(call, use) {
  try {
    return await use(call);
  } finally {
    call.free();
  }
}

/** Sends a request whose `body` is plain data; see `ControlCall._request` for the rest. */
export function send(call, method, path, { body, subject = "sandbox", shape = "", expected } = {}) {
  return call._request(method, path, body && JSON.stringify(body), subject, shape, expected);
}

/** The path of a sandbox. */
function route(id, ...rest) {
  return ["/sandboxes", segment(id, "sandbox"), ...rest].join("/");
}

/** An id as a segment of a path. Encoding leaves dots alone, and a segment of dots would be resolved away to another route. */
function segment(id, what) {
  if (id === "." || id === "..") throw invalid(`The ${what} id must not be a path.`);
  return encode(id);
}

/** A text as a segment of a path, or as either side of a query's pair. */
export function encode(text) {
  // Half a character cannot be written in UTF-8.
  const whole = text.replace(/[\ud800-\udfff]/gu, "\ufffd");
  return encodeURIComponent(whole).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The query with those values that there are. */
export function queryOf(values) {
  const pairs = Object.entries(values).filter(([, value]) => value !== undefined);
  return pairs.length === 0 ? "" : `?${pairs.map(([name, value]) => `${name}=${encode(String(value))}`).join("&")}`;
}

// What servers answer, read leniently: only ids are required.

export function sandboxInfo(detail) {
  const { metadata, network, lifecycle, volumeMounts } = detail;
  const mounts = Array.isArray(volumeMounts) ? volumeMounts.map((mount) => ({ name: string(mount?.name), path: string(mount?.path) })) : [];
  return present({
    sandboxId: detail.sandboxID,
    templateId: string(detail.templateID),
    name: string(detail.alias) || undefined,
    metadata: Object.fromEntries(Object.entries(isObject(metadata) ? metadata : {}).map(([key, value]) => [key, string(value)])),
    startedAt: date(detail.startedAt),
    endAt: date(detail.endAt),
    state: string(detail.state),
    cpuCount: number(detail.cpuCount),
    memoryMB: number(detail.memoryMB),
    envdVersion: string(detail.envdVersion),
    allowInternetAccess: typeof detail.allowInternetAccess === "boolean" ? detail.allowInternetAccess : undefined,
    sandboxDomain: string(detail.domain) || undefined,
    network: isObject(network) ? network : undefined,
    lifecycle: isObject(lifecycle) ? { onTimeout: string(lifecycle.onTimeout), autoResume: lifecycle.autoResume === true } : undefined,
    volumeMounts: mounts.length > 0 ? mounts : undefined,
  });
}

export function snapshotInfo(entry) {
  const names = Array.isArray(entry.names) ? entry.names.filter((name) => typeof name === "string") : [];
  return { snapshotId: entry.snapshotID, names };
}

function metrics(entry) {
  const unix = typeof entry?.timestampUnix === "number" ? new Date(entry.timestampUnix * 1000) : date();
  return {
    timestamp: typeof entry?.timestamp === "string" ? date(entry.timestamp) : unix,
    cpuUsedPct: number(entry?.cpuUsedPct),
    cpuCount: number(entry?.cpuCount),
    memUsed: number(entry?.memUsed),
    memTotal: number(entry?.memTotal),
    memCache: number(entry?.memCache),
    diskUsed: number(entry?.diskUsed),
    diskTotal: number(entry?.diskTotal),
  };
}

/** One entry per copy: a sandbox, or why there is none. */
function copyOf(call, entry) {
  if (entry?.sandbox === undefined) return copyFailed(entry?.error);
  try {
    return call._sandbox(entry.sandbox, false);
  } catch (error) {
    return error;
  }
}

function copyFailed(error) {
  const reason = string(error?.message) || "the server gave no reason";
  const status = Number.isInteger(error?.code) ? error.code : undefined;
  return new SandboxError(`A copy of the sandbox could not be made: ${reason}.`, { code: "server_error", status });
}

function present(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));
}

function string(value) {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function number(value) {
  return typeof value === "number" ? value : 0;
}

/** A `Date`, invalid when the server did not say. */
function date(value) {
  return new Date(typeof value === "string" ? value : Number.NaN);
}
