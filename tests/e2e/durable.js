// Durable commands: what they wrote survives the connection. The network's part is played by a fetch that cuts streams at chosen bytes.

import { assert, equal, eventually, rejects, rejectsWith, sleep, withTime } from "./assert.js";
import { withSandbox } from "./context.js";
import { START, cutting, joined, printing, sha256, spools, text } from "./spools.js";

export const cases = [
  {
    name: "durable: a command behaves as any other",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const run = (cmd, opts) => sandbox.commands.run(cmd, { durable: true, ...opts });
        equal(await run("echo hello; echo oops >&2"), { exitCode: 0, stdout: "hello\n", stderr: "oops\n" });
        equal((await run("pwd; echo $A $0; umask", { cwd: "/tmp", envs: { A: "a b", _d: "x" } })).stdout, "/tmp\na b /bin/bash\n0022\n");
        equal((await run("whoami", { user: "root" })).stdout, "root\n");
        equal(await run(["printf", "%s|", "a b", "$HOME", "'"]), { exitCode: 0, stdout: "a b|$HOME|'|", stderr: "" });
        equal(await run("true"), { exitCode: 0, stdout: "", stderr: "" });
        const failed = await rejects(run("echo out; exit 3"), ctx.sdk.CommandExitError, "command_exit");
        equal([failed.exitCode, failed.stdout], [3, "out\n"]);
        equal((await run("exit 137", { check: false })).signal, undefined);
        equal((await run("no-such-program-here", { check: false })).exitCode, 127);
        const killed = await run("kill -9 $$", { check: false });
        equal([killed.exitCode, killed.signal], [-1, "SIGKILL"]);
        await rejects(run("true", { cwd: "/no/such/dir" }), ctx.sdk.InvalidArgumentError, "invalid_argument");
        await rejects(run("true", { spoolBytes: 100 }), ctx.sdk.InvalidArgumentError, "invalid_argument");
        const limited = (timeoutMs) => rejects(run("echo x; sleep 60", { timeoutMs }), ctx.sdk.TimeoutError, "deadline_exceeded");
        await withTime(limited, ({ stdout }) => stdout === "x\n");

        const handle = await run("read x; echo got $x; cat", { background: true, stdin: true });
        await handle.sendStdin("one\n");
        await handle.sendStdin("two\n");
        await handle.closeStdin();
        equal((await handle.wait()).stdout, "got one\ntwo\n");
        equal([handle.exitCode, handle.gaps], [0, 0]);
        await eventually(async () => (await spools(sandbox)) === "0", "nothing is left in /tmp");
        await eventually(async () => (await sandbox.commands.list()).length === 0, "nothing runs any more");
      }),
  },
  {
    name: "durable: a stream cut at any byte goes on at exactly the next, in both encodings",
    timeoutMs: 120_000,
    async run(ctx) {
      const bytes = [];
      // In the middle of the next chunk after something was delivered.
      const later = () => {
        let begun;
        return (chunk) => {
          begun ??= bytes.length;
          return bytes.length > begun ? Math.ceil(chunk.length / 2) : undefined;
        };
      };
      // The first Start is the spooler's. The numbers fall into heads, lines and the first characters.
      const cuts = {
        proto: [null, 4, 61, later(), later(), 300, later(), 30, later(), 1000, later()],
        json: [null, 131, later(), 1000, later(), later()],
      };
      for (const encoding of ["proto", "json"]) {
        const events = [];
        bytes.length = 0;
        await withSandbox(
          ctx,
          async (sandbox) => {
            const result = await sandbox.commands.run(`${printing}; echo end >&2; exit 7`, {
              durable: true,
              check: false,
              reconnectMs: 60_000,
              onReconnect: (event) => void events.push({ ...event, seen: bytes.length }),
              onStdoutBytes: (data) => void bytes.push(data),
            });
            equal([result.exitCode, result.stderr, result.gaps], [7, "end\n", undefined], encoding);
            equal(result.stdout, text, encoding);
          },
          { fetch: cutting(START, cuts[encoding]), encoding },
        );
        equal(new TextDecoder().decode(await joined(bytes)), text, `bytes, ${encoding}`);
        const lost = events.filter(({ state }) => state === "lost");
        assert(lost.length >= 5 && lost.every(({ error }) => error instanceof ctx.sdk.ConnectionError), `${lost.length} losses`);
        assert(events.at(-1).state === "attached", "listened to at the end");
        const places = new Set(lost.map(({ seen }) => seen));
        assert(places.size >= 3, `cut after ${[...places]} pieces`);
      }
    },
  },
  {
    name: "durable: a network that is away for a while costs nothing",
    async run(ctx) {
      let away = false;
      const flaky = (...call) => (away ? Promise.reject(new TypeError("offline")) : cut(...call));
      const cut = cutting(START, [null, 200]);
      await withSandbox(
        ctx,
        async (sandbox) => {
          const states = [];
          const handle = await sandbox.commands.run("seq 1 50; sleep 1; seq 51 100", {
            durable: true,
            background: true,
            onReconnect({ state, attempt, error }) {
              states.push([state, attempt, error?.code]);
              away = state === "lost" && attempt < 3;
            },
          });
          equal((await handle.wait()).stdout, Array.from({ length: 100 }, (_, i) => `${i + 1}\n`).join(""));
          equal(states.length, 4, JSON.stringify(states));
          equal(states.slice(1, 3), [["lost", 2, "connection_failed"], ["lost", 3, "connection_failed"]]);
          equal(states[3], ["attached", 3, undefined]);
        },
        { fetch: flaky },
      );
    },
  },
  {
    name: "durable: when it cannot be reached again the error says so, and the token goes on",
    run: (ctx) => {
      let away = false;
      const cut = cutting(START, [null, 300]);
      return withSandbox(
        ctx,
        async (sandbox) => {
          // What comes first is little, so that the cut is not in the frame that tells that the command runs.
          const handle = await sandbox.commands.run("echo 0; sleep 0.5; seq 1 2000", {
            durable: true,
            background: true,
            reconnectMs: 300,
            onReconnect: () => void (away = true),
          });
          const error = await rejects(handle.wait(), ctx.sdk.ConnectionError);
          away = false;
          const rest = await sandbox.commands.attach(handle.token);
          equal(error.stdout + (await rest.wait()).stdout, Array.from({ length: 2001 }, (_, i) => `${i}\n`).join(""));
        },
        { fetch: (...call) => (away ? Promise.reject(new TypeError("offline")) : cut(...call)) },
      );
    },
  },
  {
    name: "durable: far more output than is kept passes a reader that is there, byte for byte",
    timeoutMs: 120_000,
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const chunks = [];
          await sandbox.commands.run("head -c 6000000 /dev/urandom | tee /tmp/original", {
            durable: true,
            spoolBytes: 1_048_576,
            maxOutput: 0,
            async onStdoutBytes(data) {
              chunks.push(data);
              if (chunks.length === 1) await sleep(500);
            },
          });
          const original = (await sandbox.commands.run("sha256sum /tmp/original")).stdout.slice(0, 64);
          equal(await sha256(await joined(chunks)), original);
        },
        { fetch: cutting(START, [null, 100_000, 300_000, 1_000_000]) },
      ),
  },
  {
    name: "durable: signals reach the command, and aborting ends it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const start = (cmd, opts) => sandbox.commands.run(cmd, { durable: true, background: true, ...opts });
        const trapped = "trap 'echo bye; exit 6' TERM; echo ready; while :; do sleep 0.05; done";

        const one = await start(trapped);
        await eventually(() => one.stdout === "ready\n", "it is ready");
        equal(await one.kill({ killSignal: "SIGTERM" }), true);
        const polite = await rejects(one.wait(), ctx.sdk.CommandExitError);
        equal([polite.exitCode, polite.stdout], [6, "ready\nbye\n"]);
        equal(await one.kill(), false, "after the end");

        const two = await start("sleep 60 & sleep 60");
        equal(await two.kill(), true);
        equal((await rejects(two.wait(), ctx.sdk.CommandExitError)).signal, "SIGKILL");

        // By its process id it is the spooler that is killed, which takes the command with it.
        const three = await start(trapped);
        await eventually(() => three.stdout === "ready\n", "it is ready");
        equal(await sandbox.commands.kill(three.pid), true);
        const ended = await rejects(three.wait(), ctx.sdk.CommandExitError);
        equal([ended.signal, ended.stdout], ["SIGTERM", "ready\nbye\n"]);

        const controller = new AbortController();
        const reason = new Error("enough");
        const running = sandbox.commands.run("echo go; exec sleep 61", {
          durable: true,
          signal: controller.signal,
          onStdout: () => controller.abort(reason),
        });
        await rejectsWith(running, reason);
        const find = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sleep 6[1]'";
        await eventually(async () => (await sandbox.commands.run(find, { check: false })).stdout === "0\n", "it is killed");
      }),
  },
  {
    name: "durable: a spooler that was killed with everything else is a typed error, after what it had written",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("echo before; sleep 60", { durable: true, background: true });
        await eventually(() => handle.stdout === "before\n", "its output");
        await sandbox.commands.run("cd /tmp/.durable-*; kill -9 $(cat watcher pid child)");
        const error = await rejects(handle.wait(), ctx.sdk.SandboxError, "spool_lost");
        equal(error.stdout, "before\n");
      }),
  },
  {
    name: "durable: what cannot be written is a typed error, and does not stop the command",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("echo first; read x; seq 1 100000; touch /tmp/went-on", { durable: true, background: true, stdin: true });
        await eventually(() => handle.stdout === "first\n", "the first line");
        await sandbox.commands.run("chmod 400 /tmp/.durable-*/out/0");
        await handle.sendStdin("\n");
        const error = await rejects(handle.wait(), ctx.sdk.NotEnoughSpaceError, "not_enough_space");
        const all = `first\n${Array.from({ length: 100_000 }, (_, i) => `${i + 1}\n`).join("")}`;
        assert(all.startsWith(error.stdout) && error.stdout.length < all.length, "what could be written, in order");
        await eventually(() => sandbox.files.exists("/tmp/went-on"), "the command went on");
      }),
  },
  {
    name: "durable: a pause of the sandbox loses nothing",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("for i in $(seq 1 40); do echo $i; sleep 0.05; done", { durable: true, background: true });
        await eventually(() => handle.stdout.includes("5\n"), "it runs");
        await sandbox.pause();
        await sleep(500);
        await sandbox.connect();
        equal((await handle.wait()).stdout, Array.from({ length: 40 }, (_, i) => `${i + 1}\n`).join(""));
      }),
  },
];
