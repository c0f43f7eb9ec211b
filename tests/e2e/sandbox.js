// Create, connect, list, kill: the life of a sandbox.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { connection, withSandbox } from "./context.js";

export const cases = [
  {
    name: "sandbox: create, isRunning, getInfo, kill",
    async run(ctx) {
      const sandbox = await ctx.sdk.Sandbox.create("base", { ...connection(ctx), metadata: { purpose: "test é" } });
      assert(/^i[a-z0-9]{20}$/.test(sandbox.sandboxId), `sandbox id ${sandbox.sandboxId}`);
      equal(await sandbox.isRunning(), true, "isRunning");
      const info = await sandbox.getInfo();
      equal(info.sandboxId, sandbox.sandboxId);
      equal(info.metadata, { purpose: "test é" });
      equal(info.state, "running");
      assert(info.startedAt instanceof Date && info.endAt > info.startedAt, "times");
      equal(await sandbox.kill(), true, "first kill");
      equal(await sandbox.kill(), false, "second kill");
      equal(await sandbox.isRunning(), false, "isRunning after kill");
    },
  },
  {
    name: "sandbox: the template is optional, options may come first",
    async run(ctx) {
      const sandbox = await ctx.sdk.Sandbox.create(connection(ctx));
      equal(await sandbox.kill(), true);
    },
  },
  {
    name: "sandbox: envs given at creation reach commands",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => equal((await sandbox.commands.run("echo $GREETING")).stdout, "hi there\n"),
        { envs: { GREETING: "hi there" } },
      ),
  },
  {
    name: "sandbox: connect by id, also as a static kill",
    async run(ctx) {
      const first = await ctx.sdk.Sandbox.create("base", connection(ctx));
      await first.files.write("/tmp/from-first", "x");
      const second = await ctx.sdk.Sandbox.connect(first.sandboxId, connection(ctx));
      equal(second.sandboxId, first.sandboxId);
      equal(await second.files.read("/tmp/from-first"), "x");
      equal(await ctx.sdk.Sandbox.kill(first.sandboxId, connection(ctx)), true);
      equal(await ctx.sdk.Sandbox.kill(first.sandboxId, connection(ctx)), false);
    },
  },
  {
    name: "sandbox: list pages through what is running",
    run: (ctx) =>
      withSandbox(ctx, (one) =>
        withSandbox(ctx, async (two) => {
          const paginator = ctx.sdk.Sandbox.list({ ...connection(ctx), limit: 1 });
          const seen = [];
          while (paginator.hasNext) seen.push(...(await paginator.nextItems()));
          const ids = seen.map((info) => info.sandboxId);
          assert(ids.includes(one.sandboxId) && ids.includes(two.sandboxId), "both are listed");
          equal(new Set(ids).size, ids.length, "ids without repeats");
          await rejects(paginator.nextItems(), ctx.sdk.SandboxError);

          const iterated = [];
          for await (const info of ctx.sdk.Sandbox.list({ ...connection(ctx), limit: 1 })) iterated.push(info.sandboxId);
          assert(iterated.includes(one.sandboxId) && iterated.includes(two.sandboxId), "iteration sees both");
        }),
      ),
  },
  {
    name: "sandbox: list filters by metadata",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const found = await ctx.sdk.Sandbox.list({
            ...connection(ctx),
            query: { metadata: { "k 1": "v&=2" }, state: ["running"] },
          }).nextItems();
          equal(found.map((info) => info.sandboxId), [sandbox.sandboxId]);
        },
        { metadata: { "k 1": "v&=2" } },
      ),
  },
  {
    name: "sandbox: list by start, template and order",
    run: (ctx) =>
      withSandbox(ctx, (one) =>
        withSandbox(ctx, async (two) => {
          const { startedAt, templateId, name } = await two.getInfo();
          const ids = async (opts) => {
            const found = [];
            for await (const { sandboxId } of ctx.sdk.Sandbox.list({ ...connection(ctx), ...opts })) found.push(sandboxId);
            return found.filter((id) => [one.sandboxId, two.sandboxId].includes(id));
          };
          equal(await ids({ order: "asc", limit: 1 }), [one.sandboxId, two.sandboxId]);
          equal(await ids({ order: "desc" }), [two.sandboxId, one.sandboxId]);
          equal(await ids({ query: { startedAfter: startedAt } }), [two.sandboxId]);
          for (const template of [templateId, name]) equal((await ids({ query: { template } })).length, 2, template);
          equal(await ids({ query: { template: "code-interpreter-v1" } }), []);
          const wrong = { order: "up", startedAfter: new Date(NaN), template: 5 };
          for (const [key, value] of Object.entries(wrong)) {
            const list = async () => ctx.sdk.Sandbox.list({ ...connection(ctx), ...(key === "order" ? { order: value } : { query: { [key]: value } }) });
            assert((await rejects(list(), ctx.sdk.InvalidArgumentError)).message.includes(key), key);
          }
        }),
      ),
  },
  {
    name: "sandbox: onResume says whether memory is restored",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.pause();
        await rejects(sandbox.connect({ onResume: "reboot" }), ctx.sdk.InvalidArgumentError);
        await rejects(ctx.sdk.Sandbox.connect(sandbox.sandboxId, { ...connection(ctx), onResume: "never" }), ctx.sdk.InvalidArgumentError);
        await sandbox.connect({ onResume: "restore" });
        equal(await sandbox.isRunning(), true);
      }),
  },
  {
    name: "sandbox: setTimeout moves the end",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.setTimeout(600_000);
        const { endAt } = await sandbox.getInfo();
        const left = endAt.getTime() - Date.now();
        assert(left > 500_000 && left < 700_000, `${left} ms left`);
      }),
  },
  {
    name: "sandbox: two at once do not see each other",
    run: (ctx) =>
      withSandbox(ctx, (one) =>
        withSandbox(ctx, async (two) => {
          await Promise.all([one.files.write("/tmp/who", "one"), two.files.write("/tmp/who", "two")]);
          const answers = await Promise.all([one, two].map((sandbox) => sandbox.commands.run("cat /tmp/who; sleep 0.1; cat /tmp/who")));
          equal(answers.map((answer) => answer.stdout), ["oneone", "twotwo"]);
        }),
      ),
  },
  {
    name: "sandbox: await using kills it",
    async run(ctx) {
      const sandbox = await ctx.sdk.Sandbox.create("base", connection(ctx));
      await sandbox[Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]();
      equal(await sandbox.isRunning(), false);
    },
  },
  {
    name: "sandbox: getHost names a port",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const host = sandbox.getHost(8000);
        assert(host.startsWith(`8000-${sandbox.sandboxId}.`), host);
      }),
  },
  {
    name: "errors: server down is a ConnectionError",
    async run(ctx) {
      const error = await rejects(
        ctx.sdk.Sandbox.create("base", { apiKey: ctx.apiKey, apiUrl: "http://127.0.0.1:9" }),
        ctx.sdk.ConnectionError,
        "connection_failed",
      );
      assert(error.retryable && error.cause !== undefined, "retryable, with a cause");
    },
  },
  {
    name: "errors: a wrong key is an AuthenticationError and does not repeat the key",
    async run(ctx) {
      const apiKey = "e2b_00000000000000000000000000000000deadbeef";
      const error = await rejects(
        ctx.sdk.Sandbox.create("base", { ...connection(ctx), apiKey }),
        ctx.sdk.AuthenticationError,
        "unauthenticated",
      );
      equal(error.status, 401);
      assert(!error.message.includes("deadbeef"), "the key must not be in the message");
    },
  },
  {
    name: "errors: a missing key is refused before any request",
    async run(ctx) {
      let calls = 0;
      const fetch = () => {
        calls += 1;
        return Promise.reject(new Error("must not be called"));
      };
      await rejects(ctx.sdk.Sandbox.create("base", { apiUrl: ctx.apiUrl, apiKey: "", fetch }), ctx.sdk.AuthenticationError);
      equal(calls, 0, "requests");
    },
  },
  {
    name: "errors: an unknown template is a NotFoundError that names it",
    async run(ctx) {
      const error = await rejects(ctx.sdk.Sandbox.create("no-such-template", connection(ctx)), ctx.sdk.NotFoundError);
      equal(error.status, 404);
      assert(error.message.includes("no-such-template"), error.message);
    },
  },
  {
    name: "errors: an unknown sandbox id is a SandboxNotFoundError",
    async run(ctx) {
      const id = "i00000000000000000000";
      await rejects(ctx.sdk.Sandbox.connect(id, connection(ctx)), ctx.sdk.SandboxNotFoundError, "sandbox_not_found");
      await rejects(ctx.sdk.Sandbox.getInfo(id, connection(ctx)), ctx.sdk.SandboxNotFoundError);
      await rejects(ctx.sdk.Sandbox.setTimeout(id, 1000, connection(ctx)), ctx.sdk.SandboxNotFoundError);
    },
  },
  {
    name: "errors: using a killed sandbox says that it is gone",
    async run(ctx) {
      const sandbox = await ctx.sdk.Sandbox.create("base", connection(ctx));
      await sandbox.kill();
      // The classes are those of the standard client; the code is the same everywhere.
      await rejects(sandbox.commands.run("true"), ctx.sdk.SandboxNotFoundError, "sandbox_gone");
      await rejects(sandbox.files.read("/etc/hostname"), ctx.sdk.TimeoutError, "sandbox_gone");
    },
  },
  {
    name: "errors: options are checked by name",
    async run(ctx) {
      const { Sandbox, InvalidArgumentError } = ctx.sdk;
      const wrong = [
        [{ apiKey: 5 }, "apiKey"],
        [{ metadata: { a: 1 } }, "metadata.a"],
        [{ timeoutMs: "soon" }, "timeoutMs"],
        [{ signal: "stop" }, "signal"],
        [{ fetch: "no" }, "fetch"],
        [{ encoding: "xml" }, "encoding"],
      ];
      for (const [options, name] of wrong) {
        const error = await rejects(Sandbox.create("base", { ...connection(ctx), ...options }), InvalidArgumentError);
        assert(error.message.includes(name), `"${error.message}" names ${name}`);
      }
      await rejects(Sandbox.create("base", "options"), InvalidArgumentError);
      await rejects(Sandbox.connect("", connection(ctx)), InvalidArgumentError);
    },
  },
  {
    name: "abort: an aborted signal rejects with its reason before any request",
    async run(ctx) {
      const reason = new Error("changed my mind");
      await rejectsWith(ctx.sdk.Sandbox.create("base", { ...connection(ctx), signal: AbortSignal.abort(reason) }), reason);
    },
  },
  {
    name: "abort: in the middle of a request, even when fetch ignores the signal",
    async run(ctx) {
      const reason = { any: "value" };
      const controller = new AbortController();
      const fetch = () => new Promise(() => setTimeout(() => controller.abort(reason), 10));
      await rejectsWith(ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch, signal: controller.signal }), reason);
    },
  },
  {
    name: "clock: requestTimeoutMs ends a request that hangs",
    async run(ctx) {
      const fetch = () => new Promise(() => {});
      await rejects(
        ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch, requestTimeoutMs: 50 }),
        ctx.sdk.TimeoutError,
        "request_timeout",
      );
    },
  },
];
