// The option `logger`: requests in words. It is told what the hooks are told, so no id, query or credential can be among it.

const LEVELS = ["debug", "info", "warn", "error"];

export function isLogger(value) {
  return typeof value === "object" && value !== null && LEVELS.every((level) => ["undefined", "function"].includes(typeof value[level]));
}

/** Tells `logger` of a request that is sent, or, when `facts` have a duration, of how it ended. What it throws is dropped. */
export function log(logger, { method, route, attempt, status, durationMs, error }) {
  const again = attempt > 1 ? ` (attempt ${attempt})` : "";
  try {
    if (durationMs === undefined) logger.debug?.(`${method} ${route}${again}`);
    else if (status === undefined) logger.error?.(`${method} ${route}${again} got no answer within ${durationMs} ms: ${error?.code ?? error?.name}`);
    else logger[status < 400 ? "info" : "error"]?.(`${method} ${route}${again} was answered ${status} after ${durationMs} ms`);
  } catch {
    // Watching must not change what is watched.
  }
}
