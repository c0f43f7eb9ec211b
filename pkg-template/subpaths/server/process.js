// Programs on the server: those that somebody waits for, with output as it comes, and those in the background.

import { NotFoundError, SandboxError, TimeoutError } from "#package";
import { bytesOf, toBase64 } from "./base64.js";
import { defined, queryOf } from "./calls.js";
import { callback, flag, kind, milliseconds, optional, options, path as checkPath, stringMap, whole, wrong } from "./check.js";
import { lineOf } from "./command-line.js";
import { PayloadTooLargeError, ServerError, failure } from "./errors.js";
import { cut, once } from "./events.js";
import { camelKeys, time } from "./json.js";
import { ServerProcess } from "./process-handle.js";
import { COMMAND_MS, seconds, withReserve } from "./times.js";

/** Signals that the server delivers. */
const SIGNALS = { SIGINT: 2, SIGKILL: 9, SIGTERM: 15, SIGCONT: 18, SIGTSTP: 20 };

/** The longest that the server holds a question for output, in ms. */
const LONGEST_POLL_MS = 30_000;

export class ServerProcesses {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  /** Runs a command and waits for it. All of its output comes at the end. */
  async shell(command, given) {
    const owner = "process.shell";
    const { json, opts, timeoutMs } = readCommand(command, given, owner);
    const { stdout, stderr, exit_code, truncated, ...rest } = await this.#calls.ask("shell", "POST", "/shell", { owner, opts, json, timeoutMs: withReserve(timeoutMs) });
    return { ...camelKeys(rest), stdout, stderr, exitCode: exit_code, truncated: truncated === true };
  }

  /** The events of a command as they come: `stdout` and `stderr` line by line, and `exit` as the last. */
  stream(command, given) {
    const owner = "process.stream";
    const { json, opts, timeoutMs } = readCommand(command, given, owner);
    return events(this.#calls, this.#calls.clock(owner, opts, withReserve(timeoutMs)), json);
  }

  /** Runs a command, tells its output as it comes, and answers all of it. */
  async run(command, given) {
    const owner = "process.run";
    const opts = options(given, owner);
    const tell = { stdout: callback(opts.onStdout, `Option onStdout of ${owner}`), stderr: callback(opts.onStderr, `Option onStderr of ${owner}`) };
    const { json, timeoutMs } = readCommand(command, opts, owner);
    const parts = { stdout: [], stderr: [] };
    const output = () => ({ stdout: parts.stdout.join(""), stderr: parts.stderr.join("") });
    try {
      for await (const event of events(this.#calls, this.#calls.clock(owner, opts, withReserve(timeoutMs)), json)) {
        if (event.type === "exit") return { ...output(), exitCode: event.exitCode, truncated: false };
        // The server sends lines without their ends, and does not say whether the last one had any.
        const line = `${event.data}\n`;
        parts[event.type].push(line);
        await tell[event.type]?.(line);
      }
      throw cut();
    } catch (error) {
      // What callers abort with or throw is theirs.
      if (error instanceof SandboxError) Object.assign(error, output());
      throw error;
    }
  }

  /** Starts a command in the background, and answers a handle for it. It has no time limit. */
  async start(command, given) {
    const owner = "process.start";
    const opts = options(given, owner);
    const captureOutput = flag(opts.captureOutput, `Option captureOutput of ${owner}`) ?? false;
    const stdin = flag(opts.stdin, `Option stdin of ${owner}`) ?? false;
    const { json } = readCommand(command, { ...opts, timeoutMs: undefined }, owner);
    const body = { ...json, ...(captureOutput ? { capture_output: true } : {}), ...(stdin ? { stdin: true } : {}) };
    const { pid, command: line } = await this.#calls.ask("process_start", "POST", "/process/start", { owner, opts, json: body });
    return new ServerProcess(this, { pid, command: String(line ?? json.command) });
  }

  async list(opts) {
    const { processes } = await this.#calls.ask("process_list", "GET", "/process/list", { owner: "process.list", opts });
    return (processes ?? []).map(infoOf);
  }

  async get(pid, opts) {
    return infoOf(await this.#ask("process_detail", pid, "", { owner: "process.get", opts }));
  }

  async signal(pid, signal = "SIGTERM", opts = undefined) {
    const owner = "process.signal";
    const number = typeof signal === "string" && Object.hasOwn(SIGNALS, signal) ? SIGNALS[signal] : signal;
    if (!Number.isInteger(number)) throw wrong(`signal of ${owner} must be a number or one of ${Object.keys(SIGNALS).join(", ")}, not ${kind(signal)}`);
    return camelKeys(await this.#calls.ask("process_signal", "POST", `/process/${pidOf(pid, owner)}/signal`, { owner, opts, json: { signal: number } }));
  }

  kill(pid, opts) {
    return this.signal(pid, "SIGKILL", opts);
  }

  terminate(pid, opts) {
    return this.signal(pid, "SIGTERM", opts);
  }

  async sendStdin(pid, data, given) {
    const owner = "process.sendStdin";
    const opts = options(given, owner);
    const eof = flag(opts.eof, `Option eof of ${owner}`) ?? false;
    const content = typeof data === "string" ? { data } : { data_base64: toBase64(await bytesOf(data, `data of ${owner}`)) };
    return this.#stdin(pid, owner, opts, { ...content, ...(eof ? { eof: true } : {}) });
  }

  closeStdin(pid, opts) {
    return this.#stdin(pid, "process.closeStdin", opts, { data: "", eof: true });
  }

  /** What a process has written since the event `since`; waits up to `waitMs` for something new. */
  async output(pid, given) {
    const owner = "process.output";
    const opts = options(given, owner);
    const since = optional(whole, opts.since, `Option since of ${owner}`, 0) ?? 0;
    const waitMs = opts.waitMs === 0 ? 0 : (optional(milliseconds, opts.waitMs, `Option waitMs of ${owner}`) ?? 0);
    const query = queryOf({ since, wait: seconds(Math.min(waitMs, LONGEST_POLL_MS)) });
    const timeoutMs = withReserve(waitMs) + this.#calls.requestTimeoutMs;
    const answer = await this.#ask("process_output", pid, "/output", { owner, opts, query, timeoutMs });
    return { ...camelKeys(answer), events: answer.events ?? [], exitCode: answer.exit_code ?? undefined };
  }

  /** The output of a process that was started with `captureOutput`, as it comes, until it has ended. */
  async *follow(pid, given) {
    const owner = "process.follow";
    const opts = options(given, owner);
    let since = optional(whole, opts.since, `Option since of ${owner}`, 0) ?? 0;
    const waitMs = optional(milliseconds, opts.pollMs, `Option pollMs of ${owner}`) ?? 5_000;
    for (;;) {
      const { events: found, next, state, dropped, exitCode } = await this.output(pid, { signal: opts.signal, since, waitMs });
      for (const { seq, stream, data } of found) yield { type: stream, data, seq, dropped: dropped === true };
      since = next;
      if (state !== "running" && found.length === 0) return exitCode;
    }
  }

  /** Waits until a process has ended, and answers its exit code. */
  async wait(pid, given) {
    const owner = "process.wait";
    const opts = options(given, owner);
    const pollMs = optional(milliseconds, opts.pollMs, `Option pollMs of ${owner}`) ?? 500;
    const timeoutMs = optional(milliseconds, opts.timeoutMs, `Option timeoutMs of ${owner}`);
    const clock = this.#calls.clock(owner, { signal: opts.signal, requestTimeoutMs: 0 });
    const end = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
    try {
      for (;;) {
        const { state, exitCode } = await this.get(pid, { signal: clock.signal });
        if (state !== "running") return exitCode ?? 0;
        const left = end - Date.now();
        if (left <= 0) throw new TimeoutError(`Process ${pid} had not ended after ${timeoutMs} ms. It goes on`, { code: "command_timeout" });
        await clock.sleep(Math.min(pollMs, left));
      }
    } finally {
      clock.end();
    }
  }

  async #ask(endpoint, pid, path, request) {
    try {
      return await this.#calls.ask(endpoint, "GET", `/process/${pidOf(pid, request.owner)}${path}`, request);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      const message = `There is no process ${pid}. The server forgets those that have ended as soon as processes are listed or another one is started: ask for output and exit code before`;
      throw failure(NotFoundError, "process_not_found", message, error.server);
    }
  }

  async #stdin(pid, owner, opts, json) {
    return camelKeys(await this.#calls.ask("process_stdin", "POST", `/process/${pidOf(pid, owner)}/stdin`, { owner, opts, json }));
  }
}

/** What commands have in common. */
function readCommand(command, given, owner) {
  const opts = options(given, owner);
  const timeoutMs = optional(milliseconds, opts.timeoutMs, `Option timeoutMs of ${owner}`);
  const json = defined({
    command: lineOf(command, opts, owner),
    cwd: optional(checkPath, opts.cwd, `Option cwd of ${owner}`),
    env: optional(stringMap, opts.env, `Option env of ${owner}`),
    timeout: seconds(timeoutMs),
  });
  return { json, opts, timeoutMs: timeoutMs ?? COMMAND_MS };
}

async function* events(calls, clock, json) {
  let problem;
  const isEnd = ({ event, data }) => {
    if (event !== "error") return event === "exit";
    problem = data.error;
    // A program that could not be started has no exit.
    return problem !== "timeout" && problem !== "output_limit";
  };
  for await (const { event, data } of once(calls, clock, "shell_stream", "POST", "/shell/stream", { json }, isEnd)) {
    if (event === "stdout" || event === "stderr") yield { type: event, data: String(data.data ?? "") };
    if (event === "exit" && problem === undefined) yield { type: "exit", exitCode: data.exit_code };
  }
  if (problem !== undefined) throw streamProblem(String(problem));
}

function streamProblem(problem) {
  const facts = { endpoint: "shell_stream", text: problem };
  if (problem === "timeout") return failure(TimeoutError, "command_timeout", "The command took longer than its timeoutMs and was killed. What it has started itself may go on", facts);
  if (problem === "output_limit") return failure(PayloadTooLargeError, "output_limit", "The command wrote more than the server's policy allows, and was killed", facts);
  return failure(ServerError, "command_not_started", `The command could not be started: ${problem.slice(0, 500)}`, facts);
}

function infoOf({ pid, command, state, started_at, exit_code, ...rest }) {
  return { ...camelKeys(rest), pid, command, state, startedAt: time(started_at), exitCode: exit_code ?? undefined };
}

function pidOf(pid, owner) {
  return whole(pid, `pid of ${owner}`, 0, 2 ** 31 - 1);
}
