// Providers that an engine carries: every protocol is a request to it. Touches the network through engine-client.js.

import { isObject } from "./checks.js";
import { EngineClient, errorOf } from "./engine-client.js";
import { CommandTimeoutError, MissingSandbox, ProviderConfigError, ProviderError, ProviderFeatureNotSupportedError, ProviderProtocolError, ProviderResourceNotFoundError, Unreachable } from "./errors.js";
import { route } from "./http.js";
import { readInfo } from "./info.js";
import { defineProvider } from "./provider.js";
import { Ending } from "./signals.js";
import { events } from "./sse.js";
import { StreamReader } from "./stream.js";

/** How much longer than the code itself the answer to a run of code may take, in seconds. */
const CODE_GRACE_S = 15;

/** A provider of an engine, given as `{ kind: "node", id, engine: { url, token }, features, operations, … }`. */
export function engineProvider(given) {
  if (!isObject(given)) throw new ProviderConfigError("A provider of an engine must be an object with id, engine, features and operations");
  const { engine, ...rest } = given;
  // An address that is wrong is found here.
  new EngineClient(engine, `the provider ${given.id}`);
  return defineProvider({ ...rest, kind: "node", open: (config) => new EngineBackend(given.id, engine, config) });
}

/** What the engine is told about the account, in a header of every request. */
export function connectionOf(provider, { fields, generic }) {
  return {
    provider,
    provider_options: fields,
    api_key: generic.sandboxApiKey,
    api_url: generic.sandboxBaseUrl,
    domain: generic.sandboxDomain,
  };
}

class EngineBackend {
  #id;
  #client;
  #connection;
  #timeout;

  constructor(id, engine, config) {
    this.#id = id;
    this.#client = new EngineClient({ fetch: config.connection.fetch, ...engine }, `the provider ${id}`);
    this.#connection = connectionOf(id, config);
    this.#timeout = config.connection.timeout;
  }

  get sandbox() {
    const about = (id, ...rest) => route("v1", "sandboxes", id, ...rest);
    const named = async (promise) => {
      const info = readInfo(await promise);
      if (!info) throw new ProviderProtocolError("The engine answered without naming a sandbox", { provider: this.#id });
      return info;
    };
    return {
      create: ({ template, timeout, metadata, envs, cpu, memory, disk, gpu, requestTimeout, secure }, call) => {
        // What is undefined is not said.
        const body = { template, timeout, metadata, envs, cpu, memory, disk, gpu, request_timeout: requestTimeout, secure };
        return named(this.ask("POST", "/v1/sandboxes", { ...call, timeout: requestTimeout, body, what: "creating a sandbox" }));
      },
      get: (id, call) => named(this.ask("GET", about(id), { ...call, what: "reading a sandbox" })),
      connect: (id, call) => named(this.ask("POST", about(id, "connect"), { ...call, what: "connecting to a sandbox" })),
      list: async ({ status, limit, offset }, call) => {
        const query = new URLSearchParams({ limit, offset, ...(status !== undefined && { status }) });
        const answer = await this.ask("GET", `/v1/sandboxes?${query}`, { ...call, what: "listing sandboxes" });
        return Promise.all(listIn(answer, "sandboxes", this.#id).map((one) => named(one)));
      },
      kill: async (id, call) => {
        try {
          await this.ask("DELETE", about(id), { ...call, what: "killing a sandbox" });
        } catch (error) {
          if (!(error instanceof MissingSandbox) && !(error instanceof ProviderResourceNotFoundError) && error.status !== 404) throw error;
        }
      },
      setTimeout: (id, timeout, call) => this.ask("POST", about(id, "timeout"), { ...call, body: { timeout }, what: "setting the timeout of a sandbox" }),
      pause: (id, call) => this.ask("POST", about(id, "pause"), { ...call, body: {}, what: "pausing a sandbox" }),
      resume: (id, call) => this.ask("POST", about(id, "resume"), { ...call, body: {}, what: "resuming a sandbox" }),
      isRunning: async (id, call) => (await this.ask("GET", about(id, "running"), { ...call, what: "asking whether a sandbox runs" }))?.running === true,
    };
  }

  session({ sandboxId }) {
    const path = (...rest) => route("v1", "sandboxes", sandboxId, ...rest);
    const at = (name, file) => `${path("files", name)}?${new URLSearchParams({ path: file })}`;
    const ask = (method, target, what, call, more) => this.ask(method, target, { ...call, ...more, what });
    return {
      process: {
        start: (command, call) => this.#start(path("commands", "stream"), command, call),
        list: async (call) => listIn(await ask("GET", path("processes"), "listing processes", call), "processes", this.#id).map(processOf),
        sendInput: (pid, data, call) => ask("POST", path("processes", pid, "stdin"), "writing to standard input", call, { body: { data: textOf(data) } }),
        sendSignal: (pid, signal, call) => ask("POST", path("processes", pid, "signal"), "sending a signal", call, { body: { signal } }),
      },
      filesystem: {
        stat: async (file, call) => fileOf(await ask("GET", at("info", file), "reading about a file", call)),
        list: async (file, call) => listIn(await ask("GET", at("list", file), "listing a directory", call), "entries", this.#id).map(fileOf),
        exists: async (file, call) => (await ask("GET", at("exists", file), "looking for a file", call))?.exists === true,
        makeDir: (file, call) => ask("POST", path("files", "mkdir"), "making a directory", call, { body: { path: file } }),
        move: (source, destination, call) => ask("POST", path("files", "move"), "moving a file", call, { body: { source, destination } }),
        remove: (file, call) => ask("DELETE", `${path("files")}?${new URLSearchParams({ path: file })}`, "removing a file", call),
        write: (file, data, call) => ask("PUT", at("content", file), "writing a file", call, { bytes: data }),
        read: async (file, { maxBytes } = {}, call) => {
          if (maxBytes !== undefined) throw this.#cannot("files.read with maxBytes", "an engine cannot limit what it sends. Look at the size with getInfo first");
          const answer = await this.open("GET", at("content", file), { ...call, what: "reading a file" });
          return answer.bytes(Infinity);
        },
        watch: (file, call) => this.#watch(at("watch", file), call),
      },
      code: this.#code(path),
      ports: this.#ports(path),
      terminal: {
        open: async () => {
          throw this.#cannot("the terminal of an engine", "its WebSocket takes the token in a header, which WebSockets of pages and workers cannot send. Use commands.start instead");
        },
      },
    };
  }

  #code(path) {
    const ask = (method, target, what, call, more) => this.ask(method, target, { ...call, ...more, what });
    return {
      run: async ({ code, language, contextId = null, mode, timeout, envs = null, onStdout, onStderr, onResult }, call) => {
        const body = { code, language, context_id: contextId, mode, timeout, envs };
        const answer = await ask("POST", path("code", "run"), "running code", call, { body, timeout: timeout + CODE_GRACE_S });
        const result = codeResultOf(isObject(answer?.result) ? answer.result : answer);
        if (result.stdout !== "") await onStdout?.(result.stdout);
        if (result.stderr !== "") await onStderr?.(result.stderr);
        await onResult?.(result);
        return result;
      },
      createContext: (language, call) => ask("POST", path("code", "contexts"), "creating a context", call, { body: { language } }),
      listContexts: async (call) => listIn(await ask("GET", path("code", "contexts"), "listing contexts", call), "contexts", this.#id),
      restartContext: (id, call) => ask("POST", path("code", "contexts", id, "restart"), "restarting a context", call),
      removeContext: async (id, call) => void (await ask("DELETE", path("code", "contexts", id), "removing a context", call)),
    };
  }

  #ports(path) {
    const later = () => {
      throw this.#cannot("the address of a port without asking", "only the engine knows it. Use network.resolve or applicationClient");
    };
    return {
      host: later,
      url: later,
      accessHeaders: later,
      serverHeaders: later,
      endpoint: (port, call) => this.ask("GET", path("ports", port, "url"), { ...call, what: "resolving a port" }),
    };
  }

  /** Output as it comes. Leaving it ends the request, and with it the command unless the engine lets it go on. */
  async #start(path, { cmd, args, env, cwd = "", user = "", timeout }, call = {}) {
    const ending = new Ending(call.signal);
    ending.after(timeout, () => new CommandTimeoutError(`The command did not end within its timeout of ${timeout} s`, { provider: this.#id }));
    const body = { cmd, args, env, cwd, user, timeout: timeout ?? null };
    try {
      const answer = await this.open("POST", path, { body, what: "starting a command", signal: ending.signal, timeout: this.#timeout, streams: true, accept: "text/event-stream" });
      const source = this.#payloads(answer, () => ending.free());
      return new StreamReader(chunksOf(source, this.#id), async () => (answer.discard(), void source.return()), {});
    } catch (error) {
      ending.free();
      throw error;
    }
  }

  async #watch(path, call = {}) {
    const answer = await this.open("GET", path, { ...call, what: "watching a directory", streams: true, accept: "text/event-stream" });
    const source = this.#payloads(answer);
    async function* changes() {
      for await (const { type = "modified", path: name = "", old_path: oldPath = null, timestamp = null } of source) yield { type, path: name, oldPath, timestamp };
    }
    return new StreamReader(changes(), async () => (answer.discard(), void source.return()));
  }

  /** What the events of a stream carry. A stream that stops without its end is an error. */
  async *#payloads(answer, after = () => {}) {
    try {
      for await (const { event, data } of events(answer.chunks(), () => answer.unexpected("with an event that is too long"))) {
        if (event === "end") return;
        let value;
        try {
          value = JSON.parse(data);
        } catch {
          throw answer.unexpected("with an event that is not JSON");
        }
        if (event === "error") throw errorOf(value, { provider: this.#id, status: 500 }) ?? new ProviderError("The engine failed without a reason", { provider: this.#id });
        if (isObject(value)) yield value;
      }
      throw new Unreachable("The engine's stream stopped before its end", { provider: this.#id, retryable: true });
    } finally {
      after();
    }
  }

  ask(method, path, request) {
    return this.#client.json(method, path, this.#request(request));
  }

  open(method, path, request) {
    return this.#client.open(method, path, this.#request(request));
  }

  #request({ timeout = this.#timeout, ...request }) {
    return { ...request, connection: this.#connection, provider: this.#id, timeout };
  }

  #cannot(what, why) {
    return new ProviderFeatureNotSupportedError(`The provider ${this.#id} cannot do this (${what}): ${why}`, { provider: this.#id, feature: what });
  }
}

async function* chunksOf(source, provider) {
  for await (const { type, data = "", exit_code: exitCode, pid, timestamp } of source) {
    const isExit = type === "exit";
    yield { type, data, ...(isExit && { exitCode: exitCode ?? 0 }), ...(pid !== undefined && { pid }), ...(timestamp !== undefined && { timestamp }) };
    if (isExit) return;
  }
  throw new ProviderProtocolError("The engine ended the output without saying how the command ended", { provider, outcomeUnknown: true });
}

function listIn(answer, name, provider) {
  const list = isObject(answer) ? answer[name] : answer;
  if (Array.isArray(list)) return list;
  throw new ProviderProtocolError(`The engine answered without a list of ${name}`, { provider });
}

function processOf({ pid, command, cmd = "", args = [], status = "running", ...rest }) {
  return { ...rest, pid, args, command: command ?? [cmd, ...args].join(" "), status };
}

function fileOf(value) {
  const { name = "", path = "", type, size, modified = null } = isObject(value) ? value : {};
  return { name, path, type: type === "directory" || type === "dir" ? "directory" : "file", size: Number(size) || 0, modified: modified === null ? null : new Date(modified) };
}

function codeResultOf(value) {
  const { stdout = "", stderr = "", text, exitCode, exit_code: code, executionTime, execution_time: time } = isObject(value) ? value : {};
  const exit = exitCode ?? code ?? 0;
  return { text: text ?? stdout.trim(), stdout, stderr, exitCode: exit, outputFiles: [], executionTime: executionTime ?? time ?? 0, success: exit === 0, results: [], error: undefined };
}

function textOf(data) {
  return typeof data === "string" ? data : new TextDecoder().decode(data);
}

