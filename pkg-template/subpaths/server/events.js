// Streams of server-sent events: read as they come, and gone on with after a cut where the server can. A stream that ends without
// what its kind ends with was cut off, because the server marks no end.

import { ConnectionError } from "#package";
import { chunksOf } from "./calls.js";
import { callback, isObject, milliseconds, optional, whole, wrong } from "./check.js";
import { parseJson } from "./json.js";
import { SseParser } from "./sse.js";

/** The largest event, in characters. */
const LARGEST = 16 * 1024 * 1024;

const RECONNECT = { attempts: 5, delayMs: 500, maxDelayMs: 10_000 };

/** What is read of `answer`: events `{ event, data, id }` with `data` as text. */
async function* read(answer, clock, parser) {
  const decoder = new TextDecoder();
  for await (const bytes of chunksOf(answer, clock, "GET")) yield* parser.feed(decoder.decode(bytes, { stream: true }));
}

/** The data of an event as the server means it: an object, or anything else below `data`. */
export function valueOf(text) {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : { data: value };
  } catch {
    return { data: text };
  }
}

/**
 * The events of one answer, without going on after a cut. `isEnd(event)` says which event is the last one; after it nothing is
 * read any more. `clock` ends with it.
 */
export async function* once(calls, clock, endpoint, method, path, request, isEnd) {
  try {
    const answer = await calls.send(clock, endpoint, method, path, { accept: "text/event-stream", ...request });
    for await (const { event, data, id } of read(answer, clock, new SseParser(LARGEST))) {
      const found = { event, data: valueOf(data), id };
      yield found;
      if (isEnd(found)) return;
    }
    throw cut();
  } finally {
    clock.end();
  }
}

/** The options of streams that go on after a cut. */
function reconnectOf(opts, owner) {
  const { reconnect = true } = opts;
  if (reconnect === false) return { ...RECONNECT, attempts: 0 };
  if (reconnect === true) return RECONNECT;
  if (!isObject(reconnect)) throw wrong(`Option reconnect of ${owner} must be a boolean or an object`);
  return {
    attempts: optional(whole, reconnect.attempts, `Option reconnect.attempts of ${owner}`, 0, 1000) ?? RECONNECT.attempts,
    delayMs: optional(milliseconds, reconnect.delayMs, `Option reconnect.delayMs of ${owner}`) ?? RECONNECT.delayMs,
    maxDelayMs: optional(milliseconds, reconnect.maxDelayMs, `Option reconnect.maxDelayMs of ${owner}`) ?? RECONNECT.maxDelayMs,
  };
}

/**
 * The events of a stream that goes on after a cut. `open(lastId, attempt)` sends the request that goes on after the event of that
 * id (undefined: from the beginning); `isEnd` as above. What was received counts as progress: `attempts` are those in a row that
 * bring nothing.
 */
export async function* resumed(clock, open, { opts, owner, isEnd, lastEventId, maxEventSize }) {
  const { attempts, delayMs, maxDelayMs } = reconnectOf(opts, owner);
  const onReconnect = callback(opts.onReconnect, `Option onReconnect of ${owner}`);
  const limit = optional(whole, maxEventSize, `Option maxEventSize of ${owner}`, 1) ?? LARGEST;
  let lastId = lastEventId;
  let failures = 0;
  let wait = delayMs;
  try {
    for (;;) {
      let problem;
      const parser = new SseParser(limit);
      try {
        const answer = await open(lastId);
        for await (const { event, data, id } of read(answer, clock, parser)) {
          failures = 0;
          if (id !== "") lastId = id;
          yield { event, data, id };
          if (isEnd({ event, data, id })) return;
        }
        if (isEnd(undefined)) return;
        problem = cut();
      } catch (error) {
        if (clock.stopped || !(error instanceof ConnectionError)) throw error;
        problem = error;
      }
      if (failures === 0) wait = delayMs;
      failures += 1;
      if (failures > attempts) throw problem;
      if (parser.retryMs !== undefined) wait = Math.min(parser.retryMs, maxDelayMs);
      onReconnect?.({ attempt: failures, delayMs: wait, lastEventId: lastId, error: problem });
      await clock.sleep(wait);
      wait = Math.min(wait * 2, maxDelayMs);
    }
  } finally {
    clock.end();
  }
}

export function cut() {
  return new ConnectionError("The stream of the server ended before its last event: it was cut off, and what happened after is unknown", { code: "stream_truncated" });
}
