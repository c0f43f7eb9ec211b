// The client and servers that misbehave: streams that are cut, hang or flood, answers that are no JSON, redirects, and wrong options.
// A plain HTTP server in this process says whatever a case wants.

import { createServer } from "node:http";
import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { all } from "./image.mjs";

const SECRET = "tok-very-secret";

/** Runs `body` with a client of a server that answers by `handler(request, response, count)`. */
const against = (handler, body, opts = {}) =>
  async function run(ctx) {
    const asked = [];
    const server = createServer((request, response) => {
      asked.push({ method: request.method, url: request.url, headers: request.headers, closed: new Promise((resolve) => response.on("close", resolve)) });
      handler(request, response, asked.length);
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${server.address().port}`;
    try {
      await body({ ...ctx, asked, url, client: new ctx.sdk.ServerClient(url, { token: SECRET, ...opts }) });
    } finally {
      server.closeAllConnections();
      server.close();
    }
  };

const json = (status, value, headers = {}) => (_, response) => {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof value === "string" ? value : JSON.stringify(value));
};

const stream = (response) => response.writeHead(200, { "content-type": "text/event-stream" });

export const cases = [
  {
    name: "events: after a cut they go on behind the last id, with waits that the server may set",
    run: against(
      (request, response, count) => {
        stream(response);
        const from = Number(request.headers["last-event-id"] ?? 0);
        if (count === 2) return response.destroy();
        for (let id = from + 1; id <= from + 2; id++) response.write(`id: ${id}\nretry: 1\ndata: ${id}\n\n`);
        // Half an event, which never happened.
        response.write("id: 99\ndata: x");
        // Cut off, or ended in good order but without the last event.
        if (count < 4) return setTimeout(() => (count === 1 ? response.end() : response.destroy()), 20);
        return response.end("\n\nid: 100\nevent: last\ndata:\n\n");
      },
      async ({ client, asked }) => {
        const told = [];
        const events = await all(client.events("/feed?a=1", { isEnd: ({ event }) => event === "last", reconnect: { delayMs: 10 }, onReconnect: ({ attempt, delayMs, lastEventId }) => told.push([attempt, delayMs, lastEventId]) }));
        equal(events.map(({ id, data }) => `${id} ${data}`), ["1 1", "2 2", "3 3", "4 4", "5 5", "6 6", "99 x", "100 "]);
        equal(asked.map(({ url, headers }) => [url, headers["last-event-id"], headers.accept]), [undefined, "2", "2", "4"].map((id) => ["/feed?a=1", id, "text/event-stream"]));
        equal(told.map(([attempt, , id]) => [attempt, id]), [[1, "2"], [2, "2"], [1, "4"]]);
        equal(told[0][1], 1, "the server's wait");
      },
    ),
  },
  {
    name: "events: attempts that bring nothing are bounded, and so is a single event",
    run: against(
      (request, response) => {
        if (request.url === "/flood") {
          stream(response);
          const flood = () => {
            while (!response.destroyed && response.write("data: ".padEnd(65_536, "x")));
          };
          response.on("drain", flood);
          return flood();
        }
        return request.socket.destroy();
      },
      async ({ client, asked, sdk }) => {
        const waits = [];
        const error = await rejects(all(client.events("/none", { reconnect: { attempts: 3, delayMs: 5, maxDelayMs: 10 }, onReconnect: ({ delayMs }) => waits.push(delayMs) })), sdk.ConnectionError, "connection_failed");
        equal([error.retryable, asked.length, waits], [true, 4, [5, 10, 10]]);
        await rejects(all(client.events("/none", { reconnect: false })), sdk.ConnectionError);
        equal(asked.length, 5);
        await rejects(all(client.events("/flood", { maxEventSize: 200_000 })), sdk.ProtocolError, "event_too_large");
        await asked.at(-1).closed;
      },
    ),
  },
  {
    name: "events: every way out closes the connection",
    run: against(
      (_, response) => {
        stream(response);
        response.write("data: 1\n\n");
      },
      async ({ client, asked, sdk }) => {
        for await (const { data } of client.events("/feed")) {
          equal(data, "1");
          break;
        }
        const controller = new AbortController();
        const reading = all(client.events("/feed", { signal: controller.signal }));
        await eventually(() => asked.length === 2, "the second request");
        controller.abort("enough");
        await rejectsWith(reading, "enough");
        const ending = new AbortController();
        const mortal = new sdk.ServerClient(asked[0].headers.host ? `http://${asked[0].headers.host}` : "", { signal: ending.signal });
        const both = all(mortal.events("/feed"));
        await eventually(() => asked.length === 3, "the third request");
        ending.abort("the end");
        await rejectsWith(both, "the end");
        await Promise.all(asked.map(({ closed }) => closed));
      },
    ),
  },
  {
    name: "events: framing of every kind, in pieces of one byte",
    async run({ sdk }) {
      const text = "\ufeff: comment\r\nevent: a \r\ndata: 1\r\ndata:2\r\n\r\ndata\n\nid: x\0y\nid: 7\ndata: ü\n\n\rdata: last\r\rdata: cut";
      const bytes = new TextEncoder().encode(text);
      for (const size of [1, 2, 3, bytes.length]) {
        const fetch = async () => new Response(new ReadableStream({
          start(controller) {
            for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
            controller.close();
          },
        }), { headers: { "content-type": "text/event-stream" } });
        const events = await all(new sdk.ServerClient("http://server.test", { fetch }).events("/x"));
        equal(events, [{ event: "a", data: "1\n2", id: "" }, { event: "message", data: "", id: "" }, { event: "message", data: "ü", id: "7" }, { event: "message", data: "last", id: "7" }], `pieces of ${size}`);
      }
    },
  },
  {
    name: "streams: one that ends without its last event was cut, and has what had come",
    run: against(
      (request, response) => {
        stream(response);
        response.end(request.url === "/shell/stream" ? 'event: stdout\ndata: {"data": "a"}\n\n' : "event: ready\ndata: {}\n\n");
      },
      async ({ client, sdk }) => {
        const error = await rejects(client.process.run("x"), sdk.ConnectionError, "stream_truncated");
        equal(error.stdout, "a\n");
        await rejects(all(client.files.watch("/x")), sdk.ConnectionError, "stream_truncated");
      },
    ),
  },
  {
    name: "streams: what a callback throws ends the call and closes the connection",
    run: against(
      (_, response) => {
        stream(response);
        response.write('event: stdout\ndata: {"data": "a"}\n\n');
      },
      async ({ client, asked }) => {
        const thrown = new Error("mine");
        await rejectsWith(client.process.run("x", { onStdout: () => Promise.reject(thrown) }), thrown);
        equal("stdout" in thrown, false, "not touched");
        await asked[0].closed;
      },
    ),
  },
  {
    name: "calls: one that hangs ends by its clock and by an abort, also where fetch ignores signals",
    run: against(
      () => {},
      async ({ url, client, asked, sdk }) => {
        await rejects(client.commands.list({ requestTimeoutMs: 50 }), sdk.TimeoutError, "request_timeout");
        await asked[0].closed;
        const reason = { own: "reason" };
        const controller = new AbortController();
        const call = client.system.info({ signal: controller.signal });
        setTimeout(() => controller.abort(reason), 20);
        await rejectsWith(call, reason);
        const deaf = new sdk.ServerClient(url, { fetch: () => new Promise(() => {}) });
        await rejects(deaf.system.info({ requestTimeoutMs: 20 }), sdk.TimeoutError, "request_timeout");
        await rejectsWith(deaf.system.info({ signal: AbortSignal.timeout(20) }).catch((error) => Promise.reject(error.name)), "TimeoutError");
      },
    ),
  },
  {
    name: "calls: a body that hangs or breaks off ends as the head does",
    run: against(
      (request, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
        response.write('{"commands"');
        if (request.url === "/system/info") setTimeout(() => response.destroy(), 20);
      },
      async ({ client, asked, sdk }) => {
        await rejects(client.commands.list({ requestTimeoutMs: 100 }), sdk.TimeoutError, "request_timeout");
        await asked[0].closed;
        await rejects(client.system.info(), sdk.ConnectionError, "connection_lost");
      },
    ),
  },
  {
    name: "calls: answers that are no JSON objects are typed errors",
    async run(ctx) {
      for (const body of ["<html>a proxy</html>", "", "[]", "null", '"x"', "{"]) {
        await against(json(200, body), ({ client, sdk }) => rejects(client.system.info(), sdk.ProtocolError, "protocol_error"))(ctx);
      }
      await against(json(502, "<html>bad gateway</html>"), ({ client, sdk }) => rejects(client.system.info(), sdk.ConnectionError, "unreachable"))(ctx);
      await against(json(200, { api_version: 3, endpoints: {} }), ({ client, sdk }) => rejects(client.discover(), sdk.ProtocolError, "protocol_error"))(ctx);
      await against(json(200, `{"x": "${"y".repeat(2000)}"}`), ({ client, sdk }) => rejects(client.system.info(), sdk.ProtocolError, "response_too_large"), { maxResponseBytes: 1000 })(ctx);
      await against(json(200, { content_base64: "@@" }), ({ client, sdk }) => rejects(client.files.download("x"), sdk.ProtocolError, "protocol_error"))(ctx);
    },
  },
  {
    name: "calls: redirects are refused, so that the token goes nowhere else",
    run: against(
      (request, response) => {
        response.writeHead(307, { location: "/elsewhere" });
        response.end();
      },
      async ({ client, asked, sdk }) => {
        await rejects(client.commands.list(), sdk.ProtocolError, "redirect_refused");
        equal((await client.fetch("/x")).status, 307);
        equal(asked.map(({ url }) => url), ["/commands", "/x"]);
      },
    ),
  },
  {
    name: "calls: what only reads is repeated when asked for, and nothing else ever",
    run: against(
      (request, response, count) => {
        if (count < 3) return count === 1 ? request.socket.destroy() : json(503, "busy")(request, response);
        return json(200, { variables: {} })(request, response);
      },
      async ({ url, asked, sdk }) => {
        const patient = new sdk.ServerClient(url, { retries: 2 });
        equal(await patient.system.env(), {});
        equal(asked.length, 3);
        await against(
          (request) => request.socket.destroy(),
          async ({ url: other, asked: posts }) => {
            const error = await rejects(new sdk.ServerClient(other, { retries: 5 }).commands.run("x"), sdk.ConnectionError, "outcome_unknown");
            equal([error.retryable, posts.length], [false, 1]);
          },
        )({ sdk });
        await against(json(503, "busy"), async ({ url: other, asked: posts }) => {
          await rejects(new sdk.ServerClient(other, { retries: 5 }).commands.run("x"), sdk.ServiceBusyError, "service_busy");
          equal(posts.length, 1);
        })({ sdk });
      },
    ),
  },
  {
    name: "calls: a rate is waited for, but not past the call's time",
    run: against(
      (request, response, count) => json(...(count === 1 ? [429, { error: "x", type: "RateLimited", code: "rate_limited", retry_after: 1 }] : [200, { result: 1 }]))(request, response),
      async ({ url, asked, sdk }) => {
        equal(await new sdk.ServerClient(url, { retries: 1 }).commands.run("x"), 1, "refused before it was acted on");
        equal(asked.length, 2);
        await against(
          json(429, { error: "x", type: "RateLimited", code: "rate_limited", retry_after: 3600 }),
          ({ url: other }) => rejects(new sdk.ServerClient(other, { retries: 9 }).commands.run("x", {}, { requestTimeoutMs: 2000 }), sdk.RateLimitError, "rate_limited"),
        )({ sdk });
      },
    ),
  },
  {
    name: "addresses: paths and signed queries are kept, and what hides something is refused",
    async run({ sdk }) {
      const asked = [];
      const fetch = async (url) => (asked.push(url), new Response('{"exists": true}'));
      const { ServerClient } = sdk;
      await new ServerClient("https://gate.test/proxy/?sig=a%2Bb&x", { fetch }).files.stat("/a b/ü&=?#%+");
      await new ServerClient(new URL("https://gate.test"), { fetch }).files.stat("/x");
      equal(asked, ["https://gate.test/proxy/files/stat?sig=a%2Bb&x&path=%2Fa+b%2F%C3%BC%26%3D%3F%23%25%2B", "https://gate.test/files/stat?path=%2Fx"]);
      await rejects(new ServerClient("https://gate.test/?PATH=1", { fetch }).files.stat("/x"), sdk.InvalidArgumentError, "invalid_argument");
      const wrong = ["", "x", "ftp://h", "//h", "http://", "http://u:p@h", "http://h/#f", "http://h/a b", "http://h/a\\b", "http://h/../a", "http://h/%2e%2e/a", "http://h/a%2fb", "http://h/a%252fb", "http://h/a%25252fb", "http://h/%", "http://h/?a=1&A=2", "http://h/?a=1&&b=2", "http://h/?%2561=1", "http://h\n", 5, null, undefined, {}, []];
      for (const url of wrong) await rejects((async () => new ServerClient(url))(), sdk.InvalidArgumentError, "invalid_argument");
    },
  },
  {
    name: "options: what is wrong is named, and what is secret is not repeated",
    async run({ sdk }) {
      const wrong = [
        [{ token: 5 }, "token"],
        [{ token: "" }, "token"],
        [{ token: `${SECRET}\r\nx: y` }, "token"],
        [{ headers: "x" }, "headers"],
        [{ headers: { a: 1 } }, "headers.a"],
        [{ headers: { Host: "x" } }, "headers.Host"],
        [{ headers: { "Content_Length": "1" } }, "headers.Content_Length"],
        [{ headers: { a: `${SECRET}\n` } }, "headers.a"],
        [{ headers: { "a b": "x" } }, "headers"],
        [{ headers: { authorization: "x" }, token: "t" }, "token and headers.Authorization"],
        [{ fetch: 1 }, "fetch"],
        [{ requestTimeoutMs: -1 }, "requestTimeoutMs"],
        [{ requestTimeoutMs: "5" }, "requestTimeoutMs"],
        [{ retries: 1.5 }, "retries"],
        [{ maxResponseBytes: 0 }, "maxResponseBytes"],
        [{ signal: {} }, "signal"],
        [{ port: 80 }, "port"],
        [{ through: "broker" }, "through"],
        [{ terminalUrl: "x" }, "terminalUrl"],
        [5, "options"],
      ];
      for (const [opts, name] of wrong) {
        const error = await rejects((async () => new sdk.ServerClient("http://h", opts))(), sdk.InvalidArgumentError, "invalid_argument");
        assert(error.message.includes(name) && !error.message.includes(SECRET), error.message);
      }
      const client = new sdk.ServerClient("http://h.test", { fetch: () => Promise.reject(new Error("sent")), headers: () => ({ host: "x" }) });
      await rejects(client.commands.list(), sdk.InvalidArgumentError, "invalid_argument");
      const calls = [
        () => client.terminal.url("x"),
        () => client.files.readText("x", { encoding: "none" }),
        () => client.fetch("/x", { headers: 5 }),
        () => client.request("GET", "/x", { json: NaN }),
        () => all(client.events("/x", { isEnd: 5 })),
        () => all(client.events("/x", { reconnect: { attempts: -1 } })),
        () => client.process.run("x", { onStdout: 5 }),
        () => client.files.watch("/x", { intervalMs: 0 }),
        () => client.check("files_list", { op: "fly" }),
        () => client.agents.sessions.get("a/b"),
        () => client.agents.sessions.send("a", {}, { idempotencyKey: "ü" }),
        () => client.commands.list({ signal: 5 }),
      ];
      for (const call of calls) await rejects((async () => call())(), sdk.InvalidArgumentError, "invalid_argument");
      equal(new sdk.ServerClient("http://h.test/p?q=1", { terminalUrl: "https://t.test/x/?k=v" }).terminal.url("ab"), "wss://t.test/x/pty?k=v&session_id=ab");
      equal(new sdk.ServerClient("http://localhost:9000").terminal.url("ab"), "ws://localhost:9001/pty?session_id=ab");
    },
  },
  {
    name: "errors: they are on the package's tree, and have no secret in them",
    run: against(json(403, { error: "no", type: "PolicyDenied", code: "missing_scope", endpoint: "shell", scope: "process:run" }), async ({ client, url, sdk }) => {
      const error = await rejects(client.process.shell("ls"), sdk.PolicyDeniedError, "missing_scope");
      assert(error instanceof sdk.SandboxError && error instanceof Error, "the tree");
      equal([error.name, error.status, error.server], ["PolicyDeniedError", 403, { status: 403, type: "PolicyDenied", code: "missing_scope", endpoint: "shell", scope: "process:run", text: "no" }]);
      const unreachable = await rejects(new sdk.ServerClient(`${url.replace(/\d+$/, "1")}/secret/path?sig=${SECRET}`, { token: SECRET }).system.info(), sdk.ConnectionError, "connection_failed");
      assert(!unreachable.message.includes("secret"), unreachable.message);
    }),
  },
  {
    name: "types: made from a list of commands, which can say nothing but names and comments",
    async run({ sdk }) {
      const arg = (name, type, required = false, value = undefined, description = "") => ({ name, type, required, default: value, description });
      const commands = [
        { name: "greet", description: "Says */ hello\n * to all", args: [arg("name", "string", true), arg("xs", "string_array", false, '["a"]', "Words.")] },
        { name: "add", description: "", args: [arg("a", "integer", true), arg("odd name", "float"), arg('x"; evil()', "new", true)] },
        { name: "quoted-name", description: "", args: [] },
        { name: "a\n*/ evil()", description: "", args: [] },
      ];
      const text = sdk.generateCommandTypes(commands, { name: "Own", results: { greet: "string" } });
      equal(text, [
        "// Made from the list of commands of a server. Do not edit: make it again.",
        "",
        "export interface Own {",
        "    /** Says * / hello * to all */",
        "    greet(args: {",
        "        name: string;",
        '        /** Words. Default: ["a"] */',
        "        xs?: string[] | undefined;",
        "    }): string;",
        "    add(args: {",
        "        /** A whole number. */",
        "        a: number;",
        '        "odd name"?: number | undefined;',
        '        "x\\"; evil()": unknown;',
        "    }): unknown;",
        '    "quoted-name"(args?: Record<string, never>): unknown;',
        '    // The command "a\\n* / evil()" has a name that cannot be called.',
        "}",
        "",
      ].join("\n"));
      for (const wrong of [5, {}, [5], undefined]) await rejects((async () => sdk.generateCommandTypes(wrong))(), sdk.InvalidArgumentError);
      await rejects((async () => sdk.generateCommandTypes([], { name: "a b" }))(), sdk.InvalidArgumentError);
    },
  },
];
