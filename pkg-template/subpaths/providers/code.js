// `sandbox.code`: running code, stateless or in contexts, where the provider declares it. No way of running falls back to another.

import { callback, optionsOf, seconds, signalOf, text, textOr, texts } from "./checks.js";
import { callOf } from "./commands.js";
import { invalid } from "./errors.js";
import { requireOperations } from "./gates.js";

const MODES = ["stateless", "default-context"];

export class ProviderCode {
  #provider;
  #code;

  constructor(provider, code) {
    this.#provider = provider;
    this.#code = code;
  }

  async run(code, opts) {
    const owner = "code.run";
    const given = optionsOf(opts, owner);
    const { contextId, mode = "stateless" } = given;
    if (!MODES.includes(mode)) throw invalid('Option mode of code.run must be "stateless" or "default-context"');
    if (contextId !== undefined && (typeof contextId !== "string" || contextId === "")) throw invalid("Option contextId of code.run must be a text that is not empty");
    if (contextId !== undefined && mode !== "stateless") throw invalid("Options contextId and mode of code.run exclude each other: leave mode out");
    const callbacks = {};
    for (const name of ["onStdout", "onStderr", "onResult"]) callbacks[name] = callback(given[name], name, owner);
    const needed = [operationOf(contextId, mode)];
    if (Object.values(callbacks).some(Boolean)) needed.push("code.stream");
    requireOperations(this.#provider, needed, owner);
    const request = {
      code: text(code, "code", owner),
      language: textOr(given.language, "python", "language", owner),
      timeout: seconds(given.timeout, 30, "timeout", owner),
      mode,
      contextId,
      envs: given.envs === undefined ? undefined : texts(given.envs, "envs", owner),
      ...callbacks,
    };
    return this.#code.run(request, { signal: signalOf(given.signal, owner) });
  }

  async createContext(opts) {
    const { language } = optionsOf(opts, "code.createContext");
    return this.#code.createContext(textOr(language, "python", "language", "code.createContext"), callOf(opts, "code.createContext"));
  }

  async listContexts(opts) {
    return this.#code.listContexts(callOf(opts, "code.listContexts"));
  }

  /** Answers the context where the provider does. */
  async restartContext(id, opts) {
    return this.#code.restartContext(text(id, "id", "code.restartContext"), callOf(opts, "code.restartContext"));
  }

  async removeContext(id, opts) {
    await this.#code.removeContext(text(id, "id", "code.removeContext"), callOf(opts, "code.removeContext"));
  }
}

function operationOf(contextId, mode) {
  if (contextId !== undefined) return "code.context.execute";
  return mode === "default-context" ? "code.default-context.execute" : "code.execute";
}
