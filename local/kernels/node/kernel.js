// A Jupyter kernel for JavaScript and TypeScript: `node kernel.js CONNECTION_FILE`.
//
// `nel` runs the code in a process of its own, this file speaks Jupyter's protocol for it: messages in several parts,
// signed, over the sockets that the connection file names.

"use strict";

const crypto = require("node:crypto");
const fs = require("node:fs");
const { Session } = require("nel");
const zmq = require("zeromq");
const { translate } = require("./translate.js");

const DELIMITER = "<IDS|MSG>";
// How many messages may wait for a slow reader before the program's output waits for it.
const QUEUED = 64;

const connection = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const separator = connection.transport === "ipc" ? "-" : ":";
const address = (name) => `${connection.transport}://${connection.ip}${separator}${connection[`${name}_port`]}`;

const id = crypto.randomUUID();
const iopub = new zmq.Publisher({ noDrop: true, sendHighWaterMark: QUEUED });
const shell = new zmq.Router();
const control = new zmq.Router();
const stdin = new zmq.Router();
const heartbeat = new zmq.Reply();

let session = startSession();
let executions = 0;
// The run under way: what ends it early.
let current = null;

function startSession() {
  const started = new Session({ awaitExecution: true, cwd: process.cwd(), transpile: translate });
  watchForDeath(started);
  return started;
}

/** A program that ends its own process ends the kernel, as it would in any other language. */
function watchForDeath(started) {
  started._server.on("exit", () => process.exit(1));
}

function sign(parts) {
  const mac = crypto.createHmac("sha256", connection.key);
  for (const part of parts) mac.update(part);
  return mac.digest("hex");
}

function encode(type, content, parent) {
  const header = {
    msg_id: crypto.randomUUID(),
    session: id,
    username: "kernel",
    date: new Date().toISOString(),
    msg_type: type,
    version: "5.3",
  };
  const parts = [header, parent, {}, content].map((part) => JSON.stringify(part));
  return [DELIMITER, sign(parts), ...parts];
}

function decode(frames) {
  const at = frames.findIndex((frame) => frame.toString() === DELIMITER);
  const [signature, ...parts] = frames.slice(at + 1);
  const given = signature ?? Buffer.alloc(0);
  const expected = Buffer.from(sign(parts.slice(0, 4)));
  if (at < 0 || given.length !== expected.length || !crypto.timingSafeEqual(given, expected)) return null;
  const [header, , , content] = parts.map((part) => JSON.parse(part.toString()));
  return { identities: frames.slice(0, at), header, content };
}

// Sends follow each other: a socket refuses a second one while the first waits.
let publishing = Promise.resolve();
function publish(type, content, parent) {
  publishing = publishing.then(() => iopub.send([type, ...encode(type, content, parent)]));
  return publishing;
}

function reply(socket, request, type, content) {
  return socket.send([...request.identities, ...encode(type, content, request.header)]);
}

function execute(request) {
  const { code, silent = false, store_history: counts = !silent } = request.content;
  const parent = request.header;
  if (counts) executions += 1;
  const count = executions;
  const show = (type, content) => (silent ? publishing : publish(type, content, parent));
  show("execute_input", { code, execution_count: count });
  return new Promise((done) => {
    let finished = false;
    const finish = (content) => {
      if (finished) return;
      finished = true;
      current = null;
      publishing.then(() => done({ ...content, execution_count: count }));
    };
    const fail = (error) => {
      if (finished) return;
      show("error", error);
      finish({ status: "error", ...error });
    };
    current = { fail };
    session.execute(code, {
      onStdout: (text) => show("stream", { name: "stdout", text }),
      onStderr: (text) => show("stream", { name: "stderr", text }),
      onDisplay: ({ mime, display_id }) =>
        show("display_data", { data: mime, metadata: {}, transient: display_id ? { display_id } : {} }),
      onError: ({ error }) => fail({ ...error, traceback: [].concat(error.traceback ?? []) }),
      onSuccess: ({ mime }) => {
        if (mime && mime["text/plain"] !== "undefined") {
          show("execute_result", { data: mime, metadata: {}, execution_count: count });
        }
        finish({ status: "ok", payload: [], user_expressions: {} });
      },
    });
  });
}

/** There is no way to stop a program in the middle and keep its variables: it ends, and a new session begins. */
function interrupt() {
  const interrupted = current;
  session._server.removeAllListeners("exit");
  session.kill("SIGKILL", () => {
    session = startSession();
    interrupted?.fail({ ename: "KeyboardInterrupt", evalue: "", traceback: [] });
  });
}

const INFO = {
  status: "ok",
  protocol_version: "5.3",
  implementation: "agent-sandbox-kernel",
  implementation_version: "1.0.0",
  language_info: { name: "javascript", version: process.versions.node, mimetype: "text/javascript", file_extension: ".js" },
  banner: "",
  help_links: [],
};

async function answer(socket, request) {
  const parent = request.header;
  await publish("status", { execution_state: "busy" }, parent);
  switch (parent.msg_type) {
    case "kernel_info_request":
      await reply(socket, request, "kernel_info_reply", INFO);
      break;
    case "execute_request":
      await reply(socket, request, "execute_reply", await execute(request));
      break;
    case "interrupt_request":
      interrupt();
      await reply(socket, request, "interrupt_reply", { status: "ok" });
      break;
    case "shutdown_request":
      await reply(socket, request, "shutdown_reply", { status: "ok", restart: request.content.restart });
      process.exit(0);
  }
  await publish("status", { execution_state: "idle" }, parent);
}

async function serve(socket) {
  for await (const frames of socket) {
    const request = decode(frames);
    if (request) await answer(socket, request);
  }
}

async function beat() {
  for await (const frames of heartbeat) await heartbeat.send(frames);
}

async function main() {
  const sockets = { shell, iopub, stdin, control, hb: heartbeat };
  await Promise.all(Object.entries(sockets).map(([name, socket]) => socket.bind(address(name))));
  await Promise.all([serve(shell), serve(control), beat()]);
}

// Interrupts come as messages; the signal that reaches the whole group is for the programs it has started.
process.on("SIGINT", () => {});
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
