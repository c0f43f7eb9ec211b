// What goes wrong on the way: unknown outcomes, aborts, hostile answers, secrets.

import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { lost, refused, stub } from "./stub.js";
import { outcomeOf } from "./vectors.js";

const ADDRESS = "http://stub.test";
const KEY = "key-that-nobody-may-see";
const TOKEN = "token-that-nobody-may-see";
const CREATED = { status: 201, json: { sandboxID: "f1", templateID: "base", envdVersion: "0.6.5", envdAccessToken: TOKEN, envdUrl: `${ADDRESS}/path-of-secrets` } };
const START = "000000001e7b226576656e74223a7b227374617274223a7b22706964223a34327d7d7d";
const OUT_X = "00000000247b226576656e74223a7b2264617461223a7b227374646f7574223a2265413d3d227d7d7d";

function optionsFor(server) {
  return { sandboxApiKey: KEY, sandboxBaseUrl: ADDRESS, fetch: server.fetch, encoding: "json", env: {} };
}

/** A sandbox whose next requests are answered by `answers`. */
async function sandboxWith(providers, answers, more) {
  const server = stub([CREATED]);
  const sandbox = await providers.ProviderSandbox.create({ ...optionsFor(server), ...more });
  server.requests.length = 0;
  server.answers.splice(0, server.answers.length, ...answers);
  return { sandbox, server };
}

/** The probe by which the package finds out what became of a sandbox reads only. */
const changing = (requests) => requests.filter(({ method, target }) => method !== "GET" && !target.endsWith("/List"));

function mustHide(error, what) {
  const seen = [];
  for (let one = error; one; one = one.cause) seen.push(String(one.message), JSON.stringify(one), String(one.stack));
  for (const secret of [KEY, TOKEN, "path-of-secrets"]) assert(!seen.join("\n").includes(secret), `${what}: ${secret} is in the error`);
}

const garbage = "x".repeat(70_000);

export const failures = [
  {
    name: "addresses: variables of the other family lead these sandboxes nowhere",
    async run({ providers }) {
      // Runtimes without an environment have no such variables.
      const variables = globalThis.process?.env;
      if (!variables) return;
      const before = { ...variables };
      Object.assign(variables, { E2B_SANDBOX_URL: "http://elsewhere.test", E2B_API_KEY: "e2b_of-another", E2B_API_URL: "http://elsewhere.test", E2B_DOMAIN: "elsewhere.test", E2B_DEBUG: "true" });
      try {
        const server = stub([{ status: 201, json: { sandboxID: "v1", envdVersion: "0.6.5", envdAccessToken: TOKEN } }, () => refused()], { repeats: true });
        const sandbox = await providers.ProviderSandbox.create({ ...optionsFor(server), sandboxBaseUrl: "https://api.here.example", provider: providers.expressProvider({ code: true }) });
        await outcomeOf(() => sandbox.files.read("/x"));
        await outcomeOf(() => sandbox.runCode("1"));
        const origins = [...new Set(server.requests.map(({ origin }) => origin))];
        equal(origins, ["https://api.here.example", "https://49983-v1.here.example", "https://49999-v1.here.example"]);
        assert(!JSON.stringify(server.requests.map(({ headers }) => headers)).includes("of-another"), "no key of the other family");
      } finally {
        for (const name of Object.keys(variables)) if (!(name in before)) delete variables[name];
        Object.assign(variables, before);
      }
    },
  },
  {
    name: "unknown outcome: a POST whose connection is lost is sent once, and is E8020",
    async run({ providers, sdk }) {
      const server = stub([lost], { repeats: true });
      const error = await rejects(providers.ProviderSandbox.create(optionsFor(server)), providers.ProviderProtocolError, "E8020");
      equal([error.outcomeUnknown, error.retryable, error instanceof sdk.ProtocolError, server.requests.length], [true, false, true, 1]);
      assert(error.message.includes("may or may not"), error.message);
      mustHide(error, "create");
      const calls = [
        (s) => s.setTimeout(10),
        (s) => s.commands.run("x"),
        (s) => s.commands.start("x"),
        (s) => s.commands.sendInput(1, "x"),
        (s) => s.commands.kill(1),
        (s) => s.files.write("/x", "x"),
        (s) => s.files.makeDir("/x"),
        (s) => s.files.move("/x", "/y"),
        (s) => s.files.remove("/x"),
        (s) => s.kill(),
        async (s) => (await s.applicationClient(9000)).run("x"),
      ];
      for (const act of calls) {
        const { sandbox, server: inner } = await sandboxWith(providers, Array(4).fill(lost));
        const one = await rejects(act(sandbox), providers.ProviderProtocolError, "E8020");
        equal([one.outcomeUnknown, changing(inner.requests).length], [true, 1], String(act));
        mustHide(one, String(act));
      }
    },
  },
  {
    name: "unknown outcome: an answer that breaks off, or is no answer, after something was done",
    async run({ providers }) {
      for (const answer of [{ status: 201, body_text: '{"sandboxID"', breaks: true }, { status: 201, body_text: '{"sandboxID"' }, { status: 201, body_text: "<html>" }, { status: 201, json: {} }, { status: 201, body_text: "" }]) {
        const server = stub([answer]);
        const error = await rejects(providers.ProviderSandbox.create(optionsFor(server)), providers.ProviderProtocolError, "E8020");
        equal([error.outcomeUnknown, server.requests.length], [true, 1], JSON.stringify(answer));
      }
    },
  },
  {
    name: "connection: what was provably not sent, and what only reads, is E5001",
    async run({ providers, sdk }) {
      const server = stub([refused], { repeats: true });
      const error = await rejects(providers.ProviderSandbox.create(optionsFor(server)), sdk.ConnectionError, "E5001");
      equal([error.outcomeUnknown, error.retryable, server.requests.length], [undefined, true, 1]);
      const reading = [(s) => s.refreshInfo(), (s) => s.isRunning(), (s) => s.commands.list(), (s) => s.files.read("/x"), (s) => s.files.list("/"), (s) => s.files.exists("/x")];
      for (const act of reading) {
        const { sandbox } = await sandboxWith(providers, Array(4).fill(lost));
        const one = await rejects(act(sandbox), sdk.ConnectionError, "E5001");
        equal(one.outcomeUnknown, undefined, String(act));
        mustHide(one, String(act));
      }
    },
  },
  {
    name: "commands: a stream that is cut says so, with what had arrived",
    async run({ providers }) {
      const { sandbox } = await sandboxWith(providers, [{ body_chunks_hex: [START, OUT_X], breaks: true }, lost]);
      const told = [];
      const error = await rejects(sandbox.commands.run("x", { onStdout: (data) => void told.push(data) }), providers.ProviderProtocolError, "E8020");
      equal([error.outcomeUnknown, error.stdout, told], [true, "x", ["x"]]);
    },
  },
  {
    name: "commands: a callback that throws ends the command, and rejects with what it threw",
    async run({ providers }) {
      const { sandbox, server } = await sandboxWith(providers, [{ body_chunks_hex: [START, OUT_X], hangs: true }, { json: {} }]);
      const reason = new Error("enough");
      await rejectsWith(sandbox.commands.run("x", { onStdout: () => { throw reason; } }), reason);
      await eventually(() => server.requests.some(({ json }) => json?.signal === "SIGNAL_SIGKILL"), "the command is killed");
    },
  },
  {
    name: "timeouts: a create that is not answered is E8022 with an unknown outcome, a read is not",
    async run({ providers, sdk }) {
      const hanging = (_request, init) => new Promise((_, reject) => init.signal.addEventListener("abort", () => reject(init.signal.reason)));
      const server = stub([hanging], { repeats: true });
      const options = { ...optionsFor(server), requestTimeout: 0.05 };
      const error = await rejects(providers.ProviderSandbox.create(options), providers.ProviderTimeoutError, "E8022");
      equal([error.outcomeUnknown, error.retryable, error instanceof sdk.TimeoutError], [true, false, true]);
      const reading = await rejects(providers.ProviderSandbox.list(options), providers.ProviderTimeoutError, "E8022");
      equal([reading.outcomeUnknown, reading.retryable], [undefined, true]);
    },
  },
  {
    name: "aborts: every call rejects with the reason, before, during, and where the host ignores the signal",
    async run({ providers }) {
      const reason = new Error("changed my mind");
      const deaf = () => new Promise(() => {});
      const calls = [
        (type, o) => type.create(o),
        (type, o) => type.connect("x", o),
        (type, o) => type.list(o),
        (type, o) => type.getInfoById("x", o),
        (type, o) => type.setTimeoutById("x", 5, o),
        (type, o) => type.killById("x", o),
      ];
      for (const act of calls) {
        const server = stub([deaf], { repeats: true });
        await rejectsWith(act(providers.ProviderSandbox, { ...optionsFor(server), signal: AbortSignal.abort(reason) }), reason);
        equal(server.requests.length, 0, `${act}: nothing is sent`);
        const controller = new AbortController();
        const call = act(providers.ProviderSandbox, { ...optionsFor(server), signal: controller.signal });
        call.catch(() => {});
        await eventually(() => server.requests.length === 1, "the request is sent");
        controller.abort(reason);
        await rejectsWith(call, reason);
      }
      const inside = [
        (s, signal) => s.commands.run("x", { signal }),
        (s, signal) => s.commands.list({ signal }),
        (s, signal) => s.commands.kill(1, { signal }),
        (s, signal) => s.files.read("/x", { signal }),
        (s, signal) => s.files.write("/x", "x", { signal }),
        (s, signal) => s.files.list("/", { signal }),
        (s, signal) => s.files.watch("/", { signal }),
        (s, signal) => s.refreshInfo({ signal }),
        (s, signal) => s.kill({ signal }),
        (s, signal) => s.run("x", {}, { signal }),
        (s, signal) => s.runCode("1", { signal }),
      ];
      for (const act of inside) {
        const { sandbox, server } = await sandboxWith(providers, Array(3).fill(deaf), { provider: providers.expressProvider({ code: true }) });
        const controller = new AbortController();
        const call = act(sandbox, controller.signal);
        call.catch(() => {});
        await eventually(() => server.requests.length > 0, `the request is sent: ${act}`);
        controller.abort(reason);
        await rejectsWith(call, reason);
      }
    },
  },
  {
    name: "aborts: a running command is killed, and its stream with it",
    async run({ providers }) {
      for (const open of [(s, signal) => s.commands.run("x", { signal }), async (s, signal) => { for await (const _ of s.commands.stream("x", { signal })); }]) {
        const { sandbox, server } = await sandboxWith(providers, [{ body_chunks_hex: [START, OUT_X], hangs: true }, { json: {} }]);
        const controller = new AbortController();
        const reason = new Error("stop");
        const call = open(sandbox, controller.signal);
        call.catch(() => {});
        await eventually(() => server.requests.length === 1, "the command is started");
        // Not before its pid is known.
        await new Promise((resolve) => setTimeout(resolve, 0));
        controller.abort(reason);
        await rejectsWith(call, reason);
        await eventually(() => server.requests.some(({ json }) => json?.signal === "SIGNAL_SIGKILL"), "the command is killed");
      }
    },
  },
  {
    name: "streams: leaving the loop of commands.stream kills, leaving that of commands.start does not",
    async run({ providers }) {
      const stream = await sandboxWith(providers, [{ body_chunks_hex: [START, OUT_X], hangs: true }, { json: {} }]);
      for await (const { data } of stream.sandbox.commands.stream("x")) if (data === "x") break;
      equal(stream.server.requests.map(({ json }) => json?.signal), [undefined, "SIGNAL_SIGKILL"]);
      const started = await sandboxWith(providers, [{ body_chunks_hex: [START, OUT_X], hangs: true }, { json: {} }]);
      const reader = await started.sandbox.commands.start("x");
      equal(reader.pid, 42);
      for await (const { data } of reader) if (data === "x") break;
      await reader.close();
      equal(started.server.requests.length, 1);
    },
  },
  {
    name: "create: what fails after the sandbox exists takes it back, and says what became of it",
    async run({ providers }) {
      const reason = new Error("not this one");
      for (const [answer, cleanedUp] of [[{ status: 204 }, true], [{ status: 500, json: { message: "no" } }, false]]) {
        const server = stub([CREATED, answer]);
        const { error } = await outcomeOf(() => providers.ProviderSandbox.create({ ...optionsFor(server), onCreated: () => { throw reason; } }));
        equal([error === reason, error.ownedResource, error.cleanedUp], [true, { providerId: "alicloud-express", sandboxId: "f1" }, cleanedUp]);
        equal(server.requests.map(({ method, target }) => `${method} ${target}`), ["POST /sandboxes", "DELETE /sandboxes/f1"]);
      }
      const controller = new AbortController();
      const abort = new Error("gone");
      const server = stub([CREATED, { status: 204 }]);
      await rejectsWith(providers.ProviderSandbox.create({ ...optionsFor(server), signal: controller.signal, onCreated: () => controller.abort(abort) }), abort);
      equal([server.requests.length, abort.ownedResource], [2, undefined], "the reason of an abort is the caller's own");
    },
  },
  {
    name: "hostile answers: huge, HTML, redirects, wrong shapes: typed, bounded, without secrets",
    async run({ providers, sdk }) {
      let pulled = 0;
      const endless = () => {
        const chunk = new Uint8Array(1 << 20).fill(32);
        return new Response(new ReadableStream({ pull: (controller) => ((pulled += 1), controller.enqueue(chunk)) }, { highWaterMark: 0 }), { status: 200 });
      };
      const type = providers.ProviderSandbox;
      const huge = await rejects(type.list(optionsFor(stub([endless]))), providers.ProviderProtocolError, "E8020");
      assert(pulled < 40 && huge.message.includes("bytes"), `${pulled} MiB were read: ${huge.message}`);
      pulled = 0;
      const complaint = await rejects(type.list(optionsFor(stub([() => new Response(endless().body, { status: 500 })]))), providers.ProviderError, "E8000");
      assert(pulled < 5 && complaint.status === 500, `${pulled} MiB of an error were read`);
      const cases = [
        [{ status: 200, body_text: `<html>${garbage}` }, "E8020"],
        [{ status: 200, json: { data: 5 } }, "E8020"],
        [{ status: 200, json: [{}] }, "E8020"],
        [{ status: 200, body_text: "[{" }, "E8020"],
        [{ status: 302, headers: { location: "http://elsewhere.test/" } }, "E8020"],
        [{ status: 500, body_text: `<html>${KEY}${garbage}` }, "E8000"],
        [{ status: 500, json: { message: `your key ${KEY} is wrong` } }, "E8000"],
        [{ status: 401, json: { message: garbage } }, "E1001"],
        [{ status: 418, body_text: garbage }, "E8000"],
      ];
      for (const [answer, code] of cases) {
        const server = stub([answer]);
        const { error } = await outcomeOf(() => type.list(optionsFor(server)));
        equal([error instanceof sdk.SandboxError, error?.code, server.requests.length], [true, code, 1], JSON.stringify(answer).slice(0, 100));
        assert(error.message.length < 700, `a message of ${error.message.length} characters`);
        mustHide(error, code);
      }
    },
  },
  {
    name: "secrets: not in what is printed of a sandbox, its facts or its provider",
    async run({ providers }) {
      const { sandbox } = await sandboxWith(providers, []);
      const shown = JSON.stringify([sandbox, sandbox.info, sandbox.commands, sandbox.files, sandbox.network, Object.entries(sandbox), Object.entries(sandbox.info)]);
      for (const secret of [KEY, TOKEN]) assert(!shown.includes(secret), `${secret} is shown`);
      equal(sandbox.info.envdAccessToken, TOKEN, "for whoever asks for it");
    },
  },
  {
    name: "addresses: the domain follows the base URL, so that no token goes to another platform",
    async run({ providers }) {
      const server = stub([{ status: 201, json: { sandboxID: "d1", envdAccessToken: TOKEN, envdVersion: "0.6.5" } }, () => refused()]);
      const sandbox = await providers.ProviderSandbox.create({ ...optionsFor(server), sandboxBaseUrl: "https://api.other.example/" });
      equal(sandbox.network.getUrl(80), "https://80-d1.other.example");
      await outcomeOf(() => sandbox.files.read("/x"));
      equal(server.requests.map(({ origin }) => origin).slice(0, 2), ["https://api.other.example", "https://49983-d1.other.example"]);
      const region = stub([{ status: 201, json: { sandboxID: "d2" } }]);
      const there = await providers.ProviderSandbox.create({ sandboxApiKey: KEY, region: "cn-beijing", fetch: region.fetch, env: {} });
      equal([region.requests[0].origin, there.network.getHost(80)], ["https://api.cn-beijing.e2b.fc.aliyuncs.com", "80-d2.cn-beijing.e2b.fc.aliyuncs.com"]);
      const insecure = stub([CREATED]);
      const open = await providers.ProviderSandbox.create({ ...optionsFor(insecure), secure: false, sandboxDomain: "x.example" });
      equal([open.network.getUrl(80), open.network.getAccessHeaders()], ["http://80-f1.x.example", {}]);
    },
  },
];
