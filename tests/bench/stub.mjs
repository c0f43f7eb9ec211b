// A sandbox server that does nothing but answer, at full speed and in a process of its own, so that what a client costs is
// all there is to measure. Commands, code and paths say how much they want: see `work.js`. It prints its address.

import http from "node:http";
import { createReadStream } from "node:fs";
import path from "node:path";

import { executeAnswer, processAnswer } from "./answers.mjs";
import { asked } from "./work.js";

/** What pages load, when there are pages: see `suites/runtimes.mjs`. */
const PAGES = process.env.BENCH_PAGES;
const TYPES = { ".js": "text/javascript", ".html": "text/html" };
/** Large enough that a write costs nothing beside what it carries. */
const CHUNK = Buffer.alloc(256 * 1024, "x");
const NOTHING = { count: 0, size: 1 };

const server = http.createServer((request, response) => {
  request.on("error", () => {});
  response.on("error", () => {});
  answer(request, response).catch((error) => response.destroy(error));
});

async function answer(request, response) {
  const url = new URL(request.url, "http://stub");
  if (request.method === "GET" && url.pathname.startsWith("/pages/")) return page(response, url.pathname);
  if (url.pathname === "/files" && request.method === "GET") return download(response, url.searchParams.get("path"));
  if (url.pathname === "/files") return upload(request, response);
  const body = Buffer.concat(await request.toArray()).toString("latin1");
  if (url.pathname === "/process.Process/Start") {
    const type = request.headers["content-type"];
    const encoding = type === "application/connect+proto" ? "proto" : "json";
    return send(response, type, processAnswer(encoding, asked(body) ?? NOTHING));
  }
  if (url.pathname === "/execute") return send(response, "application/json", executeAnswer(asked(body) ?? NOTHING));
  const [, id] = /^(?:\/v2)?\/sandboxes\/([^/]+)\/connect$/.exec(url.pathname) ?? [];
  if (id) return plain(response, { sandboxID: id, templateID: "base", clientID: "c", envdVersion: "0.6.5", envdAccessToken: "t" });
  response.writeHead(404).end();
}

function plain(response, value) {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** Writes an answer as fast as its reader takes it. */
async function send(response, type, { head, block, repeats, tail, length }) {
  response.writeHead(200, { "content-type": type, "content-length": length });
  response.write(head);
  for (let left = repeats; left > 0; left -= 1) await write(response, block);
  response.end(tail);
}

async function write(response, bytes) {
  if (response.destroyed) throw new Error("the client left");
  if (!response.write(bytes)) {
    await new Promise((resolve) => {
      const go = () => {
        response.off("drain", go).off("close", go);
        resolve();
      };
      response.on("drain", go).on("close", go);
    });
  }
}

async function download(response, name) {
  const { count, size } = asked(name);
  let left = count * size;
  response.writeHead(200, { "content-type": "application/octet-stream", "content-length": left });
  for (; left > CHUNK.length; left -= CHUNK.length) await write(response, CHUNK);
  response.end(CHUNK.subarray(0, left));
}

/** Takes everything and tells in its answer how much that was. */
function upload(request, response) {
  let size = 0;
  request.on("data", (chunk) => (size += chunk.length));
  request.on("end", () => plain(response, [{ name: String(size), type: "file", path: `/bench/${size}` }]));
}

function page(response, pathname) {
  const file = path.join(PAGES, path.basename(pathname));
  response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
  createReadStream(file).on("error", () => response.destroy()).pipe(response);
}

// Nobody waits for a stub whose parent is gone.
process.stdin.on("end", () => process.exit(0)).resume();
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
