// The processes of a sandbox, over the package's own `Sandbox`: the process protocol of the built-in provider and of REST providers.

import { CommandTimeoutError, EnvdRpcError, invalid } from "./errors.js";
import { capital } from "./http.js";
import { Ending } from "./signals.js";
import { Handoff, StreamReader } from "./stream.js";
import { meaning, translated } from "./translate.js";

const SERVICE = "/process.Process/";
const SIGNALS = { 9: "SIGKILL", 15: "SIGTERM" };

/** How long ending a process whose time is over may take, in ms. */
const KILL_MS = 10_000;

/** By so much later than this side, the daemon ends a process by itself, in case this side is gone. In ms. */
const GRACE_MS = 5_000;

/** Whom the daemon runs programs as unless it is told. */
const DEFAULT_USER = "user";

export class EnvdProcess {
  #sandbox;
  #provider;

  constructor(sandbox, provider) {
    this.#sandbox = sandbox;
    this.#provider = provider;
  }

  #about(name, what, changes) {
    return { provider: this.#provider, kind: "process", rpc: SERVICE + name, what, changes };
  }

  /**
   * Starts a program and answers its output as soon as it runs. `timeout` in seconds ends it, undefined never. With `leave`, nobody
   * ends it whose signal fires or who leaves: it goes on in the background.
   */
  async start({ cmd, args, env, cwd, user, timeout, leave = false }, call = {}) {
    if (/[:\0\r\n]/.test(user ?? "")) throw invalid("user must not hold a colon, a line break or NUL");
    const about = this.#about("Start", "starting a command", true);
    const ending = new Ending(call.signal);
    const late = () => new CommandTimeoutError(`The command did not end within its timeout of ${timeout} s`, { provider: this.#provider });
    ending.after(timeout, late);
    // Output may come before there is a handle, and none of it is kept anywhere else.
    const output = new Handoff();
    let handle;
    try {
      handle = await this.#sandbox.commands.run([cmd, ...args], {
        background: true,
        check: false,
        stdin: false,
        user: user || DEFAULT_USER,
        maxOutput: 0,
        onStdout: (data) => output.put({ type: "stdout", data }),
        onStderr: (data) => output.put({ type: "stderr", data }),
        signal: ending.signal,
        ...(Object.keys(env).length > 0 && { envs: env }),
        ...(cwd && { cwd }),
        ...(timeout !== undefined && { timeoutMs: Math.ceil(timeout * 1000) + GRACE_MS }),
      });
    } catch (error) {
      ending.free();
      throw meaning(error, about);
    }
    const kill = () => handle.kill({ requestTimeoutMs: KILL_MS }).catch(() => false);
    // A signal that fires between two reads must end the program, too.
    const isEnded = () => !leave || ending.reason instanceof CommandTimeoutError;
    let killed;
    const stopped = () => (killed = isEnded() ? kill() : Promise.resolve());
    if (ending.isOver) stopped();
    else ending.signal.addEventListener("abort", stopped, { once: true });
    handle.wait().then(
      (value) => output.end({ value }),
      (error) => output.end({ error }),
    );
    const close = async () => {
      output.leave();
      ending.signal.removeEventListener("abort", stopped);
      ending.free();
      await handle.disconnect();
      if (!leave) await kill();
    };

    async function* chunks() {
      yield { type: "stdout", data: "", pid: handle.pid };
      try {
        let step = await output.take();
        for (; step.item; step = await output.take()) yield step.item;
        ending.signal.removeEventListener("abort", stopped);
        if (step.value) yield { type: "exit", data: "", exitCode: step.value.exitCode, pid: handle.pid };
      } catch (error) {
        // Who reads that the time is over also reads what became of the program.
        const isLate = ending.reason instanceof CommandTimeoutError && error === ending.reason;
        if (isLate) error.message += (await killed) ? ", and was killed" : ". It could not be killed, or ended just then: look at commands.list";
        throw meaning(error, { ...about, what: "a command" });
      } finally {
        ending.free();
      }
    }
    return new StreamReader(chunks(), close, { pid: handle.pid });
  }

  async list(call = {}) {
    const found = await translated(this.#sandbox.commands.list({ signal: call.signal }), this.#about("List", "listing processes"));
    return found.map(({ cmd, args, ...rest }) => ({ ...rest, args, command: [cmd, ...args].join(" "), status: "running" }));
  }

  async sendSignal(pid, signal, call = {}) {
    const killSignal = SIGNALS[signal];
    if (killSignal === undefined) throw invalid("signal of commands.sendSignal must be 9 or 15: no other one can be delivered");
    const about = this.#about("SendSignal", "sending a signal", true);
    const found = await translated(this.#sandbox.commands.kill(selector(pid), { killSignal, signal: call.signal }), about);
    if (!found) throw new EnvdRpcError(`${capital(about.what)} failed: process not found. It has ended, or never was`, { provider: this.#provider, rpcPath: about.rpc, status: 404 });
  }

  async sendInput(pid, data, call = {}) {
    const about = this.#about("SendInput", "writing to standard input", true);
    await translated(this.#sandbox.commands.sendStdin(selector(pid), data, { signal: call.signal }), about);
  }
}

/** A number, or a text of digits, is a pid; any other text is a tag. */
function selector(pid) {
  if (Number.isInteger(pid)) return pid;
  return /^\d+$/.test(pid) ? Number(pid) : { tag: pid };
}
