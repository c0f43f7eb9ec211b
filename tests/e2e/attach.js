// Access without an API key, URLs without headers, and calls that are repeated.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { connection, faulty, withSandbox } from "./context.js";

export const cases = [
  {
    name: "attach: a token opens the sandbox, without a key and without a request",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const token = JSON.parse(JSON.stringify(sandbox.toToken()));
        equal(token.sandboxId, sandbox.sandboxId);
        assert(!JSON.stringify(token).includes(ctx.apiKey), "no key in the token");
        let requests = 0;
        const counting = (...call) => {
          requests += 1;
          return fetch(...call);
        };
        const attached = await ctx.sdk.Sandbox.attach(token, { fetch: counting });
        equal(requests, 0, "requests made by attach");
        equal((await attached.commands.run("echo hi")).stdout, "hi\n");
        await attached.files.write("/tmp/x", "y");
        equal(await sandbox.files.read("/tmp/x"), "y");
        equal(await attached.isRunning(), true);
        equal(attached.toToken(), sandbox.toToken());
        await rejects(attached.kill({ apiKey: "" }), ctx.sdk.AuthenticationError, "unauthenticated");
      }),
  },
  {
    name: "attach: a refused token is renewed once for all calls that need it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const good = sandbox.toToken();
        let refreshed = 0;
        const attached = await ctx.sdk.Sandbox.attach(
          { ...good, envdAccessToken: "0".repeat(64) },
          {
            async refresh() {
              refreshed += 1;
              await new Promise((resolve) => setTimeout(resolve, 20));
              return good;
            },
          },
        );
        const results = await Promise.all([1, 2, 3].map((n) => attached.commands.run(`echo ${n}`)));
        equal(results.map((result) => result.stdout), ["1\n", "2\n", "3\n"]);
        equal(refreshed, 1, "renewals");
        equal(await attached.files.exists("/etc"), true);
        equal(refreshed, 1, "renewals later");
      }),
  },
  {
    name: "attach: a token that is about to end is renewed before it is used",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const good = sandbox.toToken();
        const later = new Date(Date.now() + 3_600_000).toISOString();
        let refreshed = 0;
        const attached = await ctx.sdk.Sandbox.attach(
          { ...good, envdAccessToken: "stale", expiresAt: new Date(Date.now() + 1_000) },
          { refresh: () => ((refreshed += 1), { ...good, expiresAt: later }) },
        );
        equal((await attached.commands.run("echo ok")).stdout, "ok\n");
        equal(await attached.files.exists("/etc"), true);
        equal(refreshed, 1);
      }),
  },
  {
    name: "attach: without refresh a refused token is an AuthenticationError; a failing refresh is passed on",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const bad = { ...sandbox.toToken(), envdAccessToken: "wrong" };
        const plain = await ctx.sdk.Sandbox.attach(bad);
        await rejects(plain.commands.run("true"), ctx.sdk.AuthenticationError, "unauthenticated");
        await rejects(plain.files.read("/etc/hostname"), ctx.sdk.AuthenticationError);
        const reason = new Error("session over");
        const failing = await ctx.sdk.Sandbox.attach(bad, { refresh: () => Promise.reject(reason) });
        await rejectsWith(failing.commands.list(), reason);
        const other = { ...bad, sandboxId: "i00000000000000000000" };
        const confused = await ctx.sdk.Sandbox.attach(bad, { refresh: () => other });
        await rejects(confused.commands.list(), ctx.sdk.InvalidArgumentError);
      }),
  },
  {
    name: "errors: tokens are checked when attaching",
    async run(ctx) {
      const { Sandbox, InvalidArgumentError } = ctx.sdk;
      for (const token of [undefined, {}, { sandboxId: 5 }, { sandboxId: "a/b" }, { sandboxId: "i1", expiresAt: "soon" }]) {
        await rejects(Sandbox.attach(token), InvalidArgumentError);
      }
    },
  },
  {
    name: "urls: a signed URL works without any header, until it expires",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write("/tmp/a b&c.txt", "linked");
        const url = new URL(await sandbox.downloadUrl("/tmp/a b&c.txt", { useSignatureExpiration: 60 }));
        assert(url.hostname.startsWith(`49983-${sandbox.sandboxId}.`), url.hostname);
        assert(url.searchParams.get("signature").startsWith("v1_"), "signed");
        const past = new URL(await sandbox.downloadUrl("/tmp/a b&c.txt", { useSignatureExpiration: 0 }));
        assert(past.searchParams.has("signature_expiration"), "an expiration of 0 is one");
        // Not every runtime resolves *.localhost; the server routes by header as well.
        const get = (address) =>
          fetch(`${ctx.apiUrl}${address.pathname}${address.search}`, {
            headers: { "e2b-sandbox-id": sandbox.sandboxId, "e2b-sandbox-port": "49983" },
          });
        const answer = typeof location === "object" ? await fetch(url) : await get(url);
        equal([answer.status, await answer.text()], [200, "linked"]);
        const upload = new URL(await sandbox.uploadUrl("/tmp/up"));
        assert(upload.searchParams.get("signature") !== url.searchParams.get("signature"), "another operation");
      }),
  },
  {
    name: "retries: 429 is repeated when the server says how long to wait, in seconds or as a date",
    async run(ctx) {
      for (const wait of ["0", new Date().toUTCString()]) {
        let calls = 0;
        const limited = faulty("/sandboxes/", (response) => {
          calls += 1;
          return calls < 3 ? new Response("{}", { status: 429, headers: { "retry-after": wait } }) : response;
        });
        await rejects(ctx.sdk.Sandbox.getInfo("i00000000000000000000", { ...connection(ctx), fetch: limited }), ctx.sdk.NotFoundError);
        equal(calls, 3, `calls with Retry-After: ${wait}`);
      }
      const always = faulty("/sandboxes/", () => new Response("{}", { status: 429, headers: { "retry-after": "0" } }));
      await rejects(
        ctx.sdk.Sandbox.getInfo("i00000000000000000000", { ...connection(ctx), fetch: always, retries: 1 }),
        ctx.sdk.RateLimitError,
        "rate_limited",
      );
    },
  },
  {
    name: "hooks: every request is told, without ids, queries or keys; what they throw is dropped",
    async run(ctx) {
      const requests = [];
      const responses = [];
      const hooks = {
        onRequest: (facts) => void requests.push(facts),
        onResponse(facts) {
          responses.push(facts);
          throw new Error("dropped");
        },
      };
      await withSandbox(
        ctx,
        async (sandbox) => {
          await sandbox.commands.run("true");
          await rejects(sandbox.files.read("/tmp/missing"), ctx.sdk.FileNotFoundError);
        },
        hooks,
      );
      const seen = responses.map(({ method, route, status, attempt }) => [method, route, status, attempt]);
      equal(seen, [
        ["POST", "/sandboxes", 201, 1],
        ["POST", "/process.Process/Start", 200, 1],
        ["GET", "/files", 404, 1],
        ["DELETE", "/sandboxes/{id}", 204, 1],
      ]);
      equal(requests.map(({ route }) => route), seen.map(([, route]) => route));
      assert(responses.every(({ durationMs }) => durationMs >= 0), "durations");
      assert(!JSON.stringify([requests, responses]).includes(ctx.apiKey), "no key");

      await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), apiUrl: "http://127.0.0.1:9", ...hooks }), ctx.sdk.ConnectionError);
      assert(responses.at(-1).error instanceof ctx.sdk.ConnectionError, "the failure is told");
    },
  },
];
