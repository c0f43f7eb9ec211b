// The brokers in Node, Deno and Bun: prints the port that it listens on.

import { createServer } from "node:http";

import * as edge from "agent-sandbox-web/edge";
import * as node from "../../xtask/node-host.mjs";
import { brokers } from "./brokers.js";

/** How the host makes a request a WebSocket; Bun does it in a way of its own that these tests leave out. */
const upgradeWebSocket = globalThis.Deno ? (request) => Deno.upgradeWebSocket(request) : globalThis.Bun ? undefined : node.upgradeWebSocket;

const handler = brokers(edge, JSON.parse(process.env.TEST_SETTINGS), upgradeWebSocket);

if (globalThis.Deno) Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: ({ port }) => console.log(port) }, (request) => handler(request));
else if (globalThis.Bun) console.log(Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => handler(request) }).port);
else {
  const server = createServer((incoming, outgoing) => node.pass(incoming, outgoing, handler));
  server.on("upgrade", (incoming, stream, head) => node.passUpgrade(incoming, stream, head, handler));
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}
