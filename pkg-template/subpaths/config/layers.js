// What `loadConfig` is given, as layers that all answer the same questions: which value a variable or a key of a table has, where
// exactly it stands, and which names there are. An environment is read by name, never as a whole, but to look for typing errors.

import { InvalidArgumentError } from "#package";

/** Marks what `envFile` and `toml` answer, whichever copy of this module made it. */
const LAYER = Symbol.for("agent-sandbox-web.config-layer");

export function asLayer(layer) {
  const { kind, name, values } = layer;
  // Only what is told to users can be enumerated, and so printed: not the values, which may be secret.
  const shown = { kind, name };
  Object.defineProperty(shown, LAYER, { value: layer });
  if (values) Object.defineProperty(shown, "values", { value: values });
  return Object.freeze(shown);
}

/** One source or several, best first, as a list of layers. */
export function layersOf(sources, owner) {
  const list = Array.isArray(sources) ? sources : [sources];
  if (list.length === 0) throw wrong(`${owner} needs at least one source: process.env, the env of a Worker, Deno.env, or envFile(text)`);
  return list.map((source, index) => layerOf(source, list.length > 1 ? `source ${index + 1} of ${owner}` : `the source of ${owner}`, list));
}

function layerOf(source, what, list) {
  const own = source?.[LAYER];
  if (own) return own.kind === "toml" ? new TomlLayer(own) : new FileLayer(own);
  if (typeof source === "string") throw wrong(`${what} is a text: wrap it into envFile(text) or toml(text), so that it is known how to read it`);
  if (typeof source !== "object" || source === null || typeof source.entries === "function") {
    const found = source === null ? "null" : Array.isArray(source) ? "an array" : typeof source === "object" ? "a Map or the like: make an object of it by Object.fromEntries" : typeof source;
    throw wrong(`${what} must be an environment (process.env, the env of a Worker, Deno.env), envFile(text) or toml(text), not ${found}`);
  }
  const environments = list.filter((other) => typeof other === "object" && other !== null && !other[LAYER]);
  const name = environments.length > 1 ? `environment ${environments.indexOf(source) + 1}` : "environment";
  return new EnvironmentLayer(source, name);
}

/** A map of variables, or something like `Deno.env`. */
class EnvironmentLayer {
  kind = "environment";
  hasE2b = true;
  /** Variables that could not be read, because the runtime refuses. */
  refused = new Set();

  constructor(env, name) {
    this.name = name;
    const { get, toObject } = env;
    const asks = typeof get === "function" && typeof toObject === "function";
    this.get = asks ? (variable) => env.get(variable) : (variable) => env[variable];
    this.all = asks ? () => env.toObject() : () => env;
  }

  variable(name) {
    try {
      const value = this.get(name);
      return value === undefined || value === null ? undefined : { value, variable: name };
    } catch {
      // Deno throws when the program was not granted access to this variable.
      this.refused.add(name);
      return undefined;
    }
  }

  names() {
    try {
      return Object.keys(this.all());
    } catch {
      return [];
    }
  }
}

/** A parsed `.env` file. */
class FileLayer {
  kind = "envFile";
  refused = new Set();

  constructor({ name, e2b, variables }) {
    this.name = name;
    this.hasE2b = e2b;
    this.variables = variables;
  }

  variable(name) {
    const found = this.variables.get(name);
    return found && { value: found.value, variable: name, line: found.line };
  }

  names() {
    return [...this.variables.keys()];
  }
}

/** A parsed TOML file, which has no variables. */
class TomlLayer {
  kind = "toml";
  hasE2b = false;
  refused = new Set();

  constructor({ name, tables }) {
    this.name = name;
    this.tables = tables;
  }

  variable() {
    return undefined;
  }

  key(section, key) {
    const table = this.tables.get(section);
    if (!table || !Object.hasOwn(table, key)) return undefined;
    return { value: table[key], variable: `${section}.${key}` };
  }

  names() {
    return [];
  }
}

function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}
