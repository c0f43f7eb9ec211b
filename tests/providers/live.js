// The built-in provider and a REST provider against the local server.

import { assert, equal, eventually, rejects, rejectsWith, withTime } from "../e2e/assert.js";

/** A case with a sandbox that is killed afterwards. */
function inSandbox(name, run, { template = "base", provider = () => undefined } = {}) {
  return {
    name: `live: ${name}`,
    async run(ctx) {
      const options = { ...connection(ctx), provider: provider(ctx) };
      const sandbox = await ctx.providers.ProviderSandbox.create(template, options);
      try {
        await run(sandbox, ctx, options);
      } finally {
        await sandbox.kill();
      }
    },
  };
}

const connection = ({ apiUrl, apiKey }) => ({ sandboxApiKey: apiKey, sandboxBaseUrl: apiUrl, env: {} });

/** A server for named commands, in the language that every machine has. */
const SERVER = `
import http.server, json, os
class H(http.server.BaseHTTPRequestHandler):
    def log_message(self, *a): pass
    def answer(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status); self.send_header("content-type", "application/json"); self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def allowed(self): return self.headers.get("authorization") == "Bearer " + os.environ["ABX_SERVER_TOKEN"]
    def do_GET(self):
        if self.path == "/health": return self.answer({"status": "ok"})
        if not self.allowed(): return self.answer({"error": "who are you?"}, 401)
        self.answer({"commands": [{"name": "hello", "description": "greets", "args": []}]})
    def do_POST(self):
        if not self.allowed(): return self.answer({"error": "who are you?"}, 401)
        args = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/commands/hello": return self.answer({"error": "no such command"}, 404)
        self.answer({"result": {"greeting": "hello " + args["name"], "names": args.get("names"), "policy": os.environ.get("ABX_SERVER_POLICY")}})
http.server.HTTPServer(("0.0.0.0", 9000), H).serve_forever()
`;

export const live = [
  {
    name: "live: create, connect, list, facts, timeout, kill, and kill again",
    async run(ctx) {
      const { ProviderSandbox: type } = ctx.providers;
      const o = connection(ctx);
      const created = [];
      const sandbox = await type.create({ ...o, timeout: 120, metadata: { made: "by providers" }, envs: { A: "1" }, onCreated: (id) => created.push(id) });
      try {
        equal([created, sandbox.provider, sandbox.status], [[sandbox.id], "alicloud-express", "running"]);
        const again = await type.connect(ctx.providers.qualify("alicloud-express", sandbox.id), o);
        equal((await again.commands.run("printenv A")).stdout, "1\n");
        const mine = (await type.list(o)).find(({ sandboxId }) => sandboxId === sandbox.id);
        equal(mine?.metadata, { made: "by providers" });
        await sandbox.setTimeout(300);
        await type.setTimeoutById(sandbox.id, 400, o);
        const { endAt } = await sandbox.refreshInfo();
        assert(Date.parse(endAt) - Date.now() > 300_000, `it ends at ${endAt}`);
        equal(await sandbox.isRunning(), true);
        await again.close();
      } finally {
        await sandbox.kill();
      }
      await sandbox.kill();
      equal(await sandbox.isRunning(), false);
      await rejects(type.getInfoById(sandbox.id, o), ctx.sdk.SandboxNotFoundError, "E2009");
      await type.killById(sandbox.id, o);
      await rejects(type.create("no-such-template", o), ctx.providers.TemplateNotFoundError, "E2001");
      const wrong = await rejects(type.create({ ...o, sandboxApiKey: "e2b_0000000000000000000000000000000000000000" }), ctx.sdk.AuthenticationError, "E1001");
      assert(!wrong.message.includes("e2b_0000"), wrong.message);
    },
  },
  inSandbox("commands: output, exit codes, words, users, timeouts, background", async (sandbox, { providers }) => {
    const { commands } = sandbox;
    equal(await commands.run("echo hi $HOME").then(({ stdout, exitCode }) => [stdout, exitCode]), ["hi $HOME\n", 0]);
    equal((await commands.run("echo $HOME", { shell: true })).stdout, "/home/user\n");
    equal(await commands.run("echo out; echo err >&2; exit 3").then(({ stdout, stderr, exitCode, success }) => [stdout, stderr, exitCode, success]), ["out\n", "err\n", 3, false]);
    equal((await commands.run(["printf", "%s|", "a b", "$X"])).stdout, "a b|$X|");
    equal((await commands.run("id -un", { user: "root" })).stdout, "root\n");
    equal((await commands.run("pwd", { cwd: "/tmp" })).stdout, "/tmp\n");
    const told = [];
    await commands.run(["sh", "-c", "for i in 1 2 3; do echo $i; done"], { onStdout: async (data) => void told.push(data) });
    equal(told.join(""), "1\n2\n3\n");
    const hurried = (ms) => rejects(commands.run("echo begun; sleep 60", { timeout: ms / 1000 }), providers.CommandTimeoutError, "E3001");
    const late = await withTime(hurried, ({ stdout }) => stdout !== "");
    assert(late.stdout === "begun\n" && late.message.includes("was killed"), late.message);
    await eventually(async () => !(await commands.list()).some(({ command }) => command.includes("sleep 60")), "it is killed");
    const cat = await commands.start("sleep 50");
    const listed = (await commands.list()).find(({ pid }) => pid === cat.pid);
    equal([listed?.command, listed?.status], ["sleep 50", "running"]);
    await commands.sendSignal(cat.pid, 15);
    equal((await cat.collect()).at(-1).type, "exit");
    const missing = await rejects(commands.kill(cat.pid), providers.EnvdRpcError, "E3006");
    equal(missing.status, 404);
    let count = 0;
    for await (const { data } of commands.stream("yes")) {
      count += data.length;
      if (count > 100_000) break;
    }
    await eventually(async () => (await commands.list()).length === 0, "what was left is killed");
    const big = await commands.run("head -c 3000000 /dev/zero | tr '\\0' ü");
    equal(big.stdout.length > 2_999_999, true);
  }),
  inSandbox("aborts: a command is killed and the reason is the caller's", async (sandbox) => {
    const controller = new AbortController();
    const reason = new Error("enough");
    const call = sandbox.commands.run("echo begun; sleep 40", { signal: controller.signal, onStdout: () => controller.abort(reason) });
    await rejectsWith(call, reason);
    await eventually(async () => (await sandbox.commands.list()).length === 0, "it is killed");
  }),
  inSandbox("files: text, bytes, directories, limits, changes, and what is missing", async (sandbox, { providers, sdk }) => {
    const { files } = sandbox;
    await files.makeDir("/tmp/d/e");
    const odd = "/tmp/d/ü #?%.txt";
    await files.write(odd, "hé\u{1f388}");
    equal([await files.read(odd), await files.exists(odd), (await files.getInfo(odd)).size], ["hé\u{1f388}", true, 7]);
    await files.write("/tmp/d/bytes", Uint8Array.of(0, 255, 10));
    equal(await files.readBytes("/tmp/d/bytes"), Uint8Array.of(0, 255, 10));
    await rejects(files.read("/tmp/d/bytes"), providers.FileOperationError, "E4000");
    equal((await files.read("/tmp/d/bytes", { encoding: "latin1" })).length, 3);
    await files.write("/tmp/d/empty", "");
    equal([await files.read("/tmp/d/empty"), (await files.readBytes("/tmp/d/empty", { maxBytes: 0 })).length], ["", 0]);
    const tooLarge = await rejects(files.readBytes(odd, { maxBytes: 6 }), providers.FileSizeLimitError, "E4003");
    equal(tooLarge.limit, 6);
    equal((await files.readBytes(odd, { maxBytes: 7 })).length, 7);
    const listed = await files.list("/tmp/d");
    equal(listed.map(({ name, type }) => [name, type]).sort(), [["bytes", "file"], ["e", "directory"], ["empty", "file"], ["ü #?%.txt", "file"]].sort());
    assert(listed[0].modified instanceof Date, "when it changed");
    equal(await files.list("/tmp/d/e"), []);
    const watch = await files.watch("/tmp/d");
    await files.move("/tmp/d/empty", "/tmp/d/moved");
    await files.write("/tmp/d/new", "x");
    const seen = [];
    for await (const { type, path } of watch) {
      seen.push(`${type} ${path}`);
      if (path === "new") break;
    }
    assert(seen.includes("created new") && seen.every((one) => one !== "modified "), seen.join(", "));
    await files.remove("/tmp/d");
    equal(await files.exists("/tmp/d"), false);
    for (const act of [() => files.read("/tmp/d/x"), () => files.list("/tmp/d"), () => files.getInfo("/tmp/d"), () => files.move("/tmp/d", "/tmp/e")]) await rejects(act(), sdk.FileNotFoundError, "E4001");
    await rejects(files.upload("a", "b"), providers.ProviderFeatureNotSupportedError, "E8004");
    await rejects(sandbox.uploadUrl("/x"), providers.FileOperationError, "E4000");
  }),
  inSandbox("terminal: what is typed is run, and the size is that of the caller", async (sandbox) => {
    const terminal = await sandbox.getTerminal({ cols: 111, rows: 33 });
    await terminal.send("stty size; exit\n");
    let shown = "";
    const decoder = new TextDecoder();
    for await (const bytes of terminal.outputStream()) shown += decoder.decode(bytes, { stream: true });
    assert(shown.includes("33 111"), shown);
    await eventually(() => !terminal.isConnected, "it ends with the shell");
    await terminal.close();
  }),
  inSandbox("application: a server is started, waited for, and asked for named commands", async (sandbox, { providers }) => {
    await sandbox.files.write("/tmp/server.py", SERVER);
    const client = await sandbox.startServer({ command: ["python3", "/tmp/server.py"], token: "app-token", policy: { preset: "x" } });
    equal([await client.health(), (await client.listCommands()).map(({ name }) => name)], [true, ["hello"]]);
    const result = await client.run("hello", { name: "Bob", names: ["a", "b"] });
    equal(result, { greeting: "hello Bob", names: ["a", "b"], policy: '{"preset":"x"}' });
    equal((await sandbox.run("hello", { name: "Ann" }, { token: "app-token" })).greeting, "hello Ann");
    equal((await sandbox.listCommands({ token: "app-token" })).length, 1);
    await rejects(client.run("bye"), providers.CommandNotFoundError, "E3005");
    await rejects(sandbox.run("hello"), providers.ServerAuthError, "E9001");
    const failed = await rejects(sandbox.startServer({ port: 9100, command: "false", timeout: 20 }), Error);
    equal(failed.code, "E5001");
  }),
  inSandbox(
    "code: alone, in the default context, in one of its own, with callbacks",
    async (sandbox, { providers }) => {
      const run = async (code, opts) => (await sandbox.runCode(code, opts)).text;
      const alone = await sandbox.runCode("x = 5\nprint('hi')\nx + 1");
      equal([alone.text, alone.stdout, alone.exitCode, alone.success, alone.results.length], ["6", "hi\n", 0, true, 1]);
      const none = await sandbox.runCode("x");
      equal([none.exitCode, none.success, none.error?.name], [1, false, "NameError"]);
      await sandbox.runCode("y = 7", { mode: "default-context" });
      equal(await run("y", { mode: "default-context" }), "7");
      const context = await sandbox.code.createContext();
      equal(await run("z = 1; z", { contextId: context.id }), "1");
      assert((await sandbox.code.listContexts()).some(({ id }) => id === context.id), "it is listed");
      await sandbox.code.restartContext(context.id);
      equal((await sandbox.runCode("z", { contextId: context.id })).error?.name, "NameError");
      await sandbox.code.removeContext(context.id);
      await rejects(sandbox.code.removeContext(context.id), providers.ProviderResourceNotFoundError, "E8005");
      await rejects(sandbox.runCode("1", { contextId: context.id }), providers.ProviderResourceNotFoundError, "E8005");
      const told = [];
      await sandbox.runCode("print('a')\n2", { onStdout: (data) => void told.push(data), onResult: ({ text }) => void told.push(text) });
      equal(told, ["a\n", "2"]);
      await rejects(sandbox.runCode("while True: pass", { timeout: 1 }), providers.CommandTimeoutError, "E3001");
      const controller = new AbortController();
      const reason = new Error("enough");
      await rejectsWith(sandbox.runCode("print('begun', flush=True)\nwhile True: pass", { signal: controller.signal, onStdout: () => controller.abort(reason) }), reason);
      equal((await sandbox.runCode("import os; os.environ['K']", { envs: { K: "v" } })).text, "v");
    },
    { template: "code-interpreter-v1", provider: ({ providers }) => providers.expressProvider({ code: true }) },
  ),
  {
    name: "live: a REST provider, as a plain object with a key of its own",
    async run(ctx) {
      const provider = {
        id: "acme",
        kind: "rest",
        baseUrl: ctx.apiUrl,
        apiKey: ctx.apiKey,
        auth: { scheme: "header" },
        features: ["sandbox.lifecycle", "sandbox.pause", "exec.run", "files.rw", "ports.url"],
        operations: ["sandbox.create", "sandbox.get", "sandbox.delete", "sandbox.pause", "exec.run", "files.read", "files.write", "ports.resolve"],
      };
      const sandbox = await ctx.providers.ProviderSandbox.create({ provider, env: {} });
      try {
        equal([sandbox.provider, (await sandbox.commands.run("echo hi")).stdout], ["acme", "hi\n"]);
        await sandbox.files.write("/tmp/a", "b");
        equal(await sandbox.files.read("/tmp/a"), "b");
        await sandbox.pause();
        equal((await sandbox.refreshInfo()).status, "paused");
        await rejects(sandbox.files.list("/"), ctx.providers.ProviderFeatureNotSupportedError, "E8004");
      } finally {
        await sandbox.kill();
      }
    },
  },
];
