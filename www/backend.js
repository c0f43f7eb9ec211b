// The back end of a page with a code runner: the only part that holds the API key. It hands each visitor access to a sandbox of
// their own, and nothing else. Copy it and change what is said to be yours.
//
// It is a `fetch` handler, Request in and Response out, as Cloudflare Workers, Vercel, Deno and Bun take it; `xtask/node-host.mjs`
// shows how Node does. Visitors of this page are strangers, told apart by a cookie. Where they sign in, `examples/broker-worker.js` is
// the shorter example.

import { Sandbox } from "agent-sandbox-web";
import { createSandboxBroker } from "agent-sandbox-web/edge";

/** What sandboxes are made from: here a template that has Python, JavaScript and bash for cells. */
const TEMPLATE = "code-interpreter-v1";
/** How long a sandbox lives after its visitor last asked for access, in ms. */
const IDLE_MS = 5 * 60_000;
/** How long access is granted for, in ms. The page asks again while it is used, which is what prolongs the sandbox's life. */
const SESSION_MS = 60_000;
/** The name of the cookie that says who a visitor is. */
const COOKIE = "sandbox-visitor";

/**
 * Makes the handler, once for each process or isolate.
 *
 * @param {object} options
 * @param {string} options.apiKey From a secret of your host, never from the source.
 * @param {string} options.secret Signs what visitors are given: 32 bytes or more, the same in all instances. `openssl rand -base64 32`
 * makes one.
 * @param {string[]} options.origins The sites whose pages may ask, such as `https://docs.example.com`.
 * @param {string} [options.apiUrl] Only for a server of your own, such as the local one.
 * @param {string} [options.path] Where pages find this: `<sandbox-session endpoint="/sandbox">`.
 * @param {string} [options.name] What marks the sandboxes of this page among those of your account.
 * @param {number} [options.inAll] How many sandboxes all visitors together may have at a time: what you are ready to pay for.
 * @param {import("agent-sandbox-web/edge").SandboxBrokerOpts["upgradeWebSocket"]} [options.upgradeWebSocket] How your host makes a
 * request a WebSocket, for `<sandbox-terminal transport="websocket">`. Workers need none.
 */
export function createBackend({ apiKey, secret, origins, apiUrl, path = "/sandbox", name = "demo", inAll = 50, upgradeWebSocket }) {
  const account = { apiKey, apiUrl };
  /** Who makes a request, from where it comes in to where the broker asks. */
  const visitors = new WeakMap();

  const broker = createSandboxBroker({
    ...account,
    secret,
    path,
    name,
    template: TEMPLATE,
    // Browsers say which page is asking, and no page can say otherwise. Whatever does not come from a page of yours is turned away
    // before it costs anything. It does not keep out programs, which can say anything: the limits below do.
    allowedOrigins: origins,
    // By this mark they are counted. What else you give a sandbox belongs here, too: `envs`, `network` …
    sandbox: { metadata: { app: name } },
    timeoutMs: IDLE_MS,
    sessionMs: SESSION_MS,
    upgradeWebSocket,
    // Each visitor has one sandbox at a time, the same one in every tab and after a reload, and at most so many, and so many minutes
    // of them, a day. They are counted in memory, by each instance for itself: give `storage` a place that all of them share.
    limits: { concurrent: 1, sandboxes: 50, minutes: 120, timeoutMs: IDLE_MS },
    // Who is asking. Whatever is answered here is who they are; a Response refuses them.
    async authorize(request) {
      // An action on a sandbox that the visitor has would stand behind the path.
      const isOpening = request.method === "POST" && new URL(request.url).pathname === path;
      if (isOpening && (await isFull())) return refuse("all_taken", "All sandboxes are taken. Try again in a few minutes.");
      return visitors.get(request);
    },
  });

  return async function handle(request, context) {
    const known = visitorOf(request);
    const visitor = known ?? crypto.randomUUID();
    visitors.set(request, visitor);
    const response = await broker(request, context);
    // Only with what succeeds: who was turned away needs no name.
    if (!known && response.ok && request.method === "POST") response.headers.append("Set-Cookie", cookie(visitor, path, request));
    return response;
  };

  /**
   * Whether there are as many sandboxes as there may be. Somebody who throws the cookie away is a new visitor, so that this limit
   * is the one that protects you. Your host's rate limits by address belong in front of it.
   */
  async function isFull() {
    let count = 0;
    for await (const _ of Sandbox.list({ ...account, query: { metadata: { app: name }, state: ["running"] } })) count += 1;
    return count >= inAll;
  }
}

/** An answer as the broker gives them: the page shows the code and the message. */
function refuse(code, message) {
  return Response.json({ error: { code, message, retryable: true } }, { status: 429, headers: { "Retry-After": "60" } });
}

/**
 * The cookie can be read by no script, and is sent to this path only, with requests from pages of this site. For pages of other
 * sites it has to say `SameSite=None; Secure; Partitioned`, and they `<sandbox-session credentials="include">`.
 */
function cookie(visitor, path, request) {
  const isSecure = new URL(request.url).protocol === "https:";
  return `${COOKIE}=${visitor}; Path=${path}; Max-Age=86400; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

/** Who the cookie says it is. A made-up value opens nothing: nobody's sandboxes carry it. */
function visitorOf(request) {
  const found = new RegExp(`(?:^|; )${COOKIE}=([0-9a-f-]{36})(?:;|$)`).exec(request.headers.get("Cookie") ?? "");
  return found?.[1];
}

let backend;

/**
 * The same as a Worker, whose variables and secrets come with each request: `wrangler secret put E2B_API_KEY`, likewise `BROKER_SECRET`;
 * `ORIGINS` is a variable, separated by commas.
 */
export default {
  fetch(request, env, context) {
    const { E2B_API_KEY: apiKey, E2B_API_URL: apiUrl, BROKER_SECRET: secret, ORIGINS: origins } = env;
    backend ??= createBackend({ apiKey, apiUrl, secret, origins: origins.split(",") });
    // The context lets a sandbox be made to its end although the page that asked for it was closed.
    return backend(request, context);
  },
};
