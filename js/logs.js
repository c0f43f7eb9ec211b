// The logs that the control plane keeps of a sandbox.

import { NotFoundError } from "./errors.js";
import { invalid } from "./options.js";

const LEVELS = ["debug", "info", "warn", "error"];
const MOST = 1000;

/** `ask(version, query, options)` calls the server's route of that version. */
export async function readLogs(ask, opts) {
  const refuse = (name, wanted) => {
    throw invalid(`Option ${name} of getLogs must be ${wanted}`);
  };
  if (opts !== undefined && opts !== null && typeof opts !== "object") {
    throw invalid("The options of getLogs must be an object");
  }
  // As everywhere, null counts as absent.
  const given = Object.fromEntries(Object.entries(opts ?? {}).filter(([, value]) => value !== null));
  const { cursor, limit, direction, level, search, ...options } = given;
  const time = cursor?.getTime?.();
  if (cursor !== undefined && !Number.isFinite(time)) refuse("cursor", "a valid Date");
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= MOST)) refuse("limit", `a whole number from 1 to ${MOST}`);
  if (direction !== undefined && !["forward", "backward"].includes(direction)) refuse("direction", '"forward" or "backward"');
  if (level !== undefined && !LEVELS.includes(level)) refuse("level", LEVELS.map((name) => `"${name}"`).join(", "));
  if (search !== undefined && typeof search !== "string") refuse("search", "a string");
  try {
    const { logs } = await ask(2, queryOf({ cursor: time, limit, direction, level, search }), options);
    return logs.map(entryOf);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
  // An older server, unless the sandbox does not exist, which the older route says as well. It cannot filter.
  const forward = direction === "forward";
  const answer = await ask(1, queryOf({ start: forward ? time : undefined, limit: MOST }), options);
  const entries = (answer.logEntries ?? answer.logs.map(({ timestamp, line }) => ({ timestamp, message: line }))).map(entryOf);
  const wanted = entries.filter(
    (entry) =>
      (forward || time === undefined || entry.timestamp.getTime() <= time) &&
      (level === undefined || LEVELS.indexOf(entry.level) >= LEVELS.indexOf(level)) &&
      (search === undefined || entry.message.includes(search)),
  );
  if (!forward) wanted.reverse();
  return wanted.slice(0, limit ?? MOST);
}

function queryOf(values) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}

function entryOf({ timestamp, level = "info", message = "", fields = {} }) {
  return { timestamp: new Date(timestamp), level, message, fields };
}
