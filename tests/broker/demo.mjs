// The back end of the demo site, which users copy: a broker for strangers, told apart by a cookie. Asked over HTTP in every host.

import worker from "../../www/backend.js";
import { assert, equal } from "../e2e/assert.js";

/** A browser that has come to the page. */
class Stranger {
  constructor({ url }, backend) {
    this.url = `${url}/${backend}`;
  }

  /** A request as the page sends it; keeps what cookie comes back. */
  async ask(action = "", { headers = {}, body = {}, session } = {}) {
    const own = { origin: "https://app.example", "content-type": "application/json" };
    if (this.cookie) own.cookie = this.cookie;
    if (session) own["x-sandbox-session"] = session;
    const response = await fetch(`${this.url}${action && `/${action}`}`, { method: "POST", headers: { ...own, ...headers }, body: JSON.stringify(body) });
    const [cookie] = response.headers.getSetCookie();
    if (cookie) [this.cookie] = cookie.split(";");
    return { response, status: response.status, cookie, answer: await response.json() };
  }

  /** A visit that must succeed. */
  async visit() {
    const { status, answer } = await this.ask();
    equal([status, answer.error], [200, undefined]);
    this.session = answer.session;
    return answer;
  }

  end() {
    return this.ask("kill", { session: this.session });
  }
}

export const cases = [
  {
    name: "demo: a stranger gets a name and a sandbox that runs code, the same one again, and no key",
    async run(ctx) {
      const { sdk, connection } = ctx;
      const stranger = new Stranger(ctx, "demo");
      const { status, cookie, answer } = await stranger.ask();
      equal(status, 200);
      assert(/^sandbox-visitor=[0-9a-f-]{36}; Path=\/demo; Max-Age=86400; HttpOnly; SameSite=Lax$/.test(cookie), cookie);
      assert(!JSON.stringify(answer).includes(connection.apiKey), "the key in the answer");
      const rest = Date.parse(answer.expiresAt) - Date.now();
      assert(rest > 0 && rest <= 60_000, `access for ${rest} ms`);
      stranger.session = answer.session;
      try {
        const { name, metadata, endAt } = await sdk.Sandbox.getInfo(answer.sandboxId, connection);
        equal([name, metadata.app], ["code-interpreter-v1", "demo"]);
        assert(endAt.getTime() - Date.now() <= 300_000, `a life until ${endAt}`);
        const sandbox = await sdk.Sandbox.attach(answer);
        equal((await sandbox.commands.run("echo hi")).stdout, "hi\n");
        const again = await stranger.ask();
        equal([again.answer.sandboxId, again.cookie], [answer.sandboxId, undefined]);
        const refreshed = await stranger.ask("refresh", { session: answer.session });
        equal([refreshed.status, refreshed.answer.sandboxId], [200, answer.sandboxId]);
      } finally {
        equal((await stranger.end()).answer, { sandboxId: answer.sandboxId, killed: true });
      }
    },
  },
  {
    name: "demo: other sites, forms and other strangers are turned away, and nobody is given a name with it",
    async run(ctx) {
      const stranger = new Stranger(ctx, "demo");
      const { sandboxId } = await stranger.visit();
      try {
        const other = new Stranger(ctx, "demo");
        const refused = async (what, expected, cookie = stranger.cookie) => {
          other.cookie = cookie ?? undefined;
          const { status, answer, cookie: given } = await other.ask(what.action, what);
          equal([status, answer.error.code, given], [...expected, undefined]);
        };
        await refused({ headers: { origin: "https://evil.example" } }, [403, "origin_not_allowed"]);
        await refused({ headers: { origin: "null" } }, [403, "origin_not_allowed"]);
        await refused({ headers: { "content-type": "text/plain" } }, [415, "unsupported_media_type"]);
        await refused({ body: { slot: "x".repeat(20_000) } }, [413, "too_large"]);
        await refused({ body: { slot: "../x" } }, [400, "invalid_argument"]);
        await refused({ body: { slot: "another" } }, [429, "too_many_at_once"]);
        for (const cookie of [null, "sandbox-visitor=00000000-0000-4000-8000-000000000000", "sandbox-visitor=x"]) {
          await refused({ action: "kill", session: stranger.session }, [403, "session_of_another"], cookie);
        }
        equal((await stranger.ask()).answer.sandboxId, sandboxId);
      } finally {
        await stranger.end();
      }
    },
  },
  {
    name: "demo: when all sandboxes are taken newcomers are told when to come back, and whoever has one keeps it",
    async run(ctx) {
      const [first, second] = [new Stranger(ctx, "full"), new Stranger(ctx, "full")];
      await first.visit();
      try {
        const { status, response, answer } = await second.ask();
        equal([status, answer.error.code, answer.error.retryable], [429, "all_taken", true]);
        equal([response.headers.get("retry-after"), response.headers.get("access-control-allow-origin")], ["60", "https://app.example"]);
        equal((await first.ask("refresh", { session: first.session })).status, 200);
      } finally {
        await first.end();
      }
      await second.visit();
      await second.end();
    },
  },
  {
    name: "demo: as a Worker it takes its secrets from there, and over HTTPS its cookie is for HTTPS alone",
    async run({ connection: { apiKey, apiUrl } }) {
      const env = { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, BROKER_SECRET: "x".repeat(32), ORIGINS: "https://docs.example,https://app.example" };
      const post = (path, headers) => {
        const own = { origin: "https://docs.example", "content-type": "application/json" };
        return worker.fetch(new Request(`https://docs.example/sandbox${path}`, { method: "POST", headers: { ...own, ...headers } }), env);
      };
      const response = await post("", {});
      const [cookie] = response.headers.getSetCookie();
      const { session } = await response.json();
      const { status } = await post("/kill", { cookie: cookie.split(";")[0], "x-sandbox-session": session });
      equal([/; SameSite=Lax; Secure$/.test(cookie), status], [true, 200]);
    },
  },
];
