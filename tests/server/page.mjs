// The client in a page, whose browser has rules of its own: past them through a broker, and what is said without one.

import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import { chromium } from "playwright-core";
import { assert, equal } from "../e2e/assert.js";
import { CHROMIUM_ARGUMENTS } from "../harness/arguments.mjs";
import { required } from "../harness/settings.mjs";
import { TEMPLATE, TOKEN, withImage } from "./image.mjs";

export async function openPages(origin) {
  const browser = await chromium.launch({ executablePath: required("CHROME"), args: CHROMIUM_ARGUMENTS });
  process.once("SIGTERM", () => browser.close().finally(() => process.exit(143)));
  return {
    async with(body) {
      const context = await browser.newContext();
      try {
        const page = await context.newPage();
        await page.goto(`${origin}/tests/broker/page.html`, { timeout: 120_000 });
        return await body(page);
      } finally {
        await context.close();
      }
    },
    close: () => browser.close(),
  };
}

/** Runs `body` with the address of a broker that gives visitors sandboxes of the image, and ends those. */
async function withBroker({ sdk, connection, origin }, opts, body) {
  const visitor = `visitor-${process.pid}-${Date.now()}`;
  const handler = sdk.createSandboxBroker({
    ...connection,
    secret: "0123456789abcdef0123456789abcdef",
    template: TEMPLATE,
    authorize: () => visitor,
    allowedOrigins: [origin],
    scopes: ["run", "lifecycle", "port:9000"],
    ...opts,
  });
  const server = createServer(async (incoming, outgoing) => {
    const leaving = new AbortController();
    outgoing.once("close", () => leaving.abort());
    const hasBody = !["GET", "HEAD"].includes(incoming.method);
    const init = { method: incoming.method, headers: incoming.headers, signal: leaving.signal };
    const response = await handler(new Request(`http://${incoming.headers.host}${incoming.url}`, hasBody ? { ...init, body: Readable.toWeb(incoming), duplex: "half" } : init));
    outgoing.writeHead(response.status, [...response.headers].flat());
    if (!response.body) return outgoing.end();
    return Readable.fromWeb(response.body).on("error", () => outgoing.destroy()).pipe(outgoing);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`http://127.0.0.1:${server.address().port}/sandbox`);
  } finally {
    for await (const { sandboxId } of sdk.Sandbox.list({ ...connection, query: { metadata: { "broker-visitor": sdk.Sandbox._visitorKey(visitor) } } })) {
      await sdk.Sandbox.kill(sandboxId, connection);
    }
    server.closeAllConnections();
    server.close();
  }
}

export const cases = [
  {
    name: "page: through a broker everything works, streams and refusals too",
    run: (ctx) =>
      withBroker(ctx, {}, (endpoint) =>
        ctx.pages.with(async (page) => {
          const facts = await page.evaluate(
            async ([address, token]) => {
              const { Sandbox } = await import("/pkg/dist/index.js");
              const { ServerClient } = await import("/pkg/dist/server.js");
              const sandbox = await Sandbox.attach({ endpoint: address, storage: null });
              const client = new ServerClient(sandbox, { token });
              const healthy = await client.health();
              const greeting = await client.commands.run("greet", { name: "page" });
              await client.files.upload("from-page", new Uint8Array([1, 2, 255]));
              const bytes = [...(await client.files.download("from-page"))];
              const lines = [];
              const { exitCode } = await client.process.run("echo a; echo b; exit 2", { shell: true, onStdout: (line) => lines.push(line) });
              const refused = await new ServerClient(sandbox).commands.list().then(String, ({ name, code }) => [name, code]);
              const other = await new ServerClient(sandbox, { port: 9002 }).commands.list().then(String, ({ name, code }) => [name, code]);
              return { healthy, greeting, bytes, lines, exitCode, refused, other };
            },
            [endpoint, TOKEN],
          );
          equal(facts, {
            healthy: true,
            greeting: { message: "Hello, page!" },
            bytes: [1, 2, 255],
            lines: ["a\n", "b\n"],
            exitCode: 2,
            refused: ["AuthenticationError", "unauthorized"],
            other: ["PolicyDeniedError", "scope_missing"],
          });
        }),
      ),
  },
  {
    name: "page: a session that has expired is renewed on the way to the server",
    run: (ctx) =>
      withBroker(ctx, { sessionMs: 1500, clockSkewMs: 0 }, (endpoint) =>
        ctx.pages.with(async (page) => {
          const answers = await page.evaluate(
            async ([address, token]) => {
              const { Sandbox } = await import("/pkg/dist/index.js");
              const { ServerClient } = await import("/pkg/dist/server.js");
              const client = new ServerClient(await Sandbox.attach({ endpoint: address }), { token });
              const first = await client.commands.run("add", { a: 1 });
              const [session] = Object.values(sessionStorage);
              const claims = atob(session.split(".")[2].replaceAll("-", "+").replaceAll("_", "/"));
              const end = Number(claims.split("\n").at(-1));
              while (Date.now() <= end) await new Promise((resolve) => setTimeout(resolve, 50));
              return [first, await client.commands.run("add", { a: 2 })];
            },
            [endpoint, TOKEN],
          );
          equal(answers, [3, 4]);
        }),
      ),
  },
  {
    // What was recorded of a page and a server without a token is what the client must live with.
    name: "page: without a broker the error names it, as the browser lets nothing of the server be read",
    run: (ctx) =>
      withImage(ctx, ({ sandbox }) =>
        ctx.pages.with(async (page) => {
          const recorded = JSON.parse(readFileSync(new URL("../vectors/server-browser-crossorigin.json", import.meta.url), "utf8"));
          for (const [what, result] of Object.entries(recorded.vectors[0].results)) {
            if (what.startsWith("fetch") && !what.includes("no-cors")) assert(result.startsWith("ERR TypeError"), what);
          }
          const told = await page.evaluate(
            async ([given, key]) => {
              const { Sandbox } = await import("/pkg/dist/index.js");
              const { ServerClient } = await import("/pkg/dist/server.js");
              const client = new ServerClient(await Sandbox.attach(given), { token: key });
              const calls = [client.commands.list(), client.commands.run("add", { a: 1 })];
              return Promise.all(calls.map((call) => call.then(String, ({ name, code, message }) => [name, code, message.includes("Sandbox.attach({ endpoint })")])));
            },
            [sandbox.toToken(), TOKEN],
          );
          equal(told, [["ConnectionError", "connection_failed", true], ["ConnectionError", "outcome_unknown", true]]);
        }),
      ),
  },
];
