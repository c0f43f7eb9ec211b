// Where requests go, and what a check finds there: a fresh sandbox with a daemon of its own wherever that can be had.

import { existsSync, readdirSync } from "node:fs";
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { join } from "node:path";
import { Page } from "./page.mjs";
import { Steps } from "./steps.mjs";

export const TOKEN = "0123456789abcdef".repeat(4);

const ENVD_PORT = 49983;
const INTERPRETER_PORT = 49999;
const INTERPRETER = "code-interpreter-v1";
/** Checks work in this directory; it belongs to the user. */
const DIRECTORY = "/tmp/c";

/** What any table may name: values that are too long to write down, or that no two checks may share. */
const VARIABLES = {
  "eight-mebibytes": () => Buffer.alloc(8 << 20, "x").toString("base64"),
  "letters-247": () => "x".repeat(247),
  "letters-4096": () => "x".repeat(4096),
  now: () => new Date().toISOString(),
  earlier: () => new Date(Date.now() - 1000).toISOString(),
  unique: () => `c${Math.random().toString(36).slice(2, 12)}`,
  ...Object.fromEntries([1, 2, 3, 4, 5].map((n) => [`port${n}`, freshPort])),
};

/** Sandboxes may share the ports of the machine, so no port is used twice. */
let port = 20_000 + Math.floor(Math.random() * 5_000);
function freshPort() {
  port += 1;
  return port;
}

/** The servers under test. Each of them may be missing. */
export class Servers {
  #envd;
  #api;
  #interpreter;
  #apiKey;
  #runtime;
  #shared;
  page;

  /** `runtime` is where the local server has its sockets; without it the server is somebody else's. */
  constructor({ envd, controlPlane, interpreter, apiKey, runtime, chromium }) {
    this.#envd = envd && new URL(envd);
    this.#api = controlPlane && new URL(controlPlane);
    this.#interpreter = interpreter && new URL(interpreter);
    this.#apiKey = apiKey;
    this.#runtime = runtime;
    this.page = new Page(chromium);
  }

  /** Whether it is the local server that this repository is about. */
  get own() {
    return this.#runtime !== undefined;
  }

  /** Whether checks of the daemon share a single one, whose settings then outlive each of them. */
  get oneDaemon() {
    return this.#envd !== undefined;
  }

  /** Why a check cannot run here, if it cannot. */
  missing({ section: { service, direct }, own, secured, init, fresh, installs }) {
    if (this.own || (service === "envd" && this.#envd)) return undefined;
    if (service === "interpreter" && this.#interpreter) {
      return own ? "an interpreter to itself is needed: give --control-plane and no --interpreter" : undefined;
    }
    if (!this.#api) return service === "envd" ? "no --envd and no --control-plane was given" : "no --control-plane was given";
    const settings = service === "envd" && (direct || secured || init || fresh || installs);
    return settings ? "the daemon has to take settings, which its sandbox's traffic cannot give: give --envd" : undefined;
  }

  /** What a check needs, made ready: its place, its variables, and how to clear up. */
  async prepare(section, check, variables) {
    const place = new Place(this, section.service);
    const text = JSON.stringify([check, check.deviation]);
    for (const [name, make] of Object.entries(VARIABLES)) {
      if (text.includes(`<${name}>`)) variables[name] = make();
    }
    variables.domain = this.#domain;
    const steps = new Steps(place, variables);
    try {
      await steps.run(await this.#setUp(section, check, variables));
    } catch (error) {
      await place.clearUp();
      throw error;
    }
    return { place, variables };
  }

  async #setUp({ service }, check, variables) {
    const { secured = false, own = false, context = "python" } = check;
    // A sandbox's token comes with the answer that makes it.
    if (secured) variables.token = TOKEN;
    const steps = [];
    if (service === "envd") {
      if (!this.#envd) steps.push({ ...newSandbox({}), save: { id: "answer.sandboxID" } });
      if (!check.fresh && (this.own || this.#envd)) steps.push(settings(check));
    } else if (service === "interpreter") {
      if (own) steps.push(newSandbox({ templateID: INTERPRETER, ...check.sandbox }));
      else if (!this.#interpreter) variables.id = await this.#sharedInterpreter();
      const made = { status: 200, save: { context: "answer.id" }, token: own, patience: 120 };
      if (context !== false) steps.push({ http: "POST /contexts", json: { language: context }, ...made });
    } else if (check.sandbox !== undefined || service === "proxy") {
      steps.push(newSandbox(check.sandbox));
    }
    return [...steps, ...this.#files(check)];
  }

  /** Makes the directory of the check, if it has one, and its files. */
  #files({ secured, sandbox, files = {}, ...check }) {
    const token = secured || sandbox?.secure || false;
    const steps = [];
    if (JSON.stringify([check, files]).includes(DIRECTORY)) {
      const json = { path: DIRECTORY };
      if (this.#envd) steps.push({ call: "Filesystem/Remove", json, token, status: 200 });
      steps.push({ call: "Filesystem/MakeDir", json, token, user: "user", status: 200 });
    }
    for (const [path, text] of Object.entries(files)) {
      steps.push({ upload: path, text, token, query: { username: "user" }, status: 200 });
    }
    return steps;
  }

  /** The sandbox in which checks of the interpreter run, each in a context of its own. */
  #sharedInterpreter() {
    this.#shared ??= (async () => {
      const variables = {};
      const place = new Place(this, "interpreter");
      await new Steps(place, variables).run([newSandbox({ templateID: INTERPRETER, timeout: 600 })]);
      return { id: variables.id, place };
    })();
    return this.#shared.then(({ id }) => id);
  }

  /** Ends what checks shared. */
  async close() {
    const shared = await this.#shared?.catch(() => undefined);
    await shared?.place.clearUp();
    await this.page.close();
  }

  /** Where to connect for `to`, and with which headers. */
  route(to, sandbox) {
    if (to === "envd" && this.#envd) return at(this.#envd);
    if (to === "interpreter" && this.#interpreter) return at(this.#interpreter);
    if (to === "api") return at(this.#api, { "X-API-Key": this.#apiKey });
    if (to === "socket") return { target: { socketPath: this.#socket(sandbox) }, headers: { Host: "localhost" } };
    if (to === "proxy") return at(this.#api);
    const port = { envd: ENVD_PORT, interpreter: INTERPRETER_PORT }[to] ?? to;
    const local = ["localhost", "127.0.0.1", "[::1]"].includes(this.#api.hostname);
    if (local) {
      const host = `${port}-${sandbox}.localhost${this.#api.port && `:${this.#api.port}`}`;
      return at(this.#api, { Host: host });
    }
    return at(new URL(`${this.#api.protocol}//${port}-${sandbox}.${this.#domain}`));
  }

  /** What the hosts of sandboxes end in. */
  get #domain() {
    return this.#api?.host.replace(/^api\./u, "");
  }

  /** The daemon's own socket, where `/init` is not hidden as it is from the sandbox's traffic. */
  #socket(sandbox) {
    const folders = readdirSync(this.#runtime).filter((name) => name.startsWith("agent-sandbox-local-"));
    const sockets = folders.map((name) => join(this.#runtime, name, `${sandbox}.http`));
    const found = sockets.find((path) => existsSync(path));
    if (found === undefined) throw new Error(`there is no socket of the sandbox ${sandbox} in ${this.#runtime}`);
    return found;
  }
}

/** The step that makes a check's sandbox. */
function newSandbox(options) {
  return {
    http: "POST /sandboxes",
    to: "api",
    json: { templateID: "base", timeout: 300, ...options },
    status: 201,
    save: { id: "answer.sandboxID", token: "answer.envdAccessToken", traffic: "answer.trafficAccessToken" },
    patience: 120,
  };
}

/** The step that gives a daemon the settings that checks count on, whatever an earlier check left there. */
function settings({ secured, init }) {
  const json = { defaultUser: "user", defaultWorkdir: "/home/user", envVars: {}, ...init };
  if (secured) json.accessToken = TOKEN;
  return { http: "POST /init", json, status: 204 };
}

function at(url, headers = {}) {
  const { protocol, hostname, port } = url;
  // Not every resolver knows that names under `localhost` are this machine.
  const host = hostname.endsWith("localhost") ? "127.0.0.1" : hostname.replace(/^\[|\]$/gu, "");
  return { target: { protocol, host, port: port || undefined }, headers: { Host: url.host, ...headers } };
}

/** What one check sees of the servers, and what it made there. */
export class Place {
  #servers;
  #service;
  #made = new Set();

  constructor(servers, service) {
    this.#servers = servers;
    this.#service = service;
  }

  /** Where the request of a step goes. `id` is the check's own sandbox. */
  route(to = this.#service, sandbox) {
    const socket = to === "envd" && this.#service === "envd" && this.#servers.own;
    return this.#servers.route(socket ? "socket" : to, sandbox);
  }

  /** Connections that are used again. */
  agent(target) {
    const Agent = target.protocol === "https:" ? HttpsAgent : HttpAgent;
    return new Agent({ keepAlive: true, maxSockets: 1 });
  }

  /** The same request from a page; the browser names the host itself. */
  page({ protocol }, { path, headers: { Host, ...headers }, ...request }) {
    return this.#servers.page.exchange(new URL(`${protocol}//${Host}${path}`), { ...request, headers });
  }

  /** Remembers what the control plane made, to remove it again. */
  note(text) {
    for (const [, kind, id] of text.matchAll(/"(sandboxID|snapshotID)":\s*"([^"]+)"/gu)) {
      this.#made.add(`${kind === "sandboxID" ? "/sandboxes" : "/templates"}/${encodeURIComponent(id)}`);
    }
  }

  /** Ends the processes of a daemon that other checks will see, and what was made through the control plane. */
  async clearUp(token) {
    const variables = { token };
    const steps = new Steps(this, variables);
    if (this.#service === "envd" && this.#servers.oneDaemon) {
      const list = { call: "Process/List", token: token !== undefined, status: 200, save: { left: "answer.processes" } };
      await steps.run([list]).catch(() => undefined);
      const kill = (pid) => ({ process: { pid }, signal: "SIGNAL_SIGKILL" });
      for (const { pid } of variables.left ?? []) {
        await steps.run([{ call: "Process/SendSignal", json: kill(pid), token: token !== undefined, status: { min: 200 } }]);
      }
    }
    // Sandboxes first: what they were made from cannot be removed while they run.
    for (const path of [...this.#made].sort()) {
      await steps.run([{ http: `DELETE ${path}`, to: "api", status: { min: 200 } }]).catch(() => undefined);
    }
  }
}
