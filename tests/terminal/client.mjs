// The client against a bridge that does what each case says: buffers, lost connections, close codes, aborts, wrong arguments.

import { WebSocket } from "ws";

import { assert, equal, eventually, rejects, rejectsWith } from "../e2e/assert.js";
import { QUICK, openBridge, readUntil, withServer } from "./scripted.mjs";

const KB = 1024;

/** Bytes that are no text. */
const noise = (length) => new Uint8Array(length).map((_, index) => (index * 7 + (index >> 8)) & 255);

async function collect(stream) {
  const parts = [];
  for await (const part of stream) parts.push(part);
  return Uint8Array.from(Buffer.concat(parts));
}

export const cases = [
  {
    name: "bridge: the address has what was asked for, and bytes pass unchanged in both directions",
    run: withServer(async (server, { terminals }) => {
      const { terminal, peer } = await openBridge(server, terminals, { cols: 100, rows: 30, user: "root", cwd: "/tmp" });
      equal([...peer.url.searchParams], [["token", "the-secret"], ["cols", "100"], ["rows", "30"], ["user", "root"], ["cwd", "/tmp"], ["events", "1"]]);
      equal([terminal.pid, terminal.state, terminal.size], [42, "ready", { cols: 100, rows: 30 }]);
      const bytes = noise(50_000);
      await terminal.write(bytes);
      let got = Buffer.alloc(0);
      while (got.length < bytes.length) got = Buffer.concat([got, await peer.message()]);
      equal(Uint8Array.from(got), bytes, "input");
      await terminal.write("héllo\n");
      equal(await peer.message(), new TextEncoder().encode("héllo\n"));
      terminal.resize({ cols: 120, rows: 40 });
      equal(JSON.parse(await peer.message()), { type: "resize", cols: 120, rows: 40 });
      terminal.signal();
      equal(await peer.message(), Uint8Array.of(3));
      for (let at = 0; at < bytes.length; at += 999) peer.bytes(bytes.subarray(at, at + 999));
      peer.json({ type: "exited", exitCode: 3 });
      equal(await collect(terminal.output), bytes, "output");
      equal(await terminal.exit, { exitCode: 3, signal: undefined, reason: "exited" });
      equal(await peer.closed, { code: 1000, reason: "" });
    }),
  },
  {
    name: "bridge: text is put together across frames, and a loop can be left and begun again",
    run: withServer(async (server, { terminals }) => {
      const { terminal, peer } = await openBridge(server, terminals);
      const text = "😀 prompt> ";
      for (const byte of new TextEncoder().encode(text)) peer.bytes(Uint8Array.of(byte));
      equal(await readUntil(terminal, /> $/), text);
      peer.bytes(new TextEncoder().encode("next"));
      peer.close(1000, "exit 0");
      equal(await readUntil(terminal, /next/), "next");
      equal((await terminal.exit).exitCode, 0);
    }),
  },
  {
    name: "bridge: close codes are exit codes or typed errors, with stable codes",
    run: withServer(async (server, { terminals, sdk }) => {
      for (const exitCode of [1, 137, 255]) {
        const { terminal, peer } = await openBridge(server, terminals);
        peer.close(4500 + exitCode, `exit ${exitCode}`);
        equal(await terminal.exit, { exitCode, signal: undefined, reason: "exited" });
      }
      for (const [code, reason, type, stable] of [
        [4001, "Unauthorized", "AuthenticationError", "unauthenticated"],
        [4003, "Forbidden", "AuthenticationError", "permission_denied"],
        [4004, "No such terminal", "NotFoundError", "not_found"],
        [4005, "cols must be a number", "InvalidArgumentError", "invalid_argument"],
        [4008, "", "SandboxError", "buffer_full"],
        [1002, "", "ProtocolError", "protocol_error"],
        [1009, "", "SandboxError", "message_too_large"],
        [1011, "no shell", "SandboxError", "server_error"],
        [4999, "", "SandboxError", "unknown"],
      ]) {
        const early = terminals.openTerminal(server.url, QUICK);
        early.catch(() => {});
        (await server.next()).close(code, reason);
        const error = await rejects(early, sdk[type], stable);
        if (code === 4005) assert(error.message.includes(reason), error.message);
        const { terminal, peer } = await openBridge(server, terminals);
        const reading = collect(terminal.output);
        reading.catch(() => {});
        peer.close(code, reason);
        await rejects(terminal.exit, sdk[type], stable);
        await rejects(reading, sdk[type], stable);
        equal(terminal.state, "ended");
      }
    }),
  },
  {
    name: "bridge: a lost connection is dialled again for the same process, and what was written meanwhile is sent",
    run: withServer(async (server, { terminals }) => {
      const told = [];
      const asked = [];
      const target = ({ pid, attempt }) => {
        asked.push([pid, attempt]);
        return `${server.url}/?token=number-${asked.length}`;
      };
      const opening = terminals.openTerminal(target, { ...QUICK, onState: (state, { attempt }) => told.push([state, attempt]) });
      let peer = await server.next();
      peer.json({ type: "started", pid: 42 });
      const terminal = await opening;
      peer.bytes("before ");
      peer.drop();
      await eventually(() => terminal.state === "lost" || told.some(([state]) => state === "lost"), "the loss");
      terminal.resize({ cols: 90, rows: 20 });
      const written = terminal.write("typed meanwhile");
      peer = await server.next();
      equal([peer.url.searchParams.get("pid"), peer.url.searchParams.get("token")], ["42", "number-2"]);
      peer.json({ type: "started", pid: 42 });
      const seen = [];
      while (!seen.some((one) => one instanceof Uint8Array)) seen.push(await peer.message());
      await written;
      equal(new TextDecoder().decode(seen.at(-1)), "typed meanwhile");
      const sizes = seen.slice(0, -1);
      while (sizes.length < 2) sizes.push(await peer.message());
      equal(sizes.map((size) => JSON.parse(size)), [19, 20].map((rows) => ({ type: "resize", cols: 90, rows })));
      peer.bytes("after");
      equal(await readUntil(terminal, /after/), "before after");
      equal(told, [["connecting", undefined], ["ready", undefined], ["lost", 1], ["ready", undefined]]);
      equal(asked[0], [undefined, 0]);
      equal(asked[1], [42, 1]);
      terminal.close();
      equal((await terminal.exit).reason, "closed");
    }),
  },
  {
    name: "bridge: attempts end, and a process that is gone ends them at once",
    run: withServer(async (server, { terminals, sdk }) => {
      const { terminal, peer } = await openBridge(server, terminals, { reconnect: { attempts: 3, initialDelayMs: 1, maxDelayMs: 2 } });
      peer.drop();
      for (let attempt = 1; attempt <= 3; attempt++) (await server.next()).drop();
      const error = await rejects(terminal.exit, sdk.ConnectionError, "connection_lost");
      assert(error.message.includes("3 attempts") && error.cause?.code === "connection_failed", error.message);

      const gone = await openBridge(server, terminals);
      gone.peer.drop();
      (await server.next()).close(4004, "No such terminal");
      await rejects(gone.terminal.exit, sdk.NotFoundError, "not_found");

      const never = await openBridge(server, terminals, { reconnect: false });
      never.peer.drop();
      await rejects(never.terminal.exit, sdk.ConnectionError, "connection_lost");
    }),
  },
  {
    name: "bridge: output that nobody reads makes the server wait, and goes on when it is read",
    run: withServer(async (server, { terminals }) => {
      const { terminal, peer } = await openBridge(server, terminals, { outputBufferBytes: 100 * KB });
      peer.bytes(noise(40 * KB));
      peer.bytes(noise(20 * KB));
      equal(JSON.parse(await peer.message()), { type: "pause" });
      // A server that has lost the connection meanwhile is told again.
      peer.drop();
      const again = await server.next();
      again.json({ type: "started", pid: 42 });
      let message;
      while ((message = JSON.parse(await again.message())).type !== "pause") equal(message.type, "resize");
      const reader = terminal.output.getReader();
      equal((await reader.read()).value.length, 40 * KB);
      equal((await reader.read()).value.length, 20 * KB);
      equal(JSON.parse(await again.message()), { type: "resume" });
      await reader.cancel();
      equal((await again.closed).code, 1000);
    }),
  },
  {
    name: "bridge: a server that asks to be told what has arrived is, on each connection, and no other is",
    run: withServer(async (server, { terminals }) => {
      const opening = terminals.openTerminal(server.url, QUICK);
      let peer = await server.next();
      peer.json({ type: "started", pid: 42, acks: 1000 });
      const terminal = await opening;
      for (const length of [400, 400, 400]) peer.bytes(noise(length));
      equal(JSON.parse(await peer.message()), { type: "ack", bytes: 1200 });
      peer.drop();
      peer = await server.next();
      peer.json({ type: "started", pid: 42, acks: 500 });
      peer.bytes(noise(600));
      const heard = [];
      while (heard.at(-1)?.type !== "ack") heard.push(JSON.parse(await peer.message()));
      equal(heard.at(-1), { type: "ack", bytes: 600 });
      terminal.close();
      const plain = await openBridge(server, terminals);
      plain.peer.bytes(noise(500_000));
      plain.peer.json({ type: "exited", exitCode: 0 });
      await plain.terminal.exit;
      await plain.peer.closed;
      equal(plain.peer.pending, 0, "messages that nobody asked for");
    }),
  },
  {
    name: "bridge: more output than may wait is an error that says so, after what had come",
    run: withServer(async (server, { terminals, sdk }) => {
      const { terminal, peer } = await openBridge(server, terminals, { outputBufferBytes: 10 * KB });
      peer.bytes(noise(8 * KB));
      peer.bytes(noise(4 * KB));
      const error = await rejects(terminal.exit, sdk.SandboxError, "buffer_full");
      assert(error.message.includes("outputBufferBytes"), error.message);
      equal((await peer.closed).code, 1000);
      const reader = terminal.output.getReader();
      equal((await reader.read()).value.length, 8 * KB);
      await rejects(reader.read(), sdk.SandboxError, "buffer_full");
    }),
  },
  {
    name: "bridge: input waits for the host, within its bound",
    run: withServer(async (server, { terminals, sdk }) => {
      const sockets = [];
      class Slow extends WebSocket {
        stuck = false;
        constructor(url) {
          super(url);
          sockets.push(this);
        }
        get bufferedAmount() {
          return this.stuck ? 1e9 : super.bufferedAmount;
        }
      }
      const { terminal, peer } = await openBridge(server, terminals, { WebSocket: Slow, inputBufferBytes: 64 * KB });
      sockets[0].stuck = true;
      let isWritten = false;
      const first = terminal.write(noise(40 * KB)).then(() => (isWritten = true));
      const error = await rejects(terminal.write(noise(30 * KB)), sdk.SandboxError, "buffer_full");
      assert(error.message.includes("inputBufferBytes") && error.retryable, error.message);
      equal([isWritten, peer.pending], [false, 0]);
      sockets[0].stuck = false;
      await first;
      const writer = terminal.input.getWriter();
      await writer.write(noise(300 * KB));
      let length = 0;
      while (length < 340 * KB) length += (await peer.message()).length;
      equal(length, 340 * KB);
      sockets[0].stuck = true;
      const pending = terminal.write("never sent");
      terminal.close();
      await rejects(pending, sdk.SandboxError, "disconnected");
      await rejects(terminal.write("too late"), sdk.SandboxError, "disconnected");
    }),
  },
  {
    name: "bridge: an abort ends it with its reason, before, while dialling, lost and open",
    run: withServer(async (server, { terminals }) => {
      const reason = new Error("enough");
      await rejectsWith(terminals.openTerminal(server.url, { ...QUICK, signal: AbortSignal.abort(reason) }), reason);

      const dialling = new AbortController();
      const opening = terminals.openTerminal(server.url, { ...QUICK, signal: dialling.signal });
      const silent = await server.next();
      dialling.abort(reason);
      await rejectsWith(opening, reason);
      await silent.closed;

      const asking = new AbortController();
      const asked = terminals.openTerminal(() => new Promise(() => {}), { ...QUICK, signal: asking.signal });
      asking.abort(reason);
      await rejectsWith(asked, reason);

      for (const isLost of [false, true]) {
        const controller = new AbortController();
        const patience = isLost ? { reconnect: { attempts: 1, initialDelayMs: 1e6, maxDelayMs: 1e6 } } : {};
        const { terminal, peer } = await openBridge(server, terminals, { signal: controller.signal, ...patience });
        const reading = collect(terminal.output);
        reading.catch(() => {});
        if (isLost) peer.drop();
        if (isLost) await eventually(() => terminal.state === "lost", "the loss");
        controller.abort(reason);
        await rejectsWith(terminal.exit, reason);
        await rejectsWith(reading, reason);
        await rejectsWith(terminal.write("x"), reason);
        await peer.closed;
      }
    }),
  },
  {
    name: "bridge: close, detach and dispose end it once, and tell the server which",
    run: withServer(async (server, { terminals }) => {
      for (const [end, code, reason] of [["close", 1000, "closed"], ["detach", 4000, "detached"], ["dispose", 1000, "closed"]]) {
        const states = [];
        const { terminal, peer } = await openBridge(server, terminals, { onState: (state) => states.push(state) });
        terminal[end]();
        terminal[end]();
        equal((await terminal.exit).reason, reason);
        equal((await peer.closed).code, code, end);
        equal(states, ["connecting", "ready", "ended"]);
        terminal.resize({ cols: 1, rows: 1 });
        terminal.signal();
        equal(await collect(terminal), new Uint8Array(), "nothing more");
      }
    }),
  },
  {
    name: "bridge: callbacks get everything in order, and what they throw ends the terminal",
    run: withServer(async (server, { terminals, sdk }) => {
      let text = "";
      const { terminal, peer } = await openBridge(server, terminals, {
        onData: async (bytes) => {
          await null;
          text += new TextDecoder().decode(bytes);
        },
      });
      await rejects(Promise.resolve().then(() => terminal.output), sdk.InvalidArgumentError, "invalid_argument");
      for (const word of ["one ", "two ", "three"]) peer.bytes(word);
      peer.json({ type: "exited", signal: "SIGKILL" });
      equal(await terminal.exit, { exitCode: undefined, signal: "SIGKILL", reason: "exited" });
      await eventually(() => text === "one two three", "the output");

      const fault = new Error("mine");
      const thrower = await openBridge(server, terminals, {
        onData: () => {
          throw fault;
        },
      });
      thrower.peer.bytes("x");
      await rejectsWith(thrower.terminal.exit, fault);
      equal((await thrower.peer.closed).code, 1000);
    }),
  },
  {
    name: "bridge: a server that says nothing is not waited for",
    run: withServer(async (server, { terminals, sdk }) => {
      const error = await rejects(terminals.openTerminal(`${server.url}/secret?token=the-secret`, { ...QUICK, connectTimeoutMs: 20 }), sdk.TimeoutError, "request_timeout");
      assert(error.message.includes("connectTimeoutMs"), error.message);
    }),
  },
  {
    name: "errors: nothing of an address but its host is ever told",
    run: withServer(async (server, { terminals, sdk }) => {
      const secret = "the-secret";
      const port = new URL(server.url).port;
      class Throws {
        constructor(url) {
          throw new SyntaxError(`The URL '${url}' is invalid`);
        }
      }
      const targets = [
        [`ws://127.0.0.1:1/${secret}?token=${secret}`, sdk.ConnectionError, {}],
        [`http://127.0.0.1:${port}/?token=${secret}`, sdk.ConnectionError, { WebSocket: Throws }],
        [`nonsense ${secret}`, sdk.InvalidArgumentError, {}],
        [`ftp://host/${secret}`, sdk.InvalidArgumentError, {}],
        [`ws://user:${secret}@host/`, sdk.InvalidArgumentError, {}],
      ];
      for (const [target, type, opts] of targets) {
        const error = await rejects(terminals.openTerminal(target, { ...QUICK, ...opts }), type);
        for (let one = error; one; one = one.cause) assert(!`${one.message} ${one.stack}`.includes(secret), one.message);
      }
    }),
  },
  {
    name: "errors: wrong options are named before anything is dialled",
    run: withServer(async (server, { terminals, sdk }) => {
      const { openTerminal, openServerTerminal, terminalUrl } = terminals;
      for (const [opts, named] of [
        [5, "options"],
        [{ cols: 0 }, "cols"],
        [{ rows: 65_536 }, "rows"],
        [{ cols: 1.5 }, "cols"],
        [{ pid: -1 }, "pid"],
        [{ user: 5 }, "user"],
        [{ cwd: "" }, "cwd"],
        [{ onData: "x" }, "onData"],
        [{ onState: {} }, "onState"],
        [{ signal: {} }, "signal"],
        [{ connectTimeoutMs: "1" }, "connectTimeoutMs"],
        [{ connectTimeoutMs: 1e12 }, "connectTimeoutMs"],
        [{ outputBufferBytes: 0 }, "outputBufferBytes"],
        [{ inputBufferBytes: -1 }, "inputBufferBytes"],
        [{ reconnect: 5 }, "reconnect"],
        [{ reconnect: { attempts: -1 } }, "reconnect.attempts"],
        [{ reconnect: { maxDelayMs: "x" } }, "reconnect.maxDelayMs"],
        [{ WebSocket: {} }, "WebSocket"],
      ]) {
        const all = typeof opts === "object" ? { ...QUICK, ...opts } : opts;
        const error = await rejects(openTerminal(server.url, all), sdk.InvalidArgumentError, "invalid_argument");
        assert(error.message.includes(named), error.message);
      }
      const url = server.url;
      for (const target of [undefined, {}, { url }, { url, sessionId: "" }, { url, sessionId: "s", token: 5 }, { url: 5, sessionId: "s" }]) {
        await rejects(openServerTerminal(target, QUICK), sdk.InvalidArgumentError, "invalid_argument");
      }
      for (const target of [undefined, 5, {}, () => undefined]) await rejects(openTerminal(target, QUICK), sdk.InvalidArgumentError, "invalid_argument");
      await rejects(terminalUrl({}), sdk.InvalidArgumentError, "invalid_argument");
      if (typeof globalThis.WebSocket !== "function") await rejects(openTerminal(url, { WebSocket: undefined }), sdk.UnsupportedError, "unsupported");
      const { terminal } = await openBridge(server, terminals);
      const thrown = (call) => Promise.resolve().then(call);
      for (const size of [undefined, {}, { cols: 80 }, { cols: 80, rows: 0 }, { cols: 70_000, rows: 5 }, { cols: "x", rows: 1 }]) {
        await rejects(thrown(() => terminal.resize(size)), sdk.InvalidArgumentError, "invalid_argument");
      }
      for (const name of ["SIGKILL", 2, "sigint"]) await rejects(thrown(() => terminal.signal(name)), sdk.InvalidArgumentError, "invalid_argument");
      for (const data of [undefined, 5, {}, []]) await rejects(terminal.write(data), sdk.InvalidArgumentError, "invalid_argument");
      terminal.close();
    }),
  },
  {
    name: "in-image server: input is put together to characters, and what is no text is refused",
    run: withServer(async (server, { terminals, sdk }) => {
      const opening = terminals.openServerTerminal({ url: server.url, sessionId: "s" }, QUICK);
      const peer = await server.next();
      peer.json({ type: "event", event: "started", session_id: "s", pid: 7 });
      const terminal = await opening;
      for (const byte of new TextEncoder().encode("€😀")) await terminal.write(Uint8Array.of(byte));
      equal([JSON.parse(await peer.message()).data, JSON.parse(await peer.message()).data], ["€", "😀"]);
      await rejects(terminal.write(Uint8Array.of(0xff, 0x41)), sdk.InvalidArgumentError, "invalid_argument");
      await terminal.write("still");
      equal(JSON.parse(await peer.message()).data, "still");
      terminal.signal("SIGTERM");
      equal(JSON.parse(await peer.message()), { type: "signal", signal: "SIGTERM" });
      for (const odd of ["plain words", "[]", '{"type":"output","data":5}', '{"type":"new"}']) peer.socket.send(odd);
      peer.json({ type: "output", data: "." });
      equal(await readUntil(terminal, /\.$/), "plain words[].");
      terminal.close();
    }),
  },
  {
    name: "in-image server: a size that was asked for is told, also to the next connection; else the session keeps its own",
    run: withServer(async (server, { terminals }) => {
      const resize = (rows) => ({ type: "resize", cols: 100, rows });
      const begin = async (opts) => {
        const opening = terminals.openServerTerminal({ url: server.url, sessionId: "s" }, { ...QUICK, ...opts });
        const peer = await server.next();
        peer.json({ type: "event", event: "started", session_id: "s", pid: 7 });
        return { terminal: await opening, peer };
      };
      const sized = await begin({ cols: 100, rows: 30 });
      equal(JSON.parse(await sized.peer.message()), resize(30));
      sized.peer.drop();
      const again = await server.next();
      again.json({ type: "event", event: "started", session_id: "s", pid: 7 });
      equal([JSON.parse(await again.message()), JSON.parse(await again.message())], [resize(29), resize(30)]);
      const plain = await begin();
      await plain.terminal.write("x");
      equal(JSON.parse(await plain.peer.message()), { type: "input", data: "x" });
      for (const { terminal } of [sized, plain]) terminal.close();
    }),
  },
  {
    name: "in-image server: output that nobody reads is an error, because the server cannot wait",
    run: withServer(async (server, { terminals, sdk }) => {
      const opening = terminals.openServerTerminal({ url: server.url, sessionId: "s" }, { ...QUICK, outputBufferBytes: 10 * KB });
      const peer = await server.next();
      peer.json({ type: "event", event: "started", session_id: "s", pid: 7 });
      const terminal = await opening;
      for (let sent = 0; sent < 3; sent++) peer.json({ type: "output", data: "x".repeat(4 * KB) });
      await rejects(terminal.exit, sdk.SandboxError, "buffer_full");
    }),
  },
];
