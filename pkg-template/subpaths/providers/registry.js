// Which providers there are: the built-in one, those that were registered, and objects that are given where they are used.

import { express } from "./express.js";
import { ProviderConflictError, ProviderNotFoundError, ProviderConfigError } from "./errors.js";
import { engineProvider } from "./engine.js";
import { defineProvider, isProvider } from "./provider.js";
import { providerId } from "./reference.js";
import { restProvider } from "./rest.js";

export const DEFAULT_PROVIDER = "alicloud-express";

/** Made when it is first asked for: importing does no work. */
const registered = new Map();
const made = new WeakMap();
let builtin;

/** A provider of any form: its id, a plain object of a REST provider or of an engine's, or an object that opens its own back end. */
export function providerOf(given) {
  if (given === undefined || given === null) return builtinProvider();
  if (typeof given === "string") return findProvider(given);
  if (typeof given !== "object") throw new ProviderConfigError("Option provider must be the id of a provider or an object");
  if (isProvider(given)) return given;
  if (!made.has(given)) made.set(given, formed(given));
  return made.get(given);
}

function formed(given) {
  if (given.kind === "rest") return restProvider(given);
  if (given.kind === "node") return engineProvider(given);
  return defineProvider(given);
}

/** Makes a provider known by its id for the rest of the program. Answers it. */
export function registerProvider(given) {
  const provider = providerOf(given);
  if (provider.id === DEFAULT_PROVIDER) throw new ProviderConflictError("The built-in provider cannot be replaced. Pass a provider as the option provider instead", { provider: provider.id });
  if (registered.has(provider.id) && registered.get(provider.id) !== provider) {
    throw new ProviderConflictError(`There is a provider ${provider.id} already. Unregister it first`, { provider: provider.id });
  }
  registered.set(provider.id, provider);
  return provider;
}

/** Forgets a registered provider; whether there was one. */
export function unregisterProvider(id) {
  return registered.delete(providerId(id));
}

export function findProvider(value) {
  const id = providerId(value);
  if (id === DEFAULT_PROVIDER) return builtinProvider();
  const provider = registered.get(id);
  if (provider) return provider;
  const near = [DEFAULT_PROVIDER, ...registered.keys()].find((known) => isNear(known, id));
  const hint = near ? ` Did you mean ${near}?` : "";
  throw new ProviderNotFoundError(`There is no provider ${id}. Register it with registerProvider, or pass it as an object.${hint}`, { provider: id });
}

/** The built-in provider first, the others by id. */
export function listProviders() {
  const row = ({ id, name, nameZh, version, kind, features }, trust) => ({ id, name, name_zh: nameZh, version, kind, trust, features: [...features].sort() });
  const others = [...registered.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  return [row(builtinProvider(), "builtin"), ...others.map((provider) => row(provider, "local"))];
}

function builtinProvider() {
  builtin ??= express();
  return builtin;
}

/** Whether most of the pairs of letters of two names are the same. */
function isNear(a, b) {
  const pairs = (name) => new Set(Array.from(name).slice(1).map((_, at) => name.slice(at, at + 2)));
  const [left, right] = [pairs(a), pairs(b)];
  const common = [...left].filter((pair) => right.has(pair)).length;
  return (2 * common) / (left.size + right.size) >= 0.6;
}
