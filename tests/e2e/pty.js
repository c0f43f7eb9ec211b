// Terminals.

import { assert, equal, eventually, rejects } from "./assert.js";
import { withSandbox } from "./context.js";

/** Collects what a terminal prints, and finds text in it. */
function screen() {
  const decoder = new TextDecoder();
  let text = "";
  return {
    onData: (data) => void (text += decoder.decode(data, { stream: true })),
    async shows(pattern) {
      try {
        await eventually(() => pattern.test(text), `${pattern}`);
      } catch (error) {
        throw new Error(`${error.message}, the terminal shows ${JSON.stringify(text.slice(-300))}`);
      }
    },
    get text() {
      return text;
    },
  };
}

export const cases = [
  {
    name: "pty: type, see, resize, exit",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const shown = screen();
        const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: shown.onData });
        await sandbox.pty.sendInput(terminal.pid, "stty size; echo $TERM $LANG; tty\n");
        await shown.shows(/24 80\r\nxterm-256color C\.UTF-8\r\n\/dev\/pts\//);
        await terminal.resize({ cols: 100, rows: 30 });
        await terminal.sendStdin("stty size\n");
        await shown.shows(/30 100/);
        await terminal.sendStdin(new TextEncoder().encode("echo h\u00e9llo | cat; exit\n"));
        await shown.shows(/\rhéllo\r\n/);
        equal((await terminal.wait()).exitCode, 0);
        equal(terminal.stdout, "", "bytes of a terminal are not kept");
      }),
  },
  {
    name: "pty: Ctrl-C reaches the program in front",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const shown = screen();
        const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData: shown.onData });
        await terminal.sendStdin("sleep 60; echo code $?\n");
        await eventually(async () => (await sandbox.commands.run("pgrep -x sleep", { check: false })).exitCode === 0, "it is in front");
        await terminal.sendStdin("\x03");
        await terminal.sendStdin("echo still $((40+2))\n");
        await shown.shows(/still 42/);
        equal(await sandbox.pty.kill(terminal.pid), true);
        equal((await rejects(terminal.wait(), ctx.sdk.CommandExitError)).signal, "SIGKILL");
        equal(await sandbox.pty.kill(terminal.pid), false);
      }),
  },
  {
    name: "pty: two listeners, one leaves",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const one = screen();
        const two = screen();
        const first = await sandbox.pty.create({ cols: 80, rows: 24, onData: one.onData, envs: { PS1: "> " } });
        const second = await sandbox.pty.connect(first.pid, { onData: two.onData });
        await first.disconnect();
        await second.sendStdin("echo only $((1+1))\n");
        await two.shows(/only 2/);
        assert(!/only 2/.test(one.text), "nothing arrives after disconnect");
        await second.kill();
      }),
  },
  {
    name: "pty: for await gives bytes",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const terminal = await sandbox.pty.create({ cols: 80, rows: 24 });
        await terminal.sendStdin("echo done-$((2*3)); exit 7\n");
        // Also what came before anybody read.
        await eventually(() => terminal.exitCode !== undefined, "the shell's end");
        let text = "";
        for await (const chunk of terminal) {
          equal(chunk.type, "pty");
          text += new TextDecoder().decode(chunk.data);
        }
        assert(text.includes("done-6"), text);
        equal((await rejects(terminal.wait(), ctx.sdk.CommandExitError)).exitCode, 7);
      }),
  },
  {
    name: "errors: terminals check their arguments, and say what is not there",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { InvalidArgumentError, NotFoundError, SandboxError } = ctx.sdk;
        await rejects(sandbox.pty.create(), InvalidArgumentError);
        await rejects(sandbox.pty.create({ cols: 80 }), InvalidArgumentError);
        await rejects(sandbox.pty.create({ cols: 80, rows: 0 }), InvalidArgumentError);
        await rejects(sandbox.pty.create({ cols: 80, rows: 100_000 }), InvalidArgumentError);
        await rejects(sandbox.pty.resize(999_999, { cols: 80, rows: 24 }), NotFoundError, "not_found");
        await rejects(sandbox.pty.connect(999_999), NotFoundError);
        const command = await sandbox.commands.run("sleep 60", { background: true });
        await rejects(command.resize({ cols: 80, rows: 24 }), SandboxError);
        await command.kill();
      }),
  },
];
