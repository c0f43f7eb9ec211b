// What the server's refusals become: errors on the package's tree. They are classified by status and code and never by their
// words. What the server has said about a refusal beside its text is the property `server` of the error.

import {
  AuthenticationError,
  ConnectionError,
  FileNotFoundError,
  InvalidArgumentError,
  NotFoundError,
  ProtocolError,
  RateLimitError,
  SandboxError,
  ServiceBusyError,
  TimeoutError,
  UnsupportedError,
} from "#package";
import { isObject } from "./check.js";

/** A refusal of the server that has no class of its own. */
export class ServerError extends SandboxError {}
/** The policy of the server forbids it: a scope is missing, or a path, command, variable or URL is not allowed. */
export class PolicyDeniedError extends SandboxError {}
/** The policy forbids this path. */
export class PathDeniedError extends PolicyDeniedError {}
/** The endpoint is switched off by the server's policy, or does not exist there. */
export class EndpointUnavailableError extends UnsupportedError {}
/** A request, an upload, a download or an archive is larger than the server allows. */
export class PayloadTooLargeError extends SandboxError {}
/** There is no named command of that name. */
export class CommandNotFoundError extends NotFoundError {}
/** A named command refused its arguments. */
export class CommandArgumentError extends InvalidArgumentError {}
/** The function behind a named command failed. */
export class CommandExecutionError extends SandboxError {}

const named = { ServerError, PolicyDeniedError, PathDeniedError, EndpointUnavailableError, PayloadTooLargeError, CommandNotFoundError, CommandArgumentError, CommandExecutionError };
// The name is set from this table, not from `constructor.name`, because minifiers rename classes.
for (const [name, type] of Object.entries(named)) {
  Object.defineProperty(type.prototype, "name", { value: name, configurable: true, writable: true });
}

/** Codes about a path. They come with 403, and `file_exists` with 409. */
const PATH_CODES = ["path_not_allowed", "path_denied", "read_only", "symlink_denied", "extension_not_allowed", "file_exists", "path_invalid", "path_too_long"];

/** How much of the server's words a message repeats, in UTF-16 units. */
const LONGEST_TEXT = 500;

/** An error with what the server has said about it. Undefined facts are left out. */
export function failure(Type, code, message, facts = {}, { retryable = false, cause } = {}) {
  const error = new Type(message, { code, status: facts.status || undefined, retryable, cause });
  error.server = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
  return error;
}

/** What the body of a refusal says: the server's own envelope, that of its agents, or that of a broker in between. */
export function factsOf(status, body, headers, endpoint) {
  const inner = isObject(body?.error) ? body.error : undefined;
  const string = (value) => (typeof value === "string" && value !== "" ? value : undefined);
  const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : undefined);
  const seconds = number(body?.retry_after) ?? number(Number.parseFloat(headers?.get("retry-after") ?? ""));
  return {
    status,
    type: string(inner?.type) ?? string(body?.type),
    code: string(inner?.code) ?? string(body?.code),
    endpoint: string(body?.endpoint) ?? endpoint,
    scope: string(body?.scope),
    rule: string(body?.rule),
    identity: string(body?.identity),
    param: string(inner?.param),
    limit: number(body?.limit),
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
    text: (string(inner?.message) ?? string(body?.error))?.slice(0, LONGEST_TEXT),
  };
}

/** The error of an answer other than success. */
export function refusal(facts) {
  const { status, type, code, endpoint, text, scope, rule } = facts;
  const of = endpoint === undefined ? "the server" : `endpoint ${endpoint} of the server`;
  const said = text === undefined ? `${capital(of)} answered ${status}` : text;
  const make = (Type, own, message, extra) => failure(Type, own, message, facts, extra);

  if (status >= 300 && status < 400) {
    return make(ProtocolError, "redirect_refused", `${capital(of)} answered a redirect, which is never followed with credentials. Use the address it leads to`);
  }
  if (status === 401) return make(AuthenticationError, code ?? "unauthorized", `${capital(of)} refused the token: ${said}. Give the server's own token as option token`);
  if (code === "ambiguous_credentials") return make(AuthenticationError, code, `${said}. Something on the way adds an X-Access-Token of its own: send one`);
  if (status === 403 || (status === 409 && (type === "PolicyDenied" || PATH_CODES.includes(code)))) {
    if (PATH_CODES.includes(code)) return make(PathDeniedError, code, said);
    const needs = scope === undefined ? said : `${said}. The token needs the scope ${scope}`;
    return make(PolicyDeniedError, code ?? "permission_denied", needs);
  }
  if (status === 404 && code === "endpoint_disabled") {
    return make(EndpointUnavailableError, code, `${said}. Rule ${rule ?? "of the server"} switches it off; enable its group in the server's policy`);
  }
  if (status === 404 && (type === "FileNotFoundError" || type === "NotADirectoryError")) return make(FileNotFoundError, "file_not_found", said);
  if (status === 404) return make(NotFoundError, code ?? "not_found", said);
  if (status === 413) return make(PayloadTooLargeError, "payload_too_large", tooLarge(of, facts.limit));
  if (status === 429 && (type === "RateLimited" || code === "rate_limited" || code === "concurrency_limited")) {
    return make(RateLimitError, code ?? "rate_limited", `${said}. Wait for retryAfterMs`, { retryable: true });
  }
  if (status === 429) return make(RateLimitError, code ?? "too_many", `${said}. End something of the kind first`, { retryable: true });
  if (type === "TimeoutError") return make(TimeoutError, "command_timeout", `${said}. It was given up by the server; give it more timeoutMs`);
  if (status === 400) return make(InvalidArgumentError, code ?? "invalid_argument", said);
  if (status === 409) return make(ServerError, code ?? "conflict", said);
  if (status === 502 || status === 504) return make(ConnectionError, code ?? "unreachable", `Nothing answers for ${of}: ${said}. Is the server started, and on this port?`, { retryable: true });
  if (status === 503 && type === undefined) return make(ServiceBusyError, code ?? "service_busy", said, { retryable: true });
  if (status === 501 || status === 503) return make(UnsupportedError, code ?? "unsupported_by_server", said);
  if (type === "UnicodeDecodeError") {
    return make(ServerError, "output_not_text", `The output is not UTF-8, for which ${of} fails. Use process.run, which replaces such bytes`);
  }
  if (type === "TargetClosedError") {
    return make(ServerError, "browser_gone", `The browser of the server ended with its first request, which is a defect of the server. It works again for one call when the server is restarted`);
  }
  return make(ServerError, code ?? "server_error", said);
}

export function tooLarge(of, limit) {
  return `What ${of} was given or asked for is too large${limit === undefined ? "" : `: the limit is ${limit} bytes`}. Use sandbox.files for large files`;
}

/** What a named command's refusal means, which differs from that of other endpoints. */
export function commandRefusal(name, error) {
  const { server: facts = {} } = error;
  const { status, type, code, text } = facts;
  const said = type !== undefined && !text?.includes(type) ? `${type}: ${text ?? ""}` : text;
  // Without the server's words: they list all commands, the hidden ones too.
  if (status === 404 && error instanceof NotFoundError) {
    return failure(CommandNotFoundError, "command_not_found", `The server has no command ${JSON.stringify(name)}, or this token may not see it`, { ...facts, text: undefined }, { cause: undefined });
  }
  if (status === 400 && code === undefined) return failure(CommandArgumentError, "command_argument", `Command ${JSON.stringify(name)} refused its arguments: ${said}`, facts);
  if (status === 500 && !(error instanceof TimeoutError)) return failure(CommandExecutionError, "command_failed", `Command ${JSON.stringify(name)} failed: ${said}`, facts);
  return error;
}

function capital(words) {
  return words[0].toUpperCase() + words.slice(1);
}
