// What an error says about itself, and which errors speak of the sandbox as a whole.

/** A failure of the elements themselves, in the manner of the package's errors: compare `code`. */
export class ElementError extends Error {
  name = "ElementError";

  constructor(code, message, { status, retryable = false, ...options } = {}) {
    super(message, options);
    this.code = code;
    this.retryable = retryable;
    if (status !== undefined) this.status = status;
  }
}

/**
 * Any thrown value as what is shown of it.
 *
 * @param {unknown} error
 * @param {Record<string, string>} advice What to do, by the code of the error.
 */
export function describe(error, advice) {
  if (!(error instanceof Error)) {
    return { name: "Error", code: undefined, message: String(error), advice: undefined, details: [] };
  }
  const { name, message, code, status, requestId, retryable, cause } = error;
  const details = [
    ["HTTP status", status],
    ["Request id", requestId],
    ["Same call may succeed later", typeof retryable === "boolean" ? (retryable ? "yes" : "no") : undefined],
    ["Cause", cause === undefined ? undefined : String(cause)],
  ].filter(([, value]) => value !== undefined);
  return { name, code, message, advice: advice[code] ?? (retryable ? "Try again." : undefined), details };
}

/** Whether the error says that the sandbox is no longer there. */
export const saysGone = (error) => error?.code === "sandbox_gone" || error?.code === "sandbox_not_found";

/** Whether the sandbox may be gone: the connection is, or the address does not answer. */
export const mayBeGone = (error) =>
  ["unavailable", "connection_failed", "connection_lost", "stream_truncated", "canceled", "offline"].includes(error?.code);

/** What readers of a page can do about an error, by its code. */
export const ADVICE = {
  connection_failed: "Check your connection, then try again. If it persists, the page's policy or the sandbox's address may be wrong.",
  connection_lost: "What had arrived is shown. Run it again once the sandbox is reachable.",
  stream_truncated: "What had arrived is shown. Run it again once the sandbox is reachable.",
  sandbox_gone: "Its files and variables are gone with it. Start a new sandbox, then run the cells again from the first.",
  sandbox_not_found: "Its files and variables are gone with it. Start a new sandbox, then run the cells again from the first.",
  execution_timeout: "The code was interrupted; variables are kept. Give the cell a longer timeout, or do less at once.",
  port_closed: "This sandbox runs no code. The page has to make it from a template with a code interpreter.",
  wasm_blocked: "The page's Content-Security-Policy has to allow 'wasm-unsafe-eval' in script-src.",
  sandbox_kept: "Wait until it has ended by itself, or run the cells in it as it is.",
  unauthenticated: "Sign in again or reload the page, then try again.",
  origin_not_allowed: "Tell the owner of this page: its back end does not know the page's address.",
  broker_failed: "Try again in a moment. If it persists, tell the owner of this page.",
  protocol_error: "Tell the owner of this page: its endpoint is not a broker.",
  too_many_at_once: "End a sandbox in another tab, or wait until it has ended by itself.",
  too_many_sandboxes: "You have had as many as one visitor may have. Come back later.",
  too_many_minutes: "You have had as much time as one visitor may have. Come back later.",
  busy: "Too many sandboxes are running. Try again in a moment.",
  rate_limited: "Too many sandboxes were asked for. Wait a moment, then try again.",
  service_busy: "Too many sandboxes are running. Try again in a moment.",
  not_enough_space: "Remove something from the sandbox first, or start a new one.",
  permission_denied: "The user of the sandbox may not do that. Choose a path below /home/user or /tmp.",
  file_not_found: "It was removed or renamed meanwhile.",
};
