// The error classes of the package. They are ordinary JavaScript classes, so `instanceof` and subclassing work and no
// WebAssembly memory is held by an error that somebody keeps.

export class SandboxError extends Error {
  constructor(message, facts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.code = facts.code ?? "sandbox_error";
    this.status = facts.status;
    this.requestId = facts.requestId;
    this.retryable = facts.retryable ?? false;
  }

  get statusCode() {
    return this.status;
  }
}

export class TimeoutError extends SandboxError {}
export class InvalidArgumentError extends SandboxError {}
export class NotEnoughSpaceError extends SandboxError {}
export class NotFoundError extends SandboxError {}
export class FileNotFoundError extends NotFoundError {}
export class SandboxNotFoundError extends NotFoundError {}
export class VolumeError extends SandboxError {}
export class VolumeNotFoundError extends VolumeError {}
export class VolumePathNotFoundError extends VolumeError {}
export class SecretError extends SandboxError {}
export class SecretNotFoundError extends SecretError {}
export class AuthenticationError extends SandboxError {}
export class GitAuthError extends AuthenticationError {}
export class GitUpstreamError extends SandboxError {}
export class RateLimitError extends SandboxError {}
export class ServiceBusyError extends SandboxError {}
export class TemplateError extends SandboxError {}
export class ConnectionError extends SandboxError {}
export class ProtocolError extends SandboxError {}
export class UnsupportedError extends SandboxError {}
export class InternalError extends SandboxError {}

export class BuildError extends SandboxError {
  constructor(message, facts = {}) {
    super(message, facts);
    this.step = facts.step;
    this.logEntries = facts.logEntries ?? [];
  }
}
export class FileUploadError extends BuildError {}

export class CommandExitError extends SandboxError {
  constructor(result) {
    super(exitMessage(result), { code: "command_exit" });
    this.exitCode = result.exitCode;
    this.stdout = result.stdout;
    this.stderr = result.stderr;
    this.error = result.error;
    this.signal = result.signal;
  }
}

const classes = {
  SandboxError,
  TimeoutError,
  InvalidArgumentError,
  NotEnoughSpaceError,
  NotFoundError,
  FileNotFoundError,
  SandboxNotFoundError,
  VolumeError,
  VolumeNotFoundError,
  VolumePathNotFoundError,
  AuthenticationError,
  RateLimitError,
  ServiceBusyError,
  TemplateError,
  ConnectionError,
  ProtocolError,
  UnsupportedError,
  InternalError,
};

// The name is set from this table, not from `constructor.name`, because minifiers rename classes.
const own = { BuildError, FileUploadError, CommandExitError, GitAuthError, GitUpstreamError, SecretError, SecretNotFoundError };
for (const [name, type] of Object.entries({ ...classes, ...own })) {
  Object.defineProperty(type.prototype, "name", { value: name, configurable: true, writable: true });
}

/** How much of standard error the message of a `CommandExitError` repeats, in UTF-16 units. */
const MESSAGE_STDERR = 2000;

function exitMessage(result) {
  const how = result.signal ? `was ended by ${result.signal}` : `exited with code ${result.exitCode}`;
  const text = result.stderr.trimEnd();
  if (text === "") return `The command ${how}`;
  const tail = text.length > MESSAGE_STDERR ? `…${text.slice(-MESSAGE_STDERR)}` : text;
  return `The command ${how}:\n${tail}`;
}

/** Called by the WebAssembly side to build an error: facts in, an instance of the class named `name` out. */
export function createError(name, code, message, status, requestId, retryable, cause) {
  return new classes[name](message, { code, status, requestId, retryable, cause });
}

/** Called by the WebAssembly side when a command ended with a code other than 0. */
export function createExitError(result) {
  return new CommandExitError(result);
}
