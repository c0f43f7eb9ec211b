// The brokers in Node, Deno and Bun: prints the port that it listens on.

import { createServer } from "node:http";
import { Readable } from "node:stream";

import { WebSocketServer } from "ws";

import * as edge from "agent-sandbox-web/edge";
import { brokers } from "./brokers.js";

/** How the host makes a request a WebSocket; Bun does it in a way of its own that these tests leave out. */
const upgradeWebSocket = globalThis.Deno ? (request) => Deno.upgradeWebSocket(request) : globalThis.Bun ? undefined : (_request, { accept }) => accept();

const handler = brokers(edge, JSON.parse(process.env.TEST_SETTINGS), upgradeWebSocket);

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
  const sockets = new WebSocketServer({ noServer: true });
  server.on("upgrade", async (incoming, stream, head) => {
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, { headers: incoming.headers });
    let isAccepted = false;
    const accept = () => {
      isAccepted = true;
      return new Promise((resolve) => sockets.handleUpgrade(incoming, stream, head, (socket) => resolve({ socket })));
    };
    const response = await handler(request, { accept });
    if (!isAccepted) stream.end(`HTTP/1.1 ${response.status} Refused\r\nConnection: close\r\n\r\n${await response.text()}`);
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
