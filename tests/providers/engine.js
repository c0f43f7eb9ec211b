// Engines: what is tried again and what is not, confirmation, hostile streams, and what they may say.

import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { lost, stub } from "./stub.js";
import { outcomeOf } from "./vectors.js";

const ADDRESS = "http://engine.test";
const WELL = { json: { protocol: "abx-engine/1" } };
const RECORD = { json: { sandbox_id: "e1", status: "running", metadata: {} } };
const VOLUMES = { json: { commands: [{ id: "volumes.list", effect: "read" }, { id: "volumes.delete", effect: "delete" }, { id: "volumes.odd", effect: "unheard-of" }] } };

const definition = (server, more) => ({
  id: "far",
  kind: "node",
  engine: { url: ADDRESS, token: "engine-token", fetch: server.fetch },
  features: ["files.watch"],
  operations: ["sandbox.create", "sandbox.list", "sandbox.delete", "exec.run", "exec.stream", "files.read", "files.write", "code.execute", "code.stream"],
  ...more,
});

const targets = (requests) => requests.map(({ method, target }) => `${method} ${target}`);

async function sandboxOf(providers, answers) {
  const server = stub([WELL, RECORD]);
  const sandbox = await providers.ProviderSandbox.create({ provider: definition(server) });
  server.requests.length = 0;
  server.answers.splice(0, server.answers.length, ...answers);
  return { sandbox, server };
}

const sse = (text, more) => ({ headers: { "content-type": "text/event-stream" }, body_text: text, ...more });
const chunk = (value) => `event: message\r\ndata: ${JSON.stringify(value)}\r\n\r\n`;

export const engine = [
  {
    name: "engine: what changes is never sent twice, what reads is asked once more",
    async run({ providers }) {
      const { sandbox, server } = await sandboxOf(providers, [lost, WELL, RECORD]);
      const error = await rejects(sandbox.kill(), providers.ProviderProtocolError, "E8020");
      equal([error.outcomeUnknown, targets(server.requests)], [true, ["DELETE /v1/sandboxes/e1"]]);
      const again = await sandboxOf(providers, [lost, WELL, { body_text: "abc" }]);
      equal(await again.sandbox.files.read("/x"), "abc");
      equal(again.server.requests.length, 3);
      const twice = await sandboxOf(providers, [lost, WELL, lost]);
      const lostAgain = await rejects(twice.sandbox.files.read("/x"), providers.ProviderProtocolError, "E8020");
      equal([lostAgain.outcomeUnknown, twice.server.requests.length], [undefined, 3]);
    },
  },
  {
    name: "engine: a new token is asked for when the old one is refused, but not for management operations",
    async run({ providers }) {
      const tokens = ["old", "old", "new", "new"];
      const token = () => tokens.shift() ?? "new";
      const server = stub([WELL, { status: 401, json: {} }, WELL, RECORD]);
      const sandbox = await providers.ProviderSandbox.create({ provider: definition(server, { engine: { url: ADDRESS, token, fetch: server.fetch } }) });
      equal([sandbox.id, server.requests.map(({ headers }) => headers.authorization)], ["e1", ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]]);
      const managed = stub([WELL, { status: 401, json: { error: { type: "InvalidCredentialsError", code: "E1003", message: "who?" } } }]);
      const one = new providers.ProviderEngine({ url: ADDRESS, token: () => "t", fetch: managed.fetch });
      await rejects(one.runCommand(definition(managed), "volumes.list"), providers.InvalidCredentialsError, "E1003");
      equal(managed.requests.length, 2);
    },
  },
  {
    name: "management: nothing is sent without a boolean confirmation of what is known to change something",
    async run({ providers }) {
      const server = stub([WELL, VOLUMES]);
      const one = new providers.ProviderEngine({ url: ADDRESS, token: "t", fetch: server.fetch });
      equal((await one.listCommands("far")).length, 3);
      const provider = definition(server);
      for (const confirm of [undefined, false]) {
        for (const command of ["volumes.delete", "volumes.odd"]) {
          const error = await rejects(one.runCommand(provider, command, { input: { id: "v" }, confirm }), providers.ProviderConfigError, "E8002");
          assert(error.message.includes("confirm: true"), error.message);
        }
      }
      for (const confirm of ["yes", 1, {}, null]) await rejects(one.runCommand(provider, "volumes.list", { confirm }), providers.ProviderConfigError, "E8002");
      const circular = {};
      circular.itself = circular;
      for (const input of [[], "x", null, 5, circular]) await rejects(one.runCommand(provider, "volumes.list", { input }), providers.ProviderConfigError, "E8002");
      for (const id of ["", "Volumes", "volumes..list", "../x", "a".repeat(81), 5]) await rejects(one.runCommand(provider, id), providers.ProviderConfigError, "E8002");
      for (const id of ["Far", 5, {}, undefined]) await rejects(one.listCommands(id), providers.ProviderConfigError, "E8002");
      equal(server.requests.length, 2, "nothing was sent");
      server.answers.push({ json: { done: true } }, lost);
      equal(await one.runCommand(provider, "volumes.delete", { input: { id: "v" }, confirm: true }), { done: true });
      equal(server.requests[2].json, { input: { id: "v" }, confirm: true });
      const unknown = await rejects(one.runCommand(provider, "volumes.delete", { confirm: true }), providers.ProviderProtocolError, "E8020");
      equal([unknown.outcomeUnknown, server.requests.length], [true, 4]);
    },
  },
  {
    name: "engine: addresses and tokens that cannot be used, and servers that are none",
    async run({ providers, sdk }) {
      for (const address of [undefined, {}, { url: "x", token: "t" }, { url: ADDRESS }, { url: ADDRESS, token: "" }, { url: ADDRESS, token: 5 }, { url: `${ADDRESS}/?q=1`, token: "t" }]) {
        const { error } = await outcomeOf(async () => new providers.ProviderEngine(address));
        assert(error instanceof sdk.InvalidArgumentError && /engine/.test(error.message), `${JSON.stringify(address)}: ${error}`);
      }
      const wrong = new providers.ProviderEngine({ url: ADDRESS, token: "a\nb", fetch: stub([WELL]).fetch });
      equal((await outcomeOf(() => wrong.listCommands("far"))).error?.code, "invalid_argument");
      for (const health of [{ json: { protocol: "other/1" } }, { json: [] }, { body_text: "<html>" }, { status: 404, body_text: "<html>" }]) {
        const server = stub([health]);
        const one = new providers.ProviderEngine({ url: ADDRESS, token: "engine-secret", fetch: server.fetch });
        const error = await rejects(one.listCommands("far"), providers.ProviderProtocolError, "E8020");
        assert(!error.message.includes("engine-secret") && server.requests.length === 1, error.message);
      }
    },
  },
  {
    name: "engine: errors are of the class that it names, with its advice",
    async run({ providers, sdk }) {
      const errors = [
        [{ type: "QuotaExceededError", code: "E2002", message: "full", suggestion: "wait" }, providers.QuotaExceededError, "E2002"],
        [{ type: "SandboxNotFoundError", code: "E2009", message: "gone" }, sdk.SandboxNotFoundError, "E2009"],
        [{ type: "constructor", message: "odd" }, providers.ProviderError, "E8000"],
        [{ type: "ProviderError", code: "nonsense", message: "odd" }, providers.ProviderError, "E8000"],
        [{ type: "ProviderError", code: "E8000", message: "told", suggestion: "not engine-token nor api-key-1 again" }, providers.ProviderError, "E8000"],
      ];
      for (const [error, type, code] of errors) {
        const server = stub([WELL, { status: 400, json: { error } }]);
        const met = await rejects(providers.ProviderSandbox.create({ provider: definition(server, { inherit: ["sandbox_api_key"] }), sandboxApiKey: "api-key-1" }), type, code);
        const advice = error.suggestion?.replace("engine-token", "***").replace("api-key-1", "***") ?? "";
        assert(met.message.includes(error.message) && met.message.includes(advice), met.message);
      }
    },
  },
  {
    name: "engine: streams in any pieces, with an end; without one, or with nonsense, they are errors",
    async run({ providers, sdk }) {
      const text = chunk({ type: "stdout", data: "", pid: 9 }) + ": a comment\r\n\r\n" + chunk({ type: "stdout", data: "hü" }) + chunk({ type: "stderr", data: "e" }) + chunk({ type: "exit", exit_code: 3 }) + "event: end\ndata: {}\n\n";
      const bytes = new TextEncoder().encode(text);
      const pieces = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
      const { sandbox, server } = await sandboxOf(providers, [sse(undefined, { body_chunks_hex: pieces })]);
      const { stdout, stderr, exitCode } = await sandbox.commands.run("x");
      equal([stdout, stderr, exitCode, server.requests[0].headers.accept], ["hü", "e", 3, "text/event-stream"]);
      const broken = [
        [sse(chunk({ type: "stdout", data: "part" })), sdk.ConnectionError, "E5001"],
        [sse(`${chunk({ type: "stdout", data: "part" })}event: end\ndata: {}\n\n`), providers.ProviderProtocolError, "E8020"],
        [sse("data: {nonsense\n\n"), providers.ProviderProtocolError, "E8020"],
        [sse(chunk({ type: "stdout", data: "part" }), { breaks: true }), providers.ProviderProtocolError, "E8020"],
        [sse('event: error\ndata: {"error":{"type":"CommandTimeoutError","code":"E3001","message":"late"}}\n\n'), sdk.TimeoutError, "E3001"],
        [sse('event: error\ndata: {}\n\n'), providers.ProviderError, "E8000"],
      ];
      for (const [answer, type, code] of broken) {
        const one = await sandboxOf(providers, [answer]);
        await rejects(one.sandbox.commands.run("x"), type, code);
      }
      let pulled = 0;
      const endless = () => {
        const line = new TextEncoder().encode("data: ".concat("x".repeat(1 << 20)));
        return new Response(new ReadableStream({ pull: (controller) => ((pulled += 1), controller.enqueue(line)) }, { highWaterMark: 0 }));
      };
      const long = await sandboxOf(providers, [endless]);
      await rejects(long.sandbox.commands.run("x"), providers.ProviderProtocolError, "E8020");
      assert(pulled < 40, `${pulled} MiB of one line were read`);
    },
  },
  {
    name: "engine: closing a stream ends it for who waits for more, and its request",
    async run({ providers }) {
      let cancelled = 0;
      const open = () => {
        const start = (controller) => controller.enqueue(new TextEncoder().encode(chunk({ type: "stdout", data: "x" })));
        return new Response(new ReadableStream({ start, cancel: () => void (cancelled += 1) }));
      };
      const { sandbox } = await sandboxOf(providers, [open, open]);
      const reader = await sandbox.commands.start("x");
      const iterator = reader[Symbol.asyncIterator]();
      equal((await iterator.next()).value.data, "x");
      const next = iterator.next();
      await reader.close();
      equal([(await next).done, (await iterator.next()).done], [true, true]);
      await eventually(() => cancelled === 1, "the body is cancelled");
      for await (const { data } of await sandbox.commands.start("x")) if (data === "x") break;
      await eventually(() => cancelled === 2, "leaving the loop cancels it, too");
    },
  },
  {
    name: "engine: timeouts and aborts end the request of a command; code has callbacks when it is over",
    async run({ providers }) {
      const ended = [];
      const hanging = (_request, init) => {
        init.signal.addEventListener("abort", () => ended.push(init.signal.reason));
        return new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(chunk({ type: "stdout", data: "x" }))) }));
      };
      const { sandbox } = await sandboxOf(providers, [hanging, hanging, { json: { result: { stdout: "out", stderr: "err", exit_code: 1 } } }]);
      await rejects(sandbox.commands.run("x", { timeout: 0.05 }), providers.CommandTimeoutError, "E3001");
      const controller = new AbortController();
      const reason = new Error("stop");
      const call = sandbox.commands.run("x", { signal: controller.signal, onStdout: () => controller.abort(reason) });
      await rejectsWith(call, reason);
      await eventually(() => ended.length === 2, "both requests are ended");
      const told = [];
      const result = await sandbox.runCode("1", { onStdout: (data) => void told.push(data), onStderr: (data) => void told.push(data) });
      equal([told, result.exitCode, result.success, result.text], [["out", "err"], 1, false, "out"]);
    },
  },
];
