// What completes the class `Sandbox`.

import { CALLS, connect, create, deleteSnapshot, during, reconnect } from "./control.js";
import { ControlCall } from "./core_bg.js";
import { attachTo } from "./endpoint.js";
import { Git } from "./git.js";
import { gatewayToken, startGateway } from "./mcp.js";
import { networkOnWire } from "./network.js";
import { Options, text } from "./options.js";
import { listSandboxes, listSnapshots } from "./paginator.js";

/** The static methods, and which of the arguments has their options. */
export const STATICS = {
  attach: 1,
  betaPause: 1,
  connect: 1,
  create: (args) => (hasName(args) ? 1 : 0),
  createSnapshot: 1,
  deleteSnapshot: 1,
  fork: 1,
  getFullInfo: 1,
  getInfo: 1,
  getLogs: 1,
  getMetrics: 1,
  kill: 1,
  list: 0,
  listSnapshots: 0,
  pause: 1,
  setTimeout: 2,
  updateNetwork: 2,
};

/** Those that answer at once. */
const SYNCHRONOUS = ["list", "listSnapshots"];

/** Names that the standard client has for the same. */
const ALIASES = { getFullInfo: "getInfo", betaPause: "pause" };

/** The symbol behind `await using`, also where the runtime does not know it yet but a compiler's helper uses it. */
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/** Whether the arguments of `create` name a template: options may come first. */
function hasName(args) {
  return typeof args[0] === "string" || args[1] !== undefined;
}

/** Runs one of `CALLS` with the options of the caller, as they are and as what they come to. */
function ask(call, args, about) {
  const options = new Options(about.opts, about.owner);
  return during(about.begin(about.opts), (begun) => call({ ...about, options, call: begun }, ...args));
}

const helpers = new WeakMap();

export function completeSandbox(Sandbox) {
  const statics = {
    connect,
    async create(...args) {
      const [template, options] = hasName(args) ? args : [undefined, args[0]];
      const tokens = Object.keys(Object(options?.iam?.tokens));
      const given = options?.network === undefined ? options : { ...options, network: networkOnWire(options.network, tokens) };
      const sandbox = await create(template, given);
      if (options?.mcp) await startGateway(sandbox, options);
      return sandbox;
    },
    attach: (token, opts) => (token?.endpoint === undefined ? Sandbox._attach(token, opts) : attachTo(Sandbox._attach, token, opts)),
    deleteSnapshot,
  };
  const { prototype } = Sandbox;
  for (const [name, call] of Object.entries(CALLS)) {
    // The options are what follows the other arguments.
    const position = call.length - 1;
    statics[name] = async (id, ...args) => {
      const owner = `Sandbox.${name}`;
      return ask(call, args, { id: text(id, "sandboxId", owner), opts: args[position], owner, begin: (opts) => new ControlCall(opts, owner) });
    };
    define(prototype, name, async function (...args) {
      return ask(call, args, { id: this.sandboxId, opts: args[position], owner: name, begin: (opts) => this._call(opts, name), sandbox: this });
    });
  }
  define(Sandbox, "_attach", Sandbox.attach);
  for (const name of Object.keys(STATICS)) {
    if (SYNCHRONOUS.includes(name)) continue;
    const call = statics[ALIASES[name] ?? name];
    // The core starts with the first call. Where it cannot, that call must reject, and not throw.
    define(Sandbox, name, async function (...args) {
      return adopt(this, await call.apply(Sandbox, args));
    });
  }
  define(Sandbox, "list", listSandboxes);
  define(Sandbox, "listSnapshots", listSnapshots);

  /** What a static method of a subclass makes is of that subclass. */
  function adopt(type, made) {
    if (type?.prototype instanceof Sandbox) {
      for (const one of [made].flat()) if (one instanceof Sandbox) Object.setPrototypeOf(one, type.prototype);
    }
    return made;
  }

  for (const [alias, name] of Object.entries(ALIASES)) define(prototype, alias, prototype[name]);
  define(prototype, "connect", async function (opts) {
    await reconnect(this, opts);
    return this;
  });
  define(prototype, "getMcpToken", function (opts) {
    return gatewayToken(this, opts);
  });
  Object.defineProperty(prototype, "git", {
    configurable: true,
    get() {
      if (!helpers.has(this)) helpers.set(this, new Git(this.commands));
      return helpers.get(this);
    },
  });
  define(prototype, asyncDispose, async function () {
    await this.kill();
  });
}

function define(target, name, value) {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}
