// Secrets, and requests of an ApiClient: against a control plane that is played by a `fetch`, because the local server keeps no secrets.

import { assert, equal, rejects, rejectsWith } from "./assert.js";
import { connection } from "./context.js";

const VALUE = "s3cret-value";
const BORN = "2026-01-02T03:04:05Z";

/** A control plane that keeps secrets, and notes what it is asked. Two fit a page. */
function keeper() {
  const secrets = new Map();
  const noted = [];
  const answer = (status, body, headers) => new Response(body === undefined ? null : JSON.stringify(body), { status, headers });
  const refuse = (status, message) => answer(status, { code: status, message });
  const shown = ({ value, ...rest }) => rest;
  const find = (name) => [...secrets.values()].find((secret) => [secret.secretID, secret.name].includes(name));
  const fetch = async (input, { method, headers, body }) => {
    const url = new URL(input);
    const given = body === undefined ? undefined : JSON.parse(body);
    noted.push({ method, path: url.pathname + url.search, body: given });
    if (headers["x-api-key"] !== "k1") return refuse(401, "Invalid API key");
    const [, root, id] = url.pathname.split("/").map(decodeURIComponent);
    equal(root, "secrets", "the route");
    if (id === undefined && method === "GET") {
      const from = Number(url.searchParams.get("nextToken") ?? 0);
      const to = from + Number(url.searchParams.get("limit") ?? 2);
      return answer(200, [...secrets.values()].slice(from, to).map(shown), to < secrets.size ? { "x-next-token": String(to) } : {});
    }
    if (id === undefined) {
      if (find(given.name)) return refuse(409, `secret ${given.name} exists`);
      if (!/^[\w-]+$/.test(given.name)) return refuse(400, "Invalid secret name");
      const secret = { secretID: `sec_${secrets.size}`, currentVersion: 1, metadata: {}, createdAt: BORN, updatedAt: BORN, ...given };
      secrets.set(secret.secretID, secret);
      return answer(201, shown(secret));
    }
    const secret = find(id);
    if (!secret) return refuse(404, `secret ${id} not found`);
    if (method === "DELETE") return secrets.delete(secret.secretID), answer(204);
    if (method === "POST") Object.assign(secret, given, { currentVersion: secret.currentVersion + 1 });
    return answer(200, shown(secret));
  };
  return { opts: { apiKey: "k1", apiUrl: "https://api.test", fetch }, noted, secrets };
}

/** Every call that sends a request. */
const calls = {
  create: ({ Secret }, opts) => Secret.create("name", VALUE, opts),
  update: ({ Secret }, opts) => Secret.update("name", VALUE, opts),
  getInfo: ({ Secret }, opts) => Secret.getInfo("name", opts),
  list: ({ Secret }, { signal, ...opts }) => Secret.list(opts).nextItems({ signal }),
  exists: ({ Secret }, opts) => Secret.exists("name", opts),
  destroy: ({ Secret }, opts) => Secret.destroy("name", opts),
};

export const cases = [
  {
    name: "secrets: create, update, getInfo, exists, destroy",
    async run({ sdk: { Secret, SecretError, SecretNotFoundError, SandboxError } }) {
      const { opts, noted, secrets } = keeper();
      const made = await Secret.create("openai", VALUE, { ...opts, metadata: { team: "a" } });
      const facts = { secretId: "sec_0", name: "openai", version: 1, metadata: { team: "a" }, createdAt: new Date(BORN), updatedAt: new Date(BORN) };
      equal(made, facts);
      equal(noted, [{ method: "POST", path: "/secrets", body: { name: "openai", value: VALUE, metadata: { team: "a" } } }]);
      equal(await Secret.update("openai", "other", opts), { ...facts, version: 2 });
      equal(noted.at(-1), { method: "POST", path: "/secrets/openai", body: { value: "other" } });
      equal(secrets.get("sec_0").value, "other");
      equal((await Secret.update("sec_0", "", { ...opts, metadata: {} })).metadata, {}, "metadata is replaced");
      equal(await Secret.getInfo("sec_0", opts), { ...facts, version: 3, metadata: {} });
      equal([await Secret.exists("openai", opts), await Secret.exists("a/b?", opts)], [true, false]);
      equal(noted.at(-1).path, "/secrets/a%2Fb%3F");
      equal([await Secret.destroy("openai", opts), await Secret.destroy("openai", opts)], [true, false]);

      for (const call of [Secret.getInfo("openai", opts), Secret.update("openai", VALUE, opts)]) {
        const error = await rejects(call, SecretNotFoundError, "secret_not_found");
        assert(error instanceof SecretError && error instanceof SandboxError && error.status === 404, error.message);
        assert(error.message.includes("openai") && !error.message.includes(VALUE), error.message);
      }
      await Secret.create("taken", VALUE, opts);
      const taken = await rejects(Secret.create("taken", VALUE, opts), SecretError);
      assert(taken.status === 409 && !taken.message.includes(VALUE), taken.message);
      equal((await rejects(Secret.create("no spaces", VALUE, opts), SecretError)).status, 400);
    },
  },
  {
    name: "secrets: lists come in pages, and as a whole with for await",
    async run({ sdk: { Secret, SecretPaginator, InvalidArgumentError } }) {
      const { opts, noted } = keeper();
      for (const name of ["a", "b", "c", "d", "e"]) await Secret.create(name, VALUE, opts);
      const names = [];
      for await (const { name } of Secret.list(opts)) names.push(name);
      equal(names, ["a", "b", "c", "d", "e"]);

      const pages = Secret.list({ ...opts, limit: 3 });
      assert(pages instanceof SecretPaginator && pages.hasNext && pages.nextToken === undefined, "before the first page");
      const first = pages.nextItems();
      await rejects(pages.nextItems(), InvalidArgumentError, "invalid_argument");
      equal((await first).length, 3);
      equal([noted.at(-1).path, pages.hasNext, pages.nextToken], ["/secrets?limit=3", true, "3"]);
      const reason = new Error("later");
      await rejectsWith(pages.nextItems({ signal: AbortSignal.abort(reason) }), reason);
      equal((await pages.nextItems()).map(({ name }) => name), ["d", "e"], "the page that was not told");
      equal(noted.at(-1).path, "/secrets?limit=3&nextToken=3");
      equal([pages.hasNext, pages.nextToken], [false, undefined]);
      await rejects(pages.nextItems(), InvalidArgumentError, "invalid_argument");
      equal((await new SecretPaginator({ ...opts, nextToken: "4" }).nextItems()).length, 1);
    },
  },
  {
    name: "secrets: what stands for them is made here, and cannot end too early",
    async run({ sdk: { Secret, InvalidArgumentError } }) {
      equal(Secret.fill("openai-api_key"), "${e2b.secrets.openai-api_key}");
      equal(Secret.iamToken({ audience: "a", tokenType: "JWT-SVID", more: 1 }), { audience: "a", tokenType: "JWT-SVID" });
      for (const wrong of [
        () => Secret.fill(""),
        () => Secret.fill("a}b"),
        () => Secret.fill("{"),
        () => Secret.fill("a\n"),
        () => Secret.fill(5),
        () => Secret.iamToken({ audience: "a" }),
        () => Secret.iamToken("token"),
      ]) {
        await rejects((async () => wrong())(), InvalidArgumentError, "invalid_argument");
      }
    },
  },
  {
    name: "secrets: arguments are checked by name before any request, and no error repeats a value",
    async run({ sdk: { Secret, InvalidArgumentError, AuthenticationError } }) {
      const opts = { apiKey: "k1", apiUrl: "https://api.test", fetch: () => Promise.reject(new Error("no request must be made")) };
      for (const [call, named] of [
        [() => Secret.create("", VALUE, opts), "name"],
        [() => Secret.create(5, VALUE, opts), "name"],
        [() => Secret.create("a", { VALUE }, opts), "value"],
        [() => Secret.create("a", VALUE, { ...opts, metadata: { a: 5 } }), "metadata"],
        [() => Secret.create("a", VALUE, VALUE), "options"],
        [() => Secret.update("..", VALUE, opts), "path"],
        [() => Secret.update("a", undefined, opts), "value"],
        [() => Secret.getInfo(undefined, opts), "secret"],
        [() => Secret.exists("", opts), "secret"],
        [() => Secret.destroy("a", { ...opts, retries: -1 }), "retries"],
        [async () => Secret.list({ ...opts, limit: 0 }), "limit"],
        [async () => Secret.list({ ...opts, limit: 101 }), "limit"],
        [async () => Secret.list({ ...opts, nextToken: 5 }), "nextToken"],
        [async () => Secret.list("all"), "options"],
        [() => Secret.list({ ...opts, apiUrl: "ftp://x" }).nextItems(), "apiUrl"],
      ]) {
        const error = await rejects(call(), InvalidArgumentError, "invalid_argument");
        assert(error.message.includes(named) && !error.message.includes(VALUE), `"${error.message}" names ${named}`);
      }
      await rejects(Secret.exists("a", { ...opts, apiKey: "" }), AuthenticationError, "unauthenticated");
    },
  },
  {
    name: "secrets: every call can be aborted, has a clock, and tells failures apart",
    async run({ sdk }) {
      for (const [name, call] of Object.entries(calls)) {
        const { opts } = keeper();
        const answering = (response) => ({ ...opts, retries: 0, fetch: async () => response() });
        const reason = { aborted: name };
        const controller = new AbortController();
        const stuck = () => new Promise(() => setTimeout(() => controller.abort(reason), 5));
        await rejectsWith(call(sdk, { ...opts, fetch: stuck, signal: controller.signal }), reason);
        await rejects(call(sdk, { ...opts, fetch: () => new Promise(() => {}), requestTimeoutMs: 20 }), sdk.TimeoutError, "request_timeout");
        const down = { ...opts, retries: 0, fetch: () => Promise.reject(new TypeError("Failed to fetch")) };
        await rejects(call(sdk, down), sdk.ConnectionError, "connection_failed");
        await rejects(call(sdk, { ...opts, apiKey: "k2" }), sdk.AuthenticationError, "unauthenticated");
        const refused = (status) => answering(() => Response.json({ code: status, message: "words" }, { status, headers: { "x-request-id": "r1" } }));
        await rejects(call(sdk, refused(429)), sdk.RateLimitError, "rate_limited");
        await rejects(call(sdk, refused(503)), sdk.ServiceBusyError, "service_busy");
        const failed = await rejects(call(sdk, refused(500)), sdk.SecretError, "server_error");
        equal([failed.status, failed.requestId, failed.message.includes("words")], [500, "r1", true]);
        if (name === "exists" || name === "destroy") continue;
        await rejects(call(sdk, answering(() => new Response("<html>Log in</html>"))), sdk.ProtocolError, "protocol_error");
        await rejects(call(sdk, answering(() => Response.json({}))), sdk.ProtocolError, "protocol_error");
      }
    },
  },
  {
    name: "secrets: a client has its own, and nothing secret is logged",
    async run({ sdk }) {
      const { opts, secrets } = keeper();
      const lines = [];
      const logger = { debug: (...words) => lines.push(words.join(" ")), info: (...words) => lines.push(words.join(" ")) };
      const { Secret } = new sdk.E2B({ ...opts, logger });
      await Secret.create("own", VALUE);
      equal((await Secret.list().nextItems()).map(({ name }) => name), ["own"]);
      equal([await Secret.exists("own"), await Secret.destroy("own"), secrets.size], [true, true, 0]);
      equal(Secret.fill("a"), sdk.Secret.fill("a"));
      assert(lines.length > 0 && !lines.some((line) => /own|k1|s3cret/.test(line)), lines.join("\n"));
    },
  },
  {
    name: "api client: any request, with what is given to the client, and refusals as answers",
    async run({ sdk }) {
      const { ApiClient, ConnectionConfig } = sdk;
      const seen = [];
      const fetch = async (input, { method, headers, body }) => {
        const { pathname, search } = new URL(input);
        seen.push({ method, path: pathname + search, headers, body });
        if (method === "DELETE") return new Response(null, { status: 204 });
        if (method === "PUT") return new Response("no such thing", { status: 404 });
        if (method === "PATCH") return Response.json({ code: 409, message: "words" }, { status: 409 });
        return Response.json({ sent: method }, { status: method === "POST" ? 201 : 200, headers: { "x-next-token": "n1" } });
      };
      const { api } = new ApiClient(new ConnectionConfig({ apiKey: "k1", apiUrl: "https://api.test/v", headers: { a: "1", b: "1" }, fetch }));
      const got = await api.GET("/templates/{templateID}/{n}", {
        params: { path: { templateID: "a/b", n: 5 }, query: { state: ["x", "y"], q: "1 2", none: undefined }, header: { c: "3" } },
        headers: { b: "2" },
      });
      equal([got.data, got.error, got.response.status, got.response.headers.get("x-next-token")], [{ sent: "GET" }, undefined, 200, "n1"]);
      equal(await got.response.json(), { sent: "GET" }, "the body can still be read");
      equal(seen[0].path, "/v/templates/a%2Fb/5?state=x%2Cy&q=1+2");
      const { "x-api-key": key, a, b, c } = seen[0].headers;
      equal([key, a, b, c, seen[0].headers["content-type"]], ["k1", "1", "2", "3", undefined]);
      const made = await api.POST("/things", { body: { name: "é" } });
      equal([made.data, made.response.status, JSON.parse(seen[1].body), seen[1].headers["content-type"]], [{ sent: "POST" }, 201, { name: "é" }, "application/json"]);
      const gone = await api.DELETE("/things/1");
      equal([gone.data, gone.error, gone.response.status], [undefined, undefined, 204]);
      const missing = await api.PUT("/things/2", { body: [] });
      equal([missing.data, missing.error, missing.response.status, missing.response.ok], [undefined, "no such thing", 404, false]);
      equal((await api.PATCH("/things/3", { body: {} })).error, { code: 409, message: "words" });
    },
  },
  {
    name: "api client: what gets no answer rejects, and what is wrong is refused by name",
    async run(ctx) {
      const { ApiClient, ConnectionConfig, InvalidArgumentError, AuthenticationError, ConnectionError, ProtocolError, TimeoutError } = ctx.sdk;
      const given = { apiKey: "k1", apiUrl: "https://api.test" };
      const { api } = new ApiClient({ ...given, fetch: () => new Promise(() => {}) });
      const reason = new Error("stop");
      await rejectsWith(api.GET("/x", { signal: AbortSignal.abort(reason) }), reason);
      await rejects(api.GET("/x", { requestTimeoutMs: 20 }), TimeoutError, "request_timeout");
      const down = new ApiClient({ ...given, retries: 0, fetch: () => Promise.reject(new TypeError("down")) });
      await rejects(down.api.POST("/x"), ConnectionError, "connection_failed");
      const page = new ApiClient({ ...given, fetch: async () => new Response("<html>") });
      await rejects(page.api.GET("/x"), ProtocolError, "protocol_error");

      const circular = {};
      circular.self = circular;
      for (const [call, named] of [
        [() => api.GET("x"), "slash"],
        [() => api.GET("/x/{id}"), "id"],
        [() => api.GET("/x/{id}", { params: { path: { id: "" } } }), "id"],
        [() => api.GET("/x/{toString}", { params: { path: {} } }), "toString"],
        [() => api.GET("/x/{id}", { params: { path: { id: ".." } } }), "path"],
        [() => api.GET("/x", "options"), "options"],
        [() => api.POST("/x", { body: circular }), "body"],
        [() => api.POST("/x", { body: () => {} }), "body"],
        [() => api.GET("/x", { requestTimeoutMs: "soon" }), "requestTimeoutMs"],
      ]) {
        const error = await rejects(call(), InvalidArgumentError, "invalid_argument");
        assert(error.message.includes(named), `"${error.message}" names ${named}`);
      }
      const keyless = { ...given, apiKey: "" };
      await rejects((async () => new ApiClient(keyless))(), AuthenticationError, "unauthenticated");
      await rejects((async () => new ApiClient(new ConnectionConfig(keyless)))(), AuthenticationError, "unauthenticated");
      const headers = [];
      const anonymous = new ApiClient({ ...keyless, headers: { a: "1" }, fetch: async (_, init) => (headers.push(init.headers), Response.json([])) }, { requireApiKey: false });
      equal((await anonymous.api.GET("/public")).data, []);
      equal([headers[0].a, headers[0]["x-api-key"]], ["1", undefined]);
    },
  },
  {
    name: "api client: the server under test answers it",
    async run(ctx) {
      const { api } = new ctx.sdk.ApiClient(connection(ctx));
      const { data, response } = await api.GET("/v2/sandboxes", { params: { query: { limit: 1 } } });
      equal([Array.isArray(data), response.status], [true, 200]);
      const missing = await api.GET("/sandboxes/{sandboxID}", { params: { path: { sandboxID: "i00000000000000000000" } } });
      equal([missing.response.status, missing.error.code], [404, 404]);
    },
  },
];
