// A Cloudflare Worker that gives each visitor of https://app.example a sandbox of their own. Elsewhere it is the same handler:
// `Deno.serve(broker)`, `Bun.serve({ fetch: broker })`, `export default broker` as an edge route.

import { createSandboxBroker } from "agent-sandbox-web/edge";

let broker;

export default {
  fetch(request, env, context) {
    broker ??= createSandboxBroker({
      // The key that opens your account: `wrangler secret put E2B_API_KEY`. It never leaves this Worker.
      apiKey: env.E2B_API_KEY,
      // Signs the sessions: `openssl rand -base64 32 | wrangler secret put BROKER_SECRET`.
      secret: env.BROKER_SECRET,
      // Where the broker is mounted: pages attach to https://api.app.example/sandbox.
      path: "/sandbox",
      // Pages that may ask. Everything else is refused before anything happens.
      allowedOrigins: ["https://app.example"],
      // What sandboxes are made from.
      template: "base",
      // Who is asking? Your own session decides; undefined refuses. The same visitor always gets the same sandbox.
      authorize: (request) => userOf(request.headers.get("authorization"), env),
      // What each visitor may do, and how much of it.
      scopes: ["run", "files:read", "files:write", "lifecycle"],
      limits: { concurrent: 1, sandboxes: 20, minutes: 120 },
    });
    // The context lets a sandbox be made to its end although the page that asked for it was closed.
    return broker(request, context);
  },
};

/** The id of the user to whom your application has given this credential. Put your own check here. */
async function userOf(authorization, env) {
  const response = await fetch(env.USER_INFO_URL, { headers: { authorization: authorization ?? "" } });
  return response.ok ? (await response.json()).sub : undefined;
}
