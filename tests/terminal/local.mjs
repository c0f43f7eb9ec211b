// The client and the local server's bridge together.

import { WebSocket } from "ws";

import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { withSandbox } from "../e2e/context.js";
import { readUntil } from "./scripted.mjs";

const pids = async (sandbox) => (await sandbox.commands.list()).map(({ pid }) => pid);

export const cases = [
  {
    name: "local server: a sandbox is all that is needed to open its terminal",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const terminal = await ctx.terminals.openTerminal(sandbox, { WebSocket, cols: 90, rows: 20, cwd: "/tmp", user: "root" });
        await terminal.write("stty size; pwd; whoami; printf '\\342\\202'; printf '\\254.\\n'\n");
        await readUntil(terminal, /20 90\r\n\/tmp\r\nroot\r\n€\.\r\n/);
        terminal.resize({ cols: 100, rows: 30 });
        await terminal.write("stty size; sleep 60\n");
        await readUntil(terminal, /30 100/);
        await eventually(async () => (await sandbox.commands.run("pgrep -x sleep", { check: false })).exitCode === 0, "it is in front");
        terminal.signal("SIGINT");
        await terminal.write("exit 7\n");
        equal(await terminal.exit, { exitCode: 7, signal: undefined, reason: "exited" });
      }),
  },
  {
    name: "local server: a connection that is cut off is opened again, and nothing that is not read is lost",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const sockets = [];
        class Kept extends WebSocket {
          constructor(url) {
            super(url);
            sockets.push(this);
          }
        }
        const states = [];
        const opts = { WebSocket: Kept, reconnect: { initialDelayMs: 1 }, onState: (state) => states.push(state) };
        const terminal = await ctx.terminals.openTerminal(sandbox, opts);
        await terminal.write("kept=here; echo rea''dy\n");
        await readUntil(terminal, /ready/);
        sockets[0].terminate();
        await eventually(() => states.includes("lost") && states.at(-1) === "ready", "another connection");
        await terminal.write('echo "<$kept>"\n');
        await readUntil(terminal, /<here>\r/);
        // Nobody reads: the program has to wait, and then says everything.
        await terminal.write("seq 2000000; exit\n");
        let last = 0;
        const seen = [];
        await eventually(() => {
          const now = sockets[1]._socket.bytesRead;
          seen.push(now);
          last = now;
          return last > 1_000_000 && seen.slice(-4).every((one) => one === now);
        }, "standing still");
        assert(last < 10_000_000, `it stands at ${last} bytes`);
        let tail = "";
        let lines = 0;
        for await (const text of terminal.text()) {
          lines += text.split("\n").length - 1;
          tail = (tail + text).slice(-200);
        }
        assert(tail.includes("\r\n2000000\r\n"), tail);
        assert(lines >= 2_000_000 && lines < 2_000_010, `${lines} lines`);
        equal((await terminal.exit).exitCode, 0);
      }),
  },
  {
    name: "local server: an abort and a close end the shell, a detached one is opened again by its pid",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { openTerminal } = ctx.terminals;
        const kept = await openTerminal(sandbox, { WebSocket });
        await kept.write("kept=here\n");
        await readUntil(kept, /kept=here\r/);
        kept.detach();
        equal((await kept.exit).reason, "detached");
        const again = await openTerminal(sandbox, { WebSocket, pid: kept.pid });
        await again.write('echo "<$kept>"\n');
        await readUntil(again, /<here>\r/);
        again.close();
        await eventually(async () => !(await pids(sandbox)).includes(kept.pid), "its end");
        await rejects(openTerminal(sandbox, { WebSocket, pid: 999_999 }), ctx.sdk.NotFoundError, "not_found");

        const controller = new AbortController();
        const aborted = await openTerminal(sandbox, { WebSocket, signal: controller.signal });
        const reason = new Error("enough");
        controller.abort(reason);
        await rejectsWith(aborted.exit, reason);
        await eventually(async () => !(await pids(sandbox)).includes(aborted.pid), "the end of the aborted one");
      }),
  },
  {
    name: "local server: wrong tokens, options and sandboxes are typed errors",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { openTerminal, terminalUrl } = ctx.terminals;
        const url = new URL(await terminalUrl(sandbox));
        const token = url.searchParams.get("token");
        assert(token, "a secured sandbox");
        url.searchParams.set("token", `${token}x`);
        const refused = await rejects(openTerminal(url, { WebSocket }), ctx.sdk.AuthenticationError, "unauthenticated");
        assert(!refused.message.includes(token), refused.message);
        const wrong = await rejects(openTerminal(sandbox, { WebSocket, cwd: "/missing" }), ctx.sdk.InvalidArgumentError, "invalid_argument");
        assert(wrong.message.includes("/missing"), wrong.message);
        await rejects(openTerminal(sandbox, { WebSocket, user: "nobody-here" }), ctx.sdk.InvalidArgumentError, "invalid_argument");
        url.pathname = url.pathname.replace(/[^/]+$/, "inobody");
        await rejects(openTerminal(url, { WebSocket }), ctx.sdk.ConnectionError, "connection_failed");
        await rejectsWith(terminalUrl(sandbox, { signal: AbortSignal.abort("no") }), "no");
      }, { secure: true }),
  },
];
