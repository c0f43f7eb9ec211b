// The client and the real server, group by group. Each case has a sandbox of the image, unless it says otherwise.

import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { BASE, all, another, counting, withImage } from "./image.mjs";

const inImage = (body, opts) => (ctx) => withImage(ctx, body, opts);

export const cases = [
  {
    name: "server: found, healthy, and asked what it permits",
    run: inImage(async ({ sandbox, client, sdk }) => {
      equal(await client.health(), true);
      equal(await new sdk.ServerClient(sandbox).health(), true, "without a token");
      equal(await new sdk.ServerClient(sandbox, { port: 9999 }).health(), false, "nobody there");
      await rejects(new sdk.ServerClient(sandbox).commands.list(), sdk.AuthenticationError, "unauthorized");
      const wrong = await rejects(client.withToken("wrong-token").commands.list(), sdk.AuthenticationError, "unauthorized");
      assert(!wrong.message.includes("wrong-token"), "no token in the message");
      const capabilities = await client.discover();
      equal([capabilities.identity.id, capabilities.apiVersion, capabilities.can("shell"), capabilities.denial("zzz")], ["server", 2, true, "unknown_endpoint"]);
      assert(capabilities.available().includes("code_run") && capabilities.endpointsFor("files:read").includes("files_list"), "lists");
      equal(await client.check("files_list", { path: "/etc" }).then(({ allowed, code }) => [allowed, code]), [false, "path_not_allowed"]);
      equal((await client.check("files_list", { path: BASE })).allowed, true);
    }),
  },
  {
    name: "commands: listed, run with native arguments, typed, and refused with typed errors",
    run: inImage(async ({ client, sdk }) => {
      const listed = await client.commands.list();
      equal(listed.map(({ name }) => name), ["greet", "add", "tags", "boom", "slow", "nonjson", "odd name"]);
      equal(listed[2].args, [{ name: "xs", type: "string_array", required: false, default: '["a", "b"]', description: "" }]);
      equal(await client.commands.run("greet", { name: "Bob" }), { message: "Hello, Bob!" });
      const odd = ["x, y", 'z"', "ü\n", ""];
      equal(await client.commands.run("tags", { xs: odd }), odd, "an array stays one");
      equal(await client.commands.run("tags", { xs: [] }), []);
      const commands = client.commands.typed();
      equal(await commands.add({ a: 40 }), 42);
      equal(commands.then, undefined, "can be awaited");
      await rejects(commands.add({}), sdk.CommandArgumentError, "command_argument");
      await rejects(commands.add({ a: "x" }), sdk.CommandArgumentError, "command_argument");
      await rejects(commands.tags({ xs: "a,b" }), sdk.CommandArgumentError, "command_argument");
      const failed = await rejects(commands.boom({ msg: "why" }), sdk.CommandExecutionError, "command_failed");
      assert(failed.message.includes("KeyError") && failed.server.type === "KeyError", failed.message);
      for (const args of [[1], "x", null, () => 1]) await rejects(client.commands.run("greet", args), sdk.InvalidArgumentError, "invalid_argument");
      for (const value of [NaN, 10n, () => 1, Symbol("s")]) await rejects(client.commands.run("greet", { name: value }), sdk.InvalidArgumentError, "invalid_argument");
    }),
  },
  {
    name: "commands: a command ends by its time and by an abort, and the server goes on",
    run: inImage(async ({ client, sdk }) => {
      await rejects(client.commands.run("slow", { seconds: 60 }, { timeoutMs: 200 }), sdk.TimeoutError, "request_timeout");
      const controller = new AbortController();
      const reason = new Error("enough");
      const running = client.commands.run("slow", { seconds: 60 }, { signal: controller.signal });
      setTimeout(() => controller.abort(reason), 50);
      await rejectsWith(running, reason);
      await rejectsWith(client.commands.run("greet", {}, { signal: AbortSignal.abort(reason) }), reason);
      equal(await client.health(), true);
    }),
  },
  {
    name: "files: written, read, listed, found, packed, moved, watched and removed",
    run: inImage(async ({ client, sandbox, sdk }) => {
      const { files } = client;
      equal(await files.upload(`${BASE}/d/a b&c.txt`, "héllo"), { path: `${BASE}/d/a b&c.txt`, size: 6 });
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index % 256);
      for (const data of [bytes, bytes.buffer, new Blob([bytes])]) {
        await files.upload("d/bytes", data);
        equal(await files.download("d/bytes"), bytes);
      }
      equal(await files.readText("d/a b&c.txt"), "héllo");
      equal(await sandbox.files.read(`${BASE}/d/a b&c.txt`), "héllo", "the sandbox has it");
      equal((await files.list(`${BASE}/d`)).map(({ path, type, size }) => [path, type, size]).sort(), [[`${BASE}/d/a b&c.txt`, "file", 6], [`${BASE}/d/bytes`, "file", 100_000]]);
      const { exists, modified, permissions } = await files.stat(`${BASE}/d/bytes`);
      equal([exists, modified instanceof Date, permissions.length], [true, true, 3]);
      equal(await files.exists(`${BASE}/none`), false);
      await files.mkdir(`${BASE}/d/e/f`);
      equal((await files.search(BASE, "*.txt")).results.map(({ path }) => path), [`${BASE}/d/a b&c.txt`]);
      const { data, format } = await files.archive([`${BASE}/d`]);
      await sandbox.files.write("/tmp/x.tar.gz", data);
      equal([format, (await sandbox.commands.run("tar tzf /tmp/x.tar.gz | grep -c bytes")).stdout], ["tar.gz", "1\n"]);
      await files.move(`${BASE}/d/bytes`, `${BASE}/moved`);
      equal([await files.exists(`${BASE}/d/bytes`), await files.exists(`${BASE}/moved`)], [false, true]);
      await files.delete(`${BASE}/d`);
      equal(await files.exists(`${BASE}/d`), false);
      await rejects(files.download(`${BASE}/none`), sdk.FileNotFoundError, "file_not_found");
      await rejects(files.stat("/etc/passwd"), sdk.PathDeniedError, "path_not_allowed");
      for (const path of ["", 5, "a\0b", "x".repeat(5000)]) await rejects(files.stat(path), sdk.InvalidArgumentError, "invalid_argument");
      await rejects(files.upload("x", 5), sdk.InvalidArgumentError, "invalid_argument");
    }),
  },
  {
    name: "files: changes come while they happen, and watching ends with the loop, the time and the signal",
    run: inImage(async ({ client, sandbox }) => {
      const { files } = client;
      await files.mkdir(`${BASE}/w`);
      for await (const change of watched()) {
        equal(change, { type: "created", path: `${BASE}/w/new`, isDir: false });
        break;
      }
      async function* watched() {
        const changes = files.watch(`${BASE}/w`, { intervalMs: 100 });
        // Nothing is sent before somebody listens.
        const first = changes.next();
        const making = setInterval(() => sandbox.files.write(`${BASE}/w/new`, "x").catch(() => {}), 300);
        try {
          yield (await first).value;
          yield* changes;
        } finally {
          clearInterval(making);
          await changes.return();
        }
      }
      equal(await files.watchFor(`${BASE}/w`, 300, { intervalMs: 100 }).then((found) => Array.isArray(found)), true);
      const controller = new AbortController();
      setTimeout(() => controller.abort("enough"), 100);
      equal(await all(files.watch(`${BASE}/w`, { signal: controller.signal })).catch((reason) => reason), "enough");
    }),
  },
  {
    name: "processes: output comes while the program runs",
    run: inImage(async ({ client, sandbox }) => {
      const seen = [];
      const command = `echo first; echo oops >&2; while [ ! -e ${BASE}/go ]; do sleep 0.05; done; echo last; exit 3`;
      const result = await client.process.run(command, {
        shell: true,
        onStdout: async (text) => {
          seen.push(text);
          // The program goes on only when its first line was told.
          if (text === "first\n") await sandbox.files.write(`${BASE}/go`, "");
        },
        onStderr: (text) => seen.push(text),
      });
      equal(result, { stdout: "first\nlast\n", stderr: "oops\n", exitCode: 3, truncated: false });
      equal(seen.sort(), ["first\n", "last\n", "oops\n"]);
      equal(await all(client.process.stream(["printf", "a\\nb"])), [{ type: "stdout", data: "a" }, { type: "stdout", data: "b" }, { type: "exit", exitCode: 0 }]);
    }),
  },
  {
    name: "processes: words stay what they are, and lines are split",
    run: inImage(async ({ client, sdk }) => {
      const odd = ["a b", "$HOME", "`x`", "it's", '"', "\\", "*", "", ";", "ü", "a\nb"];
      const { stdout } = await client.process.shell(["printf", "<%s>", ...odd]);
      equal(stdout, odd.map((word) => `<${word}>`).join(""));
      equal((await client.process.shell("printf %s '$HOME'")).stdout, "$HOME");
      equal((await client.process.shell("cd /tmp && printf %s \"$X\"; pwd", { shell: true, env: { X: "it's" }, cwd: BASE })).stdout, "it's/tmp\n");
      for (const wrong of ["", "  ", [], [""], ["a", 1], 5, "echo 'x", 'echo "', "echo \\", "a\0b"]) {
        await rejects(client.process.shell(wrong), sdk.InvalidArgumentError, "invalid_argument");
      }
      await rejects(client.process.shell(["ls"], { shell: true }), sdk.InvalidArgumentError, "invalid_argument");
      await rejects(client.process.shell("ls", { cwd: "/etc" }), sdk.PathDeniedError, "path_not_allowed");
      await rejects(client.process.shell("ls", { env: { ABX_X: "1" } }), sdk.PolicyDeniedError, "env_var_denied");
    }),
  },
  {
    name: "processes: in the background, with input, output and signals",
    run: inImage(async ({ client, sdk }) => {
      const cat = await client.process.start("cat", { captureOutput: true, stdin: true });
      equal(await cat.sendStdin("hé\n"), { pid: cat.pid, written: 4, closed: false });
      await cat.sendStdin(new Uint8Array([0x41, 0x0a]));
      const following = all(cat.follow());
      await cat.closeStdin();
      equal((await following).map(({ data }) => data).join(""), "hé\nA\n");
      equal(await cat.wait({ timeoutMs: 30_000 }), 0);
      await rejects(cat.sendStdin("x"), sdk.ServerError, "conflict");

      const sleep = await client.process.start(["sleep", "1000"]);
      equal((await client.process.list()).map(({ pid, state }) => [pid, state]), [[sleep.pid, "running"]]);
      const { state, startedAt } = await sleep.info();
      equal([state, startedAt instanceof Date], ["running", true]);
      await rejects(sleep.output(), sdk.ServerError, "conflict");
      await rejects(sleep.wait({ timeoutMs: 50, pollMs: 10 }), sdk.TimeoutError, "command_timeout");
      await rejectsWith(sleep.wait({ signal: AbortSignal.abort("enough") }), "enough");
      equal(await sleep.terminate(), { pid: sleep.pid, signal: 15 });
      equal(await sleep.wait({ pollMs: 20 }), -15);
      await rejects(client.process.signal(sleep.pid, "SIGFOO"), sdk.InvalidArgumentError, "invalid_argument");
      await rejects(client.process.get(999_999), sdk.NotFoundError, "process_not_found");
    }),
  },
  {
    name: "system, terminals over REST, and developer tools",
    run: inImage(async ({ client, sandbox, sdk }) => {
      equal((await client.system.info()).os, "Linux");
      assert((await client.system.metrics()).cpuLoad1m >= 0, "load");
      equal(await client.system.setEnv({ Z_ONE: "1" }), ["Z_ONE"]);
      equal(await client.system.env(["Z_ONE", "NONE"]), { Z_ONE: "1" });
      await rejects(client.system.setEnv({ PATH: "/x" }), sdk.PolicyDeniedError);
      assert((await client.system.ports()).some(({ port }) => port === 9000), "its own port");

      const { sessionId, pid } = await client.terminal.create({ shell: "/bin/sh", cols: 100, rows: 30 });
      const { cols, rows, alive, createdAt } = await client.terminal.get(sessionId);
      equal([cols, rows, alive, createdAt instanceof Date, pid > 0], [100, 30, true, true, true]);
      equal((await client.terminal.resize(sessionId, 80, 24)).cols, 80);
      equal((await client.terminal.list()).map(({ id }) => id), [sessionId]);
      await client.terminal.delete(sessionId);
      await rejects(client.terminal.get(sessionId), sdk.NotFoundError, "not_found");
      await rejects(client.terminal.create({ shell: "/bin/fish" }), sdk.InvalidArgumentError);

      equal((await client.devTools.runCode("print(6 * 7)")).stdout, "42\n");
      equal((await client.devTools.runCode("exit 4", { language: "bash" })).exitCode, 4);
      await sandbox.commands.run("git init -q -b main . && git config user.email a@b.c && git config user.name a && echo 1 > f && git add f && git commit -qm x && echo 2 > f", { cwd: BASE });
      equal(await client.devTools.gitStatus(), { branch: "main", clean: false, files: [{ path: "f", status: "modified" }] });
      equal((await client.devTools.gitDiff(BASE)).stats, { filesChanged: 1, insertions: 1, deletions: 1 });
    }),
  },
  {
    name: "browser: without one it says so, and addresses are checked",
    run: inImage(async ({ client, sdk }) => {
      await rejects(client.browser.navigate("http://127.0.0.1/"), sdk.PolicyDeniedError, "url_denied");
      await rejects(client.browser.navigate("ftp://x"), sdk.InvalidArgumentError, "url_invalid");
      await rejects(client.browser.screenshot(), sdk.UnsupportedError, "unsupported_by_server");
      equal(await client.browser.console(), []);
    }),
  },
  {
    name: "agents: definitions, sessions with their events, responses, and errors",
    run: inImage(async ({ client, sdk }) => {
      const { agents } = client;
      const agent = await agents.definitions.create({ model: "codex", name: "helper" });
      equal((await agents.definitions.list({ limit: 1 })).data.map(({ id }) => id), [agent.id]);
      const error = await rejects(agents.definitions.create({ model: "m", zz: 1 }), sdk.InvalidArgumentError, "invalid_request");
      equal(error.server.param, "zz");
      const session = await agents.sessions.create({ agent: { name: "quick" }, environment: { type: "self_hosted", workspace_directory: BASE } });
      await agents.sessions.send(session.id, { input: "hello" }, { idempotencyKey: "k1" });
      const events = await all(agents.sessions.events(session.id, { after: 0 }));
      equal([events[0].event, events.at(-1).event], ["agent.session.in_progress", "agent.session.idle"]);
      equal(new Set(events.map(({ data }) => data.event_id)).size, events.length, "each event once");
      assert((await agents.sessions.items(session.id, { order: "asc" })).data.some(({ type }) => type === "message"), "a message");
      const [artifact] = (await agents.sessions.artifacts.list(session.id)).data;
      equal(new TextDecoder().decode(await agents.sessions.artifacts.content(session.id, artifact.id)), "made\n");
      await agents.sessions.delete(session.id);
      await rejects(agents.sessions.get(session.id), sdk.NotFoundError, "resource_not_found");

      const response = await agents.responses.create({ model: "codex", input: "question" });
      equal(response.status, "completed");
      const streamed = await all(agents.responses.stream({ model: "codex", input: "question" }));
      equal([streamed[0].event, streamed.at(-1).event], ["response.created", "response.completed"]);
      const { id } = streamed[0].data.response;
      equal((await all(agents.responses.replay(id, { startingAfter: 3 }))).length, streamed.length - 4, "replayed");
      equal((await agents.responses.create({ model: "codex", input: "FAIL" })).status, "failed");
      await rejects(agents.models.delete("codex"), sdk.NotFoundError, "agents.not_implemented_locally");
    }),
  },
  {
    name: "other requests: answered as they are, or as JSON",
    run: inImage(async ({ client, sandbox, sdk }) => {
      equal((await client.fetch("/nope")).status, 404);
      equal(await (await client.fetch("/commands/add", { method: "post", body: '{"a": 1}' })).json(), { result: 3 });
      equal((await client.fetch("/health", { method: "OPTIONS" })).status, 501);
      equal(await client.request("POST", "/commands/add", { json: { a: 1 } }), { result: 3 });
      await rejects(client.request("GET", "/nope"), sdk.NotFoundError, "not_found");
      // Any port: the package of this image is not the only server.
      await sandbox.files.write(`${BASE}/index.txt`, "served");
      await sandbox.commands.run("python3 -m http.server 8000", { background: true, cwd: BASE });
      const other = new sdk.ServerClient(sandbox, { port: 8000 });
      const served = await eventually(async () => {
        const answer = await other.fetch("/index.txt");
        return answer.status === 200 && answer.text();
      }, "the other server answers");
      equal(served, "served");
      for (const path of ["", "x", "//x", "/a/../b", "/a%2f..", 5]) await rejects(client.fetch(path), sdk.InvalidArgumentError, "invalid_argument");
    }),
  },
  {
    name: "code: stateless by the server, and contexts need a sandbox's interpreter",
    run: inImage(async ({ client, sdk }) => {
      const told = [];
      const run = await client.code.run("x = 1; print(x)", { onStdout: (text) => told.push(text) });
      equal([run.text, run.exitCode, told], ["1", 0, ["1\n"]]);
      equal((await client.code.run("print('x' in globals())")).text, "False", "nothing is kept");
      await rejects(client.code.run("1", { contextId: "" }), sdk.InvalidArgumentError);
      await rejects(client.code.run("1", { contextId: "c", mode: "default-context" }), sdk.InvalidArgumentError);
      await rejects(client.code.run("1", { mode: "other" }), sdk.InvalidArgumentError);
      const alone = new sdk.ServerClient("http://server.test", { fetch: () => Promise.reject(new Error("nothing may be sent")) });
      await rejects(alone.code.createContext(), sdk.UnsupportedError, "needs_sandbox");
      await rejects(alone.code.run("1", { mode: "default-context" }), sdk.UnsupportedError, "needs_sandbox");
    }),
  },
  {
    name: "code: contexts keep their variables",
    async run(ctx) {
      const sandbox = await ctx.sdk.Sandbox.create("code-interpreter-v1", ctx.connection);
      try {
        const { code } = new ctx.sdk.ServerClient(sandbox);
        const { id } = await code.createContext();
        await code.run("x = 20", { contextId: id });
        const told = [];
        const run = await code.run("print('out'); x + 1", { contextId: id, onStdout: (text) => told.push(text) });
        equal([run.text, run.stdout, run.exitCode, told.join("")], ["21", "out\n", 0, "out\n"]);
        equal((await code.run("x", { mode: "default-context" })).error?.name, "NameError", "another context");
        assert((await code.listContexts()).some((context) => context.id === id), "listed");
        await code.restartContext(id);
        equal((await code.run("x", { contextId: id })).exitCode, 1, "forgotten");
        await code.removeContext(id);
      } finally {
        await sandbox.kill();
      }
    },
  },
  {
    name: "policy: scopes, paths, limits and rates are typed errors, and a rate is waited for",
    run: inImage(async ({ sandbox, sdk }) => {
      const policy = {
        version: 1,
        auth: { tokens: [{ id: "ci", scopes: ["commands:*", "files:*"], token_env: "CI_TOKEN" }] },
        endpoints: {
          files_upload_stream: { limits: { max_bytes: 10 }, params: { overwrite: false, deny_extensions: [".sh"] } },
          "files_*": { paths: { allow: [BASE], deny: ["*.pem"] } },
          list_commands: { limits: { rate_per_minute: 60 } },
          env_set: { enabled: false },
        },
      };
      const client = await another({ sandbox, sdk }, 9100, { ABX_SERVER_POLICY: JSON.stringify(policy), CI_TOKEN: "ci-tok" }, { token: "ci-tok" });
      const denied = await rejects(client.process.shell("ls"), sdk.PolicyDeniedError, "missing_scope");
      equal([denied.server.scope, denied.server.endpoint], ["process:run", "shell"]);
      await rejects(client.system.setEnv({ A: "1" }), sdk.EndpointUnavailableError, "endpoint_disabled");
      await client.files.upload("in.txt", "hi");
      await rejects(client.files.upload("in.txt", "hi"), sdk.PathDeniedError, "file_exists");
      await rejects(client.files.upload("x.SH", "hi"), sdk.PathDeniedError, "extension_not_allowed");
      await rejects(client.files.stat("zz.pem"), sdk.PathDeniedError, "path_denied");
      equal((await rejects(client.files.upload("big", "x".repeat(11)), sdk.PayloadTooLargeError)).server.limit, 10);

      const { fetch, sent } = counting();
      const careful = new sdk.ServerClient(sandbox, { port: 9100, token: "ci-tok", fetch });
      await careful.discover();
      sent.length = 0;
      await rejects(careful.process.shell("ls"), sdk.PolicyDeniedError, "missing_scope");
      await rejects(careful.system.setEnv({ A: "1" }), sdk.EndpointUnavailableError, "endpoint_disabled");
      await rejects(careful.files.upload("big", "x".repeat(11)), sdk.PayloadTooLargeError, "payload_too_large");
      equal(sent, [], "nothing is sent that is known to be refused");

      const limited = await rejects(exhaust(client), sdk.RateLimitError, "rate_limited");
      assert(limited.server.retryAfterMs >= 1000 && limited.retryable, "when to come again");
      const patient = new sdk.ServerClient(sandbox, { port: 9100, token: "ci-tok", retries: 5 });
      equal((await patient.commands.list()).length, 7);
    }),
  },
  {
    name: "ports: one that is not public is reached with the sandbox's traffic token",
    run: inImage(
      async ({ client, sandbox, sdk }) => {
        equal(await client.health(), true);
        const stripped = new sdk.ServerClient(sandbox, {
          fetch: (url, { headers: { "e2b-traffic-access-token": token, ...headers }, ...init }) => (assert(token, "a token"), globalThis.fetch(url, { ...init, headers })),
        });
        equal(await stripped.health(), false, "without it");
      },
      { network: { allowPublicTraffic: false } },
    ),
  },
];

async function exhaust(client) {
  for (;;) await client.commands.list();
}

