// Credentials of the control plane other than an API key.

import { assert, equal, rejects, rejectsWith } from "./assert.js";

/** What a call with these options sends, as headers of its attempts; the first answers are as given, the last is 404. */
async function sent(ctx, auth, answers = []) {
  const seen = [];
  const fetch = async (_, init) => {
    seen.push(init.headers);
    return answers[seen.length - 1]?.() ?? new Response("{}", { status: 404 });
  };
  await rejects(ctx.sdk.Sandbox.getInfo("i1", { apiUrl: "http://control.test", auth, fetch }), ctx.sdk.SandboxNotFoundError);
  return seen;
}

/** The `Authorization` of a request as the gateway computes it, from what has arrived: the rules of ACS3-HMAC-SHA256 once more. */
async function signedBy(secret, method, url, headers, body) {
  const { subtle } = globalThis.crypto;
  const bytes = (text) => new TextEncoder().encode(text);
  const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const sha256 = async (data) => hex(await subtle.digest("SHA-256", data));
  const encode = (text) => encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const query = [...url.searchParams].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([name, value]) => `${encode(name)}=${encode(value)}`);
  const own = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]);
  const covered = [["host", url.host], ...own.filter(([name]) => name === "content-type" || name.startsWith("x-acs-"))].sort(([a], [b]) => (a < b ? -1 : 1));
  const names = covered.map(([name]) => name).join(";");
  const path = url.pathname.split("/").map((segment) => encode(decodeURIComponent(segment))).join("/");
  const block = covered.map(([name, value]) => `${name}:${value}\n`).join("");
  const content = await sha256(typeof body === "string" ? bytes(body) : (body ?? new Uint8Array()));
  const canonical = [method, path, query.join("&"), block, names, content].join("\n");
  const key = await subtle.importKey("raw", bytes(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const signature = hex(await subtle.sign("HMAC", key, bytes(`ACS3-HMAC-SHA256\n${await sha256(bytes(canonical))}`)));
  return `ACS3-HMAC-SHA256 Credential=id,SignedHeaders=${names},Signature=${signature}`;
}

const isPage = typeof location === "object" && location !== null;

export const cases = [
  {
    name: "auth: an access key signs each request anew, and its secret stays here",
    async run(ctx) {
      const auth = { accessKeyId: "the-id", accessKeySecret: "the-secret", securityToken: "temporary", dangerouslyAllowInPage: true };
      const busy = () => new Response("{}", { status: 429, headers: { "retry-after": "0" } });
      const [first, second] = await sent(ctx, auth, [busy]);
      for (const headers of [first, second]) {
        const names = "host;x-acs-content-sha256;x-acs-date;x-acs-security-token;x-acs-signature-nonce";
        const form = new RegExp(`^ACS3-HMAC-SHA256 Credential=the-id,SignedHeaders=${names},Signature=[0-9a-f]{64}$`);
        assert(form.test(headers.authorization), headers.authorization);
        equal([headers["x-acs-security-token"], headers["x-api-key"]], ["temporary", undefined]);
        assert(Math.abs(Date.parse(headers["x-acs-date"]) - Date.now()) < 600_000 && headers["x-acs-date"].length === 20, headers["x-acs-date"]);
        assert(!JSON.stringify(headers).includes("the-secret"), "no secret");
      }
      assert(first["x-acs-signature-nonce"] !== second["x-acs-signature-nonce"] && first.authorization !== second.authorization, "signed anew");
    },
  },
  {
    name: "auth: signatures cover what is sent, whatever the call",
    async run(ctx) {
      const auth = { accessKeyId: "id", accessKeySecret: "the-secret", dangerouslyAllowInPage: true };
      const checked = [];
      const fetch = async (input, { method, headers, body }) => {
        const url = new URL(input);
        equal(headers.authorization, await signedBy("the-secret", method, url, headers, body), `${method} ${url.pathname}`);
        checked.push(`${method} ${url.pathname}`);
        if (method === "DELETE") return new Response(null, { status: 204 });
        return Response.json(url.pathname === "/api/v2/sandboxes" ? [] : { volumeID: "v", name: "v", token: "t" }, { status: method === "POST" ? 201 : 200 });
      };
      const options = { apiUrl: "https://control.test:443/api", auth, fetch };
      const { ApiClient, Sandbox, Volume } = ctx.sdk;
      await Sandbox.create({ ...options, metadata: { a: "é & =" } }).catch(() => {});
      await Sandbox.list({ ...options, query: { metadata: { "b c": "d/é" }, state: ["running", "paused"] } }).nextItems();
      await Sandbox.kill("i1", options);
      await Volume.create("v", options);
      const { api } = new ApiClient({ ...options, apiHeaders: { "x-acs-action": "Do", "x-acs-version": "1" } });
      await api.POST("/things/{id}", { params: { path: { id: "a b" }, query: { y: "", x: "1 2" } }, body: { text: "é" } });
      const wanted = ["POST /api/sandboxes", "GET /api/v2/sandboxes", "DELETE /api/sandboxes/i1", "POST /api/volumes", "POST /api/things/a%20b"];
      equal(checked, wanted);
    },
  },
  {
    name: "auth: an access key is refused in a page, unless it is meant",
    async run(ctx) {
      const auth = { accessKeyId: "the-id", accessKeySecret: "the-secret" };
      if (!isPage) return void equal((await sent(ctx, auth)).length, 1);
      const error = await rejects(ctx.sdk.Sandbox.getInfo("i1", { auth }), ctx.sdk.InvalidArgumentError, "access_key_in_page");
      assert(error.message.includes("dangerouslyAllowInPage") && !error.message.includes("the-secret"), error.message);
    },
  },
  {
    name: "auth: a bearer token, and headers that a function answers for each request",
    async run(ctx) {
      equal((await sent(ctx, { bearer: "b" }))[0].authorization, "Bearer b");
      let calls = 0;
      const busy = () => new Response("{}", { status: 503 });
      const seen = await sent(ctx, async () => ({ "X-Mine": String((calls += 1)) }), [busy]);
      equal(seen.map((headers) => [headers["x-mine"], headers["x-api-key"]]), [["1", undefined], ["2", undefined]]);
      const reason = new Error("no credentials today");
      await rejectsWith(ctx.sdk.Sandbox.getInfo("i1", { auth: () => Promise.reject(reason) }), reason);
      await rejects(ctx.sdk.Sandbox.getInfo("i1", { auth: () => ({ "x-mine": 5 }) }), ctx.sdk.InvalidArgumentError);
      await rejects(ctx.sdk.Sandbox.getInfo("i1", { auth: () => new Headers({ "x-mine": "5" }) }), ctx.sdk.InvalidArgumentError);
      for (const auth of [{}, 5, "key", { accessKeyId: "x" }, { accessKeyId: 1, accessKeySecret: "s" }, { bearer: "b", accessKeyId: "x" }]) {
        await rejects(ctx.sdk.Sandbox.getInfo("i1", { auth }), ctx.sdk.InvalidArgumentError, "invalid_argument");
      }
    },
  },
];
