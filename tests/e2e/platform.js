// What the platform does around a sandbox: logs, the MCP gateway, network settings, identities, signatures, tokens.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { connection, withSandbox } from "./context.js";

/** A `fetch` that keeps the JSON of requests whose path ends in `end`, and answers them with `answer` if there is one. */
function keeping(bodies, end, answer) {
  return (input, init) => {
    if (!new URL(input).pathname.endsWith(end)) return fetch(input, init);
    bodies.push(JSON.parse(new TextDecoder().decode(init.body)));
    return answer ? Promise.resolve(answer()) : fetch(input, init);
  };
}

const created = (more) => () => new Response(JSON.stringify({ sandboxID: "i1", envdVersion: "0.6.13", ...more }), { status: 201 });

/** Stands for the program of the gateway: keeps its configuration and its token. */
const GATEWAY = `#!/bin/sh
mkdir -p /etc/mcp-gateway
printf '%s' "$2" > /etc/mcp-gateway/config
printf '%s\\n' "$GATEWAY_ACCESS_TOKEN" > /etc/mcp-gateway/.token
chmod 600 /etc/mcp-gateway/.token
`;

export const cases = [
  {
    name: "logs: entries in both directions, filtered and cut",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const logs = await sandbox.getLogs({ direction: "forward" });
        assert(logs.length > 0, "a sandbox that starts is logged");
        for (const { timestamp, level, message, fields } of logs) {
          assert(timestamp instanceof Date && Math.abs(timestamp - Date.now()) < 3_600_000, `${timestamp}`);
          assert(["debug", "info", "warn", "error"].includes(level) && typeof message === "string" && typeof fields === "object", level);
        }
        const newest = await sandbox.getLogs({ limit: 1 });
        equal(newest.length, 1);
        assert(newest[0].timestamp >= logs[0].timestamp, "the newest come first");
        equal(await sandbox.getLogs({ search: "nothing has this" }), []);
        equal(await sandbox.getLogs({ direction: "forward", cursor: new Date(Date.now() + 600_000) }), []);
        equal((await ctx.sdk.Sandbox.getLogs(sandbox.sandboxId, { ...connection(ctx), direction: "forward" })).slice(0, logs.length), logs);
        for (const [name, value] of Object.entries({ cursor: new Date(NaN), limit: 0, direction: "up", level: "loud", search: 5 })) {
          const error = await rejects(sandbox.getLogs({ [name]: value }), ctx.sdk.InvalidArgumentError, "invalid_argument");
          assert(error.message.includes(name), error.message);
        }
        await rejects(sandbox.getLogs(5), ctx.sdk.InvalidArgumentError);
        equal((await sandbox.getLogs({ limit: null, cursor: null })).length >= logs.length, true, "null is absent");
        const reason = new Error("stop");
        await rejectsWith(sandbox.getLogs({ signal: AbortSignal.abort(reason) }), reason);
        await rejects(ctx.sdk.Sandbox.getLogs("i00000000000000000000", connection(ctx)), ctx.sdk.SandboxNotFoundError);
      }),
  },
  {
    name: "mcp: the gateway is started with the servers, and its token is known",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write("/usr/local/bin/mcp-gateway", GATEWAY, { user: "root" });
        await sandbox.commands.run("chmod 755 /usr/local/bin/mcp-gateway", { user: "root" });
        const { snapshotId } = await sandbox.createSnapshot();
        const mcp = { exa: { apiKey: "it's \"quoted\" $HOME `id`" }, "github/a/b": {} };
        const bodies = [];
        const served = await ctx.sdk.Sandbox.create(snapshotId, { ...connection(ctx), mcp, fetch: keeping(bodies, "/sandboxes") });
        try {
          equal(bodies[0].mcp, mcp);
          equal(JSON.parse(await served.files.read("/etc/mcp-gateway/config", { user: "root" })), mcp);
          const token = await served.getMcpToken();
          assert(/^[0-9a-f]{32}$/.test(token), token);
          const other = await ctx.sdk.Sandbox.connect(served.sandboxId, connection(ctx));
          equal(await other.getMcpToken(), token, "the token as others read it");
          const url = new URL(served.getMcpUrl());
          equal([url.host, url.pathname], [served.getHost(50005), "/mcp"]);
          equal(await sandbox.getMcpToken(), undefined, "a sandbox without a gateway");
        } finally {
          await served.kill();
          await ctx.sdk.Sandbox.deleteSnapshot(snapshotId, connection(ctx));
        }
      }),
  },
  {
    name: "mcp: a sandbox whose gateway does not start is ended",
    async run(ctx) {
      const mcp = { exa: {} };
      const metadata = { gateway: `missing ${Math.random()}` };
      const error = await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), mcp, metadata }), ctx.sdk.SandboxError, "mcp_failed");
      assert(error.cause instanceof ctx.sdk.CommandExitError, "with its cause");
      equal(await ctx.sdk.Sandbox.list({ ...connection(ctx), query: { metadata } }).nextItems(), []);
      const bodies = [];
      await rejects(ctx.sdk.Sandbox.create({ ...connection(ctx), mcp, fetch: keeping(bodies, "/sandboxes") }), ctx.sdk.NotFoundError);
      equal(bodies[0].templateID, "mcp-gateway", "the template for it");
      await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), mcp: "exa" }), ctx.sdk.InvalidArgumentError);
    },
  },
  {
    name: "network: callbacks, maps and all settings reach the wire as plain data",
    async run(ctx) {
      const { Sandbox, ALL_TRAFFIC, InvalidArgumentError } = ctx.sdk;
      const bodies = [];
      const fetch = keeping(bodies, "/sandboxes", created());
      const rules = new Map([["api.test", [{ transform: { headers: { a: "b" } } }]], ["www.test", [{ transform: { headers: {} } }, {}]]]);
      const network = {
        rules,
        allowOut: ({ rules }) => [...rules.keys()],
        denyOut: ({ allTraffic }) => [allTraffic],
        egressProxy: { address: "proxy.test:1080", password: "p", username: "u" },
        maskRequestHost: "localhost:${PORT}",
        httpsPorts: [8443],
      };
      await Sandbox.create("base", { ...connection(ctx), fetch, network });
      const expected = {
        rules: { "api.test": [{ transform: { headers: { a: "b" } } }], "www.test": [{}, {}] },
        allowOut: ["api.test", "www.test"],
        denyOut: [ALL_TRAFFIC],
        egressProxy: { address: "proxy.test:1080", password: "p", username: "u" },
        maskRequestHost: "localhost:${PORT}",
        httpsPorts: [8443],
        allowPublicTraffic: true,
      };
      // The order of the members does not matter.
      equal(Object.fromEntries(Object.keys(expected).map((name) => [name, bodies[0].network[name]])), expected);
      equal(Object.keys(bodies[0].network).length, Object.keys(expected).length);
      const wrong = [{ allowOut: "x" }, { allowOut: () => "x" }, { denyOut: [5] }, { rules: { h: {} } }, { rules: { h: ["x"] } }, { rules: { h: [{ transform: 5 }] } }];
      for (const network of wrong) await rejects(Sandbox.create("base", { ...connection(ctx), fetch, network }), InvalidArgumentError, "invalid_argument");
      const reason = new Error("the callback's own");
      const throwing = { allowOut: () => { throw reason; } };
      await rejectsWith(Sandbox.create("base", { ...connection(ctx), fetch, network: throwing }), reason);
      equal(bodies.length, 1, "nothing else was sent");
    },
  },
  {
    name: "network: a transform may be a function, which is given what stands for the identity tokens",
    async run(ctx) {
      const { Sandbox, Secret, InvalidArgumentError } = ctx.sdk;
      const bodies = [];
      const opts = { ...connection(ctx), fetch: keeping(bodies, "/sandboxes", created()) };
      const iam = { tokens: { aws: Secret.iamToken({ audience: "sts.test", tokenType: "JWT-SVID" }) } };
      const create = (transform, more = { iam }) => Sandbox.create("base", { ...opts, ...more, network: { rules: { "api.test": [{ transform }] } } });
      const sent = () => bodies.at(-1).network.rules["api.test"];
      let calls = 0;
      await create(({ iam: { tokens } }) => {
        calls += 1;
        equal([Object.keys(tokens), JSON.stringify(tokens), `${tokens.then}`], [["aws"], '{"aws":"${e2b.identity.tokens.aws}"}', "undefined"]);
        return { headers: { Authorization: `Bearer ${tokens.aws}`, "X-Key": Secret.fill("openai") } };
      });
      equal(calls, 1);
      equal(sent(), [{ transform: { headers: { Authorization: "Bearer ${e2b.identity.tokens.aws}", "X-Key": "${e2b.secrets.openai}" } } }]);
      await create(() => ({ headers: { a: undefined } }));
      equal(sent(), [{}], "a function that changes nothing");

      for (const [transform, named] of [
        [({ iam }) => ({ headers: { a: iam.tokens.gcp } }), '"gcp"'],
        [async () => ({ headers: {} }), "at once"],
        [async () => { throw new Error("later"); }, "at once"],
        [() => ({ headers: { a: 5 } }), "texts"],
        [() => ({ headers: "a: b" }), "texts"],
        [() => "a: b", "api.test"],
        [{ headers: { a: null } }, "texts"],
      ]) {
        const error = await rejects(create(transform), InvalidArgumentError, "invalid_argument");
        assert(error.message.includes(named), error.message);
      }
      const nameless = await rejects(create(({ iam }) => ({ headers: { a: iam.tokens.aws } }), {}), InvalidArgumentError);
      assert(nameless.message.includes("none"), nameless.message);
      const reason = new Error("the callback's own");
      await rejectsWith(create(() => { throw reason; }), reason);
      equal(bodies.length, 2, "nothing else was sent");
    },
  },
  {
    name: "network: in an update any token may be named, because only the platform knows which there are",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const rules = { "api.test": [{ transform: ({ iam }) => ({ headers: { a: `${iam.tokens.later} ${iam.tokens.toJSON}` } }) }] };
        await sandbox.updateNetwork({ rules });
        equal((await sandbox.getInfo()).network.rules, { "api.test": [{ transform: { headers: { a: "${e2b.identity.tokens.later} undefined" } } }] });
        const braces = { "api.test": [{ transform: ({ iam }) => ({ headers: { a: iam.tokens["a}"] } }) }] };
        await rejects(sandbox.updateNetwork({ rules: braces }), ctx.sdk.InvalidArgumentError, "invalid_argument");
      }),
  },
  {
    name: "network: updates take the same settings, and getInfo tells what is in force",
    run: (ctx) =>
      withSandbox(
        ctx,
        async (sandbox) => {
          const { ALL_TRAFFIC, Sandbox } = ctx.sdk;
          equal((await sandbox.getInfo()).network.denyOut, ["10.0.0.0/8"]);
          await sandbox.updateNetwork({ allowOut: ({ rules }) => [...rules.keys()], rules: { "api.test": [] }, denyOut: [ALL_TRAFFIC] });
          const { network, lifecycle } = await sandbox.getInfo();
          equal([network.allowOut, network.denyOut], [["api.test"], [ALL_TRAFFIC]]);
          equal([lifecycle.onTimeout, lifecycle.autoResume], ["pause", false]);
          await Sandbox.updateNetwork(sandbox.sandboxId, { denyOut: () => [] }, connection(ctx));
          await rejects(sandbox.updateNetwork({ denyOut: "all" }), ctx.sdk.InvalidArgumentError);
        },
        { network: { denyOut: ["10.0.0.0/8"] }, lifecycle: { onTimeout: "pause" } },
      ),
  },
  {
    name: "iam: identities are sent, and their names checked",
    async run(ctx) {
      const bodies = [];
      const fetch = keeping(bodies, "/sandboxes", created());
      const iam = { tokens: { cloud: { audience: "sts.test", tokenType: "JWT-SVID" } } };
      await ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch, iam });
      equal(bodies[0].iam, iam);
      for (const name of ["a{b", "}", "a\nb"]) {
        const tokens = { [name]: iam.tokens.cloud };
        await rejects(ctx.sdk.Sandbox.create("base", { ...connection(ctx), fetch, iam: { tokens } }), ctx.sdk.InvalidArgumentError);
      }
    },
  },
  {
    name: "signature: the same as in the URLs of a sandbox",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { getSignature, InvalidArgumentError } = ctx.sdk;
        // A known answer of the protocol.
        const known = { path: "/home/user/a.txt", operation: "read", user: "user", envdAccessToken: "tok-123" };
        equal(await getSignature(known), { signature: "v1_WU421hL9oufM/6QQ4tu2j5JE6pCOVNqn8RZYrco28l8", expiration: null });
        const { envdAccessToken } = sandbox.toToken();
        for (const [operation, url] of [["read", await sandbox.downloadUrl("/tmp/x")], ["write", await sandbox.uploadUrl("/tmp/x")]]) {
          const { signature } = await getSignature({ path: "/tmp/x", operation, envdAccessToken });
          equal(new URL(url).searchParams.get("signature"), signature, operation);
        }
        const { expiration } = await getSignature({ ...known, expirationInSeconds: 0 });
        assert(Math.abs(expiration - Date.now() / 1000) < 5, `${expiration}`);
        for (const wrong of [{ path: 5 }, { operation: "list" }, { envdAccessToken: "" }, { user: 5 }, { expirationInSeconds: -1 }]) {
          await rejects(getSignature({ ...known, ...wrong }), InvalidArgumentError, "invalid_argument");
        }
        await rejects(getSignature(), InvalidArgumentError);
      }),
  },
  {
    name: "tokens: a new traffic token is used after connecting again and after a renewal",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const seen = [];
        const fetch_ = async (input, init) => {
          const { pathname } = new URL(input);
          if (pathname.endsWith("/connect")) {
            const answer = await (await fetch(input, init)).json();
            return new Response(JSON.stringify({ ...answer, trafficAccessToken: "second" }), { status: 200 });
          }
          if (pathname !== "/contexts") return fetch(input, init);
          seen.push(init.headers["e2b-traffic-access-token"]);
          return seen.length === 3 ? new Response("{}", { status: 401 }) : new Response("[]", { headers: { "content-type": "application/json" } });
        };
        const token = { ...sandbox.toToken(), trafficAccessToken: "first" };
        const later = { ...token, trafficAccessToken: "third" };
        let expired = false;
        const attached = await ctx.sdk.Sandbox.attach(
          { ...token, expiresAt: new Date(Date.now() + 600_000) },
          { ...connection(ctx), fetch: fetch_, refresh: () => ((expired = true), later) },
        );
        equal(attached.trafficAccessToken, "first");
        await attached.listCodeContexts();
        equal(await attached.connect(), attached);
        equal(attached.trafficAccessToken, "second");
        equal(attached.toToken().trafficAccessToken, "second");
        await attached.listCodeContexts();
        equal(seen, ["first", "second"]);
        // A token that envd refuses is renewed, and brings the other one along.
        const stale = await ctx.sdk.Sandbox.attach({ ...token, envdAccessToken: "wrong" }, { refresh: () => ({ ...later }) });
        equal((await stale.commands.run("echo ok")).stdout, "ok\n");
        equal([stale.trafficAccessToken, expired], ["third", false]);
        const without = await ctx.sdk.Sandbox.attach({ ...token, envdAccessToken: "wrong" }, { refresh: () => sandbox.toToken() });
        await without.commands.run("true");
        equal(without.trafficAccessToken, "first", "a renewal that names none");
      }),
  },
  {
    name: "commands: connect by tag",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const first = await sandbox.commands.run("read line; echo got $line", { background: true, stdin: true, tag: "listener" });
        const second = await sandbox.commands.connect({ tag: "listener" });
        equal(second.pid, first.pid);
        await second.sendStdin("it\n");
        equal([(await second.wait()).stdout, (await first.wait()).stdout], ["got it\n", "got it\n"]);
        await rejects(sandbox.commands.connect({ tag: "nobody" }), ctx.sdk.NotFoundError);
        await rejects(sandbox.commands.connect({}), ctx.sdk.InvalidArgumentError);
      }),
  },
];
