// Command lines, and the HTTP service behind a port: where requests may go, what they carry, and what answers mean.

import { assert, equal, rejects, rejectsWith } from "../e2e/assert.js";
import { lost, stub } from "./stub.js";
import { outcomeOf } from "./vectors.js";

const ADDRESS = "http://stub.test";
const OUTPUT = [
  "000000001e7b226576656e74223a7b227374617274223a7b22706964223a34327d7d7d",
  "000000003a7b226576656e74223a7b22656e64223a7b22657869746564223a747275652c22737461747573223a2265786974207374617475732030227d7d7d",
  "02000000027b7d",
];

/** Command lines, and what is run. */
const LINES = [
  ["echo hi", ["echo", "hi"]],
  ["  echo\t a\nb ", ["echo", "a", "b"]],
  ["echo 'a b' \"c d\"", ["echo", "a b", "c d"]],
  ["echo a\\ b", ["echo", "a b"]],
  ['echo "a\\"b\\$c"', ["echo", 'a"b\\$c']],
  ["echo 'a\\b'", ["echo", "a\\b"]],
  ["echo ''", ["echo", ""]],
  ["echo a''b", ["echo", "ab"]],
  ["FOO=1 env", ["FOO=1", "env"]],
  ["echo $HOME *", ["echo", "$HOME", "*"]],
  ["a|b", "sh"],
  ["x>y", "sh"],
  ["echo a;b", "sh"],
  ["echo $(date)", "sh"],
  ["sleep 1 &", "sh"],
  ["'a|b'", ["a|b"]],
  ["a\\|b", ["a|b"]],
  ["echo a # b | c", ["echo", "a", "#", "b", "|", "c"]],
  ["echo 'ü 🎈'", ["echo", "ü 🎈"]],
];

/** A sandbox of an engine's provider, whose ports are where `describe` says. */
async function withEndpoint(providers, describe, answers, { repeats = false } = {}) {
  const server = stub(answers, { repeats });
  const provider = {
    id: "ported",
    features: [],
    operations: ["sandbox.create", "ports.resolve"],
    open: () => ({
      sandbox: { create: async () => ({ sandboxId: "p1", template: "base", status: "running", metadata: {} }) },
      session: () => ({ ports: { endpoint: async (port) => ({ ...descriptor(port), ...describe }) } }),
    }),
  };
  const sandbox = await providers.ProviderSandbox.create({ provider, fetch: server.fetch });
  return { sandbox, server };
}

const descriptor = (port) => ({ provider_id: "ported", sandbox_id: "p1", port, url: `${ADDRESS}/app`, headers: {}, authentication_audience: "gateway", path_mode: "prefix" });

export const application = [
  {
    name: "commands: lines are split as a shell does, and run without one unless they have an operator",
    async run({ providers }) {
      const created = { status: 201, json: { sandboxID: "w1", envdVersion: "0.6.5", envdAccessToken: "t", envdUrl: ADDRESS } };
      const server = stub([created, ...LINES.map(() => ({ body_chunks_hex: OUTPUT }))]);
      const sandbox = await providers.ProviderSandbox.create({ sandboxApiKey: "k", sandboxBaseUrl: ADDRESS, fetch: server.fetch, encoding: "json" });
      for (const [line, wanted] of LINES) {
        await sandbox.commands.run(line);
        const { cmd, args = [] } = server.requests.at(-1).json.process;
        equal([cmd, ...args], wanted === "sh" ? ["sh", "-c", line] : wanted, line);
      }
    },
  },
  {
    name: "application: endpoints that are not exactly of this port are refused before anything is sent",
    async run({ providers }) {
      const wrong = [
        { provider_id: "other" },
        { sandbox_id: "other" },
        { port: 9001 },
        { port: "9000" },
        { authentication_audience: "everybody" },
        { url: 5 },
        { headers: [] },
        { headers: { a: 1 } },
        { path_mode: undefined },
        { path_mode: "operation-signed" },
        { expires_at: "2020-01-01T00:00:00Z" },
        { expires_at: "2999-01-01T00:00:00" },
        { expires_at: 5 },
        { url: "relative" },
        { url: "ftp://x.test/" },
        { url: "http://user:secret@x.test/" },
        { url: "http://x.test/#f" },
        { url: "http://x.test/a/../b" },
        { url: "http://x.test/a/%2e%2e/b" },
        { url: "http://x.test/a%252fb" },
        { url: "http://x.test/a\\b" },
        { url: "http://x.test/a b" },
        { url: "http://x.test/?a=1&A=2" },
        { url: "http://x.test/?%=a" },
        { headers: { Host: "x" } },
        { headers: { X_Forwarded_Host: "x" } },
        { headers: { "X-A": "a\nb" } },
      ];
      for (const one of wrong) {
        const { sandbox, server } = await withEndpoint(providers, one, []);
        const { error } = await outcomeOf(() => sandbox.run("x"));
        assert(["E8020", "invalid_argument"].includes(error?.code), `${JSON.stringify(one)}: ${error}`);
        assert(!error.message.includes("secret"), "no secret");
        equal(server.requests.length, 0, JSON.stringify(one));
      }
    },
  },
  {
    name: "application: the bound query is kept, tokens travel as they must, and nothing overrides either",
    async run({ providers }) {
      const bound = { url: `${ADDRESS}/proxy?sig=a%2Bb`, headers: { "X-Gw": "1" }, expires_at: "2999-01-01T00:00:00Z" };
      const { sandbox, server } = await withEndpoint(providers, bound, [{ json: {} }], { repeats: true });
      const client = await sandbox.applicationClient(9000, { token: "app-token" });
      equal([client.baseUrl, client.ptyUrl], [`${ADDRESS}/proxy`, undefined]);
      await client.json("GET", "/files/stat", { params: { path: "/x y", none: undefined } });
      await client.run("näme x", { list: ["a", 1], nested: { b: null } });
      equal(server.requests.map(({ method, target }) => `${method} ${target}`), ["GET /proxy/files/stat?sig=a%2Bb&path=%2Fx+y", "POST /proxy/commands/n%C3%A4me%20x?sig=a%2Bb"]);
      equal(server.requests[1].json, { list: ["a", 1], nested: { b: null } });
      const { authorization, "x-access-token": access, "x-gw": gateway } = server.requests[1].headers;
      equal([authorization, access, gateway], ["Bearer app-token", "app-token", "1"]);
      const refused = [
        () => client.json("GET", "/x", { params: { SIG: "other" } }),
        () => client.json("GET", "/../x"),
        () => client.json("GET", "/%252e%252e/x"),
        () => client.json("GET", "x"),
        () => client.json("GET", "/x?y=1"),
        () => client.run("a/b"),
        () => client.run(".."),
        () => client.run("a%2Fb"),
        () => client.run("x", []),
        () => client.run(""),
        () => client.fetch("/x", { headers: { Authorization: "other" } }),
        () => client.fetch("/x", { headers: { "x-gw": "2" } }),
      ];
      for (const act of refused) equal((await outcomeOf(act)).error?.code, "invalid_argument", String(act));
      equal(server.requests.length, 2);
      client.close();
      equal((await outcomeOf(() => client.health())).error?.code, "invalid_argument");
      const guarded = await withEndpoint(providers, { headers: { Authorization: "Bearer gw", "X-Access-Token": "gw" } }, [{ json: {} }]);
      equal((await outcomeOf(() => guarded.sandbox.applicationClient(9000, { token: "t" }))).error?.code, "invalid_argument");
      await (await guarded.sandbox.applicationClient()).json("GET", "/x");
      equal(guarded.server.requests[0].headers["x-access-token"], "gw");
    },
  },
  {
    name: "application: what the service says is a typed error, and no request is repeated",
    async run({ providers, sdk }) {
      const { sandbox, server } = await withEndpoint(providers, {}, []);
      const client = await sandbox.applicationClient();
      const answers = [
        [401, { error: "no" }, "E9001", sdk.AuthenticationError],
        [403, { error: "no", code: "missing_scope", scope: "commands:run" }, "E9002", providers.PolicyDeniedError],
        [409, { error: "no", code: "path_denied" }, "E9002", providers.PolicyDeniedError],
        [404, { error: "off", code: "endpoint_disabled" }, "E9003", providers.EndpointNotAvailableError],
        [404, { error: "no file", type: "FileNotFoundError" }, "E4001", sdk.FileNotFoundError],
        [404, { error: "no process", type: "NotFoundError" }, "E9000", providers.ServerAPIError],
        [413, { error: "big", limit: 10 }, "E9004", providers.PayloadTooLargeError],
        [429, { error: "slow", type: "RateLimited", retry_after: 7 }, "E9005", sdk.RateLimitError],
        [500, { error: "late", type: "TimeoutError" }, "E3001", sdk.TimeoutError],
        [502, "<html>bad gateway", "E9000", providers.ServerAPIError],
      ];
      for (const [status, body, code, type] of answers) {
        server.answers.push(typeof body === "string" ? { status, body_text: body } : { status, json: body });
        const error = await rejects(client.json("GET", "/x"), type, code);
        equal(error.status, status);
      }
      equal((await outcomeOf(() => (server.answers.push({ status: 403, json: { scope: "s" } }), client.json("GET", "/x")))).error?.scope, "s");
      const shapes = [{ json: [] }, { body_text: "text" }, { body_text: "" }, { json: "text" }];
      const echoing = await withEndpoint(providers, {}, [{ status: 500, json: { error: "you said Bearer app-token-1" } }]);
      const echoed = await rejects((await echoing.sandbox.applicationClient(9000, { token: "app-token-1" })).json("GET", "/x"), providers.ServerAPIError);
      assert(echoed.message === "you said Bearer ***", echoed.message);
      for (const shape of shapes) {
        server.answers.push(shape);
        equal((await rejects(client.json("GET", "/x"), providers.ServerAPIError, "E9000")).errorType, "ProtocolError");
      }
      server.answers.push({ status: 307, headers: { location: "http://elsewhere.test" } });
      equal((await rejects(client.json("GET", "/x"), providers.ServerAPIError, "E9000")).errorType, "BindingRedirect");
      const commands = [
        [404, { error: "unknown command" }, "E3005"],
        [400, { error: "bad argument" }, "invalid_argument"],
        [500, { error: "it failed", type: "KeyError" }, "E9000"],
      ];
      for (const [status, json, code] of commands) {
        server.answers.push({ status, json });
        const { error } = await outcomeOf(() => client.run("x"));
        equal(error?.code, code);
        if (json.type) assert(error.message.startsWith("KeyError: "), error.message);
      }
      const before = server.requests.length;
      server.answers.push(lost);
      const unknown = await rejects(client.run("x"), providers.ProviderProtocolError, "E8020");
      equal([unknown.outcomeUnknown, server.requests.length - before], [true, 1]);
      for (const [answer, well] of [[{ json: { status: "ok" } }, true], [{ json: { status: "ill" } }, false], [{ status: 503, body_text: "" }, false], [lost, false]]) {
        server.answers.push(answer);
        equal(await client.health(), well);
      }
    },
  },
  {
    name: "application: fetch answers whatever the service answers, as a stream that ends with its signal",
    async run({ providers }) {
      const hanging = { status: 200, body_text: "first", hangs: true };
      const { sandbox, server } = await withEndpoint(providers, {}, [{ status: 418, headers: { "x-kind": "teapot" }, body_text: "short" }, { status: 204 }, hanging]);
      const client = await sandbox.applicationClient();
      const answer = await client.fetch("/tea", { method: "POST", body: "milk", headers: { "x-a": "b" } });
      equal([answer.status, answer.headers.get("x-kind"), await answer.text()], [418, "teapot", "short"]);
      equal([server.requests[0].headers["x-a"], new TextDecoder().decode(server.requests[0].bytes)], ["b", "milk"]);
      equal([(await client.fetch("/none")).status], [204]);
      const controller = new AbortController();
      const reason = new Error("enough");
      const reader = (await client.fetch("/stream", { signal: controller.signal })).body.getReader();
      equal(new TextDecoder().decode((await reader.read()).value), "first");
      const next = reader.read();
      next.catch(() => {});
      controller.abort(reason);
      await rejectsWith(next, reason);
    },
  },
];
