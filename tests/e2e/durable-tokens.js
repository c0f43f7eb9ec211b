// Tokens of durable commands: where one was left, another page or program goes on. And how long there is something to go on with.

import { assert, equal, eventually, rejects, rejectsWith } from "./assert.js";
import { withSandbox } from "./context.js";
import { hasEnded, printing, silencing, spools, text } from "./spools.js";

export const cases = [
  {
    name: "durable: another instance of the package goes on where the first one was",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run(`${printing}; sleep 0.5; echo late >&2; exit 5`, { durable: true, background: true });
        let seen = "";
        for await (const { data } of handle) {
          seen += data;
          if (seen.length > 500) break;
        }
        await handle.disconnect();
        const saved = JSON.stringify({ token: handle.token, access: sandbox.toToken() });
        equal(Object.keys(JSON.parse(saved).token).filter((key) => !key.endsWith("Held")), ["sandboxId", "spoolId", "stdout", "stderr"]);

        const sdk = (await ctx.fresh?.()) ?? ctx.sdk;
        assert(sdk.Sandbox !== ctx.sdk.Sandbox || !ctx.fresh, "it is another instance, where there can be one");
        const { token, access } = JSON.parse(saved);
        const again = await (await sdk.Sandbox.attach(access)).commands.attach(token);
        equal(again.pid, handle.pid);
        const error = await rejects(again.wait(), sdk.CommandExitError);
        equal([error.exitCode, error.stderr], [5, "late\n"]);
        equal(seen + again.stdout, text);
      }),
  },
  {
    name: "durable: a token can be cut in the middle of a character",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("printf 'a\\360\\237'; read x; printf '\\246\\200b'", {
          durable: true,
          background: true,
          stdin: true,
        });
        await eventually(() => handle.token.stdout === 3, "three bytes");
        const token = handle.token;
        equal([handle.stdout, token.stdoutHeld], ["a", "f09f"]);
        await handle.disconnect();
        const bytes = [];
        const again = await sandbox.commands.attach(token, { onStdoutBytes: (data) => void bytes.push(...data) });
        await again.sendStdin("\n");
        equal((await again.wait()).stdout, new TextDecoder().decode(new Uint8Array([0xf0, 0x9f, 0xa6, 0x80, 0x62])));
        equal(bytes, [0xa6, 0x80, 0x62], "bytes that were not delivered before");
      }),
  },
  {
    name: "durable: only what was dealt with counts as consumed",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const reason = new Error("mine");
        const handle = await sandbox.commands.run("echo one; read x; echo two", {
          durable: true,
          background: true,
          stdin: true,
          onStdout(data) {
            if (data === "two\n") throw reason;
          },
        });
        await eventually(() => handle.token.stdout === 4, "the first line");
        await handle.sendStdin("\n");
        await rejectsWith(handle.wait(), reason);
        equal(handle.token.stdout, 4);
        const again = await sandbox.commands.attach(handle.token);
        const chunks = [];
        for await (const { data } of again) {
          chunks.push(data);
          equal(again.token.stdout, 4, "while the loop is at it");
        }
        equal([chunks, again.token.stdout], [["two\n"], 8]);
      }),
  },
  {
    name: "durable: after the end there is everything until it was told, and then nothing",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("seq 1 1000; exit 4", { durable: true, background: true, user: "root" });
        const token = { ...handle.token, stdout: 0, stderr: 0 };
        equal(token.user, "root");
        await handle.disconnect();
        await hasEnded(sandbox);
        // Two at once, one after the other, and one that begins in the middle.
        const readers = [await sandbox.commands.attach(token, { check: false }), await sandbox.commands.attach(token, { check: false })];
        for (const reader of readers) {
          await eventually(() => reader.exitCode === 4, "the exit code");
          assert(reader.stdout.endsWith("\n1000\n") && reader.stdout.startsWith("1\n2\n"), "all of it");
        }
        const rest = await sandbox.commands.attach({ ...token, stdout: 3888 }, { check: false });
        equal((await rest.wait()).stdout, "1000\n");
        await eventually(async () => (await spools(sandbox)) === "0", "the spool is removed");
        await rejects(sandbox.commands.attach(token), ctx.sdk.NotFoundError, "not_found");
        await eventually(async () => (await sandbox.commands.list()).length === 0, "the spooler has ended");
      }),
  },
  {
    name: "durable: output that nobody reads is removed after a while",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const waiting = "until [ -e /tmp/go ]; do sleep 0.05; done; echo x";
        const handle = await sandbox.commands.run(waiting, { durable: true, background: true, spoolExpiryMs: 200 });
        await handle.disconnect();
        await sandbox.files.write("/tmp/go", "");
        await eventually(async () => (await spools(sandbox)) === "0", "removed by itself");
        await rejects(sandbox.commands.attach(handle.token), ctx.sdk.NotFoundError, "not_found");
        await rejects(sandbox.commands.run("true", { durable: true, spoolExpiryMs: 0 }), ctx.sdk.InvalidArgumentError);
      }),
  },
  {
    name: "durable: a reader that is too late is told, and can go on with what is kept",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("read x; seq 1 200000; echo done >&2", {
          durable: true,
          background: true,
          stdin: true,
          spoolBytes: 65_536,
        });
        const { token } = handle;
        await handle.disconnect();
        await sandbox.commands.sendStdin(handle.pid, "\n");
        await hasEnded(sandbox);
        const sizes = await sandbox.commands.run("cat /tmp/.durable-*/out/* | wc -c");
        assert(Number(sizes.stdout) <= 65_536, `${sizes.stdout} bytes are kept`);
        const error = await rejects(sandbox.commands.attach(token).then((late) => late.wait()), ctx.sdk.SandboxError, "spool_overrun");
        assert(error.message.includes("spoolBytes") && !error.retryable, error.message);
        const first = Number(/stdout is (\d+)/.exec(error.message)[1]);
        const rest = await (await sandbox.commands.attach({ ...token, stdout: first })).wait();
        assert(rest.stdout.endsWith("\n199999\n200000\n") && rest.stderr === "done\n", "the end of it");
        equal(rest.stdout.length + first, 1_288_895);
      }),
  },
  {
    name: "durable: tokens are checked before anything is sent, and by the sandbox",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("sleep 60", { durable: true, background: true });
        const { token } = handle;
        const { InvalidArgumentError } = ctx.sdk;
        const forged = [
          undefined,
          "token",
          {},
          { ...token, sandboxId: "another" },
          { ...token, spoolId: "../../etc" },
          { ...token, spoolId: `${token.spoolId}/..` },
          { ...token, spoolId: `${token.spoolId}\n` },
          { ...token, stdout: -1 },
          { ...token, stderr: "0" },
          { ...token, stdout: 0.5 },
          { ...token, stdoutHeld: "zz" },
          { ...token, stdout: 9, stdoutHeld: "aabbccdd" },
          { ...token, stdoutHeld: "aa" },
          { ...token, user: 5 },
          { ...token, stdout: 1 },
        ];
        for (const wrong of forged) {
          const attached = sandbox.commands.attach(wrong).then((handle) => handle.wait());
          await rejects(attached, InvalidArgumentError, "invalid_argument");
        }
        await rejects(sandbox.commands.attach({ ...token, spoolId: "0".repeat(32) }), ctx.sdk.NotFoundError, "not_found");
        equal(JSON.stringify(token).includes(sandbox.toToken().envdAccessToken), false, "no secret in the token");
        const plain = await sandbox.commands.run("true", { background: true });
        equal([plain.token, plain.gaps], [undefined, 0]);
        await handle.kill();
      }),
  },
  {
    name: "durable: onToken tells where a command in the foreground is, so that another page can take it over",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const tokens = [];
        const seen = [];
        const { fetch, silence } = silencing();
        const first = await ctx.sdk.Sandbox.attach(sandbox.toToken(), { fetch });
        const leave = new AbortController();
        const go = "until [ -e /tmp/go ]; do sleep 0.05; done";
        const running = first.commands.run(`echo one; ${go}; echo two; exit 3`, {
          durable: true,
          signal: leave.signal,
          onToken: (token) => void tokens.push(JSON.stringify(token)),
          onStdout: (data) => void seen.push(data, tokens.length),
        });
        await eventually(() => tokens.length === 2, "the token after the first line");
        equal(seen, ["one\n", 1], "there is a token before any output");
        equal(tokens.map((token) => JSON.parse(token).stdout), [0, 4]);

        // The page is gone, and loaded anew. Nothing has ended its command.
        silence();
        const sdk = (await ctx.fresh?.()) ?? ctx.sdk;
        const other = await sdk.Sandbox.attach(sandbox.toToken());
        const positions = [];
        const again = await other.commands.attach(JSON.parse(tokens[1]), {
          check: false,
          onToken: ({ stdout }) => void positions.push(stdout),
        });
        const whole = await other.commands.attach(JSON.parse(tokens[0]), { check: false });
        await eventually(() => whole.stdout === "one\n", "what came before");
        await sandbox.files.write("/tmp/go", "");
        // Whoever is told the end first removes what there is to read.
        await eventually(() => again.exitCode === 3 && whole.exitCode === 3, "both know the end");
        const [rest, all] = [await again.wait(), await whole.wait()];
        equal([rest.exitCode, rest.stdout, all.stdout], [3, "two\n", "one\ntwo\n"]);
        equal([positions[0], positions.at(-1)], [4, 8]);
        const reason = new Error("gone");
        leave.abort(reason);
        await rejectsWith(running, reason);
      }),
  },
  {
    name: "durable: what onToken throws ends a command in the foreground; a plain command has no token to tell",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const reason = new Error("no room to keep it");
        const onToken = () => {
          throw reason;
        };
        await rejectsWith(sandbox.commands.run("exec sleep 62", { durable: true, onToken }), reason);
        const find = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 6[2]'";
        await eventually(async () => (await sandbox.commands.run(find, { check: false })).stdout === "0\n", "it is killed");
        equal((await sandbox.commands.run("echo plain", { onToken })).stdout, "plain\n");
        const error = await rejects(sandbox.commands.run("true", { durable: true, onToken: "token" }), ctx.sdk.InvalidArgumentError);
        assert(error.message.includes("onToken"), error.message);
      }),
  },
];
