// What a contestant is asked to do, and whether it did it: an answer that lacks an event is an error, not a fast answer.
// Runs in every runtime.

import { outputOf, word } from "./work.js";

/** What may surround a file that is sent as a form, in bytes. */
const LARGEST_FORM = 1024;

/** Does `job` and answers the ms that each round took. */
export async function perform(contestant, job) {
  const task = TASKS[job.task];
  const samples = [];
  for (let round = 0; round < (job.rounds ?? 1); round += 1) {
    const start = performance.now();
    await task(contestant, job);
    samples.push(performance.now() - start);
  }
  return samples;
}

const TASKS = {
  /** `count` events of `size` bytes in each of `streams` commands at a time. */
  events: (contestant, { streams = 1, ...job }) => atOnce(streams, () => events(contestant, job)),

  async code(contestant, { count, size, callback }) {
    const seen = counter(callback);
    const lines = await contestant.code(word(count, size), { onStdout: seen.onStdout });
    if (contestant.drains) return;
    const length = lines.reduce((sum, line) => sum + line.length, 0);
    expect(length, count * size, "characters in the result");
    expect(lines.length, count, "lines in the result");
    seen.check(count * size);
  },

  /** A command that says nothing, `parallel` of them at a time. */
  run: (contestant, { parallel = 1 }) => atOnce(parallel, () => contestant.run("true")),

  async upload(contestant, { size, stream }) {
    const data = stream ? generated(size) : bytes(size);
    const { name } = await contestant.upload(`/bench/${size}`, data);
    // The standard client wraps a file into a form, whose headers come on top.
    const extra = Number(name) - size;
    if (extra < 0 || extra > LARGEST_FORM) throw new Error(`${name} bytes of ${size} reached the server`);
  },

  async download(contestant, { size, stream }) {
    const answer = await contestant.download(`/${word(1, size)}`, stream ? "stream" : "bytes");
    expect(stream ? await lengthOf(answer) : answer.length, size, "bytes of the file");
  },
};

async function events(contestant, { count, size, callback, keep = true, command, check }) {
  const seen = counter(callback, check);
  const text = await contestant.events(command ?? word(count, size), { onStdout: seen.onStdout, keep });
  if (contestant.drains) return;
  if (keep) expect(text.length, count * size, "characters in the result");
  // To look at every character costs time that is not the client's, so only the warm-up does it.
  if (check && keep && !command && text !== outputOf(count, size)) throw new Error("the output is not what was sent");
  seen.check(count * size);
}

/** A callback of the kind that is wanted, and what it saw. */
function counter(kind = "none") {
  let length = 0;
  const count = (text) => void (length += text.length);
  const onStdout = { none: undefined, sync: count, async: async (text) => count(text) }[kind];
  return { onStdout, check: (expected) => onStdout && expect(length, expected, "characters in callbacks") };
}

function expect(actual, expected, what) {
  if (actual !== expected) throw new Error(`${actual} instead of ${expected} ${what}`);
}

const atOnce = (count, run) => (count === 1 ? run() : Promise.all(Array.from({ length: count }, run)));

let buffer = new Uint8Array(0);

/** Bytes to send: the same memory each time. */
function bytes(size) {
  if (buffer.length < size) buffer = new Uint8Array(size).fill(120);
  return buffer.subarray(0, size);
}

function generated(size) {
  const piece = bytes(64 * 1024);
  let left = size;
  return new ReadableStream({
    pull(controller) {
      const next = piece.slice(0, Math.min(piece.length, left));
      left -= next.length;
      if (next.length > 0) controller.enqueue(next);
      if (left === 0) controller.close();
    },
  });
}

async function lengthOf(stream) {
  const reader = stream.getReader();
  for (let length = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return length;
    length += value.length;
  }
}
