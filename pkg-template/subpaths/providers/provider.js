// Providers as objects: what one must say about itself, checked when it is first used, and told to others without secrets. Pure.

import { isObject } from "./checks.js";
import { ProviderConfigError } from "./errors.js";
import { ownProviderId } from "./reference.js";
import { FEATURES, OPERATIONS, OPERATION_CONTRACT_VERSION } from "./vocabulary.js";

/** Those that were made here, and so are complete. */
const complete = new WeakSet();

export function isProvider(value) {
  return complete.has(value);
}

const FIELD_TYPES = ["str", "url", "int", "float", "bool", "enum", "path", "csv"];
const INPUTS = ["source", "image", "managed", "service"];
const STARTUPS = ["exec", "entrypoint", "none"];

/** A provider with everything that it leaves out. `open` makes its back end; see `Provider` in the types. */
export function defineProvider(given, { builtin = false } = {}) {
  if (!isObject(given)) throw new ProviderConfigError("A provider must be an object with id, features, operations and open");
  const id = builtin ? given.id : ownProviderId(given.id);
  const wrong = (message) => new ProviderConfigError(`The provider ${id}: ${message}`, { provider: id });
  const listed = (name, allowed) => {
    const list = given[name] ?? [];
    if (!Array.isArray(list) || new Set(list).size !== list.length) throw wrong(`${name} must be a list without repetitions`);
    const unknown = list.find((one) => !allowed.includes(one));
    if (unknown !== undefined) throw wrong(`${name} has ${JSON.stringify(unknown)}, which does not exist`);
    return Object.freeze([...list]);
  };
  if (typeof given.open !== "function") throw wrong("open must be a function that answers its back end");
  const configFields = fieldsOf(given.configFields ?? [], wrong);
  const provider = Object.freeze({
    id,
    name: given.name ?? id,
    nameZh: given.nameZh ?? "",
    version: given.version ?? "",
    kind: given.kind ?? "custom",
    features: listed("features", FEATURES),
    operations: listed("operations", OPERATIONS),
    workflowInputs: listed("workflowInputs", INPUTS),
    startupModes: listed("startupModes", STARTUPS),
    createOptions: listed("createOptions", ["volume_mounts"]),
    inherit: listed("inherit", ["sandbox_api_key", "sandbox_base_url", "sandbox_domain"]),
    authAnyOf: given.authAnyOf ?? [],
    configFields,
    open: (config) => given.open(config),
  });
  complete.add(provider);
  return provider;
}

function fieldsOf(given, wrong) {
  if (!Array.isArray(given)) throw wrong("configFields must be a list");
  for (const field of given) {
    if (!isObject(field) || !/^[a-z][a-z0-9_]*$/.test(field.key)) throw wrong("the key of a field must be lower-case letters, digits and underscores");
    if (field.type !== undefined && !FIELD_TYPES.includes(field.type)) throw wrong(`the type of ${field.key} must be one of ${FIELD_TYPES.join(", ")}`);
    if (field.secret && field.default !== undefined) throw wrong(`the secret field ${field.key} must not have a default`);
    if (field.type === "enum" && !(Array.isArray(field.choices) && field.choices.length > 0)) throw wrong(`${field.key} needs choices`);
  }
  return Object.freeze(given.map((field) => Object.freeze({ type: "str", ...field })));
}

/** What a provider declares, as plain data. */
export function describeProvider(provider) {
  const { id, name, nameZh, version, kind, features, operations, workflowInputs, startupModes, inherit } = provider;
  return {
    id,
    name,
    name_zh: nameZh,
    version,
    kind,
    features: [...features].sort(),
    operation_contract_version: OPERATION_CONTRACT_VERSION,
    operations: { cli: [], python: [...operations].sort() },
    workflow_inputs: [...workflowInputs],
    startup_modes: [...startupModes],
    extensions: [],
    config_fields: provider.configFields.map((field) => ({
      key: field.key,
      type: field.type,
      secret: field.secret === true,
      credential: field.credential === true,
      required: field.required === true,
      default: field.default ?? null,
      env: field.env ?? [],
      aliases: [],
      description: field.description ?? "",
      description_zh: field.descriptionZh ?? "",
    })),
    inherit: [...inherit],
  };
}
