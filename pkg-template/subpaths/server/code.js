// Code that is run: in an interpreter of its own by the server, or in a context that keeps its variables by the sandbox's code
// interpreter. One never stands in for the other, and no shell for either.

import { UnsupportedError } from "#package";
import { callback, isObject, oneOf, optional, options, text, wrong } from "./check.js";

const MODES = ["stateless", "default-context"];

export class ServerCode {
  #devTools;
  #sandbox;

  /** `sandbox` is undefined for a server that is known by its address alone. */
  constructor(devTools, sandbox) {
    this.#devTools = devTools;
    this.#sandbox = sandbox;
  }

  async run(code, given) {
    const owner = "code.run";
    const opts = options(given, owner);
    const mode = optional(oneOf, opts.mode, `Option mode of ${owner}`, MODES) ?? "stateless";
    const contextId = optional(text, opts.contextId, `Option contextId of ${owner}`);
    const [onStdout, onStderr] = ["onStdout", "onStderr"].map((name) => callback(opts[name], `Option ${name} of ${owner}`));
    if (contextId !== undefined && opts.mode !== undefined && mode !== "stateless") throw wrong(`Options mode and contextId of ${owner} exclude each other`);
    const { language, timeoutMs, signal, requestTimeoutMs } = opts;
    if (contextId === undefined && mode === "stateless") {
      if (opts.envs !== undefined) throw wrong(`Option envs of ${owner} is for contexts: the server's interpreters have its own environment. Use system.setEnv`);
      const { stdout, stderr, exitCode, executionTimeMs } = await this.#devTools.runCode(code, { language, timeoutMs, signal, requestTimeoutMs });
      // The server tells all of it at the end.
      if (stdout !== "") await onStdout?.(stdout);
      if (stderr !== "") await onStderr?.(stderr);
      return { text: stdout.trim(), stdout, stderr, exitCode, executionTimeMs, results: [], error: undefined };
    }
    const sandbox = this.#needsSandbox(owner);
    const started = Date.now();
    const execution = await sandbox.runCode(text(code, `code of ${owner}`), {
      ...(contextId === undefined ? { language } : { context: contextId }),
      envs: opts.envs,
      timeoutMs,
      signal,
      requestTimeoutMs,
      onStdout: onStdout && ((message) => onStdout(lineOf(message))),
      onStderr: onStderr && ((message) => onStderr(lineOf(message))),
    });
    const { logs, results, error } = execution;
    const stdout = logs.stdout.join("");
    const main = execution.text ?? stdout.trim();
    return { text: main, stdout, stderr: logs.stderr.join(""), exitCode: error ? 1 : 0, executionTimeMs: Date.now() - started, results, error };
  }

  async createContext(given) {
    return this.#needsSandbox("code.createContext").createCodeContext(given);
  }

  async listContexts(given) {
    return this.#needsSandbox("code.listContexts").listCodeContexts(given);
  }

  async restartContext(id, given) {
    return this.#needsSandbox("code.restartContext").restartCodeContext(text(id, "id of code.restartContext"), given);
  }

  async removeContext(id, given) {
    return this.#needsSandbox("code.removeContext").removeCodeContext(text(id, "id of code.removeContext"), given);
  }

  #needsSandbox(owner) {
    if (this.#sandbox !== undefined) return this.#sandbox;
    throw new UnsupportedError(`${owner} needs the code interpreter of a sandbox, because the server has no contexts: make the client with new ServerClient(sandbox)`, {
      code: "needs_sandbox",
    });
  }
}

function lineOf(message) {
  return isObject(message) ? message.line : String(message);
}
