// What the cases about durable commands share: streams that are cut, output to be cut in, and what is left in the sandbox.

import { eventually } from "./assert.js";

export const START = "/process.Process/Start";

/**
 * A `fetch` that ends the answers to the requests of `path` after so many bytes, one number per answer, or one function that
 * says of each chunk how much of it is left before the cut, if it is to be cut at all. null leaves an answer whole, and so
 * does the end of the list. Every other cut is a reset, the others look like a clean end.
 */
export function cutting(path, cuts) {
  const left = [...cuts];
  return async (input, init) => {
    const response = await fetch(input, init);
    if (!new URL(input).pathname.endsWith(path) || left.length === 0) return response;
    const isReset = left.length % 2 === 0;
    const place = left.shift();
    if (place === null) return response;
    let passed = 0;
    const bytesLeft = typeof place === "function" ? place : () => place - passed;
    const reader = response.body.getReader();
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        const bytes = bytesLeft(value);
        passed += value.length;
        if (bytes === undefined || bytes > value.length) return controller.enqueue(value);
        if (bytes > 0) controller.enqueue(value.slice(0, bytes));
        await reader.cancel();
        if (isReset) controller.error(new TypeError("cut by the test"));
        else controller.close();
      },
      cancel: (why) => reader.cancel(why),
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

/** A `fetch` whose open streams of processes fall silent at `silence()`, as those of a page that is gone. */
export function silencing() {
  const open = [];
  const silent = async (input, init) => {
    const response = await fetch(input, init);
    if (!new URL(input).pathname.endsWith(START)) return response;
    const stream = { isSilent: false };
    open.push(stream);
    const reader = response.body.getReader();
    const body = new ReadableStream({
      async pull(controller) {
        const { done, value } = await reader.read();
        if (stream.isSilent) return new Promise(() => {});
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (why) => reader.cancel(why),
    });
    return new Response(body, { status: response.status, headers: response.headers });
  };
  return { fetch: silent, silence: () => open.forEach((stream) => (stream.isSilent = true)) };
}

/**
 * Text with characters of every length, NULs and line feeds, and the command that writes it in small pieces with pauses, so that
 * it is cut in many frames and not in one.
 */
const LINES = 300;
export const text = Array.from({ length: LINES }, (_, i) => `${i + 1}\0 größer € 🦀\n`).join("");
export const printing = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); printf '%d\\0 größer € 🦀\\n' $i; [ $((i % 15)) = 0 ] && sleep 0.1; done`;

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
export const sha256 = async (bytes) => hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
export const joined = async (chunks) => new Uint8Array(await new Blob(chunks).arrayBuffer());
export const hasEnded = (sandbox) => {
  const find = "ls -d /tmp/.durable-*/end.*";
  return eventually(async () => (await sandbox.commands.run(find, { user: "root", check: false })).exitCode === 0, "its end", 300);
};
export const spools = async (sandbox) => (await sandbox.commands.run("ls -d /tmp/.durable-* 2>/dev/null | wc -l")).stdout.trim();
