// A `fetch` handler behind Node's own HTTP server, WebSockets included: what other hosts do by themselves.

import { Readable } from "node:stream";
import { WebSocketServer } from "ws";

const sockets = new WebSocketServer({ noServer: true });

/** The option of that name of a broker whose handler is called by `passUpgrade`, which knows the connection. */
export const upgradeWebSocket = (_request, { accept }) => accept();

/** Hands a request of Node to a handler, and its answer back. Ends the request when the visitor has gone away. */
export async function pass(incoming, outgoing, handle) {
  const leaving = new AbortController();
  outgoing.once("close", () => leaving.abort());
  const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
  const body = hasBody ? { body: Readable.toWeb(incoming), duplex: "half" } : {};
  const response = await handle(requestOf(incoming, { method: incoming.method, signal: leaving.signal, ...body }));
  outgoing.writeHead(response.status, [...response.headers].flat());
  if (!response.body) return outgoing.end();
  Readable.fromWeb(response.body).once("error", () => outgoing.destroy()).pipe(outgoing);
}

/** Hands a request for a WebSocket to a handler. Unless that accepts it, it is answered as any request is. */
export async function passUpgrade(incoming, stream, head, handle) {
  stream.once("error", () => stream.destroy());
  let isAccepted = false;
  const accept = () => {
    isAccepted = true;
    return new Promise((resolve) => sockets.handleUpgrade(incoming, stream, head, (socket) => resolve({ socket })));
  };
  const response = await handle(requestOf(incoming, {}), { accept });
  if (!isAccepted) stream.end(`HTTP/1.1 ${response.status} Refused\r\nConnection: close\r\n\r\n${await response.text()}`);
}

function requestOf(incoming, init) {
  return new Request(`http://${incoming.headers.host}${incoming.url}`, { headers: incoming.headers, ...init });
}
