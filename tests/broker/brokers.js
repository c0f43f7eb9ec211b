// The brokers under test, in one handler: each at a path of its own, the same in every host.

import { createBackend } from "../../www/backend.js";

const SECRETS = { first: "the first secret of the tests, 32+", second: "the second secret of the tests, 32+", third: "the third secret of the tests, 32+" };

const HOUR_MS = 3_600_000;

/** What each differs in from the others. */
const BROKERS = {
  main: {},
  elsewhere: { name: "elsewhere" },
  foreign: { secret: SECRETS.third },
  rotated: { secret: [SECRETS.second, SECRETS.first] },
  retired: { secret: [SECRETS.second] },
  ahead: { now: () => Date.now() + HOUR_MS },
  "slightly-behind": { now: () => Date.now() - 20_000 },
  behind: { now: () => Date.now() - HOUR_MS },
  brief: { sessionMs: 1000, clockSkewMs: 0 },
  proxied: { direct: false, template: "code-interpreter-v1" },
  ports: { scopes: ["run", "port:8000"], direct: false, forwardHeaders: ["x-custom"] },
  two: { limits: { concurrent: 2, sandboxes: 3 } },
  minutes: { timeoutMs: 60_000, limits: { minutes: 2, timeoutMs: 600_000 } },
  brisk: { terminalTokenMs: 1000, clockSkewMs: 0 },
  mute: { upgradeWebSocket: undefined },
  down: { apiUrl: "http://127.0.0.1:9", requestTimeoutMs: 20_000, retries: 0 },
  "wrong-key": { apiKey: "not-the-key" },
};

/**
 * `settings` are `{ apiUrl, apiKey, origin }`; the visitor is whom the test says. `upgradeWebSocket` is the host's own way to
 * WebSockets, where it has one that must be given.
 */
export function brokers({ createSandboxBroker }, { apiUrl, apiKey, origin }, upgradeWebSocket) {
  const handlers = {};
  for (const [path, options] of Object.entries(BROKERS)) {
    handlers[path] = createSandboxBroker({
      apiKey,
      apiUrl,
      secret: SECRETS.first,
      allowedOrigins: [origin, "https://app.example"],
      path: `/${path}`,
      sessionMs: 600_000,
      authorize,
      onError: () => {},
      upgradeWebSocket,
      ...options,
    });
  }
  // The back end of the demo site, which is a broker for strangers.
  const options = { apiKey, apiUrl, secret: SECRETS.first, origins: [origin, "https://app.example"] };
  handlers.demo = createBackend({ ...options, path: "/demo" });
  handlers.full = createBackend({ ...options, path: "/full", name: "full", inAll: 1 });
  return (request, context) => {
    const handler = handlers[new URL(request.url).pathname.split("/")[1]];
    return handler ? handler(request, context) : new Response("no such broker", { status: 404 });
  };
}

function authorize(request) {
  const visitor = request.headers.get("x-visitor");
  if (visitor === "teapot") return new Response("short and stout", { status: 418 });
  if (visitor === "broken") throw new Error("the database is down");
  const scopes = request.headers.get("x-visitor-scopes");
  return visitor && scopes ? { visitor, scopes: scopes.split(" ") } : visitor;
}
