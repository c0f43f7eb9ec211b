// The back end of a page with a code runner: the only part that holds the API key. It hands each visitor access to a sandbox of
// their own, and nothing else. Copy it and change what is said to be yours.
//
// It is a `fetch` handler, Request in and Response out, as Cloudflare Workers, Vercel, Deno and Bun take it; `xtask/serve.mjs`
// shows how Node does. It keeps nothing in memory: whose sandbox is whose is written on the sandboxes themselves, so that any
// number of instances agree.

import { Sandbox } from "agent-sandbox-web/code-interpreter";

/** How long a visitor's sandbox lives after they last asked for access, in ms. */
const IDLE_MS = 5 * 60_000;
/** How long it lives at most, however much it is used, in ms. */
const LIFETIME_MS = 60 * 60_000;
/** How long an access token is good for, in ms. The page asks for the next one by itself. */
const TOKEN_MS = 4 * 60_000;
/** How many sandboxes one visitor may have at a time: one for each tab that they work in. */
const PER_VISITOR = 3;
/** How many sandboxes all visitors together may have at a time: what you are ready to pay for. */
const IN_ALL = 50;
/** What marks the sandboxes of this page among those of your account. */
const APP = "agent-sandbox-demo";
/** The name of the cookie that says who a visitor is. */
const COOKIE = "sandbox-visitor";

/**
 * Makes the handler.
 *
 * @param {object} options
 * @param {string} options.apiKey From a secret of your host, never from the source.
 * @param {string} [options.apiUrl] Only for a server of your own, such as the local one.
 * @param {string[]} [options.origins] Other sites that may ask, such as `https://docs.example.com`. The handler's own may always.
 */
export function createBackend({ apiKey, apiUrl, origins = [] }) {
  const account = { apiKey, apiUrl };

  return async function handle(request) {
    // Browsers say which page is asking, and no page can say otherwise. Whatever does not come from a page of yours is turned
    // away before it costs anything. It does not keep out programs, which can say anything: the limits below do.
    const origin = request.headers.get("Origin");
    const own = new URL(request.url).origin;
    if (origin === null || (origin !== own && !origins.includes(origin))) return answer(403, { message: "This page may not start sandboxes." });

    // What a browser needs to hear before it lets a page of another site read the answer.
    const headers = origin === own ? {} : allow(origin);
    // The question before the question, which has no cookie yet.
    if (request.method === "OPTIONS") return new Response(null, { status: 204, headers });
    if (request.method !== "POST" && request.method !== "DELETE") return answer(405, { message: "Use POST or DELETE." }, headers);

    // A form of another site could post here, but not with this type: that would need the question above.
    if (!request.headers.get("Content-Type")?.startsWith("application/json")) return answer(415, { message: "Send JSON." }, headers);
    const text = await request.text();
    // Two fields of a body are read, so there is no reason for a long one.
    if (text.length > 1_000) return answer(413, { message: "Too long." }, headers);
    let sandboxId;
    try {
      ({ sandboxId } = JSON.parse(text));
    } catch {
      return answer(400, { message: "Send a JSON object." }, headers);
    }
    if (sandboxId !== undefined && !/^[\w-]{1,100}$/.test(sandboxId)) return answer(400, { message: "No such sandbox." }, headers);

    // Who is asking. If your visitors sign in, this is where their session is looked up, and where nobody else gets further.
    const known = visitorOf(request);
    const visitor = known ?? crypto.randomUUID();
    if (!known) headers["Set-Cookie"] = cookie(visitor, new URL(request.url).protocol === "https:");

    try {
      if (request.method === "DELETE") return answer(await end(sandboxId, visitor), undefined, headers);
      if (sandboxId === undefined) return await begin(visitor, headers);
      return await renew(sandboxId, visitor, headers);
    } catch (error) {
      // The visitor learns what to do; what went wrong is for your logs. Errors of the package never hold the key.
      console.error(error);
      const status = error.status === 429 || error.status === 503 ? error.status : 502;
      return answer(status, { message: "The sandbox server cannot help just now." }, { ...headers, "Retry-After": "10" });
    }
  };

  /** A new sandbox for a visitor. */
  async function begin(visitor, headers) {
    // Counted among the sandboxes that run, so that those that have ended do not count. Somebody who throws the cookie away is
    // a new visitor: the second limit is the one that protects you. Your host's rate limits by address belong in front of it.
    let all = 0;
    let theirs = 0;
    for await (const { metadata } of Sandbox.list({ ...account, query: { metadata: { app: APP } } })) {
      all += 1;
      if (metadata.visitor === visitor) theirs += 1;
    }
    if (theirs >= PER_VISITOR) {
      return answer(429, { message: "You have several sandboxes already. End one of them, or wait a few minutes." }, { ...headers, "Retry-After": "60" });
    }
    if (all >= IN_ALL) return answer(429, { message: "All sandboxes are taken. Try again in a few minutes." }, { ...headers, "Retry-After": "60" });
    const sandbox = await Sandbox.create({ ...account, timeoutMs: IDLE_MS, metadata: { app: APP, visitor } });
    return answer(200, token(sandbox), headers);
  }

  /** Access to a sandbox that the visitor has already, which keeps it alive. */
  async function renew(sandboxId, visitor, headers) {
    const info = await owned(sandboxId, visitor);
    // One that has lived long enough ends by itself, because nobody prolongs it.
    if (!info || Date.now() - info.startedAt.getTime() > LIFETIME_MS) return answer(410, { message: "The sandbox has ended." }, headers);
    const sandbox = await Sandbox.connect(sandboxId, { ...account, timeoutMs: IDLE_MS });
    return answer(200, token(sandbox), headers);
  }

  /** Ends a visitor's sandbox; answers the status. */
  async function end(sandboxId, visitor) {
    if (sandboxId === undefined || !(await owned(sandboxId, visitor))) return 404;
    await Sandbox.kill(sandboxId, account);
    return 204;
  }

  /** What is known of a sandbox, if it is this visitor's: ids are no secret, so knowing one is not enough. */
  async function owned(sandboxId, visitor) {
    try {
      const info = await Sandbox.getInfo(sandboxId, account);
      return info.metadata.app === APP && info.metadata.visitor === visitor ? info : undefined;
    } catch (error) {
      if (error.name === "SandboxNotFoundError") return undefined;
      throw error;
    }
  }
}

/** What a page needs to reach its sandbox: no key, and good for this one only. */
function token(sandbox) {
  return sandbox.toToken({ expiresAt: new Date(Date.now() + TOKEN_MS) });
}

/** The cookie can be read by no script, and is sent with requests from this site's pages only. */
function cookie(visitor, isSecure) {
  return `${COOKIE}=${visitor}; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

/** Who the cookie says it is. A made-up value opens nothing: nobody's sandboxes carry it. */
function visitorOf(request) {
  const found = new RegExp(`(?:^|; )${COOKIE}=([0-9a-f-]{36})(?:;|$)`).exec(request.headers.get("Cookie") ?? "");
  return found?.[1];
}

function allow(origin) {
  return {
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Allow-Methods": "POST, DELETE",
    "Access-Control-Max-Age": "600",
    Vary: "Origin",
  };
}

function answer(status, body, headers = {}) {
  const all = { "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", ...headers };
  return body === undefined ? new Response(null, { status, headers: all }) : Response.json(body, { status, headers: all });
}
