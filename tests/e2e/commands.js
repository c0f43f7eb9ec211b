// Commands against the real server: output, input, exit codes, signals, limits.

import { assert, equal, eventually, rejects, rejectsWith, sleep, withTime } from "./assert.js";
import { withSandbox } from "./context.js";

export const cases = [
  {
    name: "commands: run answers output and exit code 0",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const result = await sandbox.commands.run("echo hello; echo oops >&2");
        equal(result, { exitCode: 0, stdout: "hello\n", stderr: "oops\n" });
      }),
  },
  {
    name: "commands: the same through JSON and through binary",
    async run(ctx) {
      for (const encoding of ["json", "proto", "auto"]) {
        await withSandbox(
          ctx,
          async (sandbox) => {
            const result = await sandbox.commands.run("printf 'h\\303\\251llo %s' \"$X\"", { envs: { X: "wörld" } });
            equal(result.stdout, "héllo wörld", encoding);
            equal((await sandbox.files.getInfo("/etc/hostname")).type, "file", encoding);
          },
          { encoding },
        );
      }
    },
  },
  {
    name: "commands: cwd, envs and user",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        equal((await sandbox.commands.run("pwd", { cwd: "/tmp" })).stdout, "/tmp\n");
        equal((await sandbox.commands.run("echo $A-$B", { envs: { A: "1", B: "zwei" } })).stdout, "1-zwei\n");
        equal((await sandbox.commands.run("whoami; pwd")).stdout, "user\n/home/user\n");
        equal((await sandbox.commands.run("whoami", { user: "root" })).stdout, "root\n");
      }),
  },
  {
    name: "commands: a non-zero exit is a CommandExitError with everything in it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const error = await rejects(sandbox.commands.run("echo out; echo err >&2; exit 3"), ctx.sdk.CommandExitError, "command_exit");
        equal([error.exitCode, error.stdout, error.stderr], [3, "out\n", "err\n"]);
        assert(error.message.includes("3") && error.message.includes("err"), error.message);
      }),
  },
  {
    name: "commands: a command that does not exist is exit code 127, not another error",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const error = await rejects(sandbox.commands.run("no-such-command-here"), ctx.sdk.CommandExitError);
        equal(error.exitCode, 127);
      }),
  },
  {
    name: "commands: a signal is reported",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const error = await rejects(sandbox.commands.run("kill -9 $$"), ctx.sdk.CommandExitError);
        equal([error.exitCode, error.signal], [-1, "SIGKILL"]);
      }),
  },
  {
    name: "commands: a missing cwd is an InvalidArgumentError that names it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const error = await rejects(sandbox.commands.run("true", { cwd: "/no/such/dir" }), ctx.sdk.InvalidArgumentError);
        assert(error.message.includes("/no/such/dir"), error.message);
      }),
  },
  {
    name: "commands: callbacks get every piece in order and are awaited",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const seen = [];
        let running = 0;
        const result = await sandbox.commands.run("for i in 1 2 3 4 5; do echo $i; echo e$i >&2; done", {
          async onStdout(text) {
            running += 1;
            equal(running, 1, "callbacks at once");
            await sleep(5);
            seen.push(text);
            running -= 1;
          },
          onStderr: () => {},
        });
        equal(seen.join(""), result.stdout);
        equal(result.stdout, "1\n2\n3\n4\n5\n");
        equal(result.stderr, "e1\ne2\ne3\ne4\ne5\n");
      }),
  },
  {
    name: "commands: a callback that throws ends the command and rejects with what it threw",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const reason = new Error("mine");
        const throwing = () => {
          throw reason;
        };
        await rejectsWith(sandbox.commands.run("echo x; sleep 60", { onStdout: throwing }), reason);
        await rejectsWith(sandbox.commands.run("echo x; sleep 60", { onStdout: () => Promise.reject(reason) }), reason);
        await eventually(async () => (await sandbox.commands.list()).length === 0, "the commands are killed");
      }),
  },
  {
    name: "commands: output arrives while the command runs",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        let first;
        const arrived = new Promise((resolve) => (first = resolve));
        const handle = await sandbox.commands.run("echo early; read line; echo got $line", {
          background: true,
          stdin: true,
          onStdout: first,
        });
        equal(await arrived, "early\n");
        equal(handle.exitCode, undefined, "exit code while running");
        await handle.sendStdin("input\n");
        equal((await handle.wait()).stdout, "early\ngot input\n");
        equal(handle.exitCode, 0);
      }),
  },
  {
    name: "commands: stdin takes bytes and end of file",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("od -An -tx1", { background: true, stdin: true });
        await handle.sendStdin(new Uint8Array([0, 255, 10]));
        await handle.closeStdin();
        equal((await handle.wait()).stdout.trim(), "00 ff 0a");
      }),
  },
  {
    name: "commands: stdin is closed unless asked for, and writing to it is a clear error",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        equal((await sandbox.commands.run("cat; echo done")).stdout, "done\n");
        const handle = await sandbox.commands.run("sleep 60", { background: true });
        const error = await rejects(handle.sendStdin("x"), ctx.sdk.SandboxError);
        assert(error.message.includes("stdin"), error.message);
        await handle.kill();
      }),
  },
  {
    name: "commands: list, connect and kill by pid",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("echo before; read x; echo after; exit 5", { background: true, stdin: true });
        const listed = (await sandbox.commands.list()).find((process) => process.pid === handle.pid);
        equal(listed?.args, ["-l", "-c", "echo before; read x; echo after; exit 5"]);

        const second = await sandbox.commands.connect(handle.pid);
        equal(second.pid, handle.pid);
        await sandbox.commands.sendStdin(handle.pid, "\n");
        const errors = await Promise.all([handle, second].map((h) => rejects(h.wait(), ctx.sdk.CommandExitError)));
        equal(errors.map((e) => [e.exitCode, e.stdout.endsWith("after\n")]), [[5, true], [5, true]]);

        const other = await sandbox.commands.run("sleep 60", { background: true });
        equal(await sandbox.commands.kill(other.pid), true);
        equal((await rejects(other.wait(), ctx.sdk.CommandExitError)).signal, "SIGKILL");
        equal(await sandbox.commands.kill(other.pid), false, "killing it again");
        await rejects(sandbox.commands.connect(999_999), ctx.sdk.NotFoundError, "not_found");
      }),
  },
  {
    name: "commands: disconnect leaves the process running and tells waiters so",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        let pieces = 0;
        const handle = await sandbox.commands.run("while true; do echo tick; sleep 0.05; done", {
          background: true,
          onStdout: () => void (pieces += 1),
        });
        await eventually(() => pieces > 0, "some output");
        const waiting = rejects(handle.wait(), ctx.sdk.SandboxError, "disconnected");
        await handle.disconnect();
        await waiting;
        const before = pieces;
        await sleep(200);
        equal(pieces, before, "pieces delivered after disconnect");
        assert((await sandbox.commands.list()).some((process) => process.pid === handle.pid), "still running");
        equal(await handle.kill(), true);
      }),
  },
  {
    name: "commands: timeoutMs kills the process and says so",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const limited = (timeoutMs) => rejects(sandbox.commands.run("echo started; sleep 60", { timeoutMs }), ctx.sdk.TimeoutError, "deadline_exceeded");
        // What it had written comes along.
        const error = await withTime(limited, ({ stdout }) => stdout === "started\n");
        assert(error.message.includes("timeoutMs"), error.message);
        await eventually(async () => (await sandbox.commands.list()).length === 0, "the process is gone");
      }),
  },
  {
    name: "abort: a running command is killed and rejects with the reason",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const reason = new Error("enough");
        const controller = new AbortController();
        const running = sandbox.commands.run("echo go; sleep 60", {
          signal: controller.signal,
          onStdout: () => controller.abort(reason),
        });
        await rejectsWith(running, reason);
        await eventually(async () => (await sandbox.commands.list()).length === 0, "the process is gone");
      }),
  },
  {
    name: "abort: at any moment, nothing is left and nothing hangs",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const reason = new Error("any moment");
        for (const delay of [0, 1, 2, 4, 8, 16, 32]) {
          const controller = new AbortController();
          const running = sandbox.commands.run("sleep 60", { signal: controller.signal });
          setTimeout(() => controller.abort(reason), delay);
          await rejectsWith(running, reason);
        }
        await eventually(async () => (await sandbox.commands.list()).length === 0, "all processes are gone");
      }),
  },
  {
    name: "commands: 100 MB of output arrive complete",
    timeoutMs: 180_000,
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        let length = 0;
        let sum = 0;
        const result = await sandbox.commands.run("head -c 100000000 /dev/zero | tr '\\0' 'a'; echo b", {
          timeoutMs: 0,
          onStdout(text) {
            length += text.length;
            sum += text.charCodeAt(text.length - 1);
          },
        });
        equal(length, 100_000_002, "characters through the callback");
        equal(result.stdout.length, 100_000_002, "characters in the result");
        equal(result.stdout.slice(-4), "aab\n");
        assert(sum > 0, "callbacks ran");
      }),
  },
  {
    name: "commands: binary output does not break anything",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const result = await sandbox.commands.run("head -c 1000000 /dev/urandom; echo; echo end");
        assert(result.stdout.endsWith("\nend\n"), "the end is there");
        assert(result.stdout.includes("\uFFFD"), "invalid bytes became U+FFFD");
      }),
  },
  {
    name: "commands: characters that are split over writes arrive whole",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const pieces = [];
        const command = "printf '\\360\\237'; sleep 0.2; printf '\\246\\200'; sleep 0.1; printf '\\303'";
        const result = await sandbox.commands.run(command, { onStdout: (text) => pieces.push(text) });
        equal(result.stdout, "🦀\uFFFD");
        equal(pieces.join(""), "🦀\uFFFD");
        assert(!pieces.includes(""), "no empty pieces");
      }),
  },
  {
    name: "commands: thirty at once keep their output apart",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const numbers = Array.from({ length: 30 }, (_, i) => i);
        const results = await Promise.all(numbers.map((i) => sandbox.commands.run(`seq ${i * 1000} ${i * 1000 + 999}`)));
        results.forEach((result, i) => {
          const lines = result.stdout.trimEnd().split("\n");
          equal([lines.length, lines[0], lines[999]], [1000, String(i * 1000), String(i * 1000 + 999)]);
        });
      }),
  },
  {
    name: "errors: commands check their arguments by name",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { InvalidArgumentError } = ctx.sdk;
        for (const [options, name] of [
          [{ cwd: 1 }, "cwd"],
          [{ envs: ["A=1"] }, "envs"],
          [{ onStdout: "print" }, "onStdout"],
          [{ timeoutMs: -1 }, "timeoutMs"],
          [{ background: "yes" }, "background"],
        ]) {
          const error = await rejects(sandbox.commands.run("true", options), InvalidArgumentError);
          assert(error.message.includes(name), `"${error.message}" names ${name}`);
        }
        await rejects(sandbox.commands.run(""), InvalidArgumentError);
        await rejects(sandbox.commands.run(undefined), InvalidArgumentError);
        await rejects(sandbox.commands.kill("x"), InvalidArgumentError);
        await rejects(sandbox.commands.sendStdin(1, 5), InvalidArgumentError);
      }),
  },
];
