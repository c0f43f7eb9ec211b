/** What a `SandboxError` can be made with. */
export interface ErrorFacts {
    code?: string;
    status?: number;
    requestId?: string;
    retryable?: boolean;
    cause?: unknown;
}

/** The base of every error of this package. Compare `code`, not `message`. */
export class SandboxError extends Error {
    constructor(message: string, facts?: ErrorFacts);
    /** Stable and machine readable: `"file_not_found"`, `"rate_limited"`, `"connection_failed"` and so on. */
    readonly code: string;
    /** The HTTP status of the answer, when there was one. */
    readonly status: number | undefined;
    /** The same as `status`. */
    get statusCode(): number | undefined;
    /** The server's id of the request, when it named one. */
    readonly requestId: string | undefined;
    /** Whether the same call may succeed later without being changed. */
    readonly retryable: boolean;
    /** What a command had written to standard output when waiting for it failed. */
    readonly stdout?: string;
    /** What a command had written to standard error when waiting for it failed. */
    readonly stderr?: string;
    /** What had arrived when running code failed in the middle. */
    readonly execution?: Execution;
}

/**
 * A clock ran out, or the sandbox is no longer there. The code tells which: `request_timeout` (`requestTimeoutMs`),
 * `idle_timeout` (`streamIdleTimeoutMs`), `deadline_exceeded`, `command_timeout` or `execution_timeout` (`timeoutMs`),
 * `sandbox_gone`.
 */
export class TimeoutError extends SandboxError {}
/** An argument or option is wrong. The message names it. */
export class InvalidArgumentError extends SandboxError {}
/** The sandbox's disk or the volume is full. */
export class NotEnoughSpaceError extends SandboxError {}
/** Something that was named does not exist. */
export class NotFoundError extends SandboxError {}
/** There is no file or directory at that path. */
export class FileNotFoundError extends NotFoundError {}
/** There is no sandbox of that id. */
export class SandboxNotFoundError extends NotFoundError {}
/**
 * Something about a volume did not work. The code tells what: `invalid_argument`, `already_exists`, `permission_denied`,
 * `server_error`.
 */
export class VolumeError extends SandboxError {}
/** There is no volume of that id. */
export class VolumeNotFoundError extends VolumeError {}
/** There is no file or directory at that path of the volume. */
export class VolumePathNotFoundError extends VolumeError {}
/**
 * Something about a secret did not work. The code tells what: `invalid_argument`, `conflict`, `permission_denied`,
 * `server_error`.
 */
export class SecretError extends SandboxError {}
/** There is no secret of that id or name (code `secret_not_found`). */
export class SecretNotFoundError extends SecretError {}
/** A key or token is missing or was refused. */
export class AuthenticationError extends SandboxError {}
/** A git server refused the credentials, or asked for some (code `git_auth`). The cause is the `CommandExitError`. */
export class GitAuthError extends AuthenticationError {}
/** A branch has no upstream (code `git_upstream`). The cause is the `CommandExitError`. */
export class GitUpstreamError extends SandboxError {}
/** Too many requests, or too many sandboxes. */
export class RateLimitError extends SandboxError {}
/** The server has no room for another sandbox right now. */
export class ServiceBusyError extends SandboxError {}
/** A template is wrong, or too old for what was asked. */
export class TemplateError extends SandboxError {}
/** A template could not be built: `build_failed` when one of its steps or its start failed. */
export class BuildError extends SandboxError {
    constructor(message: string, facts?: ErrorFacts & { step?: string; logEntries?: LogEntry[] });
    /** The step that failed: its number from 1 on, `base`, or `finalize`. */
    readonly step: string | undefined;
    /** What the server logged about the failure. */
    readonly logEntries: LogEntry[];
}
/** Files that a template copies could not be uploaded. */
export class FileUploadError extends BuildError {}
/**
 * The network failed: `connection_failed` before an answer could be read, `connection_lost` or `stream_truncated` in the
 * middle of one.
 */
export class ConnectionError extends SandboxError {}
/** The server answered with something that is not the protocol, such as the page of a proxy. */
export class ProtocolError extends SandboxError {}
/** This runtime lacks something that is needed. */
export class UnsupportedError extends SandboxError {}
/** A bug of this package. Only the call it happened in is affected. */
export class InternalError extends SandboxError {}

/** A command ended with a code other than 0. It has all that a `CommandResult` has. */
export class CommandExitError extends SandboxError {
    constructor(result: CommandResult);
    readonly exitCode: number;
    readonly stdout: string;
    readonly stderr: string;
    readonly error: string | undefined;
    /** The signal that ended the command, such as `SIGKILL`. */
    readonly signal: string | undefined;
}
