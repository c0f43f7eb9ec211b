// Plain commands that are listened to again after their connection was cut.

import { assert, equal, rejects, sleep } from "./assert.js";
import { withSandbox } from "./context.js";
import { START, cutting } from "./spools.js";

export const cases = [
  {
    name: "reconnect: a plain command is listened to again by its pid, and says that output may be missing",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const states = [];
          const go = "until [ -e /tmp/go ]; do sleep 0.05; done";
          const result = await sandbox.commands.run(`echo start; ${go}; echo end; exit 3`, {
            reconnectMs: 60_000,
            check: false,
            async onReconnect({ state }) {
              states.push(state);
              if (state === "attached") await sandbox.files.write("/tmp/go", "");
            },
          });
          equal([result.exitCode, result.gaps], [3, 1]);
          assert(result.stdout.endsWith("end\n"), result.stdout);
          equal(states, ["lost", "attached"]);
        },
        { fetch: cutting(START, [25]) },
      ),
  },
  {
    name: "reconnect: without it a lost connection is an error that carries what arrived",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const handle = await sandbox.commands.run("echo start; sleep 60", { background: true });
          const error = await rejects(handle.wait(), ctx.sdk.ConnectionError);
          equal([handle.gaps, error.stdout], [0, ""]);
          // The sandbox remembers an exit code for a while, so that even an end in between is known.
          const ended = await sandbox.commands.run("exit 4", { check: false, reconnectMs: 10_000, onReconnect: () => sleep(200) });
          equal([ended.exitCode, ended.gaps], [4, 1]);
        },
        { fetch: cutting(START, [12, 12]) },
      ),
  },
];
