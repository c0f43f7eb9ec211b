// What every broker does, whatever its host: asked over HTTP, as a page's browser would.

import { assert, equal, eventually, rejects } from "../e2e/assert.js";
import { Visitor, visiting } from "./client.mjs";

const JSON_TYPE = { "content-type": "application/json" };

export const cases = [
  {
    name: "open: a token for the visitor's own sandbox, without a key, and the same sandbox again",
    run: visiting("main", async (visitor, ctx) => {
      const token = await visitor.open();
      equal(Object.keys(token).filter((name) => !["domain", "trafficAccessToken"].includes(name)).sort(), ["envdAccessToken", "envdVersion", "expiresAt", "sandboxId", "scopes", "session"]);
      assert(!JSON.stringify(token).includes(ctx.connection.apiKey), "no key");
      const rest = new Date(token.expiresAt) - Date.now();
      assert(rest > 0 && rest <= 300_000, `the access ends with the sandbox, in ${rest} ms`);
      const sandbox = await ctx.sdk.Sandbox.attach(token);
      equal((await sandbox.commands.run("echo hi")).stdout, "hi\n");
      equal((await visitor.ask("")).sandboxId, token.sandboxId, "the second visit");
      equal((await visitor.ask("refresh")).sandboxId, token.sandboxId, "the refreshed session");
      equal((await visitor.sandboxes()).length, 1);
    }),
  },
  {
    name: "open: 100 first visits at the same time make one sandbox",
    run: visiting("main", async (visitor) => {
      const tokens = await Promise.all(Array.from({ length: 100 }, () => visitor.ask("")));
      equal(new Set(tokens.map(({ sandboxId }) => sandboxId)).size, 1, "sandboxes that were answered");
      equal((await visitor.sandboxes()).length, 1, "sandboxes that live");
    }),
  },
  {
    name: "sessions: forged and changed ones are refused",
    run: visiting("main", async (visitor) => {
      const { session } = await visitor.open();
      const [version, key, claims, mac] = session.split(".");
      const text = Buffer.from(claims, "base64url").toString().replace("lifecycle", "lifecycle port:80");
      const forged = [`${session}A`, session.slice(0, -1), `${version}.${key}.${Buffer.from(text).toString("base64url")}.${mac}`, `${version}.${key}.${claims}.`, "b1.x.y.z", "x"];
      for (const one of forged) {
        visitor.session = one;
        for (const action of ["/refresh", "/kill", "/info"]) await visitor.refused(action, [401, "session_invalid"]);
      }
      const stranger = visitor.at("foreign");
      stranger.session = session;
      await stranger.refused("/refresh", [401, "session_invalid"]);
      visitor.session = undefined;
      await visitor.refused("/refresh", [401, "session_missing"]);
    }),
  },
  {
    name: "sessions: expired ones are refused, and clocks may differ by as much as is allowed",
    run: visiting("main", async (visitor) => {
      await visitor.open();
      await visitor.at("ahead").refused("/refresh", [401, "session_expired"]);
      await visitor.at("behind").refused("/refresh", [401, "session_invalid"]);
      await visitor.at("slightly-behind").ask("info");
    }),
  },
  {
    name: "sessions: replayed after the end of the sandbox, or at another broker, they open nothing",
    run: visiting("main", async (visitor) => {
      const { sandboxId } = await visitor.open();
      await visitor.at("elsewhere").refused("/refresh", [401, "session_invalid"]);
      equal(await visitor.ask("kill"), { sandboxId, killed: true });
      equal(await visitor.ask("kill"), { sandboxId, killed: false });
      for (const action of ["/refresh", "/info", "/pause"]) await visitor.refused(action, [410, "sandbox_gone"]);
      const extend = { method: "POST", headers: JSON_TYPE, body: '{"timeoutMs":60000}' };
      await visitor.refused("/extend", [410, "sandbox_gone"], extend);
      await visitor.refused("/sandbox/files?path=/etc/hostname", [410, "sandbox_gone"], {});
      equal((await visitor.sandboxes()).length, 0);
      assert((await visitor.open()).sandboxId !== sandboxId, "a new sandbox");
    }),
  },
  {
    name: "sessions: those of another visitor are refused",
    run: visiting("main", async (visitor, ctx) => {
      const { session } = await visitor.open();
      const other = new Visitor(ctx, "main");
      other.session = session;
      for (const action of ["/refresh", "/kill", "/info", "/pause"]) await other.refused(action, [403, "session_of_another"]);
      await other.refused("/sandbox/files?path=/etc/hostname", [403, "session_of_another"], {});
      equal((await visitor.sandboxes()).length, 1);
    }),
  },
  {
    name: "sessions: secrets are rotated without anybody noticing",
    run: visiting("main", async (visitor) => {
      const { sandboxId } = await visitor.open();
      const rotated = visitor.at("rotated");
      const token = await rotated.ask("refresh");
      equal(token.sandboxId, sandboxId);
      await visitor.at("retired").refused("/refresh", [401, "session_invalid"]);
      visitor.session = token.session;
      equal((await visitor.at("retired").ask("refresh")).sandboxId, sandboxId, "signed by the new secret");
      await visitor.refused("/refresh", [401, "session_invalid"]);
    }),
  },
  {
    name: "origins: only those that are allowed, and exactly they",
    run: visiting("main", async (visitor) => {
      for (const origin of [undefined, "null", "https://app.example.evil.example", "https://app.example:444", "http://app.example", "https://APP.example"]) {
        const answer = await visitor.refused("", [403, "origin_not_allowed"], { method: "POST", headers: { ...JSON_TYPE, origin }, body: "{}" });
        equal(answer.headers.get("access-control-allow-origin"), null, `${origin}`);
        const preflight = await visitor.fetch("", { method: "OPTIONS", headers: { origin, "access-control-request-method": "POST" } });
        equal([preflight.status, preflight.headers.get("access-control-allow-origin")], [403, null], `preflight of ${origin}`);
      }
      equal((await visitor.sandboxes()).length, 0, "sandboxes");
      const preflight = await visitor.fetch("", { method: "OPTIONS", headers: { "access-control-request-method": "POST", "access-control-request-headers": "content-type,x-sandbox-session" } });
      const told = (name) => preflight.headers.get(name);
      equal([preflight.status, told("access-control-allow-origin"), told("access-control-allow-headers")], [204, "https://app.example", "content-type,x-sandbox-session"]);
      assert(told("vary").includes("Origin") && told("access-control-allow-methods").includes("POST"), "vary and methods");
    }),
  },
  {
    name: "requests: what is no JSON, too long, or no action is refused before anything happens",
    run: visiting("main", async (visitor) => {
      const send = (body, type) => ({ method: "POST", headers: { "content-type": type }, body });
      for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) await visitor.refused("", [415, "unsupported_media_type"], send("{}", type));
      for (const body of ["[]", "5", "{", "null"]) await visitor.refused("", [400, "invalid_argument"], send(body, "application/json; charset=utf-8"));
      await visitor.refused("", [413, "too_large"], send(JSON.stringify({ slot: "x".repeat(20_000) }), "application/json"));
      for (const slot of ["", "a b", 5, "x".repeat(65)]) await visitor.refused("", [400, "invalid_argument"], send(JSON.stringify({ slot }), "application/json"));
      for (const scopes of ["run", ["fly"], ["port:0"], ["port:49983"], ["port:65536"]]) await visitor.refused("", [400, "invalid_argument"], send(JSON.stringify({ scopes }), "application/json"));
      const wrong = await visitor.refused("", [405, "method_not_allowed"], {});
      equal(wrong.headers.get("allow"), "POST");
      for (const path of ["/fly", "/kill/x", "/constructor"]) await visitor.refused(path, [404, "not_found"]);
      equal((await visitor.sandboxes()).length, 0, "sandboxes");
    }),
  },
  {
    name: "visitors: unknown ones are refused, and the back end may answer itself",
    async run(ctx) {
      const nobody = new Visitor(ctx, "main", { name: "" });
      await nobody.refused("", [401, "unauthenticated"]);
      const teapot = await new Visitor(ctx, "main", { name: "teapot" }).post("");
      equal([teapot.status, await teapot.text(), teapot.headers.get("access-control-allow-origin")], [418, "short and stout", "https://app.example"]);
      const broken = await new Visitor(ctx, "main", { name: "broken" }).post("");
      const text = await broken.text();
      assert(broken.status === 500 && !text.includes("database"), text);
    },
  },
  {
    name: "scopes: none is had that was not granted, nor one that is granted no more",
    run: visiting("main", async (visitor, ctx) => {
      await visitor.refused("", [403, "scope_missing"], { method: "POST", headers: JSON_TYPE, body: '{"scopes":["port:80"]}' });
      const token = await visitor.open({ scopes: ["files:read"] });
      const [{ sandboxId }] = await visitor.sandboxes();
      const real = (await ctx.sdk.Sandbox.connect(sandboxId, ctx.connection)).toToken();
      assert(!JSON.stringify(token).includes(real.envdAccessToken), "the sandbox's own token stays");
      equal(token.scopes, ["files:read"]);
      for (const action of ["/kill", "/pause"]) await visitor.refused(action, [403, "scope_missing"]);
      await visitor.refused("/extend", [403, "scope_missing"]);
      const sign = { method: "POST", headers: JSON_TYPE, body: '{"path":"/tmp/x","operation":"write"}' };
      await visitor.refused("/sign", [403, "scope_missing"], sign);
      await visitor.refused("/port/8000/", [403, "scope_missing"], {});
      for (const path of ["/filesystem.Filesystem/Remove", "/process.Process/Start", "/process.Process/List"]) await visitor.refused(`/sandbox${path}`, [403, "scope_missing"]);
      await visitor.refused("/sandbox/execute", [403, "scope_missing"], { headers: { "e2b-sandbox-port": "49999" } });
      await visitor.refused("/sandbox/files?path=/tmp/x", [403, "scope_missing"], { method: "POST", body: "x" });
      for (const path of ["/init", "/envs", "/metrics", "/files/compose"]) await visitor.refused(`/sandbox${path}`, [404, "not_found"]);
      visitor.session = (await visitor.ask("refresh")).session;
      await visitor.refused("/kill", [403, "scope_missing"]);

      // The package itself, through the broker.
      const attached = await ctx.sdk.Sandbox.attach(token, { headers: {}, fetch: asVisitor(visitor) });
      assert((await attached.files.read("/etc/passwd")).includes("root"), "files are read");
      assert((await attached.files.list("/")).length > 0, "folders are listed");
      await rejects(attached.files.write("/tmp/x", "y"), ctx.sdk.SandboxError);
      await rejects(attached.commands.run("true"), ctx.sdk.SandboxError);

      const { session } = await visitor.open();
      visitor.scopes = "run";
      visitor.session = session;
      await visitor.refused("/kill", [403, "scope_missing"]);
    }),
  },
  {
    name: "proxy: everything works through the broker, and the sandbox's token stays there",
    run: visiting("proxied", async (visitor, ctx) => {
      const token = await visitor.open();
      equal([token.url, token.envdAccessToken], [`${ctx.url}/proxied/sandbox`, token.session]);
      const sandbox = await ctx.sdk.Sandbox.attach(token, { fetch: asVisitor(visitor) });
      equal((await sandbox.commands.run("whoami; cat", { user: "root", stdin: false })).stdout, "root\n");
      const bytes = new Uint8Array(3_000_000).map((_, index) => index * 31);
      await sandbox.files.write("/tmp/large", bytes);
      equal((await sandbox.commands.run("sha256sum < /tmp/large")).stdout.split(" ")[0], await sha256(bytes));
      equal(await sha256(await sandbox.files.read("/tmp/large", { format: "bytes" })), await sha256(bytes));
      const lines = [];
      await sandbox.commands.run("for i in 1 2 3; do echo $i; done", { onStdout: (text) => void lines.push(text) });
      equal(lines.join(""), "1\n2\n3\n");
      await rejects(sandbox.files.read("/tmp/missing"), ctx.sdk.FileNotFoundError);
    }),
  },
  {
    name: "proxy: code runs through the broker, in contexts, and is interrupted by an abort",
    run: visiting("proxied", async (visitor, ctx) => {
      const sandbox = await ctx.sdk.Sandbox.attach(await visitor.open(), { fetch: asVisitor(visitor) });
      const lines = [];
      const { results, logs } = await sandbox.runCode("x = 6 * 7\nprint('streamed')\nx", { onStdout: ({ line }) => void lines.push(line) });
      equal([results[0].text, logs.stdout, lines], ["42", ["streamed\n"], ["streamed\n"]]);
      const context = await sandbox.createCodeContext({ language: "python" });
      const apart = await sandbox.runCode("'x' in globals()", { context });
      equal(apart.results[0].text, "False");
      const controller = new AbortController();
      const endless = sandbox.runCode("import time\nprint('begun', flush=True)\ntime.sleep(600)", { signal: controller.signal, onStdout: () => controller.abort(new Error("enough")) });
      equal((await rejects(endless, Error)).message, "enough");
      equal((await sandbox.runCode("x + 1")).results[0].text, "43");
    }),
  },
  {
    name: "ports: reached with their scope only, without the visitor's credentials, and without anybody else",
    run: visiting("ports", async (visitor, ctx) => {
      const { sandboxId } = await visitor.open();
      const sandbox = await ctx.sdk.Sandbox.connect(sandboxId, ctx.connection);
      await sandbox.files.write("/tmp/server.py", SERVER);
      await sandbox.commands.run("python3 /tmp/server.py", { background: true });
      const headers = { cookie: "app=1", authorization: "Bearer app", "x-sandbox-authorization": "Bearer port", "x-custom": "1", "x-other": "2", "x-forwarded-for": "1.2.3.4" };
      const answer = await eventually(async () => {
        const one = await visitor.fetch("/port/8000/a%20b/?q=1", { method: "POST", headers, body: "ping" });
        if (one.status === 200) return one;
        await one.body?.cancel();
        return undefined;
      }, "the server answers", 400);
      const { path, body, seen } = await answer.json();
      equal([path, body], ["/a%20b/?q=1", "ping"]);
      equal([seen.authorization, seen["x-custom"]], ["Bearer port", "1"]);
      for (const name of ["cookie", "x-other", "x-visitor", "origin", "x-sandbox-session", "x-sandbox-authorization", "x-access-token"]) {
        equal(seen[name], undefined, `${name} in the sandbox`);
      }
      assert(!/Bearer app|app=1/.test(JSON.stringify(seen)), JSON.stringify(seen));
      equal(answer.headers.get("access-control-allow-origin"), "https://app.example");
      equal([answer.headers.get("set-cookie"), answer.headers.get("x-content-type-options")], [null, "nosniff"]);
      assert(answer.headers.get("content-security-policy").startsWith("sandbox"), "no document of the broker");
      const moved = await visitor.fetch("/port/8000/moved");
      equal([moved.status, moved.headers.get("location")], [302, "/ports/port/8000/there?x=1"]);
      await moved.body?.cancel();
      // Past the broker.
      const direct = await fetch(`${ctx.connection.apiUrl}/`, { headers: { "e2b-sandbox-id": sandboxId, "e2b-sandbox-port": "8000" } });
      equal(direct.status, 403);
      await direct.body?.cancel();
      for (const path of ["/port/8001/", "/port/22/"]) await visitor.refused(path, [403, "scope_missing"], {});
      for (const path of ["/port/49983/", "/port/x/", "/port/", "/port/0/", "/port/08000/"]) await visitor.refused(path, [404, "not_found"], {});
    }),
  },
  {
    name: "files: signed URLs work for one file and one operation, without the broker",
    run: visiting("main", async (visitor, ctx) => {
      const { sandboxId } = await visitor.open({ scopes: ["files:read"] });
      const sandbox = await ctx.sdk.Sandbox.connect(sandboxId, ctx.connection);
      await sandbox.files.write("/tmp/a b", "linked");
      const { url, expiresAt } = await visitor.ask("sign", { path: "/tmp/a b", operation: "read", expiresInSeconds: 60 });
      assert(new Date(expiresAt) > Date.now(), expiresAt);
      // Not every runtime resolves *.localhost; the server routes by header as well.
      const get = async (address) => {
        const answer = await fetch(`${ctx.connection.apiUrl}${address.pathname}${address.search}`, { headers: { "e2b-sandbox-id": sandboxId, "e2b-sandbox-port": "49983" } });
        return [answer.status, await answer.text()];
      };
      equal(await get(new URL(url)), [200, "linked"]);
      const other = new URL(url);
      other.searchParams.set("path", "/etc/passwd");
      equal((await get(other))[0], 401);
      for (const body of [{ path: "", operation: "read" }, { path: "/x", operation: "run" }, { path: "/x", operation: "read", expiresInSeconds: 0 }, { path: "/x", operation: "read", user: 5 }]) {
        await visitor.refused("/sign", [400, "invalid_argument"], { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) });
      }
    }),
  },
  {
    name: "lifecycle: extended, paused, resumed by a refresh, described, killed",
    run: visiting("main", async (visitor, ctx) => {
      const { sandboxId } = await visitor.open();
      const { endAt } = await visitor.ask("extend", { timeoutMs: 1_200_000 });
      const info = await visitor.ask("info");
      equal([info.sandboxId, info.state], [sandboxId, "running"]);
      assert(Math.abs(new Date(info.endAt) - new Date(endAt)) < 60_000, `${info.endAt} ${endAt}`);
      assert(!("metadata" in info) && !JSON.stringify(info).includes("ccessToken"), "nothing that opens it");
      for (const timeoutMs of [0, 3_600_001, "x", null]) await visitor.refused("/extend", [400, "invalid_argument"], { method: "POST", headers: JSON_TYPE, body: JSON.stringify({ timeoutMs }) });
      equal(await visitor.ask("pause"), { sandboxId, paused: true });
      await visitor.refused("/sandbox/files?path=/etc/hostname", [409, "sandbox_paused"], {});
      equal((await visitor.ask("refresh")).sandboxId, sandboxId);
      equal((await visitor.ask("info")).state, "running");
      await visitor.ask("pause");
      equal((await visitor.ask("")).sandboxId, sandboxId, "a visit resumes it");
      const running = await ctx.sdk.Sandbox.connect(sandboxId, ctx.connection);
      equal((await running.commands.run("echo awake")).stdout, "awake\n");
    }),
  },
  {
    name: "limits: as many sandboxes as are allowed, at a time and altogether",
    run: visiting("two", async (visitor) => {
      await visitor.open({ slot: "a" });
      await visitor.ask("", { slot: "b" });
      const third = { method: "POST", headers: JSON_TYPE, body: '{"slot":"c"}' };
      const refused = await visitor.refused("", [429, "too_many_at_once"], third);
      const wait = Number(refused.headers.get("retry-after"));
      assert(wait >= 1 && wait <= 300, `Retry-After: ${wait}`);
      await visitor.ask("kill");
      await visitor.open({ slot: "c" });
      await visitor.ask("kill");
      const fourth = await visitor.refused("", [429, "too_many_sandboxes"], { method: "POST", headers: JSON_TYPE, body: '{"slot":"d"}' });
      assert(Number(fourth.headers.get("retry-after")) > 80_000, "until the day is over");
      equal((await visitor.ask("", { slot: "b" })).scopes.length, 4, "the one that lives goes on");
    }),
  },
  {
    name: "limits: minutes are counted when they are promised, and given back",
    run: visiting("minutes", async (visitor) => {
      await visitor.open();
      const extend = (timeoutMs) => ({ method: "POST", headers: JSON_TYPE, body: JSON.stringify({ timeoutMs }) });
      const refused = await visitor.refused("/extend", [429, "too_many_minutes"], extend(600_000));
      assert(Number(refused.headers.get("retry-after")) > 80_000, "until the day is over");
      await visitor.ask("extend", { timeoutMs: 100_000 });
      await visitor.ask("kill");
      await visitor.open();
      await visitor.ask("extend", { timeoutMs: 100_000 });
    }),
  },
  {
    name: "failures: the platform's are told without its words, and with when to try again",
    async run(ctx) {
      const down = await new Visitor(ctx, "down").refused("", [504, "unreachable"]);
      assert(Number(down.headers.get("retry-after")) >= 1, "Retry-After");
      const answer = await new Visitor(ctx, "wrong-key").post("");
      const text = await answer.text();
      equal([answer.status, JSON.parse(text).error.code], [500, "broker_failed"]);
      assert(!text.includes("key"), text);
    },
  },
];

/** Answers what it was asked, in JSON, and tries to set a cookie. */
const SERVER = `
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Echo(BaseHTTPRequestHandler):
    def log_message(self, *words): pass
    def do_GET(self):
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/there?x=1")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        size = int(self.headers.get("Content-Length") or 0)
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b""
            while True:
                length = int(self.rfile.readline(), 16)
                body += self.rfile.read(length)
                self.rfile.readline()
                if length == 0: break
        else:
            body = self.rfile.read(size)
        seen = {name.lower(): value for name, value in self.headers.items()}
        answer = json.dumps({"path": self.path, "body": body.decode(), "seen": seen}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Set-Cookie", "evil=1")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    do_POST = do_GET
ThreadingHTTPServer(("0.0.0.0", 8000), Echo).serve_forever()
`;

/** A fetch that adds what the visitor's browser would. */
function asVisitor(visitor) {
  return (input, init) => {
    const own = { origin: "https://app.example", "x-visitor": visitor.name };
    if (visitor.scopes) own["x-visitor-scopes"] = visitor.scopes;
    return fetch(input, { ...init, headers: { ...init.headers, ...own } });
  };
}

async function sha256(bytes) {
  return Buffer.from(await crypto.subtle.digest("SHA-256", bytes)).toString("hex");
}
