// Management operations: what a provider does with resources of an account (volumes, images), not inside of a sandbox. Each is
// one request to an engine, sent once, and whatever changes something must be confirmed with a boolean.

import { optionsOf, signalOf, seconds, isObject } from "./checks.js";
import { configOf } from "./config.js";
import { connectionOf } from "./engine.js";
import { EngineClient } from "./engine-client.js";
import { ProviderConfigError, ProviderMismatchError, ProviderProtocolError } from "./errors.js";
import { endpointsOf } from "./express.js";
import { route } from "./http.js";
import { providerId } from "./reference.js";
import { DEFAULT_PROVIDER, providerOf } from "./registry.js";

const COMMAND = /^[a-z][a-z0-9]*(?:[.-][a-z0-9]+)*$/;
const EFFECTS = ["read", "write", "delete"];

/** An engine whose management operations are asked for. */
export class ProviderEngine {
  #client;

  constructor(engine) {
    this.#client = new EngineClient(engine, "ProviderEngine");
  }

  /** That the engine has the provider, and that it can be used with the given options. Sent once. */
  async initialize(provider, opts) {
    const { id, ...call } = callOf(provider, opts, "initialize");
    const answer = await this.#client.json("POST", route("v1", "providers", id, "initialize"), {
      connection: connectionFor(provider, opts, "initialize"),
      what: "initializing a provider",
      once: true,
      provider: id,
      timeout: 30,
      ...call,
    });
    if (answer?.initialized !== true || answer.provider !== id) throw new ProviderProtocolError("The engine did not say that the provider is initialized", { provider: id });
  }

  /** The operations of a provider. No credentials are sent. */
  async listCommands(provider, opts) {
    const { id, ...call } = callOf(provider, opts, "listCommands");
    const answer = await this.#client.json("GET", route("v1", "providers", id, "commands"), { connection: { provider: id }, what: "listing management operations", provider: id, ...call });
    if (!Array.isArray(answer?.commands)) throw new ProviderProtocolError("The engine answered without a list of operations", { provider: id });
    return answer.commands.map((descriptor) => this.#know(id, descriptor));
  }

  async getCommand(provider, commandId, opts) {
    const { id, ...call } = callOf(provider, opts, "getCommand");
    const name = commandName(commandId);
    const descriptor = await this.#client.json("GET", route("v1", "providers", id, "commands", name), { connection: { provider: id }, what: "reading a management operation", provider: id, ...call });
    if (descriptor?.id !== name) throw new ProviderProtocolError("The engine answered about another operation", { provider: id });
    return this.#know(id, descriptor);
  }

  /**
   * Carries an operation out, once: nothing is sent again, and a lost connection is an unknown outcome (E8020). `confirm` must be a
   * boolean, and true for what writes or deletes.
   */
  async runCommand(provider, commandId, opts) {
    const given = optionsOf(opts, "runCommand");
    const { id, ...call } = callOf(provider, given, "runCommand");
    const name = commandName(commandId);
    const { input = {}, confirm = false } = given;
    const wrong = (message) => new ProviderConfigError(message, { provider: id });
    if (!isObject(input)) throw wrong("Option input of runCommand must be an object");
    if (typeof confirm !== "boolean") throw wrong("Option confirm of runCommand must be true or false: nothing else confirms an operation");
    const effect = this.#client.descriptors.get(`${id} ${name}`)?.effect;
    if (!confirm && (effect === "write" || effect === "delete")) throw wrong(`The operation ${name} changes something (${effect}). Pass confirm: true if that is meant`);
    let body;
    try {
      body = JSON.parse(JSON.stringify({ input, confirm }));
    } catch {
      throw wrong("Option input of runCommand must be plain data");
    }
    return this.#client.json("POST", route("v1", "providers", id, "commands", name), {
      connection: connectionFor(provider, given, "runCommand"),
      body,
      what: `the operation ${name}`,
      once: true,
      provider: id,
      ...call,
    });
  }

  #know(id, descriptor) {
    if (!isObject(descriptor) || !COMMAND.test(descriptor.id)) throw new ProviderProtocolError("The engine described an operation without an id", { provider: id });
    // An effect that is not known counts as one that changes something.
    const effect = EFFECTS.includes(descriptor.effect) ? descriptor.effect : "write";
    this.#client.descriptors.set(`${id} ${descriptor.id}`, { effect });
    return descriptor;
  }
}

function commandName(value) {
  if (typeof value === "string" && value.length <= 80 && COMMAND.test(value)) return value;
  throw new ProviderConfigError("The id of an operation must be words of lower-case letters and digits with dots or dashes between them, such as volumes.list");
}

function callOf(provider, opts, owner) {
  const { signal, timeout } = optionsOf(opts, owner);
  const id = providerId(typeof provider === "string" ? provider : provider?.id);
  return { id, signal: signalOf(signal, owner), timeout: seconds(timeout, 60, "timeout", owner) };
}

/** The account, as the engine is told. */
function connectionFor(given, opts, owner) {
  const provider = providerOf(given);
  const id = typeof given === "string" ? given : given.id;
  if (provider.id !== id) throw new ProviderMismatchError(`The provider ${id} is another one: ${provider.id}`, { provider: id });
  const config = configOf(provider, optionsOf(opts, owner), owner);
  const connection = connectionOf(provider.id, config);
  if (provider.id !== DEFAULT_PROVIDER) return connection;
  const { region, baseUrl, domain } = endpointsOf(config);
  const { access_key_id, access_key_secret } = config.fields;
  return { ...connection, api_url: baseUrl, domain, region, access_key_id, access_key_secret };
}
