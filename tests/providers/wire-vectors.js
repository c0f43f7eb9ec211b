// The recordings of what the original sends to providers (providers-wire.json): the built-in one, REST platforms, an engine and its
// management operations. What belongs to a host alone stands in known-differences.json.

import { assert, equal } from "../e2e/assert.js";
import { lost, stub } from "./stub.js";
import { canonical, equalError, equalRequests, load, narrowed, outcomeOf, recordable } from "./vectors.js";

const FILE = "providers-wire";
const ADDRESS = "http://stub.test";

const INFO = { sandboxID: "sbx-1", templateID: "base", envdVersion: "0.6.5", envdAccessToken: "envd-tok", envdUrl: ADDRESS, state: "running" };
const ENTRY = { name: "a.txt", path: "/a.txt", type: "FILE_TYPE_FILE", size: "3" };
const OUTPUT = [
  "000000001e7b226576656e74223a7b227374617274223a7b22706964223a34327d7d7d",
  "000000003a7b226576656e74223a7b22656e64223a7b22657869746564223a747275652c22737461747573223a2265786974207374617475732030227d7d7d",
  "02000000027b7d",
];

/** The stand-in of a platform with the package's daemon. */
function platform({ method, target }) {
  const { pathname } = new URL(target, ADDRESS);
  if (pathname.includes("missing")) return Response.json({ message: "not found" }, { status: 404 });
  if (pathname === "/sandboxes") return Response.json(method === "POST" ? INFO : [INFO], { status: method === "POST" ? 201 : 200 });
  if (pathname.startsWith("/sandboxes/")) return method === "GET" ? Response.json(INFO) : new Response(null, { status: 204 });
  if (pathname === "/process.Process/Start") return stream(OUTPUT);
  if (pathname === "/process.Process/List") return Response.json({ processes: [{ config: { cmd: "a" }, pid: 7 }] });
  if (pathname === "/files") return method === "GET" ? new Response("abc") : Response.json([{ path: "/a", name: "a", type: "file" }]);
  if (pathname.endsWith("/ListDir")) return Response.json({ entries: [ENTRY] });
  if (/\/(Stat|Move|MakeDir)$/.test(pathname)) return Response.json({ entry: ENTRY });
  return Response.json({});
}

function stream(frames) {
  const bytes = frames.flatMap((hex) => hex.match(/../g).map((byte) => Number.parseInt(byte, 16)));
  return new Response(Uint8Array.from(bytes), { headers: { "content-type": "application/connect+json" } });
}

const RECORD = { sandbox_id: "nb-1", template: "base", status: "running", created_at: "2026-01-01T00:00:00Z" };

/** The stand-in of an engine, and of the service that it leads to. */
function engine({ method, target }) {
  const { pathname } = new URL(target, ADDRESS);
  const path = pathname.replace("/v1/sandboxes/nb-1", "");
  if (pathname === "/v1/health") return Response.json({ protocol: "abx-engine/1", pid: 1, version: "x" });
  if (pathname === "/v1/sandboxes") return Response.json(method === "POST" ? RECORD : { sandboxes: [RECORD] });
  if (path === "" || path === "/connect") return method === "DELETE" ? new Response(null, { status: 204 }) : Response.json(RECORD);
  if (path === "/commands/stream") return events(["message", { type: "stdout", data: "", pid: 7 }], ["message", { type: "stdout", data: "hi\n" }], ["message", { type: "exit", data: "", exit_code: 0 }], ["end", {}]);
  if (path === "/processes") return Response.json({ processes: [{ pid: 7, command: "a", status: "running" }] });
  if (path === "/files/content") return method === "GET" ? new Response("abc") : Response.json({});
  if (path === "/files/list") return Response.json({ entries: [{ name: "a.txt", path: "/a.txt", type: "file", size: 3 }] });
  if (path === "/files/info") return Response.json({ name: "a.txt", path: "/a.txt", type: "file", size: 3 });
  if (path === "/files/exists") return Response.json({ exists: true });
  if (path === "/files/watch") return events(["message", { type: "created", path: "a" }], ["end", {}]);
  if (path === "/running") return Response.json({ running: true });
  const [, port] = /^\/ports\/(\d+)\/url$/.exec(path) ?? [];
  if (port) {
    const where = { provider_id: "fake-node", sandbox_id: "nb-1", port: Number(port), url: `${ADDRESS}/app`, headers: { "X-Gw": "1" } };
    return Response.json({ ...where, authentication_audience: "gateway", path_mode: "prefix" });
  }
  if (path === "/code/run") return Response.json({ result: { stdout: "2\n", stderr: "", exit_code: 0 } });
  if (path === "/code/contexts") return Response.json(method === "POST" ? { id: "ctx-1", language: "python" } : { contexts: [{ id: "ctx-1", language: "python" }] });
  if (path.endsWith("/restart")) return Response.json({ id: "ctx-1", language: "python" });
  if (pathname === "/app/commands/hello") return Response.json({ error: "no such command", type: "NotFound" }, { status: 404 });
  if (pathname.endsWith("/initialize")) return Response.json({ provider: "fake-node", initialized: true });
  if (/\/v1\/providers\/[^/]+\/commands$/.test(pathname)) return Response.json({ commands: [DESCRIPTOR] });
  if (pathname.endsWith("/commands/volumes.delete") && method === "GET") return Response.json({ id: "volumes.delete", effect: "delete" });
  if (pathname.includes("/commands/volumes.")) return Response.json({ ok: true });
  return Response.json({});
}

const DESCRIPTOR = {
  id: "volumes.list",
  description: "d",
  description_zh: "d",
  input_schema: { type: "object", additionalProperties: false, properties: {} },
  output_schema: { type: "object" },
  effect: "read",
  idempotent: true,
};

function events(...list) {
  const text = list.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join("");
  return new Response(text, { headers: { "content-type": "text/event-stream" } });
}

/** Calls that are written the same for each provider. `s` is the sandbox. */
const COMMON = {
  'commands.run("echo hi", user="root", cwd="/w", env={A:1})': ({ s }) => s.commands.run("echo hi", { user: "root", cwd: "/w", env: { A: "1" } }),
  'commands.run("echo hi | cat")': ({ s }) => s.commands.run("echo hi | cat"),
  "commands.run": ({ s }) => s.commands.run("echo hi"),
  "commands.stream [not declared]": async ({ s }) => {
    for await (const chunk of s.commands.stream("echo hi")) assert(false, `no ${chunk.type}`);
  },
  "commands.list()": ({ s }) => s.commands.list(),
  "commands.send_input(7, 'x')": ({ s }) => s.commands.sendInput(7, "x"),
  "commands.send_signal(7)": ({ s }) => s.commands.sendSignal(7),
  "commands.send_signal(7, 2)": ({ s }) => s.commands.sendSignal(7, 2),
  "commands.kill('tag-a')": ({ s }) => s.commands.kill("tag-a"),
  "files.write": ({ s }) => s.files.write("/a b.txt", "abc"),
  "files.read": ({ s }) => s.files.read("/a b.txt"),
  "files.read_bytes(max_bytes=10)": ({ s }) => s.files.readBytes("/a", { maxBytes: 10 }),
  "files.list": ({ s }) => s.files.list("/"),
  "files.list [not declared]": ({ s }) => s.files.list("/"),
  "files.get_info": ({ s }) => s.files.getInfo("/a.txt"),
  "files.exists": ({ s }) => s.files.exists("/a.txt"),
  "files.make_dir": ({ s }) => s.files.makeDir("/d"),
  "files.move": ({ s }) => s.files.move("/a", "/b"),
  "files.remove": ({ s }) => s.files.remove("/b"),
  "files.watch": ({ s }) => s.files.watch("/d"),
  "files.watch().collect()": async ({ s }) => (await s.files.watch("/d")).collect(),
  "files.upload_url('/a b')": ({ s }) => s.files.uploadUrl("/a b"),
  "set_timeout(600)": ({ s }) => s.setTimeout(600),
  "pause()": ({ s }) => s.pause(),
  "pause [not declared]": ({ s }) => s.pause(),
  "resume()": ({ s }) => s.resume(),
  "refresh_info()": ({ s }) => s.refreshInfo(),
  "is_running()": ({ s }) => s.isRunning(),
  "network.resolve(8080)": ({ s }) => s.network.resolve(8080),
  "port access": ({ s }) => [s.network.getUrl(9000), s.network.getAccessHeaders(), s.network.getServerHeaders()],
  "network.get_url(9000) / get_access_headers / get_server_headers / capabilities": ({ s }) => [s.network.getUrl(9000), s.network.getAccessHeaders(), s.network.getServerHeaders(), s.capabilities],
  "run_code('1+1')": ({ s }) => s.runCode("1+1"),
  "run_code(mode=default-context)": ({ s }) => s.runCode("1", { mode: "default-context" }),
  "run_code(context_id=ctx-1)": ({ s }) => s.runCode("1", { contextId: "ctx-1" }),
  "code.create_context": ({ s }) => s.code.createContext(),
  "code.list_contexts": ({ s }) => s.code.listContexts(),
  "code.restart_context": ({ s }) => s.code.restartContext("ctx-1"),
  "code.remove_context": ({ s }) => s.code.removeContext("ctx-1"),
  "upload_url('/a')": ({ s }) => s.uploadUrl("/a"),
  "run('hello', name='Bob') [application HTTP]": ({ s }) => s.run("hello", { name: "Bob" }),
  "kill()": ({ s }) => s.kill(),
  kill: ({ s }) => s.kill(),
  "kill() again": async ({ s, server }) => {
    await s.kill();
    server.requests.length = 0;
    await s.kill();
  },
};

/** Calls that begin without a sandbox. `type` is `ProviderSandbox`, `o` are the options of the connection. */
const EXPRESS = {
  "create(template=base, timeout=300, metadata, envs, cpu, memory, volume_mounts)": ({ type, o }) =>
    type.create("base", { ...o, metadata: { m: "1" }, envs: { E: "1" }, cpu: 2, memory: 512, volumeMounts: { "/mnt/data": "vol" } }),
  "list(limit=5)": ({ type, o }) => type.list({ ...o, limit: 5 }),
  "connect(sbx-1)": ({ type, o }) => type.connect("sbx-1", o),
  "connect(missing)": ({ type, o }) => type.connect("missing", o),
  "connect('other:sbx-1') [unknown provider namespace]": ({ type, o }) => type.connect("other:sbx-1", o),
  get_info_by_id: ({ type, o }) => type.getInfoById("sbx-1", o),
  set_timeout_by_id: ({ type, o }) => type.setTimeoutById("sbx-1", 60, o),
  "kill_by_id(missing) [404 is success]": ({ type, o }) => type.killById("missing", o),
  "create with bad volume mount": ({ type, o }) => type.create({ ...o, volumeMounts: { "/dev/x": "v" } }),
  "create without credentials": ({ type, o: { sandboxApiKey, ...o } }) => type.create({ ...o, env: {} }),
};

const REST = {
  create: ({ type, o }) => type.create(o),
  "create without api key": ({ type, o: { providerOptions, ...o } }) => type.create({ ...o, env: {} }),
  "create with unknown option": ({ type, o }) => type.create({ ...o, providerOptions: { ...o.providerOptions, nonsense: 1 } }),
};

const ENGINE = {
  create: ({ type, o }) => type.create({ ...o, ...ACCOUNT, metadata: { m: "1" }, secure: true }),
  connect: ({ type, o }) => type.connect("nb-1", o),
  list: ({ type, o }) => type.list(o),
  verify_handshake: ({ engineOf, o }) => engineOf().initialize(o.provider, o),
  "create with the connection dropped [must not be replayed]": ({ type, o, server }) => (dropping(server), type.create(o)),
  "list with the connection dropped [GET may be retried once]": ({ type, o, server }) => (dropping(server), type.list(o)),
};

const MANAGEMENT = {
  "list_commands('alicloud-express')": ({ engineOf }) => engineOf().listCommands("alicloud-express"),
  "get_command('alicloud-express', 'volumes.delete')": ({ engineOf }) => engineOf().getCommand("alicloud-express", "volumes.delete"),
  "run_command read": ({ engineOf, o }) => engineOf().runCommand("alicloud-express", "volumes.list", { ...o, accessKeyId: "ak", accessKeySecret: "sk" }),
  "run_command delete without confirm": ({ engineOf, o, server }) => {
    server.answers[0] = (request) => (request.method === "GET" ? engine(request) : Response.json({ error: { type: "ProviderConfigError", code: "E8002", message: "not confirmed" } }, { status: 400 }));
    return engineOf().runCommand("alicloud-express", "volumes.delete", { ...o, input: { id: "v" } });
  },
  "run_command delete confirm=True": ({ engineOf, o }) => engineOf().runCommand("alicloud-express", "volumes.delete", { ...o, input: { id: "v" }, confirm: true }),
  "run_command confirm='yes' [type error before any request]": ({ engineOf, o }) => engineOf().runCommand("alicloud-express", "volumes.delete", { ...o, confirm: "yes" }),
  "run_command input=[] [before any request]": ({ engineOf, o }) => engineOf().runCommand("alicloud-express", "volumes.delete", { ...o, input: [] }),
  "run_command bad id": ({ engineOf, o }) => engineOf().runCommand("alicloud-express", "Volumes Delete", o),
  "run_command with dropped connection": ({ engineOf, o, server }) => (dropping(server), engineOf().runCommand("alicloud-express", "volumes.create", { ...o, confirm: true })),
};

/** Every connection but that of the question for its health is lost. */
function dropping(server) {
  server.answers[0] = (request) => (request.target === "/v1/health" ? engine(request) : lost());
}

const ACCOUNT = { sandboxBaseUrl: "https://core.example", providerOptions: { zone: "z9" } };

const LIFECYCLE = ["sandbox.create", "sandbox.get", "sandbox.list", "sandbox.delete", "sandbox.timeout"];

const restOf = (auth) => ({
  id: `fake-rest-${auth.scheme}`,
  kind: "rest",
  baseUrl: ADDRESS,
  domain: "rest.example",
  auth,
  features: ["sandbox.lifecycle", "sandbox.timeout", "exec.run", "ports.url"],
  operations: [...LIFECYCLE, "exec.run", "ports.resolve"],
  configFields: [{ key: "api_key", required: true, credential: true, secret: true }],
});

/** Each list of the file: the calls, the stand-in, the options, and those of the sandbox that the calls are made with. */
const GROUPS = {
  "alicloud-express": {
    calls: EXPRESS,
    answer: platform,
    options: { sandboxApiKey: "key-1", sandboxBaseUrl: ADDRESS, sandboxDomain: "sbx.example" },
  },
  "rest:bearer": { calls: REST, answer: platform, options: { provider: restOf({ scheme: "bearer" }), providerOptions: { api_key: "rk" } } },
  "rest:header": { calls: REST, answer: platform, options: { provider: restOf({ scheme: "header", header: "X-My-Key" }), providerOptions: { api_key: "rk" } } },
  "node:engine": { calls: ENGINE, answer: engine, options: { sandboxApiKey: "k1", env: {} }, sandbox: ACCOUNT },
  "provider-commands": { calls: MANAGEMENT, answer: engine, options: { sandboxApiKey: "k1", env: {} } },
};

/** What cases come to here that stand in known-differences.json. */
const INSTEAD = {
  "alicloud-express": {
    8: ({ requests }) => equal([requests[0].target, requests[0].headers["content-type"]], ["/files?path=%2Fa+b.txt&username=user", "application/octet-stream"]),
    11: ({ requests, value }) => equal([canonical(requests[0].json), value.length], [{ depth: 1, path: "/" }, 1]),
    31: ({ requests, value }) => equal([requests.length, new URL(value).searchParams.get("path")], [0, "/a b"]),
    // The stand-in of the recording refuses connections; this one has no answer for them.
    32: ({ requests, error }) => equal([requests.map(({ origin }) => origin), error?.code], [["https://9000-sbx-1.sbx.example"], "E5001"]),
  },
  "node:engine": {
    33: ({ requests }) => equal(requests.map(({ target }) => target), ["/v1/sandboxes/nb-1/files/watch?path=%2Fd"]),
  },
};

async function replayOne({ providers }, group, recorded) {
  const { calls, answer, options, sandbox } = GROUPS[group];
  const server = stub([answer], { repeats: true });
  const { ProviderSandbox: type, ProviderEngine } = providers;
  const address = { url: ADDRESS, token: "engine-tok", fetch: server.fetch };
  const o = { ...options, fetch: server.fetch, encoding: "json" };
  if (group === "node:engine") o.provider = engineProvider(address);
  const call = calls[recorded.call] ?? COMMON[recorded.call];
  assert(call, `nobody has written the call ${recorded.call}`);
  const needsSandbox = calls[recorded.call] === undefined;
  const s = needsSandbox ? await type.create({ ...o, ...sandbox }) : undefined;
  server.requests.length = 0;
  if (group === "alicloud-express" && recorded.call.startsWith("run('hello'")) server.answers[0] = refusing;
  const outcome = await outcomeOf(() => call({ type, o, s, server, engineOf: () => new ProviderEngine(address) }));
  return { ...outcome, requests: server.requests };
}

function refusing() {
  const error = new TypeError("fetch failed");
  error.cause = Object.assign(new Error("getaddrinfo ENOTFOUND"), { code: "ENOTFOUND" });
  throw error;
}

function engineProvider(address) {
  const everything = ["sandbox.lifecycle", "sandbox.timeout", "sandbox.pause", "exec.run", "exec.stream", "process.manage", "files.rw", "files.watch", "ports.url"];
  const code = ["code.execute", "code.context.create", "code.context.execute", "code.context.list", "code.context.restart", "code.context.delete", "code.default-context.execute"];
  const files = ["files.read", "files.write", "files.list", "files.stat", "files.remove", "files.move"];
  return {
    id: "fake-node",
    kind: "node",
    engine: address,
    features: everything,
    operations: [...LIFECYCLE, "sandbox.pause", "sandbox.resume", "exec.run", "exec.stream", ...files, "ports.resolve", ...code],
    inherit: ["sandbox_api_key", "sandbox_base_url"],
    configFields: [{ key: "zone" }],
  };
}

function compare({ value, error, requests }, recorded, what, sdk) {
  equalRequests(requests, recorded.requests ?? [], what);
  if (recorded.raises) return equalError(error, recorded.raises, what, sdk);
  if (error) throw error;
  if (recorded.returns === undefined) return undefined;
  const theirs = readable(recorded.returns);
  // Instances are only told to be some.
  if (Array.isArray(theirs) && /^<\w+>$/.test(theirs[0])) return equal(value.length, theirs.length, what);
  return equal(canonical(narrowed(recordable(value), theirs)), canonical(theirs), what);
}

/** A value as the original prints it. */
function readable(value) {
  if (typeof value !== "string") return value;
  if (value.startsWith("b'")) return Array.from(value.slice(2, -1), (char) => char.charCodeAt(0).toString(16)).join("");
  if (!value.startsWith("(")) return value;
  return JSON.parse(`[${value.slice(1, -1).replaceAll("'", '"')}]`.replaceAll("http://127.0.0.1:{PORT}", ADDRESS));
}

export const wireVectors = Object.keys(GROUPS).map((group) => ({
  name: `vectors: what is sent to ${group}, every case`,
  async run(ctx) {
    const { recorded, differences } = await load(FILE);
    const listed = (differences[`vectors/${group}`] ?? []).map((entry) => entry.case).sort();
    const instead = INSTEAD[group] ?? {};
    equal(listed, Object.keys(instead).sort(), "the cases in known-differences.json");
    const problems = [];
    for (const [at, one] of recorded.vectors[group].entries()) {
      const what = `${at}, ${one.call}`;
      try {
        const outcome = await replayOne(ctx, group, one);
        if (!(at in instead)) compare(outcome, one, what, ctx.sdk);
        else {
          instead[at](outcome);
          const same = await outcomeOf(async () => compare(outcome, one, what, ctx.sdk));
          assert(same.error, "listed as a difference, but the same");
        }
      } catch (error) {
        problems.push(`${what}: ${error.message}`);
      }
    }
    assert(problems.length === 0, problems.join("\n"));
  },
}));

wireVectors.push({
  name: "vectors: the lists of what is sent are all there, and the host's own are refused by name",
  async run({ providers, sdk }) {
    const { recorded, differences } = await load(FILE);
    const hostOnly = (differences.vectors ?? []).map((entry) => entry.case);
    equal(Object.keys(recorded.vectors).sort(), [...Object.keys(GROUPS), ...hostOnly].sort(), "the lists");
    const { installProvider, uninstallProvider, updateProvider, doctor, startExecProvider, discoverEngine } = providers;
    for (const [name, call] of Object.entries({ installProvider, uninstallProvider, updateProvider, doctor, startExecProvider, discoverEngine })) {
      const { error } = await outcomeOf(() => call("x"));
      equal([error instanceof sdk.UnsupportedError, error?.code, error?.feature], [true, "E8004", name], name);
      assert(/abx provider|kind "rest"/.test(error.message), `${name} names what to do instead: ${error.message}`);
    }
  },
});
