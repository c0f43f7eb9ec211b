// `sandbox.commands`: programs in the sandbox, whatever the provider.

import { callback, flag, optionsOf, seconds, signalOf, textOr, texts } from "./checks.js";
import { invalid } from "./errors.js";
import { requireOperations } from "./gates.js";
import { commandOf } from "./words.js";

/** How long a command in the foreground may run unless the caller says otherwise, in seconds. One in the background has no limit. */
const FOREGROUND_S = 60;

export class ProviderCommands {
  #provider;
  #process;

  constructor(provider, process) {
    this.#provider = provider;
    this.#process = process;
  }

  async run(cmd, opts) {
    const { background, onStdout, onStderr, ...given } = optionsOf(opts, "commands.run");
    if (flag(background, false, "background", "commands.run")) return this.#start(cmd, { ...given, onStdout, onStderr }, "commands.run");
    const callbacks = { stdout: callback(onStdout, "onStdout", "commands.run"), stderr: callback(onStderr, "onStderr", "commands.run") };
    const needed = callbacks.stdout || callbacks.stderr ? ["exec.run", "exec.stream"] : ["exec.run"];
    requireOperations(this.#provider, needed, "commands.run");
    const began = Date.now();
    const output = { stdout: [], stderr: [] };
    const { request, call } = read(cmd, given, FOREGROUND_S, "commands.run");
    const reader = await this.#process.start(request, call);
    let exit;
    try {
      for await (const chunk of reader) {
        if (chunk.type === "exit") exit = chunk;
        else if (chunk.data !== "" && output[chunk.type]) {
          output[chunk.type].push(chunk.data);
          await callbacks[chunk.type]?.(chunk.data);
        }
      }
    } catch (error) {
      // What had arrived belongs to the caller, also when the rest is lost.
      if (/^E\d{4}$/.test(error?.code)) Object.assign(error, { stdout: output.stdout.join(""), stderr: output.stderr.join("") });
      throw error;
    }
    const exitCode = exit?.exitCode ?? 0;
    return { stdout: output.stdout.join(""), stderr: output.stderr.join(""), exitCode, executionTime: (Date.now() - began) / 1000, success: exitCode === 0 };
  }

  /** Output as it comes; leaving the loop ends the command. */
  stream(cmd, opts) {
    const begin = () => this.#open(cmd, opts, "commands.stream", { leave: false, otherwise: FOREGROUND_S });
    let reader;
    return {
      async *[Symbol.asyncIterator]() {
        if (reader) throw invalid("The output of commands.stream can be read once");
        reader = begin();
        yield* await reader;
      },
    };
  }

  /** Starts a command that goes on by itself. */
  async start(cmd, opts) {
    return this.#start(cmd, optionsOf(opts, "commands.start"), "commands.start");
  }

  async #start(cmd, opts, owner) {
    const { onStdout, onStderr, ...given } = opts;
    const callbacks = { stdout: callback(onStdout, "onStdout", owner), stderr: callback(onStderr, "onStderr", owner) };
    const reader = await this.#open(cmd, given, owner, { leave: true });
    return callbacks.stdout || callbacks.stderr ? told(reader, callbacks) : reader;
  }

  async #open(cmd, opts, owner, { leave, otherwise }) {
    requireOperations(this.#provider, owner === "commands.run" ? ["exec.run", "exec.stream"] : ["exec.stream"], owner);
    const { request, call } = read(cmd, optionsOf(opts, owner), otherwise, owner);
    return this.#process.start({ ...request, leave }, call);
  }

  list(opts) {
    return this.#process.list(callOf(opts, "commands.list"));
  }

  async kill(pid, opts) {
    await this.#process.sendSignal(process(pid, "commands.kill"), 9, callOf(opts, "commands.kill"));
  }

  async sendSignal(pid, signal = 15, opts) {
    if (!Number.isInteger(signal) || signal < 1 || signal > 64) throw invalid("signal of commands.sendSignal must be the number of a signal");
    await this.#process.sendSignal(process(pid, "commands.sendSignal"), signal, callOf(opts, "commands.sendSignal"));
  }

  async sendInput(pid, data, opts) {
    if (typeof data !== "string" && !(data instanceof Uint8Array)) throw invalid("data of commands.sendInput must be a text or a Uint8Array");
    await this.#process.sendInput(process(pid, "commands.sendInput"), data, callOf(opts, "commands.sendInput"));
  }
}

function read(cmd, { shell, env, cwd, user, timeout, signal }, otherwise, owner) {
  const name = textOr(user, "", "user", owner);
  if (/[:\0\r\n]/.test(name)) throw invalid(`Option user of ${owner} must not hold a colon, a line break or NUL`);
  const command = commandOf(cmd, flag(shell, false, "shell", owner), owner);
  const request = { ...command, env: texts(env, "env", owner), cwd: textOr(cwd, "", "cwd", owner), user: name, timeout: seconds(timeout, otherwise, "timeout", owner) };
  return { request, call: { signal: signalOf(signal, owner) } };
}

/** The same reader, whose callbacks are told what is read. */
function told(reader, callbacks) {
  const next = reader[Symbol.asyncIterator]().next;
  const iterate = () => ({
    async next() {
      const step = await next();
      if (!step.done && step.value.data !== "") await callbacks[step.value.type]?.(step.value.data);
      return step;
    },
    return: async () => (await reader.close(), { done: true, value: undefined }),
    [Symbol.asyncIterator]() {
      return this;
    },
  });
  Object.defineProperty(reader, Symbol.asyncIterator, { value: iterate });
  return reader;
}

export function callOf(opts, owner) {
  return { signal: signalOf(optionsOf(opts, owner).signal, owner) };
}

/** A pid, or the tag of a process. */
function process(pid, owner) {
  if (Number.isInteger(pid) && pid > 0) return pid;
  if (typeof pid === "string" && pid !== "") return pid;
  throw invalid(`pid of ${owner} must be a whole number above 0, or a text`);
}
