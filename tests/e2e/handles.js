// What a command handle offers beyond waiting: iteration, streams, tags, signals, limits on what is kept.

import { assert, equal, eventually, rejects } from "./assert.js";
import { scripted, started, withSandbox } from "./context.js";

async function all(iterable) {
  const text = { stdout: "", stderr: "" };
  for await (const { type, data } of iterable) text[type] += data;
  return text;
}

export const cases = [
  {
    name: "commands: an array is a program and its arguments, without a shell",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        equal((await sandbox.commands.run(["printf", "%s|", "a b", "$HOME", "*", "'"])).stdout, "a b|$HOME|*|'|");
        equal((await rejects(sandbox.commands.run(["no-such-program"]), ctx.sdk.CommandExitError)).exitCode, 127);
        await rejects(sandbox.commands.run([]), ctx.sdk.InvalidArgumentError);
        await rejects(sandbox.commands.run(["echo", 1]), ctx.sdk.InvalidArgumentError);
      }),
  },
  {
    name: "commands: check: false makes the exit code a value",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const result = await sandbox.commands.run("echo out; exit 3", { check: false });
        equal([result.exitCode, result.stdout], [3, "out\n"]);
        const handle = await sandbox.commands.run("exit 4", { check: false, background: true });
        equal((await handle.wait()).exitCode, 4);
      }),
  },
  {
    name: "commands: found by tag, ended by SIGTERM",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("sleep 60", { background: true, tag: "sleeper" });
        equal((await sandbox.commands.list()).map((process) => process.tag), ["sleeper"]);
        const second = await sandbox.commands.connect({ tag: "sleeper" });
        equal(second.pid, handle.pid);
        equal(await sandbox.commands.kill({ tag: "sleeper" }, { killSignal: "SIGTERM" }), true);
        equal((await rejects(second.wait(), ctx.sdk.CommandExitError)).signal, "SIGTERM");
        equal(await sandbox.commands.kill({ tag: "sleeper" }), false);
        await rejects(handle.kill({ killSignal: "SIGHUP" }), ctx.sdk.InvalidArgumentError);
      }),
  },
  {
    name: "commands: for await sees everything, in order, from the beginning",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("echo 1; echo e >&2; sleep 0.2; seq 2 5; exit 3", { background: true });
        await eventually(() => handle.stdout !== "", "some output before reading");
        equal(await all(handle), { stdout: "1\n2\n3\n4\n5\n", stderr: "e\n" });
        equal(await all(handle), { stdout: "1\n2\n3\n4\n5\n", stderr: "e\n" }, "again, after the end");
        equal((await rejects(handle.wait(), ctx.sdk.CommandExitError)).exitCode, 3);
      }),
  },
  {
    name: "commands: leaving the loop leaves the command, and a slow reader slows it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("seq 1 2000000; echo end", { background: true });
        for await (const { data } of handle) {
          assert(data.startsWith("1\n2\n"), "from the beginning");
          break;
        }
        assert((await handle.wait()).stdout.endsWith("2000000\nend\n"), "it went on to its end");
      }),
  },
  {
    name: "commands: readable() and stdin are web streams",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("tr a-z A-Z", { background: true, stdin: true });
        const input = new ReadableStream({
          start(controller) {
            controller.enqueue("hello ");
            controller.enqueue(new TextEncoder().encode("stream"));
            controller.close();
          },
        });
        await input.pipeTo(handle.stdin);
        const reader = handle.readable().getReader();
        let text = "";
        for (let step; !(step = await reader.read()).done; ) text += step.value.data;
        equal(text, "HELLO STREAM");
      }),
  },
  {
    name: "commands: raw bytes come as they are",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const bytes = [];
        const errors = [];
        await sandbox.commands.run("printf '\\377\\000\\303'; printf '\\251' >&2", {
          onStdoutBytes: (data) => bytes.push(...data),
          onStderrBytes: (data) => errors.push(...data),
        });
        equal([bytes, errors], [[255, 0, 195], [169]]);
      }),
  },
  {
    name: "commands: maxOutput keeps the end, 0 keeps nothing, and callbacks see all",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        let seen = 0;
        const onStdout = (text) => void (seen += text.length);
        const some = await sandbox.commands.run("seq 1 100000", { maxOutput: 12, onStdout });
        equal([some.stdout, some.truncated], ["99999\n100000\n".slice(-12), true]);
        equal(seen, 588_895);
        const none = await sandbox.commands.run("seq 1 1000", { maxOutput: 0 });
        equal([none.stdout, none.truncated], ["", true]);
        const enough = await sandbox.commands.run("echo hi", { maxOutput: 3 });
        equal([enough.stdout, enough.truncated], ["hi\n", undefined]);
      }),
  },
  {
    name: "commands: await using on a handle stops listening",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("sleep 60", { background: true });
        await handle[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
        await rejects(handle.wait(), ctx.sdk.SandboxError, "disconnected");
        equal(await handle.kill(), true);
      }),
  },
  {
    name: "commands: for await throws what the stream failed with",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const handle = await sandbox.commands.run("echo", { background: true });
          await rejects(all(handle), ctx.sdk.ConnectionError, "stream_truncated");
        },
        { encoding: "json", fetch: scripted("/process.Process/Start", [started()]) },
      ),
  },
];
