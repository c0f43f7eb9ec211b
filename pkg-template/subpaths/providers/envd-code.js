// Code in a sandbox that has a code interpreter, over the package's own `Sandbox`: for providers that declare operations of code.
// Each way of running is exactly one of them; none falls back to another.

import { ProviderResourceNotFoundError } from "./errors.js";
import { translated } from "./translate.js";

/** How long ending the context of a stateless run may take, in ms. */
const REMOVE_MS = 10_000;

export class EnvdCode {
  #sandbox;
  #provider;

  constructor(sandbox, provider) {
    this.#sandbox = sandbox;
    this.#provider = provider;
  }

  #about(what, changes) {
    return { provider: this.#provider, kind: "code", what, changes };
  }

  /** Runs code in the named context, in the default one of the language, or in one of its own that nobody else sees. */
  async run({ code, language, contextId, mode, timeout, envs, onStdout, onStderr, onResult }, call = {}) {
    const began = Date.now();
    const options = {
      envs,
      timeoutMs: Math.ceil(timeout * 1000),
      signal: call.signal,
      onStdout: onStdout && (({ line }) => onStdout(line)),
      onStderr: onStderr && (({ line }) => onStderr(line)),
      onResult,
    };
    const about = this.#about("running code", true);
    const run = (place) => translated(this.#sandbox.runCode(code, { ...options, ...place }), about);
    let execution;
    if (contextId !== undefined) execution = await this.#inContext(run({ context: contextId }));
    else if (mode === "default-context") execution = await run({ language });
    else execution = await this.#alone(language, call, run);
    return resultOf(execution, (Date.now() - began) / 1000);
  }

  async #alone(language, call, run) {
    const context = await this.createContext(language, call);
    // What remains of it ends with the sandbox at the latest.
    const remove = () => this.#sandbox.removeCodeContext(context.id, { requestTimeoutMs: REMOVE_MS }).catch(() => {});
    try {
      return await run({ context: context.id });
    } finally {
      const removed = remove();
      // Who has called it off does not wait.
      if (!call.signal?.aborted) await removed;
    }
  }

  async createContext(language, call = {}) {
    const context = await translated(this.#sandbox.createCodeContext({ language, signal: call.signal }), this.#about("creating a context", true));
    return contextOf(context);
  }

  async listContexts(call = {}) {
    const contexts = await translated(this.#sandbox.listCodeContexts({ signal: call.signal }), this.#about("listing contexts"));
    return contexts.map(contextOf);
  }

  async restartContext(id, call = {}) {
    await this.#inContext(translated(this.#sandbox.restartCodeContext(id, { signal: call.signal }), this.#about("restarting a context", true)));
  }

  async removeContext(id, call = {}) {
    await this.#inContext(translated(this.#sandbox.removeCodeContext(id, { signal: call.signal }), this.#about("removing a context", true)));
  }

  async #inContext(promise) {
    try {
      return await promise;
    } catch (error) {
      if (error?.status !== 404) throw error;
      throw new ProviderResourceNotFoundError("There is no such context: it was removed, or belongs to another sandbox", { provider: this.#provider, status: 404, cause: error });
    }
  }
}

function contextOf({ id, language, cwd }) {
  return { id, language, cwd };
}

function resultOf({ text, results, logs, error }, executionTime) {
  const stdout = logs.stdout.join("");
  const stderr = logs.stderr.join("");
  const isFine = error === undefined;
  return { text: text ?? stdout.trim(), stdout, stderr, exitCode: isFine ? 0 : 1, outputFiles: [], executionTime, success: isFine, results, error };
}
