// A proxy in front of the server under test that breaks what it is told to break: delays, cuts at any byte, refusals,
// answers of its own, doubled and cut frames. It lets a case meet a real network failure, of a real connection, in every
// runtime; what an injected `fetch` can only imitate.
//
// `POST /lanes` opens a lane: a port of its own that leads to the server. `POST /lanes/<port>/rules` with a JSON list replaces
// its rules, `POST /lanes/<port>/close` ends it; both answer how often each of the former rules was used. A rule is
//   { match, method?, skip?, times?, fault }   for requests whose path contains `match`; the first rule that fits and is not
//                                              used up decides, `skip` requests are let through before
// and a fault one of
//   { delay: ms }            the answer begins that much later
//   { hang: true }           there is no answer, and the server never sees the request
//   { refuse: true }         the connection is closed without an answer, and the server never sees the request
//   { swallow: true }        the server gets the request, and the connection is closed instead of its answer
//   { cut: n }               the connection is closed after n bytes of the answer's body
//   { stall: n }             nothing comes after n bytes of the answer's body, and the connection stays open
//   { split: n }             the body comes in pieces of at most n bytes
//   { double: n }            frame n of a Connect stream comes twice
//   { shorten: n }           frame n of a Connect stream ends one byte early, and the stream with it
//   { answer: { status, headers?, body?, cors?, cut? } }   this answer, without asking the server; `cors: true` lets pages
//                            read it, `cut: true` announces more than `body` and closes the connection after it

import { createServer, request as forward } from "node:http";

/** The address of a control port on this machine; `apiUrl` is where lanes lead to. */
export async function startFaultProxy(apiUrl) {
  const target = new URL(apiUrl);
  const lanes = new Map();
  const control = createServer(async (request, response) => {
    // Pages open lanes as well. What they send needs no preflight.
    response.setHeader("access-control-allow-origin", "*");
    const answer = (value) => response.end(JSON.stringify(value));
    const body = await text(request);
    if (request.url === "/lanes") {
      const lane = await openLane(target);
      lanes.set(String(lane.port), lane);
      return answer({ port: lane.port });
    }
    const [, port, verb] = /^\/lanes\/(\d+)\/(rules|close)$/.exec(request.url) ?? [];
    const lane = lanes.get(port);
    if (!lane) return response.writeHead(404).end();
    if (verb === "rules") return answer({ used: lane.replace(JSON.parse(body)) });
    lanes.delete(port);
    lane.close();
    return answer({ used: lane.replace([]) });
  });
  const port = await listen(control);
  control.unref();
  return `http://localhost:${port}`;
}

async function openLane(target) {
  let rules = [];
  const sockets = new Set();
  const choose = (request) => {
    // A preflight is the browser's own request.
    if (request.method === "OPTIONS") return {};
    for (const rule of rules) {
      if (!request.url.includes(rule.match) || (rule.method && rule.method !== request.method)) continue;
      if (rule.used >= (rule.times ?? Infinity)) continue;
      rule.seen += 1;
      if (rule.seen <= (rule.skip ?? 0)) continue;
      rule.used += 1;
      return rule.fault;
    }
    return {};
  };
  const server = createServer((request, response) => pass(target, server.address().port, request, response, choose(request)));
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  const port = await listen(server);
  server.unref();
  return {
    port,
    /** How often the former rules were used. */
    replace(next) {
      const used = rules.map((rule) => rule.used);
      rules = next.map((rule) => ({ ...rule, seen: 0, used: 0 }));
      return used;
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function pass(target, port, request, response, fault) {
  const cutOff = () => request.socket.destroy();
  if (fault.refuse) return cutOff();
  request.on("error", () => {});
  if (fault.hang) return request.resume();
  if (fault.answer) {
    const { status, headers = {}, body = "", cors = false, cut = false } = fault.answer;
    request.resume();
    if (cors) response.setHeader("access-control-allow-origin", "*");
    if (cut) response.setHeader("content-length", body.length + 1000);
    response.writeHead(status, headers);
    if (!cut) return response.end(body);
    // Given to the network before the end, so that the client sees it.
    return response.write(body, () => setTimeout(cutOff, 5));
  }
  const upstream = forward({
    host: target.hostname,
    port: target.port,
    method: request.method,
    path: request.url,
    headers: request.rawHeaders,
    setHost: false,
    agent: false,
  });
  upstream.on("error", cutOff);
  // A client that goes away must be gone for the server too.
  response.once("close", () => upstream.destroy());
  request.once("error", () => upstream.destroy());
  request.pipe(upstream);
  upstream.on("response", (answer) => {
    answer.on("error", cutOff);
    if (fault.swallow) {
      answer.resume();
      return answer.once("end", cutOff);
    }
    const relay = () => answerThrough(target, port, answer, response, fault, cutOff).catch(cutOff);
    if (fault.delay) setTimeout(relay, fault.delay);
    else relay();
  });
}

/** Hands the answer on, broken as the fault says. */
async function answerThrough(target, port, answer, response, fault, cutOff) {
  const headers = answer.rawHeaders.slice();
  // The addresses of sandboxes must lead through this lane as well.
  const rewritten = /^application\/json/.test(answer.headers["content-type"] ?? "") && fault.cut === undefined && fault.stall === undefined;
  if (rewritten) {
    const chunks = [];
    for await (const chunk of answer) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString("latin1");
    const changed = Buffer.from(body.replaceAll(`localhost:${target.port}`, `localhost:${port}`), "latin1");
    response.writeHead(answer.statusCode, without(headers, ["content-length", "transfer-encoding"]).concat("content-length", String(changed.length)));
    return response.end(changed);
  }
  response.writeHead(answer.statusCode, headers);
  response.flushHeaders();
  const change = changer(fault);
  for await (const chunk of answer) {
    for (const piece of change.pieces(chunk)) {
      if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
      if (fault.split) await new Promise(setImmediate);
    }
    if (change.over === "cut") return setTimeout(cutOff, 5);
    if (change.over === "stall") return undefined;
  }
  return response.end();
}

/** Cuts and changes the bytes of a body; `over` says how it ended early. */
function changer({ cut, stall, split, double, shorten }) {
  const limit = cut ?? stall;
  const frames = double ?? shorten;
  let passed = 0;
  let rest = Buffer.alloc(0);
  let index = 0;
  const state = { over: limit === 0 ? (cut === undefined ? "stall" : "cut") : undefined, pieces };
  function* pieces(chunk) {
    if (state.over) return;
    if (limit !== undefined) {
      const part = chunk.subarray(0, limit - passed);
      passed += part.length;
      if (part.length > 0) yield part;
      if (passed >= limit) state.over = cut === undefined ? "stall" : "cut";
    } else if (frames !== undefined) {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
        const frame = rest.subarray(0, 5 + rest.readUInt32BE(1));
        rest = rest.subarray(frame.length);
        if (index++ !== frames) yield frame;
        else if (double !== undefined) yield* [frame, frame];
        else {
          yield frame.subarray(0, -1);
          state.over = "cut";
          return;
        }
      }
    } else if (split) {
      for (let at = 0; at < chunk.length; at += split) yield chunk.subarray(at, at + split);
    } else yield chunk;
  }
  return state;
}

function without(headers, names) {
  const kept = [];
  for (let at = 0; at < headers.length; at += 2) {
    if (!names.includes(headers[at].toLowerCase())) kept.push(headers[at], headers[at + 1]);
  }
  return kept;
}

async function text(stream) {
  let all = "";
  for await (const chunk of stream.setEncoding("utf8")) all += chunk;
  return all;
}

function listen(server) {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server.address().port));
  });
}
