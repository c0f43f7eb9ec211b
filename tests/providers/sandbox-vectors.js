// The recordings of the original's `ProviderSandbox` on the built-in provider (provider-sandbox.json), each case of `cases` and all of
// `network`.

import { assert, equal } from "../e2e/assert.js";
import { stub } from "./stub.js";
import { canonical, equalError, equalRequests, load, narrowed, outcomeOf, recordable } from "./vectors.js";

const ADDRESS = "http://stub.test";
const FILE = "provider-sandbox";

/** The answer that every sandbox of the recordings begins with. */
const created = (version) => ({
  status: 201,
  json: { sandboxID: "sbx123", templateID: "base", clientID: "c", envdVersion: version, envdAccessToken: "tok", envdUrl: ADDRESS, state: "running" },
});

/** The recorded calls, as this package writes them. `type` is `ProviderSandbox`, `options` are those of the connection. */
const CALLS = {
  create: ({ type, options }) => type.create(options),
  create_full: ({ type, options }) =>
    type.create("t", { ...options, timeout: 60, requestTimeout: 5, metadata: { a: "b" }, envs: { K: "V" }, volumeMounts: { "/mnt/data": "vol" }, cpu: 2, memory: 1024, disk: 2048, gpu: "A10", secure: true }),
  create_bad_timeout: ({ type, options }) => type.create({ ...options, requestTimeout: 0 }),
  create_bad_mount: ({ type, options }) => type.create({ ...options, volumeMounts: { "/bin/x": "v" } }),
  commands_run: ({ sandbox }) => sandbox.commands.run("echo hi", { env: { A: "1" }, cwd: "/w", user: "root" }),
  "commands_run_gen1_envd_0.5": ({ sandbox }) => sandbox.commands.run("echo hi"),
  commands_run_pipe: ({ sandbox }) => sandbox.commands.run('echo "a|b" | cat'),
  commands_run_quoted_pipe: ({ sandbox }) => sandbox.commands.run('echo "a|b"'),
  commands_run_shell: ({ sandbox }) => sandbox.commands.run("echo $X", { shell: true }),
  commands_run_bad_user: ({ sandbox }) => sandbox.commands.run("x", { user: "a:b" }),
  commands_run_timeout: ({ sandbox }) => sandbox.commands.run("sleep 9", { timeout: 1 }),
  commands_list: ({ sandbox }) => sandbox.commands.list(),
  commands_list_gen1: ({ sandbox }) => sandbox.commands.list(),
  commands_kill: ({ sandbox }) => sandbox.commands.kill(42),
  commands_kill_404: ({ sandbox }) => sandbox.commands.kill(42),
  commands_kill_tag: ({ sandbox }) => sandbox.commands.kill("mytag"),
  commands_sigint: ({ sandbox }) => sandbox.commands.sendSignal(42, 2),
  commands_send_input: ({ sandbox }) => sandbox.commands.sendInput(42, "hé"),
  files_get_info: ({ sandbox }) => sandbox.files.getInfo("/a.txt"),
  files_get_info_404: ({ sandbox }) => sandbox.files.getInfo("/a.txt"),
  files_exists_404: ({ sandbox }) => sandbox.files.exists("/a.txt"),
  files_list: ({ sandbox }) => sandbox.files.list("/"),
  files_list_empty_then_stat: ({ sandbox }) => sandbox.files.list("/e"),
  files_MakeDir: ({ sandbox }) => sandbox.files.makeDir("/d"),
  files_Remove: ({ sandbox }) => sandbox.files.remove("/d"),
  files_Move: ({ sandbox }) => sandbox.files.move("/a", "/b"),
  files_read: ({ sandbox }) => sandbox.files.read("/a b.txt"),
  files_read_403: ({ sandbox }) => sandbox.files.read("/a"),
  files_read_bytes_bounded: ({ sandbox }) => sandbox.files.readBytes("/a", { maxBytes: 10 }),
  files_read_bytes_over: ({ sandbox }) => sandbox.files.readBytes("/a", { maxBytes: 3 }),
  files_write: ({ sandbox }) => sandbox.files.write("/a.txt", "hé"),
  files_download_url: ({ sandbox }) => sandbox.files.downloadUrl("/a b"),
  sandbox_upload_url: ({ sandbox }) => sandbox.uploadUrl("/a"),
  files_watch: async ({ sandbox }) => (await sandbox.files.watch("/d")).collect(),
  connect: ({ type, options }) => type.connect("alicloud-express:sbx123", options),
  refresh_info: async ({ sandbox }) => {
    const info = await sandbox.refreshInfo();
    return { ...info, envdAccessToken: info.envdAccessToken };
  },
  is_running: ({ sandbox }) => sandbox.isRunning(),
  set_timeout: ({ sandbox }) => sandbox.setTimeout(10),
  pause_not_declared: ({ sandbox }) => sandbox.pause(),
  resume_not_declared: ({ sandbox }) => sandbox.resume(),
  list: async ({ type, options }) => (await type.list({ ...options, limit: 3 })).map((info) => ({ ...info, envdAccessToken: info.envdAccessToken })),
  get_info_by_id_404: ({ type, options }) => type.getInfoById("zzz", options),
  run_code_unsupported: ({ sandbox }) => sandbox.runCode("1"),
  kill: ({ sandbox }) => sandbox.kill(),
  kill_again: async ({ sandbox, server }) => {
    server.answers.push({ status: 204 });
    await sandbox.kill();
    server.requests.length = 0;
    await sandbox.kill();
  },
};
for (const status of [400, 401, 403, 404, 429, 500]) CALLS[`create_${status}`] = CALLS.create;
for (const name of ["status_only", "trailer_error", "truncated", "http500"]) CALLS[`commands_run_${name}`] = ({ sandbox }) => sandbox.commands.run("x");

/** What cases come to here that stand in known-differences.json: given the recording and what happened, throws unless it is right. */
const INSTEAD = {
  "commands_run_gen1_envd_0.5": ({ requests, value }, recorded, what) => {
    equalRequests(requests, recorded.requests.map((request) => ({ ...request, envelope: {} })), what);
    equal(narrowed(recordable(value), recorded.result), recorded.result, what);
  },
  commands_run_truncated: ({ error }, recorded, what) => {
    equal([error?.name, error?.code, error?.outcomeUnknown, error?.stdout], ["ProviderProtocolError", "E8020", true, recorded.result.stdout], what);
  },
  commands_list: ({ requests, value }, recorded, what) => {
    equalRequests(requests, recorded.requests, what);
    equal(value.map(({ pid, command, status, args, tag }) => ({ pid, command, status, args, tag })), [{ pid: 42, command: "/bin/bash -c x", status: "running", args: ["-c", "x"], tag: "t" }], what);
  },
  commands_list_gen1: ({ requests, value }, recorded, what) => {
    equalRequests(requests, withHeaders(recorded.requests, { "content-type": "application/json" }), what);
    equal(value[0].command, "/bin/bash -c x", what);
  },
  files_list: (outcome, recorded, what) => listed(outcome, recorded, what),
  files_list_empty_then_stat: (outcome, recorded, what) => listed(outcome, recorded, what),
  files_Move: ({ requests, error }, recorded, what) => {
    equalRequests(requests, recorded.requests, what);
    equal([error?.name, error?.code], ["FileOperationError", "E4000"], what);
  },
  files_write: ({ requests, value }, recorded, what) => {
    equal(requests.map(({ method, target }) => `${method} ${target}`), ["POST /files?path=%2Fa.txt&username=user"], what);
    equal([requests[0].headers["content-type"], new TextDecoder().decode(requests[0].bytes), value], ["application/octet-stream", "hé", undefined], what);
  },
  files_download_url: ({ requests, value }, recorded, what) => {
    equal(requests.length, 0, what);
    const url = new URL(value);
    equal([url.origin, url.pathname, url.searchParams.get("path"), url.searchParams.get("username")], [ADDRESS, "/files", "/a b", "user"], what);
    assert(url.searchParams.get("signature")?.startsWith("v1_") && !value.includes("tok"), `${what}: signed, without the token`);
  },
  files_watch: ({ requests, value }, recorded, what) => {
    equalRequests(requests, recorded.requests, what);
    const wanted = [recorded.result[1]];
    equal(narrowed(recordable(value), wanted), wanted, what);
  },
};

/** The depth is said. */
function listed({ requests, value }, recorded, what) {
  const [first, ...others] = recorded.requests;
  equalRequests(requests, [{ ...first, json: { ...first.json, depth: 1 } }, ...others], what);
  equal(narrowed(recordable(value), recorded.result), recorded.result, what);
}

function withHeaders(requests, headers) {
  return requests.map((request) => ({ ...request, headers: Object.entries({ ...Object.fromEntries(request.headers), ...headers }) }));
}

async function replayOne({ providers, sdk }, recorded) {
  const { name } = recorded;
  const version = /^envd ([\d.]+):/.exec(recorded.call)?.[1] ?? "0.6.5";
  const server = stub([created(version)]);
  const options = { sandboxApiKey: "ak", sandboxBaseUrl: ADDRESS, sandboxDomain: "cn-hangzhou.e2b.fc.aliyuncs.com", fetch: server.fetch, encoding: "json" };
  const type = providers.ProviderSandbox;
  const needsSandbox = !/^(create|connect|list$|get_info_by_id)/.test(name);
  const sandbox = needsSandbox ? await type.create(options) : undefined;
  server.requests.length = 0;
  server.answers.splice(0, server.answers.length, ...recorded.requests.map(({ response }) => answerOf(name, response)));
  const outcome = await outcomeOf(() => CALLS[name]({ type, options, sandbox, server }));
  return { ...outcome, requests: server.requests, sdk };
}

/** In the recording of a timeout the output does not end by itself. */
function answerOf(name, response) {
  const text = JSON.stringify(response).replaceAll("http://<host>", ADDRESS);
  return { ...JSON.parse(text), hangs: name === "commands_run_timeout" && response.body_chunks_hex !== undefined };
}

function compare({ value, error, requests, sdk }, recorded, what) {
  equalRequests(requests, recorded.requests, what);
  if (recorded.error) return equalError(error, recorded.error, what, sdk);
  if (error) throw error;
  if (recorded.result?._object) return assert(value?.id === "sbx123", `${what}: a sandbox`);
  const wanted = JSON.parse(JSON.stringify(recorded.result).replaceAll("http://<host>", ADDRESS));
  equal(canonical(narrowed(recordable(value), wanted)), canonical(wanted), what);
}

export const sandboxVectors = [
  {
    name: "vectors: ProviderSandbox, every case",
    async run(ctx) {
      const { recorded, differences } = await load(FILE);
      const listed = (differences.cases ?? []).map((entry) => entry.case).sort();
      equal(listed, Object.keys(INSTEAD).sort(), "the cases in known-differences.json");
      equal(Object.keys(CALLS).sort(), recorded.cases.map(({ name }) => name).sort(), "the cases that are called");
      const problems = [];
      for (const one of recorded.cases) {
        const outcome = await replayOne(ctx, one);
        const isListed = Object.hasOwn(INSTEAD, one.name);
        try {
          (isListed ? INSTEAD[one.name] : compare)(outcome, one, one.name);
        } catch (error) {
          problems.push(`${one.name}: ${error.message}`);
          continue;
        }
        const isSame = isListed && (await outcomeOf(async () => compare(outcome, one, one.name))).error === undefined;
        if (isSame) problems.push(`${one.name}: listed as a difference, but the same`);
      }
      assert(problems.length === 0, problems.join("\n"));
    },
  },
  {
    name: "vectors: addresses and declarations of the built-in provider",
    async run({ providers }) {
      const { recorded } = await load(FILE);
      const server = stub([created("0.6.5")]);
      const options = { sandboxApiKey: "ak", sandboxBaseUrl: ADDRESS, sandboxDomain: "cn-hangzhou.e2b.fc.aliyuncs.com", fetch: server.fetch };
      const sandbox = await providers.ProviderSandbox.create(options);
      const { network } = sandbox;
      const ours = {
        host: network.getHost(8080),
        url: network.getUrl(8080),
        access_headers: network.getAccessHeaders(),
        server_headers: network.getServerHeaders(),
        pty_url: sandbox.server.ptyUrl,
        capabilities: [...sandbox.capabilities].sort(),
        operations: [...sandbox.operations].sort(),
      };
      equal(ours, recorded.network);
    },
  },
];
