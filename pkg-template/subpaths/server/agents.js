// The group of agents, which the server's policy must enable: an interface in the shape of a known one over programs on the
// server. Objects go and come as they are, with the names that they have on the wire.

import { ProtocolError } from "#package";
import { segment } from "./address.js";
import { ROUTES } from "./agent-routes.js";
import { chunksOf } from "./calls.js";
import { isObject, kind, milliseconds, optional, options, text, wrong } from "./check.js";
import { resumed, valueOf } from "./events.js";

/** How long the server lets one turn of an agent take, with what it needs around it, in ms. */
const TURN_MS = 1_840_000;

/** What `stream` of a response ends with. */
const LAST_OF_RESPONSE = ["response.completed", "response.failed", "response.incomplete"];

/** The group as an object: a method for each route, and those that stream. */
export function agentsOf(calls) {
  const agents = {};
  for (const [name, endpoint, method, path] of ROUTES) {
    const words = name.split(".");
    let place = agents;
    for (const word of words.slice(0, -1)) place = place[word] ??= {};
    place[words.at(-1)] = methodOf(calls, `agents.${name}`, endpoint, method, path);
  }
  agents.sessions.events = (sessionId, opts) => sessionEvents(calls, sessionId, opts);
  agents.sessions.artifacts.content = (sessionId, artifactId, opts) => artifactContent(calls, sessionId, artifactId, opts);
  agents.responses.stream = (body, opts) => responseEvents(calls, body, opts);
  agents.responses.replay = (responseId, opts) => replayed(calls, responseId, opts);
  return agents;
}

function methodOf(calls, owner, endpoint, method, path) {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
  const isWriting = method === "POST";
  return async (...args) => {
    const values = names.map((name, index) => segment(args[index], `${name} of ${owner}`));
    const filled = path.replace(/\{\w+\}/g, () => values.shift());
    const [given, opts] = args.slice(names.length);
    if (given !== undefined && !isObject(given)) throw wrong(`The ${isWriting ? "body" : "query"} of ${owner} must be an object, not ${kind(given)}`);
    const { idempotencyKey, timeoutMs, ...rest } = options(opts, owner);
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": keyOf(idempotencyKey, owner) };
    // A response is the turn of a program, which takes as long as it takes.
    const usual = endpoint === "agents_responses_create" || endpoint === "agents_responses_compact" ? TURN_MS : undefined;
    const request = isWriting ? { json: given ?? {} } : { query: pairsOf(given ?? {}) };
    const ownMs = optional(milliseconds, timeoutMs, `Option timeoutMs of ${owner}`);
    return calls.ask(endpoint, method, filled, { owner, opts: rest, timeoutMs: ownMs ?? usual, headers, mayBeEmpty: endpoint === "agents_sessions_events_create", ...request });
  };
}

/** A filter by metadata is an object below one name. */
function pairsOf(query) {
  return Object.entries(query).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (isObject(value)) return Object.entries(value).map(([key, item]) => [`${name}[${key}]`, String(item)]);
    return [[name, String(value)]];
  });
}

function keyOf(value, owner) {
  if (/^[\u0020-\u007e]{1,128}$/.test(text(value, `Option idempotencyKey of ${owner}`))) return value;
  throw wrong(`Option idempotencyKey of ${owner} must be 1 to 128 printable ASCII characters`);
}

/**
 * What happens in a session, from the event `after` on (default: from now on), until it is idle and nothing is left. The server
 * does not read `Last-Event-ID`: what was cut is asked for again by `after`.
 */
async function* sessionEvents(calls, sessionId, given) {
  const owner = "agents.sessions.events";
  const opts = options(given, owner);
  const path = `/v1/agents/sessions/${segment(sessionId, `sessionId of ${owner}`)}/events`;
  const { after } = opts;
  if (after !== undefined && typeof after !== "string" && !Number.isInteger(after)) throw wrong(`Option after of ${owner} must be the id of an event, not ${kind(after)}`);
  const clock = calls.clock(owner, { signal: opts.signal, requestTimeoutMs: 0 });
  // Several events may have one id. After a cut all of them are asked for again, and those that came before are left out.
  let number;
  let seen = new Set();
  const open = (lastId) => {
    const behind = number === undefined ? lastId : String(Number(number) - 1);
    return calls.send(clock, "agents_sessions_events_stream", "GET", path, { query: behind === undefined ? [] : [["after", String(behind)]], accept: "text/event-stream" });
  };
  let last;
  // The server closes the stream behind an idle session, and only there.
  const isEnd = (event) => {
    if (event === undefined) return last === "agent.session.idle";
    last = event.event;
    return false;
  };
  for await (const { event, data, id } of resumed(clock, open, { opts, owner, isEnd, lastEventId: after })) {
    const value = valueOf(data);
    const name = value.event_id ?? data;
    if (id !== number) seen = new Set();
    if (seen.has(name)) continue;
    if (/^[1-9]\d*$/.test(id)) number = id;
    seen.add(name);
    yield { event, data: value, id };
  }
}

/** The raw content of an artifact. */
async function artifactContent(calls, sessionId, artifactId, opts) {
  const owner = "agents.sessions.artifacts.content";
  const path = `/v1/agents/sessions/${segment(sessionId, `sessionId of ${owner}`)}/artifacts/${segment(artifactId, `artifactId of ${owner}`)}/content`;
  const clock = calls.clock(owner, opts);
  try {
    const answer = await calls.send(clock, "agents_artifacts_content", "GET", path, {});
    const parts = [];
    let left = calls.largest;
    for await (const bytes of chunksOf(answer, clock, "GET")) {
      left -= bytes.length;
      if (left < 0) throw new ProtocolError("The artifact is larger than maxResponseBytes of ServerClient", { code: "response_too_large" });
      parts.push(bytes);
    }
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  } finally {
    clock.end();
  }
}

/** Creates a response and answers its events. After a cut they are replayed from the next one on, if the response has a name. */
async function* responseEvents(calls, body, given) {
  const owner = "agents.responses.stream";
  if (!isObject(body)) throw wrong(`The body of ${owner} must be an object, not ${kind(body)}`);
  const opts = options(given, owner);
  const headers = opts.idempotencyKey === undefined ? {} : { "idempotency-key": keyOf(opts.idempotencyKey, owner) };
  const create = (clock) => calls.send(clock, "agents_responses_create", "POST", "/v1/responses", { json: { ...body, stream: true }, headers, accept: "text/event-stream" });
  yield* eventsOfResponse(calls, owner, opts, { create });
}

/** The events of a response that exists, after the one of number `startingAfter`. */
async function* replayed(calls, responseId, given) {
  const owner = "agents.responses.replay";
  const opts = options(given, owner);
  yield* eventsOfResponse(calls, owner, opts, { id: segment(responseId, `responseId of ${owner}`), number: opts.startingAfter });
}

async function* eventsOfResponse(calls, owner, opts, { create, id, number }) {
  const clock = calls.clock(owner, { signal: opts.signal, requestTimeoutMs: 0 });
  let begun = create === undefined;
  const open = () => {
    if (!begun) {
      begun = true;
      return create(clock);
    }
    // Nobody knows whether the first request was acted on: it is not sent again.
    if (id === undefined) throw new ProtocolError("The stream of the new response was cut off before the response had a name", { code: "outcome_unknown" });
    const query = [["stream", "true"], ...(number === undefined ? [] : [["starting_after", String(number)]])];
    return calls.send(clock, "agents_responses_get", "GET", `/v1/responses/${id}`, { query, accept: "text/event-stream" });
  };
  const isEnd = (event) => event !== undefined && LAST_OF_RESPONSE.includes(event.event);
  for await (const { event, data } of resumed(clock, async () => open(), { opts, owner, isEnd })) {
    const value = valueOf(data);
    id = value.response?.id ?? id;
    if (Number.isInteger(value.sequence_number)) number = value.sequence_number;
    yield { event, data: value, id: String(number ?? "") };
  }
}

