// Servers that differ: prefixes, older routes and daemons, hidden headers, other keys, and calls that are repeated.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { connection, faulty, withSandbox } from "./context.js";

const inPage = typeof location === "object";

/** A `fetch` that notes every request. */
function noting(requests) {
  return (input, init) => {
    requests.push({ url: new URL(input), method: init.method, headers: init.headers });
    return fetch(input, init);
  };
}

/** A gateway with a path of its own in front of everything, which routes to sandboxes by header. */
function gateway(ctx, sandbox, requests) {
  return (input, init) => {
    const { host, pathname, search } = new URL(input);
    if (host !== "gateway.test") throw new TypeError(`a request past the gateway: ${host}`);
    requests.push(pathname);
    const [, prefix, rest] = /^(\/edge\/api|\/edge\/box)(\/.*)$/.exec(pathname);
    if (prefix === "/edge/api") return fetch(`${ctx.apiUrl}${rest}${search}`, init);
    const { "e2b-sandbox-id": id, "e2b-sandbox-port": port, ...headers } = init.headers;
    if (id !== sandbox.sandboxId || port !== "49983") return Promise.resolve(new Response("no route", { status: 404 }));
    // A page needs the sandbox's own host; others may be unable to resolve it.
    return inPage
      ? fetch(`http://${sandbox.getHost(Number(port))}${rest}${search}`, { ...init, headers })
      : fetch(`${ctx.apiUrl}${rest}${search}`, init);
  };
}

export const cases = [
  {
    name: "servers: a path in front of everything, and sandboxes that are routed by header",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const requests = [];
        const through = await ctx.sdk.Sandbox.connect(sandbox.sandboxId, {
          apiKey: ctx.apiKey,
          apiUrl: "https://gateway.test/edge/api/",
          sandboxUrl: "https://gateway.test/edge/box/",
          fetch: gateway(ctx, sandbox, requests),
        });
        equal((await through.commands.run("echo hi")).stdout, "hi\n");
        await through.files.write("/tmp/a b", "x");
        equal(await through.files.read("/tmp/a b", { range: { start: 0 } }), "x");
        equal(await through.isRunning(), true);
        equal((await through.getInfo()).sandboxId, sandbox.sandboxId);
        equal(requests.filter((path) => !/^\/edge\/(api\/sandboxes|box\/(process\.Process|files|health))/.test(path)), [], "other paths");
        assert((await through.downloadUrl("/tmp/a b")).startsWith("https://gateway.test/edge/box/files?path="), "the URL of a file");
        equal(through.toToken().url, "https://gateway.test/edge/box");
      }),
  },
  {
    name: "servers: daemons of every age are spoken to as they need it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { sdk } = ctx;
        const requests = [];
        const of = (envdVersion) => sdk.Sandbox.attach({ ...sandbox.toToken(), envdVersion }, { fetch: noting(requests) });

        const ancient = await of("0.1.3");
        equal((await ancient.commands.run("echo hi")).stdout, "hi\n");
        equal(requests.at(-1).headers.authorization, `Basic ${btoa("user:")}`, "a user must be named");
        await ancient.files.write("/tmp/x", "form");
        assert(requests.at(-1).headers["content-type"].startsWith("multipart/form-data"), "a form");
        equal(requests.at(-1).url.searchParams.get("username"), "user");
        equal(await ancient.files.read("/tmp/x"), "form");
        await rejects(ancient.files.watchDir("/tmp", () => {}, { recursive: true }), sdk.TemplateError, "unsupported_by_sandbox");
        await rejects(ancient.commands.run("true", { stdin: false }), sdk.SandboxError, "unsupported_by_sandbox");
        await rejects(ancient.getMetrics(), sdk.TemplateError, "unsupported_by_sandbox");

        const middle = await of("0.5.1");
        await middle.commands.run("true");
        equal(requests.at(-1).headers.authorization, undefined, "the daemon knows its user");
        const reader = await middle.commands.run("cat", { background: true, stdin: true });
        await rejects(reader.closeStdin(), sdk.SandboxError, "unsupported_by_sandbox");
        await reader.kill();

        const late = await of("0.6.1");
        await late.files.write("/tmp/x", "raw");
        equal(requests.at(-1).headers["content-type"], "application/octet-stream");
        const message = (await rejects(late.files.write("/tmp/x", "", { metadata: { a: "b" } }), sdk.TemplateError)).message;
        assert(message.includes("0.6.2") && message.includes("0.6.1"), message);
        for (const option of ["includeEntry", "allowNetworkMounts"]) {
          await rejects(late.files.watchDir("/tmp", () => {}, { [option]: true }), sdk.TemplateError, "unsupported_by_sandbox");
        }
      }),
  },
  {
    name: "servers: a sandbox whose daemon is too old is ended, and the error says why",
    async run(ctx) {
      const killed = [];
      const old = async (input, init) => {
        const response = await fetch(input, init);
        if (init.method === "DELETE") killed.push(response.status);
        if (init.method !== "POST") return response;
        return new Response(JSON.stringify({ ...(await response.json()), envdVersion: "0.0.9" }), { status: 201 });
      };
      await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch: old }), ctx.sdk.TemplateError, "unsupported_by_sandbox");
      equal(killed, [204]);
    },
  },
  {
    name: "servers: nothing needs headers that CORS may hide",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const handle = await sandbox.commands.run("cat", { background: true, stdin: true });
          await handle.sendStdin("in");
          await handle.closeStdin();
          equal((await handle.wait()).stdout, "in");
          await sandbox.files.write("/tmp/x", "0123456789", { metadata: { a: "b" } });
          equal(await sandbox.files.read("/tmp/x", { range: { start: 2, end: 5 } }), "234");
          const events = [];
          equal(await sandbox.files.read("/tmp/x", { onProgress: (event) => void events.push(event) }), "0123456789");
          equal(events.at(-1).loaded, 10);
          await rejects(sandbox.files.read("/tmp/missing"), ctx.sdk.FileNotFoundError, "file_not_found");
          const paginator = ctx.sdk.Sandbox.list({ ...connection(ctx), fetch: hiding });
          assert((await paginator.nextItems()).some(({ sandboxId }) => sandboxId === sandbox.sandboxId), "it is listed");
          equal(paginator.hasNext, false);
        },
        { fetch: hiding },
      ),
  },
  {
    name: "servers: keys of any format are sent as they are, unless a check is asked for",
    async run(ctx) {
      const requests = [];
      for (const apiKey of ["sk-1/2+3==", "e2b_NOT-HEX", "  padded", "x"]) {
        await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), apiKey, fetch: noting(requests) }), ctx.sdk.AuthenticationError);
        equal(requests.at(-1).headers["x-api-key"], apiKey);
      }
      const sent = requests.length;
      const checked = { ...connection(ctx), apiKey: "sk-1", validateApiKey: true, fetch: noting(requests) };
      await rejects(ctx.sdk.Sandbox.create("base", checked), ctx.sdk.AuthenticationError);
      equal(requests.length, sent, "requests with a key that fails the check");
    },
  },
  {
    name: "servers: an older list of sandboxes and older logs are used where the newer ones are missing",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { sdk } = ctx;
        const paths = [];
        const older = async (input, init) => {
          const { pathname, searchParams } = new URL(input);
          paths.push(pathname);
          if (pathname.startsWith("/v2/")) return new Response('{"code":404,"message":"no such route"}', { status: 404 });
          if (pathname !== "/sandboxes") return fetch(input, init);
          equal(searchParams.get("metadata"), "a=b");
          const one = { sandboxID: sandbox.sandboxId, templateID: "base", state: "running", startedAt: "2026-01-01T00:00:00Z" };
          return new Response(JSON.stringify([one, { ...one, sandboxID: "iother", state: "paused" }]));
        };
        const query = { metadata: { a: "b" }, state: ["running"] };
        const paginator = sdk.Sandbox.list({ ...connection(ctx), fetch: older, query });
        equal((await paginator.nextItems()).map(({ sandboxId }) => sandboxId), [sandbox.sandboxId]);
        equal([paginator.hasNext, ...paths], [false, "/v2/sandboxes", "/sandboxes"]);

        const newer = await sandbox.getLogs({ direction: "forward" });
        assert(newer.length > 0, "there are logs");
        const logs = await sandbox.getLogs({ direction: "forward", fetch: older });
        equal(logs.slice(0, newer.length), newer, "the older route");
        equal((await sandbox.getLogs({ fetch: older, limit: 1 })).length, 1);
        equal(await sandbox.getLogs({ fetch: older, search: "nothing has this" }), []);
        await rejects(sdk.Sandbox.getLogs("i00000000000000000000", { ...connection(ctx), fetch: older }), sdk.SandboxNotFoundError);
      }),
  },
  {
    name: "retries: what only reads is repeated, what may have changed something is not",
    async run(ctx) {
      const { Sandbox, NotFoundError, ServiceBusyError, ConnectionError, SandboxError } = ctx.sdk;
      const id = "i00000000000000000000";
      for (const [status, headers] of [[429, {}], [502, { "retry-after": "0" }], [503, { "retry-after": "0" }], [504, { "retry-after": "0" }]]) {
        let calls = 0;
        const busy = faulty("/sandboxes/", (response) => ((calls += 1) < 3 ? new Response("<html>", { status, headers }) : response));
        await rejects(Sandbox.getInfo(id, { ...connection(ctx), fetch: busy }), NotFoundError);
        equal(calls, 3, `calls with ${status}`);
      }
      let calls = 0;
      const lost = (input, init) => ((calls += 1) < 3 ? Promise.reject(new TypeError("reset")) : fetch(input, init));
      await rejects(Sandbox.getInfo(id, { ...connection(ctx), fetch: lost }), NotFoundError);
      equal(calls, 3, "calls with lost connections");

      calls = 0;
      const never = () => ((calls += 1), Promise.reject(new TypeError("reset")));
      await rejects(Sandbox.getInfo(id, { ...connection(ctx), fetch: never, retries: 0 }), ConnectionError, "connection_failed");
      equal(calls, 1, "calls with retries: 0");
      await rejects(Sandbox.create("base", { ...connection(ctx), fetch: never }), ConnectionError, "connection_failed");
      await rejects(Sandbox.kill(id, { ...connection(ctx), fetch: never }), ConnectionError, "connection_failed");
      const full = () => ((calls += 1), Promise.resolve(new Response("{}", { status: 503, headers: { "retry-after": "0" } })));
      await rejects(Sandbox.create("base", { ...connection(ctx), fetch: full }), ServiceBusyError);
      await rejects(Sandbox.setTimeout(id, 1000, { ...connection(ctx), fetch: full }), SandboxError);
      equal(calls, 5, "calls that change something");
    },
  },
  {
    name: "retries: a wait beyond the call's own time is not begun; an abort ends one",
    async run(ctx) {
      const { Sandbox, RateLimitError } = ctx.sdk;
      let calls = 0;
      const later = (wait) => () => ((calls += 1), Promise.resolve(new Response("{}", { status: 429, headers: { "retry-after": wait } })));
      for (const wait of ["3600", new Date(Date.now() + 3_600_000).toUTCString()]) {
        calls = 0;
        await rejects(Sandbox.create("base", { ...connection(ctx), fetch: later(wait) }), RateLimitError, "rate_limited");
        equal(calls, 1, `calls with Retry-After: ${wait}`);
      }
      const controller = new AbortController();
      const reason = new Error("no more");
      const waiting = Sandbox.create("base", { ...connection(ctx), fetch: later("30"), signal: controller.signal });
      setTimeout(() => controller.abort(reason), 50);
      await rejectsWith(waiting, reason);
    },
  },
];

/** Answers with nothing but the headers that a page may read of any server. */
async function hiding(input, init) {
  const response = await fetch(input, init);
  const headers = new Headers();
  for (const name of ["content-type", "content-length", "cache-control", "last-modified"]) {
    if (response.headers.has(name)) headers.set(name, response.headers.get(name));
  }
  // The body was unpacked on the way.
  if (response.headers.has("content-encoding")) headers.delete("content-length");
  const { status } = response;
  return new Response([204, 205, 304].includes(status) ? null : response.body, { status, headers });
}
