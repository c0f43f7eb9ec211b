// Named commands: functions that the author of the image has registered with the server. Arguments are sent as the JSON that
// they are, arrays of strings too: the server accepts nothing else for those.

import { segment } from "./address.js";
import { isObject, kind, milliseconds, optional, options, wrong } from "./check.js";
import { commandRefusal } from "./errors.js";
import { SandboxError } from "#package";

export class ServerCommands {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  async list(opts) {
    const { commands } = await this.#calls.ask("list_commands", "GET", "/commands", { owner: "commands.list", opts });
    return (Array.isArray(commands) ? commands : []).filter(isObject).map(({ name, args, description }) => ({
      name: String(name),
      description: String(description ?? ""),
      args: (Array.isArray(args) ? args : []).filter(isObject).map(argumentOf),
    }));
  }

  async run(name, args, given) {
    const owner = "commands.run";
    const inPath = segment(name, `name of ${owner}`);
    // No body at all would be allowed, but null would make the server hang up.
    if (args !== undefined && !isObject(args)) throw wrong(`args of ${owner} must be an object of arguments by name, not ${kind(args)}`);
    const opts = options(given, owner);
    const timeoutMs = optional(milliseconds, opts.timeoutMs, `Option timeoutMs of ${owner}`);
    try {
      const { result } = await this.#calls.ask("run_command", "POST", `/commands/${inPath}`, { owner, opts, timeoutMs, json: args ?? {} });
      return result;
    } catch (error) {
      throw error instanceof SandboxError && error.server !== undefined ? commandRefusal(name, error) : error;
    }
  }

  /** The same commands as methods. Their types are those that the caller names. */
  typed() {
    const run = (name) => (args, opts) => this.run(name, args, opts);
    return new Proxy(Object.create(null), {
      // Awaiting the object must not run a command that is called `then`.
      get: (_, name) => (typeof name !== "string" || name === "then" ? undefined : run(name)),
    });
  }
}

function argumentOf({ name, type, required, default: value, description }) {
  return { name: String(name), type: String(type ?? "string"), required: required === true, default: typeof value === "string" ? value : undefined, description: String(description ?? "") };
}
