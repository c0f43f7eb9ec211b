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
      for (const auth of [{}, 5, "key", { accessKeyId: "x" }, { accessKeyId: 1, accessKeySecret: "s" }]) {
        await rejects(ctx.sdk.Sandbox.getInfo("i1", { auth }), ctx.sdk.InvalidArgumentError, "invalid_argument");
      }
    },
  },
];
