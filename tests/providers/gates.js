// What is refused before anything is sent: requests are counted.

import { assert, equal, rejects } from "../e2e/assert.js";
import { stub } from "./stub.js";
import { outcomeOf } from "./vectors.js";

const ADDRESS = "http://stub.test";

/** A provider of one's own that counts what reaches it. */
function counting(declared) {
  const reached = [];
  const note = (name) => async () => void reached.push(name);
  const protocol = (...names) => Object.fromEntries(names.map((name) => [name, note(name)]));
  const provider = {
    id: "counting",
    features: [],
    ...declared,
    open: () => ({
      sandbox: {
        ...protocol("kill", "setTimeout", "pause", "resume", "isRunning"),
        create: async () => ({ sandboxId: "c1", template: "base", status: "running", metadata: {} }),
        get: async () => ({ sandboxId: "c1", template: "base", status: "running", metadata: {} }),
      },
      session: () => ({
        process: protocol("start", "list", "sendInput", "sendSignal"),
        filesystem: protocol("stat", "list", "read", "write", "makeDir", "remove", "move", "exists", "watch"),
        code: protocol("run", "createContext", "listContexts", "restartContext", "removeContext"),
        ports: { url: () => "http://x.test", host: () => "x.test", accessHeaders: () => ({}), serverHeaders: () => ({}), endpoint: note("endpoint") },
      }),
    }),
  };
  return { provider, reached };
}

/** Each call with an operation that it needs: without it nothing reaches the provider. */
const NEEDS = [
  ["sandbox.delete", (s) => s.kill()],
  ["sandbox.timeout", (s) => s.setTimeout(10)],
  ["sandbox.pause", (s) => s.pause()],
  ["sandbox.resume", (s) => s.resume()],
  ["sandbox.get", (s) => s.isRunning()],
  ["exec.run", (s) => s.commands.run("x")],
  ["exec.stream", (s) => s.commands.run("x", { onStdout: () => {} })],
  ["exec.stream", (s) => s.commands.run("x", { background: true })],
  ["exec.stream", (s) => s.commands.start("x")],
  ["exec.stream", async (s) => { for await (const _ of s.commands.stream("x")); }],
  ["files.read", (s) => s.files.read("/x")],
  ["files.read", (s) => s.files.readBytes("/x")],
  ["files.write", (s) => s.files.write("/x", "")],
  ["files.write", (s) => s.files.makeDir("/x")],
  ["files.list", (s) => s.files.list("/x")],
  ["files.stat", (s) => s.files.getInfo("/x")],
  ["files.stat", (s) => s.files.exists("/x")],
  ["files.remove", (s) => s.files.remove("/x")],
  ["files.move", (s) => s.files.move("/x", "/y")],
  ["ports.resolve", async (s) => s.network.getUrl(80)],
  ["ports.resolve", (s) => s.network.resolve(80)],
  ["ports.resolve", (s) => s.applicationClient(80)],
  ["ports.resolve", (s) => s.run("x")],
  ["ports.resolve", async (s) => s.server],
  ["code.execute", (s) => s.runCode("1")],
  ["code.stream", (s) => s.runCode("1", { onResult: () => {} })],
  ["code.default-context.execute", (s) => s.runCode("1", { mode: "default-context" })],
  ["code.context.execute", (s) => s.runCode("1", { contextId: "c" })],
  ["code.context.create", (s) => s.code.createContext()],
  ["code.context.list", (s) => s.code.listContexts()],
  ["code.context.restart", (s) => s.code.restartContext("c")],
  ["code.context.delete", (s) => s.code.removeContext("c")],
];

/** Arguments that are wrong, each with a word of the message that says which. */
const WRONG = [
  [(type, o) => type.create({ ...o, timeout: 0 }), "timeout"],
  [(type, o) => type.create({ ...o, timeout: 86_401 }), "timeout"],
  [(type, o) => type.create({ ...o, timeout: 1.5 }), "timeout"],
  [(type, o) => type.create({ ...o, requestTimeout: -1 }), "requestTimeout"],
  [(type, o) => type.create({ ...o, envs: { A: 1 } }), "envs.A"],
  [(type, o) => type.create({ ...o, metadata: "x" }), "metadata"],
  [(type, o) => type.create({ ...o, secure: "yes" }), "secure"],
  [(type, o) => type.create({ ...o, cpu: 0 }), "cpu"],
  [(type, o) => type.create({ ...o, signal: 1 }), "signal"],
  [(type, o) => type.create({ ...o, fetch: 1 }), "fetch"],
  [(type, o) => type.create({ ...o, sandboxBaseUrl: "ftp://x" }), "sandboxBaseUrl"],
  [(type, o) => type.create({ ...o, sandboxBaseUrl: "http://u:p@x" }), "sandboxBaseUrl"],
  [(type, o) => type.create({ ...o, sandboxDomain: "https://x/y" }), "sandboxDomain"],
  [(type, o) => type.create({ ...o, providerOptions: [] }), "providerOptions"],
  [(type, o) => type.create({ ...o, provider: 5 }), "provider"],
  [(type, o) => type.create({ ...o, volumeMounts: { relative: "v" } }), "relative"],
  [(type, o) => type.create({ ...o, volumeMounts: { "/a/../b": "v" } }), "dot"],
  [(type, o) => type.create({ ...o, volumeMounts: { "/a": " " } }), "name a volume"],
  [(type, o) => type.create("", o), "template"],
  [(type, o) => type.create("t", "x"), "options"],
  [(type, o) => type.connect("", o), "sandbox id"],
  [(type, o) => type.connect(5, o), "sandbox id"],
  [(type, o) => type.connect("alicloud-express:", o), "colon"],
  [(type, o) => type.connect("Bad Id:x", o), "id of a provider"],
  [(type, o) => type.getInfoById("..", o), "path"],
  [(type, o) => type.killById(".", o), "path"],
  [(type, o) => type.list({ ...o, limit: 0 }), "limit"],
  [(type, o) => type.list({ ...o, offset: -1 }), "offset"],
  [(type, o) => type.setTimeoutById("x", 0, o), "timeout"],
];

const WRONG_INSIDE = [
  [(s) => s.commands.run(""), "cmd"],
  [(s) => s.commands.run("echo 'x"), "quote"],
  [(s) => s.commands.run("echo \\"), "backslash"],
  [(s) => s.commands.run([]), "cmd"],
  [(s) => s.commands.run(["a", 1]), "cmd"],
  [(s) => s.commands.run(["a"], { shell: true }), "shell"],
  [(s) => s.commands.run("x", { timeout: 0 }), "timeout"],
  [(s) => s.commands.run("x", { user: "a\nb" }), "user"],
  [(s) => s.commands.run("x", { onStdout: 1 }), "onStdout"],
  [(s) => s.commands.kill(-1), "pid"],
  [(s) => s.commands.kill(""), "pid"],
  [(s) => s.commands.sendInput(1, 5), "data"],
  [(s) => s.files.read(""), "path"],
  [(s) => s.files.read("/x", { encoding: "nonsense" }), "encoding"],
  [(s) => s.files.readBytes("/x", { maxBytes: -1 }), "maxBytes"],
  [(s) => s.files.write("/x", 5), "data"],
  [(s) => s.network.resolve(0), "port"],
  [(s) => s.applicationClient(70_000), "port"],
  [(s) => s.setTimeout(0), "timeout"],
  [(s) => s.getTerminal({ cols: 0 }), "cols"],
  [(s) => s.code.run("1", { mode: "other" }), "mode"],
  [(s) => s.code.run("1", { contextId: "" }), "contextId"],
  [(s) => s.code.run("1", { contextId: "c", mode: "default-context" }), "mode"],
];

export const gates = [
  {
    name: "gates: each call without its operation is E8004, and nothing reaches the provider",
    async run({ providers, sdk }) {
      for (const [operation, act] of NEEDS) {
        const all = providers.OPERATIONS.filter((one) => one !== operation);
        const { provider, reached } = counting({ operations: all });
        const sandbox = await providers.ProviderSandbox.create({ provider });
        const error = await rejects((async () => act(sandbox))(), providers.ProviderFeatureNotSupportedError, "E8004");
        equal([error instanceof sdk.UnsupportedError, error.provider, error.operation], [true, "counting", operation], `${operation}: ${act}`);
        equal(reached, [], `${operation}: ${act}`);
      }
    },
  },
  {
    name: "gates: a provider without sandbox.create is not even opened",
    async run({ providers }) {
      let opened = 0;
      const provider = { id: "closed", features: [], operations: [], open: () => (opened += 1) };
      for (const call of ["create", "list"]) await rejects(providers.ProviderSandbox[call]({ provider }), providers.ProviderFeatureNotSupportedError, "E8004");
      for (const call of ["connect", "getInfoById", "killById"]) await rejects(providers.ProviderSandbox[call]("closed:x", { provider }), providers.ProviderFeatureNotSupportedError, "E8004");
      equal(opened, 0);
    },
  },
  {
    name: "gates: what a provider declares but has no protocol for is E8004, too, and is done in no other way",
    async run({ providers }) {
      const { provider } = counting({ operations: providers.OPERATIONS });
      const bare = { ...provider, id: "bare", open: (config) => ({ ...provider.open(config), session: () => ({}) }) };
      const sandbox = await providers.ProviderSandbox.create({ provider: bare });
      for (const act of [() => sandbox.commands.run("x"), () => sandbox.files.read("/x"), () => sandbox.runCode("1"), () => sandbox.network.resolve(1)]) {
        await rejects(act(), providers.ProviderFeatureNotSupportedError, "E8004");
      }
    },
  },
  {
    name: "gates: features of REST providers are looked at first",
    async run({ providers }) {
      const server = stub([{ status: 201, json: { sandboxID: "r1", envdAccessToken: "tok", envdUrl: ADDRESS } }]);
      const provider = { id: "acme", kind: "rest", baseUrl: ADDRESS, apiKey: "k-of-acme", features: ["sandbox.lifecycle"], operations: providers.OPERATIONS };
      const sandbox = await providers.ProviderSandbox.create({ provider, fetch: server.fetch, env: {} });
      for (const act of [() => sandbox.commands.run("x"), () => sandbox.commands.list(), () => sandbox.files.read("/x"), () => sandbox.files.watch("/x"), () => sandbox.setTimeout(5), () => sandbox.pause(), () => sandbox.getTerminal()]) {
        await rejects(act(), providers.ProviderFeatureNotSupportedError, "E8004");
      }
      equal(server.requests.length, 1);
    },
  },
  {
    name: "bad input: a typed error that names the option, and no request",
    async run({ providers, sdk }) {
      const server = stub([{ status: 201, json: { sandboxID: "b1", envdAccessToken: "tok", envdUrl: ADDRESS, envdVersion: "0.6.5" } }]);
      const options = { sandboxApiKey: "secret-key", sandboxBaseUrl: ADDRESS, fetch: server.fetch, env: {} };
      const expectWrong = async (act, word) => {
        const { error } = await outcomeOf(act);
        assert(error instanceof sdk.InvalidArgumentError, `${act}: ${error}`);
        assert(error.message.includes(word), `${act}: "${error.message}" does not name ${word}`);
        assert(!error.message.includes("secret-key"), `${act}: no secret`);
      };
      for (const [act, word] of WRONG) await expectWrong(() => act(providers.ProviderSandbox, options), word);
      equal(server.requests.length, 0);
      const sandbox = await providers.ProviderSandbox.create({ ...options, provider: providers.expressProvider({ code: true }) });
      for (const [act, word] of WRONG_INSIDE) await expectWrong(async () => act(sandbox), word);
      equal(server.requests.length, 1);
    },
  },
  {
    name: "references: qualified ids, mismatches, unknown providers with a hint, reserved names",
    async run({ providers }) {
      const { ProviderSandbox: type, parseReference, qualify, registerProvider, unregisterProvider, listProviders, findProvider } = providers;
      equal([parseReference("a"), parseReference("e2b:a:b"), qualify("e2b", "x:y")], [{ sandboxId: "a" }, { provider: "e2b", sandboxId: "a:b" }, "e2b:x:y"]);
      const { provider } = counting({ operations: ["sandbox.get"] });
      await rejects(type.connect("alicloud-express:x", { provider }), providers.ProviderMismatchError, "E8030");
      const near = await rejects(type.connect("alicloud-expres:x"), providers.ProviderNotFoundError, "E8001");
      assert(near.message.includes("alicloud-express?"), near.message);
      await rejects(type.connect("other:x"), providers.ProviderNotFoundError, "E8001");
      for (const id of ["default", "abx-mine", "alicloud-mine", "X", "a--b", "a"]) {
        const { error } = await outcomeOf(async () => registerProvider({ ...provider, id }));
        equal(error?.code, "E8002", id);
      }
      const registered = registerProvider(provider);
      try {
        equal((await type.connect("counting:c1")).provider, "counting");
        equal((await type.connect("c1", { env: { ABX_PROVIDER: "counting" } })).provider, "counting");
        equal(listProviders().map(({ id, trust }) => `${id} ${trust}`), ["alicloud-express builtin", "counting local"]);
        equal(findProvider("counting") === registered, true);
        equal((await outcomeOf(async () => registerProvider({ ...provider }))).error?.code, "E8003");
      } finally {
        unregisterProvider("counting");
      }
      equal(listProviders().length, 1);
    },
  },
  {
    name: "providers: what is declared is checked, and told without secrets",
    async run({ providers }) {
      const { defineProvider, describeProvider, restProvider, expressProvider } = providers;
      const base = { id: "mine", features: ["exec.run"], operations: ["exec.run"], open: () => ({}) };
      const wrong = [
        { features: ["fly"] },
        { operations: ["exec.run", "exec.run"] },
        { operations: "exec.run" },
        { open: 1 },
        { configFields: [{ key: "Bad Key" }] },
        { configFields: [{ key: "token", secret: true, default: "x" }] },
        { configFields: [{ key: "size", type: "enum" }] },
        { configFields: [{ key: "size", type: "number" }] },
      ];
      for (const one of wrong) equal((await outcomeOf(async () => defineProvider({ ...base, ...one }))).error?.code, "E8002", JSON.stringify(one));
      for (const one of [{ auth: { scheme: "basic" } }, { auth: { scheme: "header", header: "content-length" } }, { auth: { scheme: "header", header: "a b" } }, { apiKey: 5 }]) {
        equal((await outcomeOf(async () => restProvider({ ...base, id: "rested", baseUrl: ADDRESS, ...one }))).error?.code, "E8002", JSON.stringify(one));
      }
      const described = describeProvider(restProvider({ ...base, id: "rested", baseUrl: ADDRESS, apiKey: "very-secret" }));
      assert(!JSON.stringify(described).includes("very-secret"), "no key");
      equal([described.kind, described.operation_contract_version, described.operations.python], ["rest", 1, ["exec.run"]]);
      const express = describeProvider(expressProvider());
      equal([express.id, express.name_zh, express.features.length, express.config_fields.map(({ key, default: value }) => [key, value])], ["alicloud-express", "阿里云极速版", 13, [["region", "cn-hangzhou"], ["access_key_id", null], ["access_key_secret", null]]]);
    },
  },
];
