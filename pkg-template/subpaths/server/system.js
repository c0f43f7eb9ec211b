// The machine that the server runs on, and the environment of its process.

import { queryOf } from "./calls.js";
import { oneOf, optional, options, stringMap, strings } from "./check.js";
import { camel, camelKeys } from "./json.js";

export class ServerSystem {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  async info(opts) {
    return camelKeys(await this.#calls.ask("system_info", "GET", "/system/info", { owner: "system.info", opts }));
  }

  async metrics(opts) {
    const { cpu_load_1m, cpu_load_5m, cpu_load_15m, ...rest } = await this.#calls.ask("system_metrics", "GET", "/system/metrics", { owner: "system.metrics", opts });
    return { cpuLoad1m: cpu_load_1m, cpuLoad5m: cpu_load_5m, cpuLoad15m: cpu_load_15m, ...camelKeys(rest) };
  }

  /** Variables of the server's process, without those whose names look secret. */
  async env(names, opts) {
    const owner = "system.env";
    const wanted = optional(strings, names, `names of ${owner}`);
    const query = queryOf({ filter: wanted === undefined || wanted.length === 0 ? undefined : wanted.join(",") });
    const { variables } = await this.#calls.ask("env_get", "GET", "/env", { owner, opts, query });
    return variables ?? {};
  }

  /** Sets variables of the server's process, for all that it starts from then on, whoever asks it to. */
  async setEnv(vars, opts) {
    const owner = "system.setEnv";
    const { updated } = await this.#calls.ask("env_set", "POST", "/env", { owner, opts, json: { vars: stringMap(vars, `vars of ${owner}`) } });
    return updated ?? [];
  }

  async ports(opts) {
    const { listening } = await this.#calls.ask("ports", "GET", "/ports", { owner: "system.ports", opts });
    return (listening ?? []).map(({ pid, ...rest }) => ({ ...rest, pid: pid ?? undefined }));
  }

  async packages(manager = "pip", given = undefined) {
    const owner = "system.packages";
    const query = queryOf({ manager: oneOf(manager, `manager of ${owner}`, ["pip", "npm"]) });
    const { packages } = await this.#calls.ask("packages", "GET", "/packages", { owner, opts: options(given, owner), query });
    return camel(packages ?? []);
  }
}
