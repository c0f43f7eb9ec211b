// The stub's answers as bytes that are made once: Connect envelopes in JSON and in binary, and the interpreter's lines.

import { blockOf, line } from "./work.js";

const LAST = 2;
const FIRST_PID = 7;

/** An answer: what comes first, a block that is repeated, and what comes last. */
function answer(head, block, repeats, tail) {
  return { head, block, repeats, tail, length: head.length + block.length * repeats + tail.length };
}

const made = new Map();

/** The answer for `count` events of `size` bytes, made by `build` when it is asked for the first time. */
function once(kind, { count, size }, build) {
  const key = `${kind}:${count}x${size}`;
  if (!made.has(key)) {
    const block = count === 0 ? 0 : blockOf(count, size);
    const lines = Array.from({ length: block }, (_, index) => line(index, size));
    made.set(key, build(lines, block === 0 ? 0 : count / block));
  }
  return made.get(key);
}

/** The stream of a process, in the encoding that its client asked for. */
export function processAnswer(encoding, work) {
  const coded = encoding === "proto" ? BINARY : JSON_MESSAGES;
  return once(encoding, work, (lines, repeats) =>
    answer(
      envelope(0, coded.start(FIRST_PID)),
      Buffer.concat(lines.map((text) => envelope(0, coded.stdout(Buffer.from(text))))),
      repeats,
      Buffer.concat([envelope(0, coded.end()), envelope(LAST, Buffer.from("{}"))]),
    ),
  );
}

/** The lines of a run of code. */
export function executeAnswer(work) {
  const event = (value) => Buffer.from(`${JSON.stringify(value)}\n`);
  return once("execute", work, (lines, repeats) =>
    answer(
      event({ type: "number_of_executions", execution_count: 1 }),
      Buffer.concat(lines.map((text) => event({ type: "stdout", text, timestamp: 1_700_000_000_000_000 }))),
      repeats,
      event({ type: "end_of_execution" }),
    ),
  );
}

function envelope(flags, payload) {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

const json = (value) => Buffer.from(JSON.stringify(value));

const JSON_MESSAGES = {
  start: (pid) => json({ event: { start: { pid } } }),
  stdout: (bytes) => json({ event: { data: { stdout: bytes.toString("base64") } } }),
  end: () => json({ event: { end: { exited: true, status: "exit status 0" } } }),
};

const field = (number, bytes) => Buffer.concat([Buffer.from([(number << 3) | 2, ...varint(bytes.length)]), bytes]);
const number = (position, value) => Buffer.from([position << 3, ...varint(value)]);

const BINARY = {
  start: (pid) => field(1, field(1, number(1, pid))),
  stdout: (bytes) => field(1, field(2, field(1, bytes))),
  end: () => field(1, field(3, Buffer.concat([number(2, 1), field(3, Buffer.from("exit status 0"))]))),
};

function varint(value) {
  const bytes = [];
  for (; value >= 0x80; value >>>= 7) bytes.push((value & 0x7f) | 0x80);
  return [...bytes, value];
}
