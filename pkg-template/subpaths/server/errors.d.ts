/** What the server has said about a refusal. */
export interface ServerFacts {
    /** The HTTP status; absent when nothing was sent. */
    status?: number;
    /** The server's word for the kind of failure, such as `PolicyDenied` or the class of an exception. */
    type?: string;
    /** The server's code. */
    code?: string;
    endpoint?: string;
    /** The scope that is missing. */
    scope?: string;
    /** The rule of the policy that forbids it. */
    rule?: string;
    /** Who the server takes the token for. */
    identity?: string;
    /** The member of the body that is wrong, of agents. */
    param?: string;
    /** In bytes. */
    limit?: number;
    retryAfterMs?: number;
    /** The server's words, cut. */
    text?: string;
}

/** What every error that comes from an answer of the server has, of whatever class: `(error as WithServerFacts).server`. */
export interface WithServerFacts {
    readonly server?: ServerFacts;
}

/** A refusal of the server that has no class of its own. */
export declare class ServerError extends SandboxError implements WithServerFacts {
    readonly server?: ServerFacts;
}
/** The policy of the server forbids it: a scope is missing, or a command, a variable or a URL is not allowed. */
export declare class PolicyDeniedError extends SandboxError implements WithServerFacts {
    readonly server?: ServerFacts;
}
/** The policy forbids this path, or the file exists and may not be overwritten (`file_exists`). */
export declare class PathDeniedError extends PolicyDeniedError {}
/** The endpoint is switched off by the server's policy, or the server does not have it. */
export declare class EndpointUnavailableError extends UnsupportedError implements WithServerFacts {
    readonly server?: ServerFacts;
}
/** A request, an upload, a download, an archive or an output is larger than the server allows. */
export declare class PayloadTooLargeError extends SandboxError implements WithServerFacts {
    readonly server?: ServerFacts;
}
/** There is no named command of that name. */
export declare class CommandNotFoundError extends NotFoundError implements WithServerFacts {
    readonly server?: ServerFacts;
}
/** A named command refused its arguments. */
export declare class CommandArgumentError extends InvalidArgumentError implements WithServerFacts {
    readonly server?: ServerFacts;
}
/** The function behind a named command failed. */
export declare class CommandExecutionError extends SandboxError implements WithServerFacts {
    readonly server?: ServerFacts;
}
