// `Sandbox.attach({ endpoint })` in a page, whose origin is not the broker's.

import { chromium } from "playwright-core";

import { assert, equal } from "../e2e/assert.js";
import { CHROMIUM_ARGUMENTS } from "../harness/arguments.mjs";
import { required } from "../harness/settings.mjs";
import { visiting } from "./client.mjs";

/** Pages of a browser that is closed by `close`. */
export async function openPages(origin) {
  const browser = await chromium.launch({ executablePath: required("CHROME"), args: CHROMIUM_ARGUMENTS });
  process.once("SIGTERM", () => browser.close().finally(() => process.exit(143)));
  return {
    /** Runs `body` with a page of its own at the allowed origin, or at another one. */
    async with(body, at = origin) {
      const context = await browser.newContext();
      try {
        const page = await context.newPage();
        await page.goto(`${at}/tests/broker/page.html`, { timeout: 120_000 });
        await body(page);
      } finally {
        await context.close();
      }
    },
    close: () => browser.close(),
  };
}

/** A case in which the page attaches to a broker as `attach(options?)`, and `body` is given the page. */
const inPage = (broker, body, at) =>
  visiting(broker, (visitor, ctx) =>
    ctx.pages.with(async (page) => {
      // Again after each reload, as a page's own program would.
      await page.addInitScript(
        ([endpoint, headers]) => {
          globalThis.attach = async (more, opts) => {
            const sdk = await import("/pkg/dist/index.js");
            const at = { endpoint, headers: () => headers, ...more };
            return sdk.Sandbox.attach(at, opts);
          };
        },
        [`${ctx.url}/${broker}`, { "x-visitor": visitor.name, authorization: "Bearer the-app" }],
      );
      await page.reload();
      await body(page, visitor, ctx);
    }, at?.(ctx)),
  );

export const pageCases = [
  {
    name: "page: attaches without a key, and finds the same sandbox after a reload",
    run: inPage("main", async (page, visitor) => {
      const visit = () =>
        page.evaluate(async () => {
          const sandbox = await globalThis.attach();
          const { stdout } = await sandbox.commands.run("cat /tmp/kept 2>/dev/null || echo new | tee /tmp/kept");
          return { id: sandbox.sandboxId, stdout, kept: Object.values(sessionStorage) };
        });
      const first = await visit();
      equal([first.stdout, first.kept.length], ["new\n", 1]);
      await page.evaluate(() => void localStorage.clear());
      await page.reload();
      const second = await visit();
      equal([second.id, second.stdout], [first.id, "new\n"]);
      // Another tab has no session, and gets the visitor's sandbox all the same.
      await page.evaluate(() => void sessionStorage.clear());
      equal((await visit()).id, first.id);
      equal((await visitor.sandboxes()).length, 1);
    }),
  },
  {
    name: "page: a session that has expired is replaced by itself, while the page lives and after a reload",
    run: inPage("brief", async (page) => {
      const outlive = () =>
        page.evaluate(async () => {
          const [session] = Object.values(sessionStorage);
          const claims = atob(session.split(".")[2].replaceAll("-", "+").replaceAll("_", "/"));
          const end = Number(claims.split("\n").at(-1));
          while (Date.now() <= end) await new Promise((resolve) => setTimeout(resolve, 50));
        });
      const id = await page.evaluate(async () => (globalThis.sandbox = await globalThis.attach()).sandboxId);
      await outlive();
      equal(await page.evaluate(async () => (await globalThis.sandbox.commands.run("echo still")).stdout), "still\n");
      await outlive();
      await page.reload();
      equal(await page.evaluate(async () => (globalThis.sandbox = await globalThis.attach()).sandboxId), id);
      // What the broker is asked by itself does not end with the session either.
      await outlive();
      equal(await page.evaluate(async () => (await globalThis.sandbox.getInfo()).sandboxId), id);
      await outlive();
      equal(await page.evaluate(async () => globalThis.sandbox.kill()), true);
    }),
  },
  {
    name: "page: a sandbox that is gone is told from one that takes its place",
    run: inPage("brief", async (page, visitor, ctx) => {
      const id = await page.evaluate(async () => (globalThis.sandbox = await globalThis.attach()).sandboxId);
      await ctx.sdk.Sandbox.kill(id, ctx.connection);
      const told = await page.evaluate(() => globalThis.sandbox.commands.run("true").then(String, ({ name, code }) => [name, code]));
      equal(told, ["SandboxNotFoundError", "sandbox_gone"]);
      const next = await page.evaluate(async () => (await globalThis.attach()).sandboxId);
      assert(next !== id, "a new sandbox");
      equal((await visitor.sandboxes()).length, 1);
    }),
  },
  {
    name: "page: what belongs to the control plane goes to the broker, and ports with it",
    run: inPage("ports", async (page, visitor) => {
      const facts = await page.evaluate(async () => {
        const sandbox = await globalThis.attach();
        await sandbox.files.write("/tmp/hello", "hello");
        const { stdout } = await sandbox.commands.run("whoami", { user: "root" });
        const server = await sandbox.commands.run("cd /tmp && python3 -m http.server 8000", { background: true });
        let text;
        for (let tries = 0; tries < 300; tries++) {
          const answer = await sandbox.fetchPort(8000, "/hello");
          text = `${answer.status} ${await answer.text()}`;
          if (answer.status === 200) break;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        const other = (await sandbox.fetchPort(8001, "/")).status;
        await server.kill();
        const refused = await sandbox.kill().then(String, ({ name, code, status }) => [name, code, status]);
        return { text, other, refused, stdout };
      });
      equal(facts, { text: "200 hello", other: 403, refused: ["AuthenticationError", "scope_missing", 403], stdout: "root\n" });
      equal((await visitor.sandboxes()).length, 1);
    }),
  },
  {
    name: "page: described, extended, paused, resumed and killed without a key",
    run: inPage("main", async (page, visitor) => {
      const facts = await page.evaluate(async () => {
        const sandbox = await globalThis.attach();
        await sandbox.setTimeout(1_200_000);
        const { state, endAt } = await sandbox.getInfo();
        const minutes = Math.round((endAt - Date.now()) / 60_000);
        const paused = await sandbox.pause();
        const again = await sandbox.connect();
        const { stdout } = await sandbox.commands.run("echo awake");
        // Options of one call go before those of all.
        const asked = [];
        const counting = (input, init) => (asked.push(init.keepalive), fetch(input, { ...init, keepalive: true }));
        const reason = await sandbox.getInfo({ signal: AbortSignal.abort("enough") }).catch((reason) => reason);
        const killed = (await sandbox.kill({ fetch: counting })) && asked.length === 1 && reason === "enough";
        return [state, minutes, paused, again === sandbox, stdout, killed, sessionStorage.length];
      });
      equal(facts, ["running", 20, true, true, "awake\n", true, 0]);
      equal((await visitor.sandboxes()).length, 0);
    }),
  },
  {
    name: "page: narrow sessions read files through the broker, and sign their URLs there",
    run: inPage("main", async (page) => {
      const facts = await page.evaluate(async () => {
        const sandbox = await globalThis.attach({ scopes: ["files:read"] });
        const name = await sandbox.files.read("/etc/hostname");
        const refused = await sandbox.files.write("/tmp/x", "y").then(String, (error) => error.status);
        const linked = await (await fetch(await sandbox.downloadUrl("/etc/hostname"))).text();
        return [name === linked, refused];
      });
      equal(facts, [true, 403]);
    }),
  },
  {
    name: "page: of another origin it is refused, and told where to look",
    run: inPage(
      "main",
      async (page, visitor) => {
        const told = await page.evaluate(() => globalThis.attach().then(String, ({ name, code, message }) => [name, code, message]));
        equal(told.slice(0, 2), ["ConnectionError", "connection_failed"]);
        assert(told[2].includes("allowedOrigins"), told[2]);
        equal((await visitor.sandboxes()).length, 0);
      },
      ({ origin }) => {
        const other = new URL(origin);
        other.hostname = other.hostname === "localhost" ? "127.0.0.1" : "localhost";
        return other.origin;
      },
    ),
  },
  {
    name: "page: wrong options, answers that are no broker's, and refusals are typed errors",
    run: inPage("main", async (page, _visitor, ctx) => {
      const outcomes = await page.evaluate(async (origin) => {
        const { Sandbox } = await import("/pkg/dist/index.js");
        const told = (given, opts) => Sandbox.attach(given, opts).then(String, ({ name, code }) => `${name} ${code}`);
        const aborted = new AbortController();
        aborted.abort("enough");
        return [
          await told({ endpoint: 5 }),
          await told({ endpoint: "ftp://x" }),
          await told({ endpoint: "/sandbox", scopes: "run" }),
          await told({ endpoint: "/sandbox", storage: {} }),
          await told({ endpoint: `${origin}/tests/broker/page.html`, storage: null }),
          await globalThis.attach({ headers: {} }).then(String, ({ name, code, status }) => `${name} ${code} ${status}`),
          await globalThis.attach({}, { signal: aborted.signal }).catch((reason) => reason),
        ];
      }, ctx.origin);
      const wrong = "InvalidArgumentError invalid_argument";
      equal(outcomes, [wrong, wrong, wrong, wrong, "ProtocolError protocol_error", "AuthenticationError unauthenticated 401", "enough"]);
    }),
  },
];
