// `ProviderSandbox`: a sandbox of any provider. It talks to nobody itself: it asks the provider's back end, behind the gates of what
// the provider declares.

import { ApplicationClient } from "./server-wire.js";
import { optionsOf, port as checkedPort, seconds, signalOf, text, textOr, texts, flag, whole, callback } from "./checks.js";
import { ProviderCode } from "./code.js";
import { ProviderCommands } from "./commands.js";
import { configOf, variable } from "./config.js";
import { checkedEndpoint } from "./endpoint.js";
import { FileOperationError, ProviderFeatureNotSupportedError, invalid } from "./errors.js";
import { ProviderFiles } from "./files.js";
import { gated, unsupported } from "./gates.js";
import { mountsOf } from "./mounts.js";
import { ProviderNetwork } from "./network.js";
import { mustAgree, parseReference } from "./reference.js";
import { providerOf } from "./registry.js";
import { startServer } from "./start-server.js";
import { capabilitiesOf } from "./vocabulary.js";

const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** How long cleaning up may take after something failed, in seconds. */
const CLEAN_UP_S = 30;

const MOST_TTL_S = 86_400;

/** Only `create`, `connect` and those beside them make one. */
const MAKE = Symbol("make");

export class ProviderSandbox {
  #provider;
  #backend;
  #calls;
  #session;
  #settings;
  #info;
  #isKilled = false;
  #isClosed = false;

  constructor(key, parts) {
    if (key !== MAKE) throw invalid("A ProviderSandbox is made by ProviderSandbox.create or ProviderSandbox.connect");
    const { provider, backend, calls, session, settings, info } = parts;
    this.#provider = provider;
    this.#backend = backend;
    this.#calls = calls;
    this.#session = session;
    this.#settings = settings;
    this.#info = info;
    const protocol = (kind) => gated(provider, kind, session[kind]);
    this.commands = new ProviderCommands(provider, protocol("process"));
    this.files = new ProviderFiles(provider, protocol("filesystem"));
    const ports = protocol("ports");
    // Who knows the addresses of ports need not describe a service behind them.
    const resolve = typeof session.ports?.resolve === "function" ? ports.resolve : (port, call) => this.#endpoint(port, call);
    this.network = new ProviderNetwork(ports, resolve);
    this.code = new ProviderCode(provider, protocol("code"));
  }

  static async create(...args) {
    const owner = "ProviderSandbox.create";
    const [template, opts] = typeof args[0] === "string" || args[1] !== undefined ? args : ["base", args[0]];
    const given = optionsOf(opts, owner);
    const provider = chosen(given);
    const request = createRequest(provider, template, given, owner);
    const onCreated = callback(given.onCreated, "onCreated", owner);
    const { backend, calls, settings, call } = await open(provider, given, owner, "create");
    let info;
    try {
      info = await calls.create(request, call);
      onCreated?.(info.sandboxId);
      return await begin({ provider, backend, calls, settings, info }, "create", call);
    } catch (error) {
      // Otherwise somebody pays for a sandbox that nobody knows of.
      await undo(error, { provider, backend, calls, call, info, owned: true });
      throw error;
    }
  }

  static async connect(reference, opts) {
    const owner = "ProviderSandbox.connect";
    const { given, provider, sandboxId } = referred(reference, opts, owner);
    const { backend, calls, settings, call } = await open(provider, given, owner, "connect");
    try {
      // Not every platform has a call for it.
      const has = typeof backend.sandbox?.connect === "function";
      const info = await (has ? calls.connect : calls.get)(sandboxId, call);
      return await begin({ provider, backend, calls, settings, info }, "connect", call);
    } catch (error) {
      await undo(error, { provider, backend });
      throw error;
    }
  }

  static async list(opts) {
    const owner = "ProviderSandbox.list";
    const given = optionsOf(opts, owner);
    const limit = whole(given.limit ?? 100, 1, 10_000, "Option limit", owner);
    const offset = whole(given.offset ?? 0, 0, Number.MAX_SAFE_INTEGER, "Option offset", owner);
    const status = textOr(given.status, undefined, "status", owner);
    return once(chosen(given), given, owner, "list", (calls, call) => calls.list({ status, limit, offset }, call));
  }

  static async getInfoById(reference, opts) {
    const owner = "ProviderSandbox.getInfoById";
    const { given, provider, sandboxId } = referred(reference, opts, owner);
    return once(provider, given, owner, "get", (calls, call) => calls.get(sandboxId, call));
  }

  static async setTimeoutById(reference, timeout, opts) {
    const owner = "ProviderSandbox.setTimeoutById";
    const { given, provider, sandboxId } = referred(reference, opts, owner);
    const ttl = whole(timeout, 1, MOST_TTL_S, "timeout", owner);
    await once(provider, given, owner, "setTimeout", (calls, call) => calls.setTimeout(sandboxId, ttl, call));
  }

  static async killById(reference, opts) {
    const owner = "ProviderSandbox.killById";
    const { given, provider, sandboxId } = referred(reference, opts, owner);
    await once(provider, given, owner, "kill", (calls, call) => calls.kill(sandboxId, call));
  }

  get id() {
    return this.#info.sandboxId;
  }

  get provider() {
    return this.#provider.id;
  }

  get status() {
    return this.#info.status;
  }

  /** Where the provider names an address of the daemon; null elsewhere. */
  get url() {
    return this.#info.envdUrl;
  }

  get info() {
    return this.#info;
  }

  get capabilities() {
    return capabilitiesOf(this.#provider);
  }

  get operations() {
    return new Set(this.#provider.operations);
  }

  get server() {
    return this.serverAt();
  }

  /** Ends the sandbox. The second call does nothing. */
  async kill(opts) {
    if (this.#isKilled) return;
    await this.#calls.kill(this.id, this.#call(opts, "kill"));
    this.#isKilled = true;
    await this.close();
  }

  /** Gives back what is held here, and leaves the sandbox running. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#session.close?.();
    await this.#backend.close?.();
  }

  async [asyncDispose]() {
    await this.kill();
  }

  async setTimeout(timeout, opts) {
    const ttl = whole(timeout, 1, MOST_TTL_S, "timeout", "setTimeout");
    await this.#calls.setTimeout(this.id, ttl, this.#call(opts, "setTimeout"));
  }

  async isRunning(opts) {
    return this.#calls.isRunning(this.id, this.#call(opts, "isRunning"));
  }

  async pause(opts) {
    await this.#calls.pause(this.id, this.#call(opts, "pause"));
  }

  async resume(opts) {
    await this.#calls.resume(this.id, this.#call(opts, "resume"));
  }

  async refreshInfo(opts) {
    this.#info = await this.#calls.get(this.id, this.#call(opts, "refreshInfo"));
    return this.#info;
  }

  runCode(code, opts) {
    return this.code.run(code, opts);
  }

  async getTerminal(opts) {
    const { cols = 80, rows = 24 } = optionsOf(opts, "getTerminal");
    const size = { cols: whole(cols, 1, 65_535, "Option cols", "getTerminal"), rows: whole(rows, 1, 65_535, "Option rows", "getTerminal") };
    if (!this.#provider.features.includes("pty")) throw unsupported(this.#provider, "getTerminal", "pty");
    return gated(this.#provider, "terminal", this.#session.terminal).open(size, this.#call(opts, "getTerminal"));
  }

  /** A client of the service behind a port, at the address that the provider names for it. */
  async applicationClient(port = 9000, opts) {
    const { token, timeout, signal } = optionsOf(opts, "applicationClient");
    const call = { signal: signalOf(signal, "applicationClient") };
    const endpoint = await this.#endpoint(checkedPort(port, "applicationClient"), call);
    return this.#client({ ...endpoint, token, timeout: seconds(timeout, 30, "timeout", "applicationClient") });
  }

  /** The same without asking, at the address that the port must have. */
  serverAt(port = 9000, opts) {
    const { token, ptyPort = 9001, timeout } = optionsOf(opts, "serverAt");
    const url = this.network.getUrl(checkedPort(port, "serverAt"));
    const ptyUrl = this.network.getUrl(checkedPort(ptyPort, "serverAt")).replace(/^http/, "ws");
    return this.#client({ url, headers: this.network.getServerHeaders(), ptyUrl, token, timeout: seconds(timeout, 30, "timeout", "serverAt") });
  }

  async listCommands(opts) {
    const { serverPort, ...given } = optionsOf(opts, "listCommands");
    return (await this.applicationClient(serverPort, given)).listCommands({ signal: given.signal });
  }

  /** Runs a named command of the server of the image. */
  async run(name, args, opts) {
    const { serverPort, ...given } = optionsOf(opts, "run");
    return (await this.applicationClient(serverPort, given)).run(name, args, { signal: given.signal });
  }

  async startServer(opts) {
    const given = optionsOf(opts, "startServer");
    const clientOf = async (port, { token, signal }) => this.applicationClient(port, { token, signal });
    return startServer({ commands: this.commands, clientOf }, given);
  }

  /** The original has these methods, and they always fail: files have their own. */
  async uploadUrl() {
    throw this.#noUrl("uploadUrl");
  }

  async downloadUrl() {
    throw this.#noUrl("downloadUrl");
  }

  getUploadUrl() {
    return this.uploadUrl();
  }

  getDownloadUrl() {
    return this.downloadUrl();
  }

  #noUrl(name) {
    return new FileOperationError(`The provider ${this.provider} names no address for a transfer. Use files.${name}, files.write or files.readBytes`, { provider: this.provider });
  }

  #call(opts, owner) {
    return { signal: signalOf(optionsOf(opts, owner).signal, owner), timeout: this.#settings.timeout };
  }

  #client(parts) {
    return new ApplicationClient({ ...parts, fetch: this.#settings.fetch, provider: this.provider });
  }

  async #endpoint(port, call) {
    const given = await gated(this.#provider, "ports", this.#session.ports).endpoint(port, call);
    return checkedEndpoint(given, { provider: this.provider, sandboxId: this.id, port });
  }
}

/** What is asked of the control plane, checked before anything is sent. */
function createRequest(provider, template, given, owner) {
  const optional = (name) => (given[name] === undefined ? undefined : whole(given[name], 1, 2 ** 31, `Option ${name}`, owner));
  const volumeMounts = mountsOf(given.volumeMounts);
  if (volumeMounts.length > 0 && !provider.createOptions.includes("volume_mounts")) {
    throw new ProviderFeatureNotSupportedError(`The provider ${provider.id} cannot mount volumes. Leave volumeMounts out, or choose a provider that can`, { provider: provider.id, feature: "volume_mounts" });
  }
  return {
    template: text(template, "template", owner),
    timeout: whole(given.timeout ?? 300, 1, MOST_TTL_S, "Option timeout", owner),
    metadata: texts(given.metadata, "metadata", owner),
    envs: texts(given.envs, "envs", owner),
    volumeMounts,
    cpu: optional("cpu"),
    memory: optional("memory"),
    disk: optional("disk"),
    gpu: textOr(given.gpu, undefined, "gpu", owner),
    secure: given.secure === undefined ? undefined : flag(given.secure, true, "secure", owner),
    requestTimeout: seconds(given.requestTimeout, undefined, "requestTimeout", owner),
  };
}

/** The provider of a call: as given, as the sandbox's id says, as the environment says, the built-in one. */
function chosen(given, named) {
  return providerOf(given.provider ?? named ?? variable(given.env, "ABX_PROVIDER"));
}

/** The sandbox that is meant, and whose it is. */
function referred(reference, opts, owner) {
  const given = optionsOf(opts, owner);
  const { provider: named, sandboxId } = parseReference(reference);
  const provider = chosen(given, named);
  if (given.provider !== undefined) mustAgree(named, provider.id);
  return { given, provider, sandboxId };
}

/** The back end of a provider, for calls of which `first` comes first: what is not declared is refused before it is opened. */
async function open(provider, given, owner, first) {
  const signal = signalOf(given.signal, owner);
  signal?.throwIfAborted();
  // Before the configuration is read: what cannot be done needs no credentials.
  await gated(provider, "sandbox", OPEN)[first]();
  const config = configOf(provider, given, owner);
  const settings = {
    timeout: seconds(given.requestTimeout, 60, "requestTimeout", owner),
    secure: flag(given.secure, true, "secure", owner),
    fetch: callback(given.fetch, "fetch", owner),
    encoding: given.encoding,
  };
  const backend = await provider.open({ ...config, connection: { fetch: settings.fetch, timeout: settings.timeout, encoding: settings.encoding } });
  const calls = gated(provider, "sandbox", backend?.sandbox);
  return { backend, calls, settings, call: { signal, timeout: settings.timeout } };
}

/** Stands in for a back end that is not there yet, so that only the declarations decide. */
const OPEN = Object.freeze(Object.fromEntries(["create", "connect", "get", "list", "kill", "setTimeout"].map((name) => [name, () => {}])));

/** One call of the control plane by somebody who holds no sandbox. */
async function once(provider, given, owner, name, act) {
  const { backend, calls, call } = await open(provider, given, owner, name);
  try {
    return await act(calls, call);
  } finally {
    await backend.close?.();
  }
}

async function begin({ provider, backend, calls, settings, info }, operation, call) {
  call.signal?.throwIfAborted();
  const session = (await backend.session?.(info, { operation, secure: settings.secure, signal: call.signal })) ?? {};
  return new ProviderSandbox(MAKE, { provider, backend, calls, session, settings, info });
}

/** Takes back what was done before something failed, and says on the error what became of it. */
async function undo(error, { provider, backend, calls, call, info, owned = false }) {
  let isGone = true;
  if (owned && info) {
    try {
      await calls.kill(info.sandboxId, { timeout: CLEAN_UP_S });
    } catch {
      isGone = false;
    }
  }
  try {
    await backend.close?.();
  } catch {
    // The error at hand says more.
  }
  // The reason of an abort is the caller's own.
  if (owned && info && error !== call.signal?.reason && error instanceof Error && Object.isExtensible(error)) {
    error.ownedResource = { providerId: provider.id, sandboxId: info.sandboxId };
    error.cleanedUp = isGone;
  }
}
