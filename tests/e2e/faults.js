// Real network failures, of real connections: every public method is aborted, refused, cut off and answered by strangers, and
// works afterwards. A proxy in front of the server does the damage; see `../harness/fault-proxy.mjs`.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { connection, withLane, withSandbox } from "./context.js";
import { KINDS, WITHOUT_REQUEST, methods } from "./methods.js";

const HTML = "<html><body>Bad gateway</body></html>";
const REFUSED = { refuse: true };
const HANGING = { hang: true };

/** Answers of others. Where pages may not read them they are failures of the network. */
const gone = (cors) => ({
  answer: {
    status: 502,
    cors,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sandboxId: "i", message: "The sandbox was not found", code: 502 }),
  },
});
const page = { answer: { status: 200, cors: true, headers: { "content-type": "text/html" }, body: HTML } };
const cut = ({ type, start }) => ({ answer: { status: 200, cors: true, cut: true, headers: { "content-type": type }, body: start } });

/** One method after every fault. What is wrong with the sandbox or the object afterwards would show at the end. */
async function broken(ctx, fixture, lane, method) {
  const { sdk } = ctx;
  const kind = KINDS[method.kind];
  await method.prepare?.(fixture);
  const call = (opts) => method.call(fixture, opts);
  const under = async (what, fault, check) => {
    await lane.rules([{ match: method.path, fault }]);
    try {
      await check();
    } catch (error) {
      throw new Error(`${method.name}, ${what}: ${error.message}`, { cause: error });
    }
  };

  const reason = new Error("the user left");
  await under("aborted before", HANGING, () => rejectsWith(call({ signal: AbortSignal.abort(reason) }), reason));
  await under("aborted", HANGING, async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 5);
    await rejectsWith(call({ signal: controller.signal }), reason);
  });
  await under("no answer in time", HANGING, () => rejects(call({ requestTimeoutMs: 15 }), sdk.TimeoutError, "request_timeout"));
  await under("refused", REFUSED, async () => assertHelpful(ctx, fixture, await rejects(call(), sdk.ConnectionError)));
  if (!method.emptyAnswer) {
    await under("cut off", cut(kind), async () => assertHelpful(ctx, fixture, await rejects(call(), sdk.ConnectionError)));
    if (!method.anyType) await under("a page", page, async () => assertHelpful(ctx, fixture, await rejects(call(), sdk.ProtocolError)));
  }
  await under("a gateway's refusal", gone(true), async () => {
    if ("gone" in method) return equal(await call(), method.gone);
    const error = await rejects(call(), sdk.SandboxError);
    equal(error.status, 502);
    assertHelpful(ctx, fixture, error);
  });
  await under("a gateway's refusal without CORS", gone(false), async () => {
    if ("gone" in method) return call().then((value) => equal(value, method.gone), (error) => assertHelpful(ctx, fixture, error));
    assertHelpful(ctx, fixture, await rejects(call(), sdk.SandboxError));
  });

  await lane.rules([]);
  await call();
}

function assertHelpful({ apiKey, sdk }, { sandbox }, error) {
  assert(error instanceof sdk.SandboxError && /^[a-z_]+$/.test(error.code) && error.code !== "internal", `code ${error.code}`);
  assert(error.message.length > 20 && error.message.length < 600, `message "${error.message}"`);
  const told = `${error.message} ${error.stack}`;
  const { envdAccessToken } = sandbox.toToken();
  assert(!told.includes(apiKey) && !(envdAccessToken && told.includes(envdAccessToken)), "a secret in the error");
}

/** The methods of one template, each with a fixture of its own unless `shared`. */
async function all(ctx, chosen, template, shared) {
  let fixture;
  await withLane(ctx, async (lane) => {
    for (const method of chosen) {
      if (!fixture || !shared) {
        await lane.rules([]);
        // Repetitions are the matter of servers.js, and take time.
        const settings = { ...connection({ ...ctx, apiUrl: lane.url }), retries: 0 };
        fixture = { sdk: ctx.sdk, connection: settings, sandbox: await ctx.sdk.Sandbox.create(template, settings) };
      }
      try {
        await broken(ctx, fixture, lane, method);
      } finally {
        if (!shared) await ctx.sdk.Sandbox.kill(fixture.sandbox.sandboxId, connection(ctx));
      }
    }
    if (shared) await ctx.sdk.Sandbox.kill(fixture.sandbox.sandboxId, connection(ctx));
  });
}

const groups = Map.groupBy?.(methods, groupOf) ?? methods.reduce((map, one) => map.set(groupOf(one), [...(map.get(groupOf(one)) ?? []), one]), new Map());

function groupOf({ name, template }) {
  return template ?? name.split(/[.#]/)[0];
}

/** Public functions of a class: what wasm-bindgen adds is not, and what begins with an underscore is internal. */
function publicMethods(type) {
  const internal = ["constructor", "free", "length", "name", "prototype"];
  const own = (target, sign) =>
    Object.getOwnPropertyNames(target)
      .filter((name) => !name.startsWith("_") && !internal.includes(name))
      .filter((name) => typeof Object.getOwnPropertyDescriptor(target, name).value === "function")
      .map((name) => sign + name);
  return [...own(type, "."), ...own(type.prototype, "#")];
}

export const cases = [
  {
    name: "faults: every public method is among those that are broken",
    async run({ sdk }) {
      const known = new Set([...WITHOUT_REQUEST, ...methods.map(({ name }) => name.split(",")[0])]);
      const classes = ["Sandbox", "Commands", "CommandHandle", "CodeRun", "Pty", "Filesystem", "WatchHandle", "DirPoller", "SandboxPaginator", "SnapshotPaginator", "Volume", "TemplateBase"];
      const public_ = classes.flatMap((name) => publicMethods(sdk[name]).map((method) => name + method));
      equal(public_.filter((name) => !known.has(name)), [], "methods without an entry in methods.js");
      equal([...known].filter((name) => !public_.includes(name)), [], "entries without a method");
    },
  },
  ...[...groups].map(([group, chosen]) => ({
    name: `faults: ${group}, every method under every fault`,
    timeoutMs: 120_000,
    run: (ctx) => all(ctx, chosen, chosen[0].template ?? "base", chosen[0].template !== undefined),
  })),
  {
    name: "faults: output that was cut at any byte is carried by the error, and never wrong",
    run: (ctx) =>
      withLane(ctx, (lane) =>
        withSandbox({ ...ctx, apiUrl: lane.url }, async (sandbox) => {
          let whole = 0;
          // The answer has about eighty bytes; once the exit code is known, what is missing is the end marker.
          for (let at = 1; at < 90; at += 8) {
            await lane.rules([{ match: "/process.Process/Start", fault: { cut: at } }]);
            const result = await sandbox.commands.run("printf one; sleep 0.05; printf two; sleep 0.05").catch((error) => error);
            if (result.exitCode === 0) whole += 1;
            else assert(result instanceof ctx.sdk.ConnectionError, `cut at ${at}: ${result}`);
            const stdout = result.stdout ?? "";
            assert(result.exitCode === 0 ? stdout === "onetwo" : "onetwo".startsWith(stdout), `cut at ${at}: ${stdout}`);
          }
          assert(whole < 6, `${whole} answers were whole`);
        }),
      ),
  },
  {
    name: "faults: a file that is cut off is an error, never a shorter file",
    run: (ctx) =>
      withLane(ctx, (lane) =>
        withSandbox({ ...ctx, apiUrl: lane.url }, async (sandbox) => {
          // Nothing that a server could compress.
          await sandbox.commands.run("head -c 200000 /dev/urandom > /tmp/big");
          for (const format of ["text", "bytes", "blob"]) {
            await lane.rules([{ match: "/files", fault: { cut: 100_000 } }]);
            await rejects(sandbox.files.read("/tmp/big", { format }), ctx.sdk.ConnectionError);
          }
          await lane.rules([{ match: "/files", fault: { split: 999 } }]);
          equal((await sandbox.files.read("/tmp/big", { format: "bytes" })).length, 200_000);
        }),
      ),
  },
  {
    name: "faults: a frame that comes twice or ends early is not taken for another",
    run: (ctx) =>
      withLane(ctx, (lane) =>
        withSandbox({ ...ctx, apiUrl: lane.url }, async (sandbox) => {
          // The second start tells nothing new; output that comes twice cannot be told from output that was written twice.
          await lane.rules([{ match: "/process.Process/Start", fault: { double: 0 } }]);
          equal((await sandbox.commands.run("printf once")).stdout, "once");
          for (const frame of [0, 1]) {
            await lane.rules([{ match: "/process.Process/Start", fault: { shorten: frame } }]);
            const error = await rejects(sandbox.commands.run("printf once"), ctx.sdk.ConnectionError);
            equal(error.stdout ?? "", "", `frame ${frame}`);
          }
        }),
      ),
  },
  {
    name: "faults: a refusal that names a date is waited for",
    run: (ctx) =>
      withLane(ctx, async (lane) => {
        const refusal = (after) => ({ answer: { status: 429, cors: true, headers: { "retry-after": after, "access-control-expose-headers": "retry-after" } } });
        const list = (opts) => ctx.sdk.Sandbox.list({ ...connection(ctx), apiUrl: lane.url, ...opts }).nextItems();
        await lane.rules([{ match: "/sandboxes", times: 1, fault: refusal(new Date(Date.now() + 1000).toUTCString()) }]);
        assert(Array.isArray(await list()), "answered after the wait");
      }),
  },
  {
    name: "faults: a slow answer is an answer",
    run: (ctx) =>
      withLane(ctx, (lane) =>
        withSandbox({ ...ctx, apiUrl: lane.url }, async (sandbox) => {
          await lane.rules([{ match: "/", fault: { delay: 120 } }]);
          equal((await sandbox.commands.run("echo slow")).stdout, "slow\n");
          await rejects(sandbox.commands.list({ requestTimeoutMs: 60 }), ctx.sdk.TimeoutError, "request_timeout");
        }),
      ),
  },
];
