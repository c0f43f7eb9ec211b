// What a provider is configured with: options of the call, the environment, defaults; checked before any request. Reads the
// environment where the runtime has one and nothing else is given.

import { isObject, textOr } from "./checks.js";
import { InvalidCredentialsError, ProviderConfigError } from "./errors.js";

/** The endpoint options that every call takes, which reach only providers that inherit them. */
export const GENERIC = { sandbox_api_key: "sandboxApiKey", sandbox_base_url: "sandboxBaseUrl", sandbox_domain: "sandboxDomain" };

const TYPES = {
  str: (value) => typeof value === "string",
  path: (value) => typeof value === "string",
  url: (value) => typeof value === "string" && /^https?:\/\/[^\s]+$/.test(value),
  int: (value) => Number.isInteger(value),
  float: (value) => typeof value === "number" && Number.isFinite(value),
  bool: (value) => typeof value === "boolean",
  enum: (value) => typeof value === "string",
  csv: (value) => typeof value === "string" || (Array.isArray(value) && value.every((one) => typeof one === "string")),
};

/** The value of a variable, of the given map or of the runtime. */
export function variable(env, name) {
  try {
    const value = env === undefined ? globalThis.process?.env?.[name] : env[name];
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    // Deno throws when the program was not granted access to this variable.
    return undefined;
  }
}

/** Options of the built-in provider that have names of their own. */
const NAMED = { access_key_id: "accessKeyId", access_key_secret: "accessKeySecret", region: "region" };

/** The options of one provider, with its own fields in `fields` and the generic ones that it inherits in `generic`. */
export function configOf(provider, options, owner) {
  const { env, providerOptions } = options;
  if (env !== undefined && !isObject(env)) throw new ProviderConfigError(`Option env of ${owner} must be an object with the variables of the environment`);
  if (providerOptions !== undefined && !isObject(providerOptions)) throw new ProviderConfigError(`Option providerOptions of ${owner} must be an object`);
  const known = provider.configFields ?? [];
  const named = Object.entries(NAMED).filter(([key, name]) => options[name] !== undefined && known.some((field) => field.key === key));
  const given = { ...Object.fromEntries(named.map(([key, name]) => [key, options[name]])), ...providerOptions };
  for (const name of Object.keys(given)) {
    if (known.some(({ key }) => key === name)) continue;
    const names = known.map(({ key }) => key).join(", ") || "none";
    throw new ProviderConfigError(`The provider ${provider.id} has no option ${name}. It has: ${names}`, { provider: provider.id });
  }
  const generic = {};
  for (const [key, name] of Object.entries(GENERIC)) {
    const value = textOr(options[name], undefined, name, owner) || (inherits(provider, key) ? variable(env, `ABX_${key.toUpperCase()}`) : undefined);
    if (value !== undefined && inherits(provider, key)) generic[name] = value;
  }
  const fields = {};
  for (const field of known) {
    const value = given[field.key] ?? fromEnvironment(provider, field, env) ?? field.default;
    if (value !== undefined && value !== null && value !== "") fields[field.key] = checked(provider, field, value);
    else if (field.required) throw missing(provider, field);
  }
  const present = (key) => fields[key] !== undefined || generic[GENERIC[key]] !== undefined;
  const groups = provider.authAnyOf ?? [];
  if (groups.length > 0 && !groups.some((group) => group.every(present))) {
    const wanted = groups.map((group) => group.join(" and ")).join(", or ");
    throw new InvalidCredentialsError(`The provider ${provider.id} needs ${wanted} among its options`, { provider: provider.id });
  }
  return { fields, generic, env };
}

function inherits(provider, key) {
  return (provider.inherit ?? []).includes(key);
}

/** Other fields than texts are written out in an environment. */
function fromEnvironment(provider, field, env) {
  const own = `ABX_${provider.id}_${field.key}`.toUpperCase().replaceAll("-", "_");
  for (const name of [own, ...(field.env ?? [])]) {
    const value = variable(env, name);
    if (value === undefined) continue;
    if (field.type === "int" || field.type === "float") return Number(value);
    if (field.type === "bool") return value.toLowerCase() === "true" || value === "1";
    return value;
  }
  return undefined;
}

function checked(provider, field, value) {
  const type = field.type ?? "str";
  const fits = TYPES[type]?.(value) && (type !== "enum" || field.choices?.includes(value));
  if (fits) return value;
  const wanted = type === "enum" ? `one of ${(field.choices ?? []).join(", ")}` : `of type ${type}`;
  throw new ProviderConfigError(`The option ${field.key} of the provider ${provider.id} must be ${wanted}`, { provider: provider.id });
}

function missing(provider, field) {
  const message = `The provider ${provider.id} needs its option ${field.key}: pass providerOptions: { ${field.key}: … }`;
  return field.credential
    ? new InvalidCredentialsError(message, { provider: provider.id })
    : new ProviderConfigError(message, { provider: provider.id });
}
