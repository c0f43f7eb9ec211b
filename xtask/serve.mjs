// A static web server on a loopback port, for the demo site and the browser tests. `web.rs` starts it: a line of JSON on
// standard input says what to serve, a line on standard output says where, and the end of standard input ends it.

import { randomBytes } from "node:crypto";
import { createReadStream, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { createInterface } from "node:readline";

import { pass, passUpgrade, upgradeWebSocket } from "./node-host.mjs";

const TYPES = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".ts": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".woff2": "font/woff2",
};

const input = createInterface({ input: process.stdin });
input.once("line", (line) => serve(JSON.parse(line)));
input.once("close", () => process.exit(0));

/**
 * `port` is a wish: another one is taken when it is in use. The longest prefix in `folders` that fits a path decides. `backend` is
 * a module of a `fetch` handler, the path at which and below which it is served, and what it is made with, beside the origins of
 * this server.
 */
async function serve({ port, folders, documents, backend }) {
  const createBackend = backend && (await import(backend.module)).createBackend;
  let handle;
  const prefixes = Object.keys(folders).sort((a, b) => b.length - a.length);
  const isForBackend = (path) => backend && `${path}/`.startsWith(`${backend.path}/`);
  const server = createServer((request, response) => {
    const refuse = (status) => response.writeHead(status).end();
    if (!isAtHome(request)) return refuse(403);
    const [path] = request.url.split("?");
    if (isForBackend(path)) return pass(request, response, handle).catch(() => response.destroy());
    if (request.method !== "GET" && request.method !== "HEAD") return refuse(405);
    if (Object.hasOwn(documents, path)) {
      response.writeHead(200, { "content-type": "application/json", "cache-control": "no-store" });
      return response.end(JSON.stringify(documents[path]));
    }
    const file = find(path, prefixes, folders);
    if (file === undefined) return refuse(404);
    const type = TYPES[extname(file.path)] ?? "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-length": file.size, "cache-control": "no-store" });
    if (request.method === "HEAD") return response.end();
    createReadStream(file.path)
      .once("error", () => response.destroy())
      .pipe(response);
  });
  server.on("upgrade", (request, stream, head) => {
    if (!isAtHome(request) || !isForBackend(request.url.split("?")[0])) return stream.destroy();
    passUpgrade(request, stream, head, handle).catch(() => stream.destroy());
  });
  server.once("error", () => server.listen(0, "127.0.0.1"));
  server.once("listening", () => {
    const origins = ["127.0.0.1", "localhost"].map((host) => `http://${host}:${server.address().port}`);
    // Nothing that it signs has to outlive this server.
    handle = createBackend?.({ ...backend.options, origins, path: backend.path, secret: randomBytes(32).toString("base64"), upgradeWebSocket });
    console.log(origins[0]);
  });
  server.listen(port, "127.0.0.1");
}

/** Another site could point a name of its own at this machine and read what is served here, keys included. */
function isAtHome({ headers }) {
  return /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(headers.host ?? "");
}

/** The file behind a path, which must lie inside of the folder that is served. */
function find(path, prefixes, folders) {
  const prefix = prefixes.find((prefix) => path.startsWith(prefix));
  if (prefix === undefined) return undefined;
  const parts = (path.slice(prefix.length) || "index.html").split("/");
  // No name of a file here needs escapes; with them, dots could hide.
  if (parts.some((part) => !/^[\w@-][\w@.-]*$/.test(part))) return undefined;
  const file = join(folders[prefix], ...parts);
  const facts = statSync(file, { throwIfNoEntry: false });
  return facts?.isFile() ? { path: file, size: facts.size } : undefined;
}
