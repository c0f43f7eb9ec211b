// Calls of the control plane against recordings of another client: the requests that they become, and what is made of the
// answers. No server is needed.

import { assert, equal, rejects } from "./assert.js";

/** What each recording stands for; what it is called with is said there as well. */
const CALLS = {
  create_default: ({ Sandbox }, opts) => Sandbox.create(opts),
  create_full: ({ Sandbox }, opts) =>
    Sandbox.create("tpl:v1", {
      ...opts,
      timeoutMs: 60_000,
      metadata: { a: "b c" },
      envs: { K: "V" },
      secure: false,
      allowInternetAccess: false,
      network: {
        allowOut: ({ rules }) => [...rules.keys(), "1.1.1.1"],
        denyOut: ({ allTraffic }) => [allTraffic],
        rules: { "api.example.com": [{ transform: { headers: { "X-A": "1" } } }, {}] },
        allowPublicTraffic: false,
        maskRequestHost: "${PORT}-x.example.com",
      },
      lifecycle: { onTimeout: { action: "pause", keepMemory: false } },
      volumeMounts: { "/mnt/data": "vol1" },
    }),
  create_autoresume: ({ Sandbox }, opts) => Sandbox.create({ ...opts, lifecycle: { onTimeout: "pause", autoResume: true } }),
  create_bad_keepmem: ({ Sandbox }, opts) => Sandbox.create({ ...opts, lifecycle: { onTimeout: { action: "kill", keepMemory: true } } }),
  create_bad_autoresume: ({ Sandbox }, opts) => Sandbox.create({ ...opts, lifecycle: { onTimeout: "kill", autoResume: true } }),
  create_bad_combo: ({ Sandbox }, opts) => Sandbox.create({ ...opts, lifecycle: { onTimeout: { action: "pause", keepMemory: false }, autoResume: true } }),
  create_empty_network: ({ Sandbox }, opts) => Sandbox.create({ ...opts, network: {} }),
  create_network_emptyrules: ({ Sandbox }, opts) => Sandbox.create({ ...opts, network: { rules: {}, allowOut: [] } }),
  create_hdrs: ({ Sandbox }, opts) => Sandbox.create({ ...opts, headers: { "X-H": "1", Authorization: "Bearer z" }, apiHeaders: { "X-H": "2" } }),
  kill: ({ Sandbox }, opts) => Sandbox.kill("sbx123", opts),
  kill_404: ({ Sandbox }, opts) => Sandbox.kill("nope", opts),
  set_timeout: ({ Sandbox }, opts) => Sandbox.setTimeout("sbx123", 120_000, opts),
  update_network: ({ Sandbox }, opts) => Sandbox.updateNetwork("sbx123", { allowOut: ["a"], rules: {}, allowInternetAccess: false }, opts),
  update_network_empty: ({ Sandbox }, opts) => Sandbox.updateNetwork("sbx123", {}, opts),
  get_metrics: ({ Sandbox }, opts) =>
    Sandbox.getMetrics("sbx123", { ...opts, start: new Date("2025-01-02T03:04:05Z"), end: new Date("2025-01-02T03:05:05.999Z") }),
  get_metrics_norange: ({ Sandbox }, opts) => Sandbox.getMetrics("sbx123", opts),
  pause: ({ Sandbox }, opts) => Sandbox.pause("sbx123", opts),
  pause_nomem: ({ Sandbox }, opts) => Sandbox.pause("sbx123", { ...opts, keepMemory: false }),
  pause_409: ({ Sandbox }, opts) => Sandbox.pause("p409", opts),
  connect: ({ Sandbox }, opts) => Sandbox.connect("sbx123", opts),
  connect_timeout: ({ Sandbox }, opts) => Sandbox.connect("sbx123", { ...opts, timeoutMs: 76_001 }),
  connect_404: ({ Sandbox }, opts) => Sandbox.connect("nope", opts),
  create_snapshot: ({ Sandbox }, opts) => Sandbox.createSnapshot("sbx123", opts),
  create_snapshot_name: ({ Sandbox }, opts) => Sandbox.createSnapshot("sbx123", { ...opts, name: "my-snap" }),
  delete_snapshot: ({ Sandbox }, opts) => Sandbox.deleteSnapshot("team/s:default", opts),
  list: ({ Sandbox }, opts) => everyPage(Sandbox.list({ ...opts, query: { metadata: { "k 1": "v&=2", z: "é" }, state: ["running", "paused"] }, limit: 5 })),
  list_default: ({ Sandbox }, opts) => Sandbox.list(opts).nextItems(),
  list_snapshots: ({ Sandbox }, opts) => Sandbox.listSnapshots({ ...opts, sandboxId: "sbx123", name: "nm", limit: 3, nextToken: "T" }).nextItems(),
  list_snapshots_default: ({ Sandbox }, opts) => Sandbox.listSnapshots(opts).nextItems(),
};

/** Which class each class of the recorded client is here. A failure that leaked there only has to be one of ours here. */
const CLASSES = {
  InvalidArgumentException: "InvalidArgumentError",
  AuthenticationException: "AuthenticationError",
  SandboxNotFoundException: "SandboxNotFoundError",
  NotFoundException: "NotFoundError",
  RateLimitException: "RateLimitError",
};

/** The recorded answers show the state of the list between its pages, and that there is nothing after the last. */
async function everyPage(list) {
  const found = [];
  do {
    found.push(...(await list.nextItems()), ["next", list.hasNext, list.nextToken ?? ""]);
  } while (list.hasNext);
  return list.nextItems().then(
    () => found,
    () => [...found, { raises: "Exception" }],
  );
}

function callOf({ name, requests }) {
  const [, id] = /^\/sandboxes\/(\w+)$/.exec(requests[0]?.target) ?? [];
  return name.startsWith("get_info") ? ({ Sandbox }, opts) => Sandbox.getInfo(id, opts) : CALLS[name];
}

/** `fetch` that answers with the recorded responses, in order, and checks the requests. */
function replay(requests) {
  const left = [...requests];
  const fetch = async (url, { method, headers, body }) => {
    const { origin, pathname, search } = new URL(url);
    const expected = left.shift();
    assert(expected !== undefined, `an unexpected request: ${method} ${pathname}`);
    equal(`${method} ${pathname}${search}`, `${expected.method} ${expected.target}`, "request");
    equal(origin, "http://api.test");
    equal(sorted(headers), sorted(Object.fromEntries(expected.headers)), "headers");
    equal(body && sorted(JSON.parse(new TextDecoder().decode(body))), expected.json && sorted(expected.json), "body");
    const { status, json, body_text, headers: answered } = expected.response;
    const text = json === undefined ? (body_text ?? null) : JSON.stringify(json);
    return new Response(status === 204 ? null : text, { status, headers: answered });
  };
  return { fetch, left };
}

/** A result as the recordings write it: names in snake case, times as text, absent values as null. */
function shown(value, like) {
  if (value === undefined) return null;
  if (value?.sandboxId !== undefined && typeof like === "string") return value.sandboxId;
  if (value instanceof Date) return value.toISOString().replace(".000Z", "Z");
  if (Array.isArray(value)) return value.map((item, index) => shown(item, like?.[index]));
  if (typeof value !== "object" || value === null || like === undefined || like === null) return value;
  const pairs = Object.entries(value).map(([key, item]) => {
    const name = Object.hasOwn(like, key) ? key : key.replace(/MB$/, "Mb").replace(/[A-Z]/g, (char) => `_${char.toLowerCase()}`);
    return [name, shown(item, like[name])];
  });
  return { ...Object.fromEntries(Object.keys(like).map((name) => [name, name === "volume_mounts" ? [] : null])), ...Object.fromEntries(pairs) };
}

/** The same value with its keys in order. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]));
}

async function check(sdk, recording) {
  const { requests, result, error } = recording;
  const { fetch, left } = replay(requests);
  const call = callOf(recording)(sdk, { apiKey: "k1", apiUrl: "http://api.test", retries: 0, fetch });
  if (error === undefined) {
    equal(sorted(shown(await call, result)), sorted(result ?? null), "result");
  } else {
    const failure = await rejects(call, sdk[CLASSES[error.class] ?? "SandboxError"]);
    assert(failure.message.includes(error.message_contains ?? ""), `"${failure.message}" does not say ${error.message_contains}`);
  }
  equal(left.length, 0, "requests that were not made");
}

export const cases = [
  {
    name: "control: every recorded call",
    async run({ sdk }) {
      const { default: recorded } = await import("../vectors/control-plane.json", { with: { type: "json" } });
      const { default: known } = await import("../vectors/known-differences.json", { with: { type: "json" } });
      const differing = new Map(known["control-plane"].cases.map(({ case: name, reason }) => [name, reason]));
      // The recordings of volumes belong to volumes.js.
      const recordings = recorded.cases.filter(({ name }) => !name.startsWith("vol"));
      equal(Object.keys(CALLS).filter((name) => !recordings.some((one) => one.name === name)), [], "calls without a recording");
      for (const recording of recordings) {
        const { name } = recording;
        assert(callOf(recording) !== undefined, `${name}: no call belongs to it`);
        let problem;
        await check(sdk, recording).catch((error) => (problem = error));
        if (differing.delete(name)) assert(problem !== undefined, `${name}: listed as differing, but is the same`);
        else if (problem !== undefined) throw new Error(`${name}: ${problem.message}`, { cause: problem });
      }
      equal([...differing.keys()], [], "listed as differing, but there is no such case");
    },
  },
  {
    name: "control: ids and lists from hostile hands stay what they are",
    async run({ sdk }) {
      const seen = [];
      const answer = (value, init) => async (url, { method }) => {
        seen.push(`${method} ${new URL(url).pathname}${new URL(url).search}`);
        return value === undefined ? new Response(null, init) : Response.json(value, init);
      };
      const opts = (fetch) => ({ apiKey: "k1", apiUrl: "http://api.test", retries: 0, fetch });
      equal(await sdk.Sandbox.pause("a/../b?c#d%!\ud800", opts(answer(undefined, { status: 204 }))), true);
      equal(seen.at(-1), "POST /sandboxes/a%2F..%2Fb%3Fc%23d%25%21%EF%BF%BD/pause");
      const made = seen.length;
      for (const id of ["", ".", "..", 5, null, undefined]) {
        await rejects(sdk.Sandbox.getInfo(id, opts(answer({}))), sdk.InvalidArgumentError);
        await rejects(sdk.Sandbox.deleteSnapshot(id, opts(answer({}))), sdk.InvalidArgumentError);
      }
      await rejects(sdk.Sandbox.kill("i1", { ...opts(answer({})), apiKey: "" }), sdk.AuthenticationError, "unauthenticated");
      equal(seen.length, made, "refused before any request");
      // Entries without an id are left out; whatever else is wrong has the value of what is absent.
      const [one, ...others] = await sdk.Sandbox.list(opts(answer([null, 5, {}, { sandboxID: "" }, { sandboxID: "i1", startedAt: 7, metadata: [1], cpuCount: "x", alias: "" }]))).nextItems();
      equal(others, []);
      equal([one.sandboxId, one.name, one.metadata, one.cpuCount, Number.isNaN(one.startedAt.getTime())], ["i1", undefined, {}, 0, true]);
      for (const wrong of [null, [], "text", {}, { sandboxID: 5 }, { sandboxID: "" }, { sandboxId: "i1", envdAccessToken: "hunter2" }]) {
        const error = await rejects(sdk.Sandbox.connect("i1", opts(answer(wrong))), sdk.ProtocolError, "protocol_error");
        assert(!error.message.includes("hunter2"), error.message);
        await rejects(sdk.Sandbox.list(opts(answer({ list: wrong }))).nextItems(), sdk.ProtocolError);
      }
      const copies = await sdk.Sandbox.fork("i1", opts(answer([{ error: { code: 507, message: "no room" } }, { sandbox: null }, {}, { sandbox: { sandboxID: "i2", envdVersion: "0.6.5" } }])));
      equal(copies.map((copy) => copy instanceof sdk.SandboxError), [true, true, true, false]);
      equal([copies[0].status, copies[0].message.includes("no room"), copies[3].sandboxId], [507, true, "i2"]);
    },
  },
  {
    name: "control: a new sandbox that nobody can use is ended",
    async run({ sdk }) {
      const seen = [];
      const fetch = async (url, { method }) => {
        seen.push(`${method} ${new URL(url).pathname}`);
        return method === "POST" ? Response.json({ sandboxID: "i1", envdVersion: "0.0.9" }, { status: 201 }) : new Response(null, { status: 204 });
      };
      await rejects(sdk.Sandbox.create({ apiKey: "k1", apiUrl: "http://api.test", fetch }), sdk.TemplateError, "unsupported_by_sandbox");
      equal(seen, ["POST /sandboxes", "DELETE /sandboxes/i1"]);
    },
  },
  {
    name: "control: an older server lists by its older route, and states are chosen here",
    async run({ sdk }) {
      const seen = [];
      const fetch = async (url) => {
        const { pathname } = new URL(url);
        seen.push(pathname);
        if (pathname.startsWith("/v2")) return Response.json({ code: 404, message: "no such route" }, { status: 404 });
        return Response.json([{ sandboxID: "i1", state: "running" }, { sandboxID: "i2", state: "paused" }], { headers: seen.length < 3 ? { "x-next-token": "more" } : {} });
      };
      const list = sdk.Sandbox.list({ apiKey: "k1", apiUrl: "http://api.test", fetch, query: { state: ["paused"] } });
      equal((await list.nextItems()).map(({ sandboxId }) => sandboxId), ["i2"]);
      equal(list.nextToken, "more");
      const [page, second] = await Promise.allSettled([list.nextItems(), list.nextItems()]);
      equal([page.status, second.reason?.code], ["fulfilled", "conflict"]);
      equal(seen, ["/v2/sandboxes", "/sandboxes", "/sandboxes"], "what is known is not asked again");
      await rejects(list.nextItems(), sdk.SandboxError, "out_of_range");
    },
  },
];
