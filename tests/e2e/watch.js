// Watching directories: by callback, by iteration, by polling.

import { assert, equal, eventually, rejects, rejectsWith } from "./assert.js";
import { withSandbox } from "./context.js";

const has = (events, type, name) => events.some((event) => event.type === type && event.name === name);

export const cases = [
  {
    name: "watch: every change after watchDir is told, with entries when asked for",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.makeDir("/tmp/watched/sub");
        const events = [];
        const exits = [];
        const handle = await sandbox.files.watchDir("/tmp/watched", (event) => void events.push(event), {
          recursive: true,
          includeEntry: true,
          onExit: (error) => void exits.push(error),
        });
        await sandbox.files.write("/tmp/watched/a.txt", "12345");
        await eventually(() => has(events, "write", "a.txt"), "a write of a.txt");
        equal(events.find((event) => event.type === "write")?.entry?.path, "/tmp/watched/a.txt");
        await sandbox.files.write("/tmp/watched/sub/b.txt", "x");
        await eventually(() => has(events, "create", "sub/b.txt"), "a create below");
        await sandbox.files.rename("/tmp/watched/a.txt", "/tmp/watched/c.txt");
        await eventually(() => has(events, "rename", "a.txt") && has(events, "create", "c.txt"), "a rename");
        await sandbox.files.remove("/tmp/watched/c.txt");
        await eventually(() => has(events, "remove", "c.txt"), "a remove");

        const before = events.length;
        await handle.stop();
        await sandbox.files.write("/tmp/watched/late", "x");
        await eventually(() => exits.length === 1, "onExit");
        equal(exits, [undefined], "stopping is no error");
        equal(events.length, before, "events after stop");
      }),
  },
  {
    name: "watch: for await, and leaving it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.makeDir("/tmp/w");
        const handle = await sandbox.files.watchDir("/tmp/w");
        const names = [];
        const reading = (async () => {
          for await (const event of handle) {
            names.push(event.name);
            if (event.name === "last") break;
          }
        })();
        await sandbox.files.write("/tmp/w/first", "");
        await sandbox.files.write("/tmp/w/last", "");
        await reading;
        assert(names.includes("first"), names.join());
        await handle.stop();
        for await (const event of handle) throw new Error(`an event after stop: ${event.name}`);
      }),
  },
  {
    name: "watch: a callback that throws ends it, and onExit is told once",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.makeDir("/tmp/w");
        const reason = new Error("mine");
        const exits = [];
        const handle = await sandbox.files.watchDir(
          "/tmp/w",
          () => {
            throw reason;
          },
          { onExit: (error) => void exits.push(error) },
        );
        await sandbox.files.write("/tmp/w/x", "");
        await eventually(() => exits.length > 0, "onExit");
        assert(exits.length === 1 && exits[0] === reason, "once, with what was thrown");
        await handle.stop();
      }),
  },
  {
    name: "watch: abort ends it with the reason",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const reason = new Error("enough");
        const controller = new AbortController();
        let told;
        const handle = await sandbox.files.watchDir("/tmp", undefined, {
          signal: controller.signal,
          onExit: (error) => void (told = error),
        });
        controller.abort(reason);
        await rejectsWith(handle[Symbol.asyncIterator]().next(), reason);
        await eventually(() => told === reason, "onExit with the reason");
      }),
  },
  {
    name: "watch: polling needs no open connection",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.makeDir("/tmp/w");
        const poller = await sandbox.files.pollDir("/tmp/w");
        equal(await poller.getNewEvents(), []);
        await sandbox.files.write("/tmp/w/x", "1");
        const events = [];
        await eventually(async () => {
          events.push(...(await poller.getNewEvents()));
          return has(events, "create", "x");
        }, "a create");
        await poller.stop();
        await poller.stop();
        await rejects(poller.getNewEvents(), ctx.sdk.NotFoundError);
      }),
  },
  {
    name: "errors: what cannot be watched",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await rejects(sandbox.files.watchDir("/tmp/missing"), ctx.sdk.FileNotFoundError);
        await rejects(sandbox.files.pollDir("/tmp/missing"), ctx.sdk.FileNotFoundError);
        await sandbox.files.write("/tmp/file", "");
        await rejects(sandbox.files.watchDir("/tmp/file"), ctx.sdk.InvalidArgumentError);
        await rejects(sandbox.files.watchDir("/tmp", "print"), ctx.sdk.InvalidArgumentError);
      }),
  },
];
