// What the end of a connection means. Codes from 4000 on are the servers' own, which agree on those for refusals; the others are
// WebSocket's. What a server says as its reason is only repeated where it cannot hold a secret.

import { AuthenticationError, ConnectionError, InvalidArgumentError, NotFoundError, ProtocolError, SandboxError } from "#package";

/** The bridge adds a shell's exit code to this. */
const EXITED = 4500;

/**
 * `{ end }` when the shell has ended, `{ error }` when the terminal has, and `{ lost }` when the same terminal may be dialled again.
 *
 * @param {{ code: number, reason: string, attached: boolean }} closed `attached`: whether the server had said that the terminal is
 * there.
 */
export function meaningOf(dialect, { code, reason, attached }) {
  if (code === 1000) return attached ? { end: { exitCode: exitIn(reason), signal: undefined } } : { error: refusedEarly() };
  if (code > EXITED && code <= EXITED + 255) return { end: { exitCode: code - EXITED, signal: undefined } };
  if (code === 4001) return { error: new AuthenticationError("The terminal's token was refused. Get a new URL: tokens expire, and some open one terminal only", { code: "unauthenticated" }) };
  if (code === 4003) return { error: new AuthenticationError(`The terminal is not open to this token or this page${because(reason)}`, { code: "permission_denied" }) };
  if (code === 4004) return { error: new NotFoundError("There is no such terminal any more. Open a new one", { code: "not_found" }) };
  if (code === 4005) return { error: new InvalidArgumentError(`The server does not accept the terminal's options${because(reason)}`, { code: "invalid_argument" }) };
  if (code === 4008) return { error: full("The program reads nothing, and the server keeps no more input. Write less at once") };
  if (code === 1008) return { error: refusal1008(reason) };
  if (code === 1009) return { error: new SandboxError("The server does not take messages that long", { code: "message_too_large" }) };
  if (code === 1002 || code === 1003 || code === 1007) return { error: new ProtocolError(`The server has ended the terminal with close code ${code}: it speaks another protocol`, { code: "protocol_error" }) };
  // A session of the in-image server survives the failure of its connection; a bridge says so when it could not start the shell.
  if (code === 1011 && (dialect.pauses || !attached)) return { error: new SandboxError(`The server could not open the terminal${because(reason)}`, { code: "server_error", retryable: true }) };
  if (code >= 4000 && code < 5000) return { error: new SandboxError(`The server has ended the terminal with close code ${code}`, { code: "unknown" }) };
  return { lost: new ConnectionError(`The connection to the terminal is lost (close code ${code})`, { code: "connection_lost", retryable: true }) };
}

/** More waits than may. */
export function full(message) {
  return new SandboxError(message, { code: "buffer_full", retryable: true });
}

function exitIn(reason) {
  const said = /^exit (\d{1,3})$/.exec(reason)?.[1];
  return said === undefined ? undefined : Number(said);
}

function refusedEarly() {
  return new ConnectionError("The server has closed the connection before the terminal was open", { code: "connection_failed", retryable: true });
}

function refusal1008(reason) {
  if (/^Unknown session/.test(reason)) return new NotFoundError("The server has no such terminal session. It ended, or the server was started again", { code: "not_found" });
  if (/^Missing session_id/.test(reason)) return new InvalidArgumentError("sessionId of openServerTerminal did not reach the server", { code: "invalid_argument" });
  return new AuthenticationError("The server's policy does not allow the terminal", { code: "permission_denied" });
}

/** A server's reason, where it is one: a short line of plain text. */
function because(reason) {
  return /^[\x20-\x7e]{1,123}$/.test(reason) ? `: ${reason}` : "";
}
