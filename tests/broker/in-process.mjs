// The brokers in Node, Deno and Bun: prints the port that it listens on.

import { createServer } from "node:http";
import { Readable } from "node:stream";

import * as edge from "agent-sandbox-web/edge";
import { brokers } from "./brokers.js";

const handler = brokers(edge, JSON.parse(process.env.TEST_SETTINGS));

if (globalThis.Deno) Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(port) }, (request) => handler(request));
else if (globalThis.Bun) console.log(Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => handler(request) }).port);
else {
  const server = createServer(async (incoming, outgoing) => {
    const leaving = new AbortController();
    outgoing.once("close", () => leaving.abort());
    const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method,
      headers: incoming.headers,
      signal: leaving.signal,
      ...(hasBody && { body: Readable.toWeb(incoming), duplex: "half" }),
    });
    const response = await handler(request);
    outgoing.writeHead(response.status, [...response.headers].flat());
    if (!response.body) return outgoing.end();
    Readable.fromWeb(response.body).on("error", () => outgoing.destroy()).pipe(outgoing);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
