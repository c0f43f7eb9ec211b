// Recordings of the in-image server's terminals, replayed by a server that does what was recorded: what it sent means the same here,
// what was sent to it is sent by this client, and what would break it is refused.

import { readFileSync } from "node:fs";
import { createServer } from "node:http";

import { assert, equal, eventually, rejects } from "../e2e/assert.js";
import { QUICK, withServer } from "./scripted.mjs";

const read = (name) => JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), "utf8"));
const client = read("pty-websocket.json");
const server = read("server-pty-websocket.json");

const SESSION = "0123456789ab";

/** What the close codes of refusals are here. */
const REFUSALS = {
  "4001 Unauthorized": ["AuthenticationError", "unauthenticated"],
  "4003 Forbidden": ["AuthenticationError", "permission_denied"],
  "4003 Endpoint disabled": ["AuthenticationError", "permission_denied"],
  "1008 Missing session_id parameter": ["InvalidArgumentError", "invalid_argument"],
  "1008 Unknown session": ["NotFoundError", "not_found"],
};

/** What a frame means that the server sent. */
const sent = (frame) => (typeof frame === "string" ? JSON.parse(frame) : frame.json);

/** Messages that no call of this client sends, because the server ignores them or breaks; those that look like a call are refused. */
function refuses(terminal, sdk, message) {
  const thrown = (call) => {
    try {
      call();
    } catch (error) {
      return error;
    }
    throw new Error(`${JSON.stringify(message)} was not refused`);
  };
  if (message?.type === "resize") assert(thrown(() => terminal.resize(message)) instanceof sdk.InvalidArgumentError, "a size");
  else if (message?.type === "signal") assert(thrown(() => terminal.signal(message.signal)) instanceof sdk.InvalidArgumentError, "a signal");
  else if (message?.type === "input") return rejects(terminal.write(message.data), sdk.InvalidArgumentError, "invalid_argument");
  return undefined;
}

const isSize = (value) => Number.isInteger(value) && value >= 1 && value <= 65_535;
const KNOWN_SIGNALS = ["SIGINT", "SIGTERM", "SIGKILL", "SIGHUP", "SIGQUIT"];

/** Whether a recorded message is one that this client sends. */
function isOurs(message) {
  if (message?.type === "input") return typeof message.data === "string";
  if (message?.type === "resize") return isSize(message.cols) && isSize(message.rows);
  return message?.type === "signal" && KNOWN_SIGNALS.includes(message.signal);
}

/** Has the client say what was said to the server, which must get it. */
async function say(terminal, peer, sdk, message) {
  if (!isOurs(message)) return refuses(terminal, sdk, message);
  if (message.type === "input") await terminal.write(message.data);
  else if (message.type === "resize") terminal.resize(message);
  else terminal.signal(message.signal);
  equal(JSON.parse(await peer.message()), message, "what the server gets");
  return undefined;
}

/** Replays a connection. `frames` are `["server" | "client" | "close", what]`, without the event that begins it. */
async function replay({ url, next }, { terminals, sdk }, frames) {
  const opening = terminals.openServerTerminal({ url, sessionId: SESSION, token: "t/o k" }, QUICK);
  let peer = await next();
  equal([...peer.url.searchParams], [["session_id", SESSION], ["token", "t/o k"]], "the query");
  equal([peer.url.pathname, peer.headers["sec-websocket-protocol"]], ["/pty", undefined]);
  const begin = () => peer.json({ type: "event", event: "started", session_id: SESSION, pid: 4242 });
  begin();
  const terminal = await opening;
  equal(terminal.pid, 4242);
  let printed = "";
  const reading = (async () => {
    for await (const piece of terminal.text()) printed += piece;
  })().catch(() => {});
  let expected = "";
  for (const [from, what, reason] of frames) {
    if (terminal.state === "ended") break;
    if (from === "server") {
      peer.json(what);
      if (what.type === "output") expected += what.data;
      else await terminal.exit;
    } else if (from === "client") await say(terminal, peer, sdk, what);
    else if (from === "close") {
      const closed = peer.closed;
      peer.close(what, reason);
      await closed;
      if (what === 1009) equal((await rejects(terminal.exit, sdk.SandboxError)).code, "message_too_large");
      else {
        // The session has survived: it is attached again.
        peer = await next();
        begin();
        await eventually(() => terminal.state === "ready", "the next connection");
      }
    }
  }
  if (terminal.state !== "ended") {
    await eventually(() => printed.length >= expected.length, "all of the output");
    terminal.close();
  }
  await reading;
  equal(printed, expected, "the output");
  if (!frames.some(([from]) => from === "close")) equal((await peer.closed).code, 1000, "the close code that the server gets");
}

/** Has the server refuse the connection as recorded. */
async function refused({ url, next }, { terminals, sdk }, code, reason, target = {}) {
  const opening = terminals.openServerTerminal({ url, sessionId: SESSION, ...target }, QUICK);
  opening.catch(() => {});
  const peer = await next();
  peer.close(code, reason);
  const [name, stable] = REFUSALS[`${code} ${reason.split(":")[0]}`];
  const error = await rejects(opening, sdk[name], stable);
  assert(!String(error.message).includes(target.token ?? SESSION), "no secret is told");
}

/** A recorded list of frames in the form of {@link replay}, up to where the client closes. */
const framesOf = (frames) =>
  frames.flatMap(({ dir, json, raw, code, reason }) => {
    if (dir === "s2c") return json.event === "started" ? [] : [["server", json]];
    if (dir === "c2s") return [["client", raw === undefined ? json : undefined]];
    return dir === "close" ? [["close", code, reason]] : [];
  });

/** Recorded cases that are no frames: what this client makes of each, or why it has nothing to do with it. */
const FACTS = {
  "pty-port-delay": "When the port opens is the business of whoever starts the server; a port that is closed is connection_failed.",
  handshake: "The handshake is the host's; that no subprotocol is asked for is looked at in every replay.",
  "delete-latency": "Sessions are deleted over HTTP.",
  "two-clients-one-session": "Whether others listen is not told to any of them.",
  "output-at-exit": "What the server has lost is lost; that the event is the end is looked at in other cases.",
  "pty-port-flag": "The ws_url of the server is not used.",
  sigterm: "How the server ends is told to nobody; a connection that breaks is tested with the client.",
  "pty-port-busy": "A port without its server is connection_failed.",
  /** A plain answer instead of an upgrade. */
  async "plain-http-on-pty-port"({ terminals, sdk }, { response_head: head }) {
    const status = Number(head[0].split(" ")[1]);
    const plain = createServer();
    plain.on("upgrade", (request, socket) => socket.end(`HTTP/1.1 ${status} Upgrade Required\r\nContent-Length: 0\r\n\r\n`));
    await new Promise((resolve) => plain.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${plain.address().port}`;
    const error = await rejects(terminals.openServerTerminal({ url, sessionId: SESSION, token: "t" }, QUICK), sdk.ConnectionError, "connection_failed");
    assert(!error.message.includes(SESSION), error.message);
    plain.close();
  },
  /** Characters that the server has broken arrive as it sent them, and no others are broken. */
  "utf8-split": (ctx, { response }) =>
    withServer(async (own) => {
      const text = `${"€".repeat(response.euro_signs_received - 1)}${"\ufffd".repeat(response.replacement_characters)}€`;
      const pieces = [...text].reduce((list, one, index) => (index % 1365 === 0 ? [...list, one] : [...list.slice(0, -1), list.at(-1) + one]), []);
      const frames = [...pieces.map((data) => ["server", { type: "output", data }]), ["server", { type: "event", event: "exited", session_id: SESSION }]];
      await replay(own, ctx, frames);
    })(ctx),
  /** A host that did not answer in time is attached again. */
  "keepalive-no-pong": (ctx, { response }) =>
    withServer(async (own) => {
      const [, code, reason] = response.events.find(([what]) => what === "close");
      await replay(own, ctx, [["close", code, reason], ["server", { type: "output", data: "again" }]]);
    })(ctx),
};

export const cases = [
  {
    name: "vectors: a recorded session, frame by frame",
    run: withServer(async (own, ctx) => {
      const { frames } = client.session;
      equal(sent(frames[0][1]).event, "started");
      const parsed = frames.slice(1).map(([from, text]) => [from, parse(text)]);
      await replay(own, ctx, parsed);
    }),
  },
  {
    name: "vectors: what each kind of handshake leads to",
    run: withServer(async (own, ctx) => {
      for (const [name, [kind, code, reason]] of Object.entries(client.handshake_outcomes)) {
        // Headers cannot be sent here, so that what they lead to is all that there is to see.
        if (kind === "closed") await refused(own, ctx, code, reason, name === "no_credentials" ? {} : { token: "bad-token" });
        else {
          equal(sent(code).event, "started", name);
          await replay(own, ctx, [["server", { type: "output", data: "$ " }]]);
        }
      }
    }),
  },
  ...server.vectors.map((one) => ({
    name: `vectors: in-image server, ${one.id}`,
    run: async (ctx) => {
      const fact = FACTS[one.id];
      if (typeof fact === "string") return assert(fact.endsWith(".") && !one.frames, "a reason is a sentence");
      if (fact) return fact(ctx, one);
      const [first] = one.frames;
      const run = first.dir === "close" ? (own) => refused(own, ctx, first.code, first.reason, one.request.url.includes("token=") ? { token: "wrong" } : {}) : (own) => replay(own, ctx, framesOf(one.frames));
      return withServer(run)(ctx);
    },
  })),
  {
    name: "vectors: no fact is explained that was not recorded",
    run: () => equal(Object.keys(FACTS).filter((id) => !server.vectors.some((one) => one.id === id)), []),
  },
];

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
