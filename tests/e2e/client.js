// Clients with options of their own, subclasses, loggers, and what the package exports beside its classes.

import { CONSTANTS, FUNCTIONS, PARENTS } from "../types/names.js";
import { assert, equal, rejects } from "./assert.js";
import { connection, withSandbox } from "./context.js";

export const cases = [
  {
    name: "client: volumes and templates are its own as well",
    async run(ctx) {
      const { Volume, Template } = new ctx.sdk.E2B(connection(ctx));
      const stranger = new ctx.sdk.E2B({ ...connection(ctx), apiKey: "e2b_0000" });
      const volume = await Volume.create("of-a-client");
      try {
        equal(volume instanceof Volume && volume instanceof ctx.sdk.Volume, true, "its class");
        equal((await Volume.list()).some(({ volumeId }) => volumeId === volume.volumeId), true);
        await rejects(stranger.Volume.list(), ctx.sdk.AuthenticationError);
      } finally {
        equal(await Volume.destroy(volume.volumeId), true);
      }
      equal(await Template.exists("base"), true);
      await rejects(stranger.Template.exists("base"), ctx.sdk.AuthenticationError);
      equal(Template.toDockerfile(Template().fromPythonImage("3.12")).startsWith("FROM python:3.12"), true);
    },
  },
  {
    name: "client: two clients do not see each other's options; a call's own come first",
    async run(ctx) {
      const { E2B, Sandbox, AuthenticationError } = ctx.sdk;
      const mine = new E2B({ ...connection(ctx), metadata: { client: "mine" } });
      const other = new E2B({ ...connection(ctx), apiKey: "e2b_0000" });
      await rejects(other.Sandbox.create("base"), AuthenticationError);
      await rejects(other.Sandbox.list().nextItems(), AuthenticationError);
      // Neither an option nor the whole of them is cleared by being undefined.
      const sandbox = await mine.Sandbox.create("base", { apiKey: undefined, timeoutMs: 60_000 });
      try {
        assert(sandbox instanceof mine.Sandbox && sandbox instanceof Sandbox && !(sandbox instanceof other.Sandbox), "its class");
        equal((await sandbox.commands.run("echo hi")).stdout, "hi\n");
        const { sandboxId } = sandbox;
        equal((await mine.Sandbox.getInfo(sandboxId)).metadata, { client: "mine" });
        equal((await mine.Sandbox.getFullInfo(sandboxId, undefined)).sandboxId, sandboxId);
        await mine.Sandbox.setTimeout(sandboxId, 120_000);
        await rejects(mine.Sandbox.setTimeout(sandboxId, 1000, { apiKey: "e2b_0000" }), AuthenticationError);
        await rejects(other.Sandbox.kill(sandboxId), AuthenticationError);
        const connected = await other.Sandbox.connect(sandboxId, connection(ctx));
        assert(connected instanceof other.Sandbox, "made by the other client");
        equal((await connected.getInfo()).sandboxId, sandboxId, "it keeps the options it was made with");
        const [listed] = await mine.Sandbox.list({ query: { metadata: { client: "mine" } } }).nextItems();
        equal(listed.sandboxId, sandboxId);
      } finally {
        await sandbox.kill();
      }
      const optionsFirst = await mine.Sandbox.create({ metadata: { client: "call" } });
      equal((await optionsFirst.getInfo()).metadata, { client: "call" });
      equal(await mine.Sandbox.kill(optionsFirst.sandboxId), true);
      equal(await (await mine.Sandbox.create()).kill(), true);
      equal(await (await Sandbox.create(connection(ctx), undefined)).kill(), true);
    },
  },
  {
    name: "client: wrong options are refused, by the client or by its calls",
    async run(ctx) {
      const { E2B, InvalidArgumentError } = ctx.sdk;
      for (const opts of [null, "key", { signal: AbortSignal.timeout(1000) }]) {
        await rejects((async () => new E2B(opts))(), InvalidArgumentError, "invalid_argument");
      }
      const { Sandbox } = new E2B({ ...connection(ctx), timeoutMs: "soon" });
      const error = await rejects(Sandbox.create(), InvalidArgumentError);
      assert(error.message.includes("timeoutMs"), error.message);
      await rejects(new E2B(connection(ctx)).Sandbox.create("base", "options"), InvalidArgumentError);
      await rejects(ctx.sdk.Sandbox.create({ ...connection(ctx), proxy: "http://proxy.test" }), InvalidArgumentError);
    },
  },
  {
    name: "client: what a subclass makes is of that subclass",
    async run(ctx) {
      class Mine extends ctx.sdk.Sandbox {
        async greet() {
          return (await this.commands.run("echo hello")).stdout;
        }
      }
      const sandbox = await Mine.create(connection(ctx));
      try {
        equal(await sandbox.greet(), "hello\n");
        assert((await Mine.connect(sandbox.sandboxId, connection(ctx))) instanceof Mine, "connect");
        assert((await Mine.attach(sandbox.toToken())) instanceof Mine, "attach");
        const { connect } = ctx.sdk.Sandbox;
        assert((await connect(sandbox.sandboxId, connection(ctx))) instanceof ctx.sdk.Sandbox, "without its class");
      } finally {
        await sandbox.kill();
      }
    },
  },
  {
    name: "client: a logger is told of requests in words, without secrets; what it throws is dropped",
    async run(ctx) {
      const lines = [];
      const level = (name) => (...words) => {
        lines.push(`${name} ${words.join(" ")}`);
        throw new Error("dropped");
      };
      const logger = { debug: level("debug"), info: level("info"), error: level("error") };
      let secrets;
      await withSandbox(
        ctx,
        async (sandbox) => {
          await sandbox.files.write("/tmp/secret-name", "secret content");
          await rejects(sandbox.files.read("/tmp/missing"), ctx.sdk.FileNotFoundError);
          secrets = [ctx.apiKey, sandbox.sandboxId, sandbox.toToken().envdAccessToken, "secret"];
        },
        { logger },
      );
      const text = lines.join("\n").replace(/\d+ ms/g, "N ms");
      equal(text.split("\n"), [
        "debug POST /sandboxes",
        "info POST /sandboxes was answered 201 after N ms",
        "debug POST /files",
        "info POST /files was answered 200 after N ms",
        "debug GET /files",
        "error GET /files was answered 404 after N ms",
        "debug DELETE /sandboxes/{id}",
        "info DELETE /sandboxes/{id} was answered 204 after N ms",
      ]);
      for (const secret of secrets) assert(!lines.join().includes(secret), "a secret was logged");

      lines.length = 0;
      const down = { apiKey: ctx.apiKey, apiUrl: "http://127.0.0.1:9", logger };
      await rejects(ctx.sdk.Sandbox.create("base", down), ctx.sdk.ConnectionError);
      assert(/^error POST \/sandboxes got no answer within \d+ ms: connection_failed$/.test(lines.at(-1)), lines.at(-1));
      for (const logger of ["loud", 5, { debug: "yes" }]) {
        const error = await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), logger }), ctx.sdk.InvalidArgumentError);
        assert(error.message.includes("logger"), error.message);
      }
      equal(await (await ctx.sdk.Sandbox.create("base", { ...connection(ctx), logger: {} })).kill(), true);
    },
  },
  {
    name: "client: ConnectionConfig shows what options come to, and not the key",
    async run(ctx) {
      const { ConnectionConfig } = ctx.sdk;
      const config = new ConnectionConfig({ apiKey: "k1", domain: "sandboxes.test", headers: { a: "1" }, apiHeaders: { b: "2" }, requestTimeoutMs: 0 });
      equal([config.apiKey, config.domain, config.apiUrl, config.requestTimeoutMs, config.retries], ["k1", "sandboxes.test", "https://api.sandboxes.test", 0, 3]);
      equal(config.headers, { a: "1", b: "2" });
      assert(!JSON.stringify(config).includes("k1"), "the key is not shown");
      equal(config.getHost("i1", 80), "80-i1.sandboxes.test");
      equal(config.getSandboxUrl("i1"), "https://49983-i1.sandboxes.test");
      equal(new ConnectionConfig({ sandboxUrl: "https://box.test/x" }).getSandboxUrl("i1"), "https://box.test/x");
      equal(new ConnectionConfig({ debug: true }).getSandboxUrl("i1"), "http://localhost:49983");
      equal([config.getSignal(), config.getSignal(1000).aborted], [undefined, false]);
      equal(ConnectionConfig.mergeOpts({ domain: "a", retries: 1 }, { domain: "b", retries: undefined }), { domain: "b", retries: 1 });
      await rejects((async () => new ConnectionConfig({ apiUrl: "nonsense" }))(), ctx.sdk.InvalidArgumentError);
    },
  },
  {
    name: "client: the names that programs import exist",
    async run({ sdk }) {
      equal(sdk.default, sdk.Sandbox, "the default export");
      equal([sdk.ALL_TRAFFIC, sdk.FileType.DIR, sdk.FilesystemEventType.WRITE, sdk.ChartType.LINE, sdk.ScaleType.LOG], ["0.0.0.0/0", "dir", "write", "line", "log"]);
      for (const name of FUNCTIONS) {
        equal(typeof sdk[name], "function", name);
        equal(sdk[name].name, name, "its name, which a minifier must not take");
      }
      for (const name of CONSTANTS) {
        assert(typeof sdk[name] === "string" || Object.isFrozen(sdk[name]), name);
        assert(Object.values(sdk[name]).every((value) => typeof value === "string"), `the values of ${name}`);
      }
      for (const [name, parent] of Object.entries(PARENTS)) {
        equal(Object.getPrototypeOf(sdk[name]), sdk[parent], `what ${name} is one of`);
        if (name !== "CommandExitError") equal(new sdk[name]("x").name, name);
      }
    },
  },
];
