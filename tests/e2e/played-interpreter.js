// The code interpreter, played by an injected fetch.

import { concat, scripted, withSandbox } from "./context.js";

export const EXECUTE = "/execute";

export const encode = (text) => new TextEncoder().encode(text);
export const line = (event) => `${JSON.stringify(event)}\n`;
export const end = line({ type: "end_of_execution" });
export const print = (text) => line({ type: "stdout", text, timestamp: "2026-01-02T03:04:05.600000+00:00" });

/** Runs `check` with a sandbox whose runs are answered by `chunks`. */
export const answered = (ctx, chunks, check, options) =>
  withSandbox(ctx, check, { fetch: scripted(EXECUTE, chunks, { contentType: "application/x-ndjson", ...options }) });

/** Runs `check` with a sandbox whose next run is answered by whatever chunks are given to the second argument. */
export function replaying(ctx, check) {
  let chunks = [];
  const fetchNext = (input, init) => scripted(EXECUTE, [...chunks], { contentType: "application/x-ndjson" })(input, init);
  return withSandbox(ctx, (sandbox) => check(sandbox, (next) => void (chunks = next)), { fetch: fetchNext });
}

/** A body that sends `chunks` and then stays open, and what became of it. */
export function openEnded(...chunks) {
  const state = { cancelled: false, signal: undefined };
  const answer = (_, { init }) => {
    state.signal = init.signal;
    const body = new ReadableStream({
      start: (controller) => chunks.forEach((chunk) => controller.enqueue(encode(chunk))),
      cancel: () => void (state.cancelled = true),
    });
    return new Response(body);
  };
  // The server is not asked: `base` has no interpreter.
  const fetchOpen = async (input, init) => (new URL(input).pathname === EXECUTE ? answer(null, { init }) : fetch(input, init));
  return { state, fetch: fetchOpen };
}

export const collect = async (events) => {
  const all = [];
  for await (const event of events) all.push(event);
  return all;
};

export const whole = concat(
  ...[
    line({ type: "number_of_executions", execution_count: 3 }),
    print("é🦀\n"),
    line({ type: "stderr", text: "warn", timestamp: 1735787045000000000 }),
    line({ type: "result", text: "fig", png: "iVBO\n", is_main_result: false, extra: {} }),
    line({ type: "result", text: "42", json: { a: [1, null] }, is_main_result: true, extra: { "a/b": 1 }, later: 1 }),
    line({ type: "keepalive" }),
    line({ type: "from_the_future" }),
    line({ type: "error", name: "ValueError", value: "boom", traceback: "Traceback" }),
    end,
  ].map((text) => encode(text)),
);

export const summary = {
  results: [
    { isMainResult: false, text: "fig", png: "iVBO\n" },
    { isMainResult: true, text: "42", json: { a: [1, null] }, extra: { "a/b": 1 } },
  ],
  logs: { stdout: ["é🦀\n"], stderr: ["warn"] },
  error: { name: "ValueError", value: "boom", traceback: "Traceback" },
  executionCount: 3,
};
