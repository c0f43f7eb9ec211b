// git in a sandbox, against repositories and a git server that are made there.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { faulty, withSandbox } from "./context.js";

const USER = { GIT_AUTHOR_NAME: "A", GIT_AUTHOR_EMAIL: "a@test", GIT_COMMITTER_NAME: "A", GIT_COMMITTER_EMAIL: "a@test" };
const PASSWORD = "p@ss:w/o rd'%41";

/** A git server over HTTP that wants a password. It prints its port. */
const SERVER = `
import base64, http.server, os, subprocess, sys
WANTED = "Basic " + base64.b64encode(("me:" + os.environ["WANTED"]).encode()).decode()
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        if self.headers.get("Authorization") != WANTED:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = dict(os.environ, GIT_PROJECT_ROOT="/tmp/served", GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path, QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type") or "", CONTENT_LENGTH=str(len(body)),
                   REMOTE_USER="me", HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding") or "")
        out = subprocess.run(["git", "http-backend"], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, content = out.partition(b"\\r\\n\\r\\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\\r\\n")]
        status = next((value for name, value in lines if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
    do_GET = do_POST = answer
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
`;

export const cases = [
  {
    name: "git: init, add, commit, branches, status, reset, restore",
    run: (ctx) =>
      withSandbox(
        ctx,
        async ({ git, files, commands }) => {
          await git.init("/tmp/r", { initialBranch: "main" });
          equal((await git.status("/tmp/r")).currentBranch, "main");
          equal(await git.branches("/tmp/r"), { branches: [], currentBranch: undefined });
          await files.write([{ path: "/tmp/r/a.txt", data: "1\n2\n3\n" }, { path: "/tmp/r/it's a \"name\"\n$HOME", data: "x" }]);
          const before = await git.status("/tmp/r");
          equal(before.fileStatus.map(({ name, status, staged }) => [name, status, staged]), [
            ["a.txt", "untracked", false],
            ["it's a \"name\"\n$HOME", "untracked", false],
          ]);
          equal([before.isClean, before.hasUntracked, before.totalCount, before.untrackedCount], [false, true, 2, 2]);
          await git.add("/tmp/r");
          const committed = await git.commit("/tmp/r", "it's -m \"first\"\n\n$(id)", { authorName: "An O'ther", authorEmail: "o@test" });
          equal(committed.exitCode, 0);
          equal((await commands.run(["git", "-C", "/tmp/r", "log", "--format=%B|%an|%ae", "-1"])).stdout, "it's -m \"first\"\n\n$(id)\n|A|a@test\n");
          assert((await git.status("/tmp/r")).isClean, "clean");

          await git.createBranch("/tmp/r", "feature/x");
          await commands.run("cd /tmp/r; git mv a.txt 'b c.txt'; echo 4 >> 'b c.txt'");
          const { fileStatus, stagedCount, currentBranch } = await git.status("/tmp/r");
          equal(fileStatus, [{ name: "b c.txt", status: "renamed", indexStatus: "R", workingTreeStatus: "M", staged: true, renamedFrom: "a.txt" }]);
          equal([stagedCount, currentBranch], [1, "feature/x"]);
          await git.restore("/tmp/r", { paths: ["b c.txt"] });
          equal(await files.read("/tmp/r/b c.txt"), "1\n2\n3\n");
          await git.reset("/tmp/r", { mode: "hard", target: "HEAD" });
          assert((await git.status("/tmp/r")).isClean, "clean after reset");

          await git.commit("/tmp/r", "empty", { allowEmpty: true });
          equal(await git.branches("/tmp/r"), { branches: ["feature/x", "main"], currentBranch: "feature/x" });
          await git.checkoutBranch("/tmp/r", "main");
          await rejects(git.deleteBranch("/tmp/r", "feature/x"), ctx.sdk.CommandExitError);
          await git.deleteBranch("/tmp/r", "feature/x", { force: true });
          await commands.run("git -C /tmp/r checkout -q --detach");
          const detached = await git.status("/tmp/r");
          equal([detached.detached, detached.currentBranch], [true, undefined]);
          equal(await git.branches("/tmp/r"), { branches: ["main"], currentBranch: undefined });
        },
        { envs: USER },
      ),
  },
  {
    name: "git: conflicts, remotes, upstreams and configuration",
    run: (ctx) =>
      withSandbox(
        ctx,
        async ({ git, files }) => {
          await git.init("/tmp/origin", { bare: true, initialBranch: "main" });
          await git.clone("/tmp/origin", { path: "/tmp/one" });
          const commit = async (path, text, message) => {
            await files.write(`${path}/f`, text);
            await git.add(path, { files: ["f"] });
            await git.commit(path, message);
          };
          await git.setConfig("init.defaultBranch", "main");
          await commit("/tmp/one", "1", "first");
          await git.push("/tmp/one", { remote: "origin" });
          await git.clone("/tmp/origin", { path: "/tmp/two", branch: "main", depth: 1 });
          await commit("/tmp/two", "2", "second");
          equal((await git.status("/tmp/two")).ahead, 1);
          await git.push("/tmp/two");
          await commit("/tmp/one", "other", "third");
          await git.setConfig("pull.rebase", "false");
          await rejects(git.pull("/tmp/one"), ctx.sdk.CommandExitError);
          const status = await git.status("/tmp/one");
          equal([status.hasConflicts, status.conflictCount, status.fileStatus[0].status], [true, 1, "conflict"]);
          equal([status.upstream, status.ahead, status.behind], ["origin/main", 1, 1]);

          equal(await git.remoteGet("/tmp/one", "origin"), "/tmp/origin");
          equal(await git.remoteGet("/tmp/one", "nobody"), undefined);
          await rejects(git.remoteAdd("/tmp/one", "origin", "/tmp/two"), ctx.sdk.CommandExitError);
          await git.remoteAdd("/tmp/one", "origin", "/tmp/two", { overwrite: true, fetch: true });
          equal(await git.remoteGet("/tmp/one", "origin"), "/tmp/two");

          await git.clone("/tmp/origin", { path: "/tmp/three" });
          await git.createBranch("/tmp/three", "alone");
          const error = await rejects(git.pull("/tmp/three"), ctx.sdk.GitUpstreamError, "git_upstream");
          assert(error.cause instanceof ctx.sdk.CommandExitError && error.message.includes("upstream"), error.message);
          await rejects(git.push("/tmp/three"), ctx.sdk.GitUpstreamError, "git_upstream");
          await git.push("/tmp/three", { branch: "alone" });
          equal((await git.status("/tmp/three")).upstream, "origin/alone");

          await git.configureUser("N", "n@test", { scope: "local", path: "/tmp/one" });
          equal(await git.getConfig("user.name", { scope: "local", path: "/tmp/one" }), "N");
          equal(await git.getConfig("user.email", { scope: "local", path: "/tmp/two" }), undefined);
        },
        { envs: USER },
      ),
  },
  {
    name: "git: credentials reach the server and nothing else",
    timeoutMs: 120_000,
    run: (ctx) =>
      withSandbox(
        ctx,
        async ({ git, files, commands }) => {
          const { GitAuthError, AuthenticationError, CommandExitError } = ctx.sdk;
          await git.init("/tmp/served/r.git", { bare: true, initialBranch: "main" });
          await git.setConfig("http.receivepack", "true", { scope: "local", path: "/tmp/served/r.git" });
          await files.write("/tmp/server.py", SERVER);
          let port;
          const server = await commands.run("exec python3 /tmp/server.py", { background: true, envs: { WANTED: PASSWORD }, onStdout: (text) => void (port ??= text.trim()) });
          try {
            for (let i = 0; i < 200 && port === undefined; i++) await commands.run("sleep 0.05");
            const url = `http://127.0.0.1:${port}/r.git`;
            const login = { username: "me", password: PASSWORD };
            const messages = [];
            const refused = async (call) => {
              const error = await rejects(call, GitAuthError, "git_auth");
              assert(error instanceof AuthenticationError && error.cause instanceof CommandExitError, "its class and cause");
              messages.push(error.message, error.cause.message, error.cause.stderr, String(error.stack));
            };
            await refused(git.clone(url, { path: "/tmp/no" }));
            await refused(git.clone(url, { path: "/tmp/no", username: "me", password: `${PASSWORD}x` }));
            await refused(git.clone(url.replace("//", `//me:${encodeURIComponent(`${PASSWORD}x`)}@`), { path: "/tmp/no" }));

            const results = [await git.clone(url, { path: "/tmp/c", ...login })];
            await files.write("/tmp/c/f", "1");
            await git.add("/tmp/c");
            await git.commit("/tmp/c", "first");
            await refused(git.push("/tmp/c", { remote: "origin" }));
            results.push(await git.push("/tmp/c", { remote: "origin", ...login }));
            await refused(git.pull("/tmp/c"));
            results.push(await git.pull("/tmp/c", login));
            // Credentials in the URL are used the same way.
            results.push(await git.clone(url.replace("//", `//me:${encodeURIComponent(PASSWORD)}@`), { path: "/tmp/d" }));
            equal(await git.remoteGet("/tmp/d", "origin"), url);
            equal(await git.remoteGet("/tmp/c", "origin"), url);
            const kept = await commands.run(`grep -rF "p@ss" /tmp/c /tmp/d ~ 2>/dev/null; grep -rF "p%40ss" /tmp/c /tmp/d ~ 2>/dev/null`, { check: false });
            equal(kept.stdout, "", "files that hold the password");
            for (const text of [...messages, JSON.stringify(results)]) {
              for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) assert(!text.includes(secret), `the password is in: ${text.slice(0, 100)}`);
            }

            await git.clone(url, { path: "/tmp/e", ...login, dangerouslyStoreCredentials: true });
            assert((await git.remoteGet("/tmp/e", "origin")).includes("me:"), "kept, as asked for");
            await git.dangerouslyAuthenticate({ ...login, host: `127.0.0.1:${port}`, protocol: "http" });
            await git.clone(url, { path: "/tmp/f" });
          } finally {
            await server.kill();
          }
        },
        { envs: USER },
      ),
  },
  {
    name: "git: what it could take for an option, and other wrong arguments, are refused",
    run: (ctx) =>
      withSandbox(ctx, async ({ git }) => {
        const calls = {
          url: () => git.clone("--upload-pack=touch /tmp/x"),
          branch: () => git.checkoutBranch("/tmp", "--orphan"),
          depth: () => git.clone("/tmp/x", { depth: 0 }),
          password: () => git.clone("https://h.test/r", { password: "p" }),
          "http and https": () => git.clone("git@h.test:r", { username: "u", password: "p" }),
          "line breaks": () => git.clone("https://h.test/r", { username: "u\nhost=other", password: "p" }),
          mode: () => git.reset("/tmp", { mode: "harder" }),
          paths: () => git.restore("/tmp", { paths: [] }),
          nothing: () => git.restore("/tmp", { paths: ["a"], worktree: false }),
          name: () => git.remoteGet("/tmp", ""),
          scope: () => git.setConfig("a.b", "c", { scope: "galaxy" }),
          repository: () => git.getConfig("a.b", { scope: "local" }),
          null: () => git.commit("/tmp", "a\0b"),
        };
        for (const [word, call] of Object.entries(calls)) {
          const error = await rejects(call(), ctx.sdk.InvalidArgumentError, "invalid_argument");
          assert(error.message.includes(word), `"${error.message}" has ${word}`);
        }
      }),
  },
  {
    name: "git: failures, aborts and cut connections are those of commands",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const error = await rejects(sandbox.git.status("/tmp"), ctx.sdk.CommandExitError, "command_exit");
        assert(error.exitCode === 128 && error.stderr.includes("not a git repository"), error.message);
        const reason = new Error("stop");
        await rejectsWith(sandbox.git.status("/tmp", { signal: AbortSignal.abort(reason) }), reason);
        const hanging = { timeoutMs: 300, envs: { GIT_SSH_COMMAND: "sleep 60; :" } };
        await rejects(sandbox.git.clone("ssh://h.test/r", hanging), ctx.sdk.TimeoutError, "deadline_exceeded");
        const cut = faulty("/process.Process/Start", () => new Response("", { headers: { "content-type": "application/connect+proto" } }));
        const broken = await ctx.sdk.Sandbox.attach(sandbox.toToken(), { fetch: cut, encoding: "proto" });
        await rejects(broken.git.status("/tmp"), ctx.sdk.ConnectionError, "stream_truncated");
        assert(sandbox.git === sandbox.git, "one helper per sandbox");
      }),
  },
];
