// The life of a sandbox beyond making and ending it.

import { assert, equal, rejects } from "./assert.js";
import { connection, withSandbox } from "./context.js";

export const cases = [
  {
    name: "lifecycle: pause and connect keep the files",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write("/home/user/kept", "yes");
        equal(await sandbox.pause(), true);
        equal(await sandbox.pause(), false, "a second time");
        equal((await sandbox.getInfo()).state, "paused");
        equal(await sandbox.isRunning(), false);
        equal(await sandbox.connect({ timeoutMs: 120_000 }), sandbox, "the same object");
        equal((await sandbox.getInfo()).state, "running");
        equal(await sandbox.files.read("/home/user/kept"), "yes");
      }),
  },
  {
    name: "lifecycle: a process goes on where it was after a pause with memory",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const handle = await sandbox.commands.run("while true; do sleep 0.1; done", { background: true });
        await sandbox.pause();
        await sandbox.connect();
        assert((await sandbox.commands.list()).some((process) => process.pid === handle.pid), "it still runs");
      }),
  },
  {
    name: "lifecycle: a snapshot is something to create from",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write("/home/user/in-snapshot", "1");
        const { snapshotId } = await sandbox.createSnapshot();
        const found = [];
        for await (const { snapshotId: id } of ctx.sdk.Sandbox.listSnapshots({ ...connection(ctx), sandboxId: sandbox.sandboxId })) found.push(id);
        equal(found, [snapshotId]);
        const copy = await ctx.sdk.Sandbox.create(snapshotId, connection(ctx));
        equal(await copy.files.read("/home/user/in-snapshot"), "1");
        await copy.kill();
        equal(await ctx.sdk.Sandbox.deleteSnapshot(snapshotId, connection(ctx)), true);
        equal(await ctx.sdk.Sandbox.deleteSnapshot(snapshotId, connection(ctx)), false);
      }),
  },
  {
    name: "lifecycle: fork makes independent copies",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write("/home/user/shared", "original");
        const [one, two] = await sandbox.fork({ count: 2 });
        await one.files.write("/home/user/shared", "one");
        equal(await two.files.read("/home/user/shared"), "original");
        equal(await sandbox.files.read("/home/user/shared"), "original");
        await Promise.all([one.kill(), two.kill()]);
      }),
  },
  {
    name: "lifecycle: metrics have the shape that is declared",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        for (const entry of await sandbox.getMetrics()) {
          assert(entry.timestamp instanceof Date && entry.memTotal > 0 && entry.cpuCount > 0, JSON.stringify(entry));
        }
        await rejects(sandbox.getMetrics({ start: "yesterday" }), ctx.sdk.InvalidArgumentError);
      }),
  },
  {
    name: "errors: lifecycle options that make no sense are refused before any request",
    async run(ctx) {
      const fetch = () => Promise.reject(new Error("no request must be made"));
      for (const lifecycle of [
        { onTimeout: "sleep" },
        { onTimeout: "kill", autoResume: true },
        { onTimeout: { action: "kill", keepMemory: true } },
        { onTimeout: { action: "pause", keepMemory: false }, autoResume: true },
      ]) {
        await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch, lifecycle }), ctx.sdk.InvalidArgumentError);
      }
    },
  },
];
