// A visitor's terminal over a plain WebSocket: `POST terminal` answers an address with a token that is good for one connection and one
// minute, because WebSockets of pages carry no session; whoever dials it gets a shell of the sandbox. How frames are read is the
// same as at the local server's bridge, so that clients need not know whose it is.

import { ConnectionError, NotFoundError } from "#package";
import { Refusal, json } from "./http.js";
import { TerminalLine } from "./terminal-line.js";

const LARGEST = 65_535;

/** Close codes of clients that do not want their shell any more. */
const GOODBYES = [1000, 1001, 1005];

/** Sockets of Workers, where the host gives no function of its own. */
function pairOf() {
  const { 0: theirs, 1: socket } = new globalThis.WebSocketPair();
  socket.accept();
  return { socket, response: new Response(null, { status: 101, webSocket: theirs }) };
}

/** How this host makes a request a WebSocket. */
function upgraderOf({ upgradeWebSocket }) {
  const upgrade = upgradeWebSocket ?? (typeof globalThis.WebSocketPair === "function" ? pairOf : undefined);
  if (upgrade) return upgrade;
  const message = "The broker's host gives it no WebSockets, and so there are no terminals over them. Give createSandboxBroker the option upgradeWebSocket";
  throw new Refusal(501, "unsupported", message);
}

/** `POST terminal`: an address for one terminal. */
export function address({ options, sessions }, visitor, endpoint) {
  upgraderOf(options);
  const { sandboxId } = sessions.read(visitor, "run");
  const { token, expiresAt } = sessions.issueTerminal(visitor, sandboxId);
  const url = new URL(`${endpoint}/terminal`);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.searchParams.set("token", token);
  return { url: url.href, expiresAt: new Date(expiresAt).toISOString() };
}

/** Whether a request is for {@link upgrade}. */
export function isUpgrade(request) {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** `GET terminal`, to become a WebSocket. The answer belongs to the host and is sent as it is. */
export async function upgrade(parts, request, context, url) {
  const make = upgraderOf(parts.options);
  let claims;
  let refused;
  try {
    claims = await parts.sessions.takeTerminal(url.searchParams.get("token"));
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    refused = cause;
  }
  const { socket, response } = await make(request, context);
  const line = new TerminalLine(socket);
  // A page cannot read why a connection was refused, unless there is one.
  const serving = refused === undefined ? serve(parts, line, claims, url.searchParams) : line.close(4001, "Unauthorized");
  const over = serving.catch((cause) => {
    parts.options.onError(cause);
    return line.close(1011, "The broker failed");
  });
  context?.waitUntil?.(over);
  return response ?? json({});
}

async function serve({ sandboxes }, line, { sandboxId }, query) {
  let asked;
  try {
    asked = read(query);
  } catch (wrong) {
    return line.close(4005, wrong.message);
  }
  const { pid, size, user, cwd, events, isOwn } = asked;
  let handle;
  let sandbox;
  const leaving = new AbortController();
  line.onLeft = () => leaving.abort();
  const onData = (bytes) => line.output(bytes);
  const { signal } = leaving;
  try {
    sandbox = await sandboxes.reach(sandboxId);
    if (pid === undefined) handle = await sandbox.pty.create({ ...size, user, cwd, onData, timeoutMs: 0, signal });
    else {
      handle = await sandbox.pty.connect(pid, { onData, signal });
      if (asked.isSized) await sandbox.pty.resize(pid, size);
    }
  } catch (cause) {
    if (signal.aborted) return undefined;
    sandboxes.forget(sandboxId);
    return refuse(line, cause);
  }
  line.onLeft = () => handle.disconnect();
  if (line.leftWith !== undefined) handle.disconnect();
  if (events) line.start({ type: "started", pid: handle.pid });
  line.begin({
    input: (bytes) => sandbox.pty.sendInput(handle.pid, bytes),
    resize: (next) => sandbox.pty.resize(handle.pid, next),
  });
  const outcome = await endOf(handle);
  if (line.leftWith !== undefined) {
    // Whoever means to come back, or was cut off, finds the shell as it was left.
    if (isOwn && GOODBYES.includes(line.leftWith)) await sandbox.pty.kill(handle.pid);
    return undefined;
  }
  await line.drained();
  if (outcome.error) return refuse(line, outcome.error);
  if (events) line.say({ type: "exited", ...(outcome.signal ? { signal: outcome.signal } : { exitCode: outcome.exitCode }) });
  return line.close(...outcome.close);
}

/** How a shell ended. Signals have the codes that shells give them, as far as they are known by number. */
async function endOf(handle) {
  let ended;
  try {
    ended = await handle.wait();
  } catch (error) {
    if (error?.code !== "command_exit") return { error };
    ended = error;
  }
  const { exitCode, signal } = ended;
  if (signal) return { signal, close: [4500 + 128 + (NUMBERS[signal] ?? 0), `signal ${signal}`] };
  if (exitCode === 0) return { exitCode, close: [1000, "exit 0"] };
  return exitCode >= 1 && exitCode <= 255 ? { exitCode, close: [4500 + exitCode, `exit ${exitCode}`] } : { exitCode, close: [1011, ""] };
}

const NUMBERS = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGALRM: 14, SIGTERM: 15 };

function refuse(line, cause) {
  if (cause instanceof NotFoundError || cause?.code === "sandbox_gone") return line.close(4004, "No such terminal");
  if (cause instanceof Refusal && cause.status === 409) return line.close(4003, "The sandbox is paused");
  // What was asked for is the visitor's own, and so is what is wrong with it.
  if (cause?.code === "invalid_argument" || cause?.code === "unauthenticated") return line.close(4005, cause.message);
  // To be dialled again: the shell is where it was.
  if (cause instanceof ConnectionError || cause?.code === "canceled" || cause?.code === "unavailable") return line.close(1012, "");
  return line.close(1011, "The sandbox does not answer");
}

/** What an address asks for. Throws an error that names what is wrong. */
function read(query) {
  const text = (name) => query.get(name) || undefined;
  const number = (name, most) => {
    const given = text(name);
    if (given === undefined) return undefined;
    if (/^\d{1,10}$/.test(given) && Number(given) >= 1 && Number(given) <= most) return Number(given);
    throw new Error(`${name} must be a whole number from 1 to ${most}`);
  };
  const [cols, rows] = [number("cols", LARGEST), number("rows", LARGEST)];
  const pid = number("pid", 4_294_967_295);
  return {
    pid,
    size: { cols: cols ?? 80, rows: rows ?? 24 },
    isSized: cols !== undefined || rows !== undefined,
    user: text("user"),
    cwd: text("cwd"),
    events: query.get("events") === "1",
    // Whoever comes back says that the shell is one that a bridge has started. Who may dial may end every process anyway.
    isOwn: pid === undefined || query.get("own") === "1",
  };
}
