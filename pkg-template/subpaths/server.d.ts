import {
    AttachedSandbox,
    Context,
    CreateCodeContextOpts,
    ExecutionError,
    InvalidArgumentError,
    NotFoundError,
    RequestOpts,
    Result,
    Sandbox,
    SandboxError,
    UnsupportedError,
} from "#package";

/** Options of {@link ServerClient}. */
export interface ServerClientOpts {
    /** The server's own token, sent as `Authorization: Bearer`. Not the API key, and not the token of a sandbox. */
    token?: string | undefined;
    /**
     * Further headers of every request, for whatever guards the port, or a function that answers them for each request. Those of the
     * connection cannot be set, and `Authorization` not beside `token`.
     */
    headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>) | undefined;
    /** Sends the requests. Default: the global `fetch`, looked up with each request. */
    fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
    /** How long one call may take, in milliseconds; 0: for ever. Default 30 000. Calls with a time of their own get that and 10 s. */
    requestTimeoutMs?: number | undefined;
    /**
     * How often a call is sent again when that is safe: after 429 with a `retry_after`, and what only reads (`GET`) also after 502,
     * 503, 504 and a failed connection. The call's time bounds the waits. Default 0.
     */
    retries?: number | undefined;
    /** The largest answer that is read into memory, in bytes. Default 256 MiB. */
    maxResponseBytes?: number | undefined;
    /** Ends every call of this client when it is aborted. */
    signal?: AbortSignal | undefined;
    /** The port of the server in a sandbox. Default 9000. */
    port?: number | undefined;
    /**
     * How a sandbox's port is reached: through the broker that the sandbox was attached through, which a page needs because the
     * server sends no CORS headers, or at the sandbox itself. Default: the broker, when there is one.
     */
    through?: "broker" | "sandbox" | undefined;
    /** Where the server's terminals are. Default: port 9001 of the same sandbox, or of this machine. */
    terminalUrl?: string | URL | undefined;
}

/** Options that every call has. */
export interface ServerCallOpts {
    /** Aborting it rejects the call with the signal's reason. What the server has begun goes on. */
    signal?: AbortSignal | undefined;
    /** How long this call may take, in milliseconds; 0: for ever. Default: as the client's, or as the call's own time needs. */
    requestTimeoutMs?: number | undefined;
}

/**
 * The client of the server that template images bring with them, `agent-sandbox-server`.
 *
 * Every call may reject with an `AuthenticationError` (no token or a wrong one), a {@link PolicyDeniedError} (a scope is missing, or the
 * policy forbids it), an {@link EndpointUnavailableError} (switched off), a {@link PayloadTooLargeError}, a `RateLimitError`, a
 * `TimeoutError` (`request_timeout`, `command_timeout`), a `ConnectionError` (`connection_failed` for what only reads;
 * `outcome_unknown` when nobody can say whether the server has acted), a `ProtocolError`, and an `InvalidArgumentError` that names what is wrong
 * before anything is sent. {@link WithServerFacts} says where what the server has said is.
 */
export declare class ServerClient {
    /**
     * For a URL, which may have a path and a signed query, or for a sandbox, whose port is found by itself.
     *
     * Throws an `InvalidArgumentError` that names the option that is wrong. Sends nothing.
     */
    constructor(target: string | URL | Sandbox | AttachedSandbox, opts?: ServerClientOpts);
    /** Named commands of the image. */
    readonly commands: ServerCommands;
    readonly files: ServerFiles;
    /** Programs: those that somebody waits for, and those in the background. */
    readonly process: ServerProcesses;
    /** Terminal sessions over REST. */
    readonly terminal: ServerTerminals;
    readonly system: ServerSystem;
    /** Code and git; the server's policy must enable the group `dev_tools`. */
    readonly devTools: ServerDevTools;
    /** A browser on the server; the server's policy must enable the group `browser`. */
    readonly browser: ServerBrowser;
    /** Agents on the server; its policy must enable the group `agents`. */
    readonly agents: ServerAgents;
    /** Code by the server, or by the code interpreter of the sandbox. */
    readonly code: ServerCode;
    /** What `discover` has found last. */
    readonly capabilities: ServerCapabilities | undefined;

    /** The same server with another token, or without one. It has discovered nothing yet. */
    withToken(token: string | undefined): ServerClient;
    /** Whether the server answers that it is well. Rejects only for an abort and wrong options. */
    health(opts?: ServerCallOpts): Promise<boolean>;
    /** Waits until the server is well. Rejects with a `TimeoutError` after `timeoutMs` (milliseconds, default 30 000). */
    waitUntilHealthy(opts?: { timeoutMs?: number | undefined; signal?: AbortSignal | undefined }): Promise<void>;
    /**
     * Asks what the server permits to this token. From then on calls that it does not permit are refused without being sent; call
     * `forgetDiscovery` or `discover` again when its policy has changed.
     */
    discover(opts?: ServerCallOpts): Promise<ServerCapabilities>;
    forgetDiscovery(): void;
    /** Asks whether one call would be permitted, for these paths. Of several paths the first that is not decides. */
    check(endpoint: string, opts?: ServerCallOpts & { path?: string | undefined; paths?: string[] | undefined; op?: "read" | "write" | "delete" | "exec" | undefined }): Promise<ServerDecision>;

    /**
     * Any request to the port, answered as it is, whatever its status: for other routes of the image. `path` begins with a slash.
     * Redirects are answered and not followed.
     */
    fetch(path: string, init?: ServerFetchInit): Promise<Response>;
    /**
     * A request of JSON to a route of the image, with refusals as errors. Answers what was answered as JSON; undefined for nothing. What
     * the type says is not checked.
     */
    request<T = unknown>(method: string, path: string, opts?: ServerCallOpts & { json?: unknown; headers?: HeadersInit | undefined }): Promise<T>;
    /**
     * Server-sent events of a route of the image. After a cut they go on behind the last one that had an id, which is sent as
     * `Last-Event-ID`, with waits that double up to a limit and that the server's `retry` may set.
     *
     * Rejects with a `ConnectionError` when so many attempts in a row bring nothing.
     */
    events(path: string, opts?: ServerEventsOpts): AsyncGenerator<ServerEvent<string>, void, undefined>;
}

/** What {@link ServerClient.fetch} sends. */
export interface ServerFetchInit {
    /** Default `GET`. */
    method?: string | undefined;
    headers?: HeadersInit | undefined;
    body?: BodyInit | null | undefined;
    /** Ends the request, and reading the answer. */
    signal?: AbortSignal | undefined;
    /** How long the beginning of the answer may take, in milliseconds; 0: for ever. Default: as the client's. */
    requestTimeoutMs?: number | undefined;
}

/** How a stream goes on after a cut. */
export interface ServerReconnectOpts {
    /** How many attempts in a row may bring nothing. Default 5. */
    attempts?: number | undefined;
    /** The first wait, in milliseconds. It doubles with each attempt. Default 500. */
    delayMs?: number | undefined;
    /** The longest wait, in milliseconds. Default 10 000. */
    maxDelayMs?: number | undefined;
}

/** Options of streams that go on after a cut. */
export interface ServerStreamOpts {
    signal?: AbortSignal | undefined;
    /** Whether and how the stream goes on after a cut. Default true. */
    reconnect?: boolean | ServerReconnectOpts | undefined;
    /** Told before each attempt to go on. */
    onReconnect?: ((about: { attempt: number; delayMs: number; lastEventId: string | undefined; error: SandboxError }) => void) | undefined;
}

/** Options of {@link ServerClient.events}. */
export interface ServerEventsOpts extends ServerStreamOpts {
    /** Goes on behind the event of this id. Default: from wherever the server begins. */
    lastEventId?: string | undefined;
    headers?: HeadersInit | undefined;
    /** Which event is the last one. A stream that ends without it was cut. Default: the stream is over when the server ends it. */
    isEnd?: ((event: ServerEvent<string>) => boolean) | undefined;
    /** The largest event, in characters. Default 16 Mi. */
    maxEventSize?: number | undefined;
}

/** One server-sent event. */
export interface ServerEvent<Data> {
    /** Its type; `message` when it names none. */
    event: string;
    data: Data;
    /** The id of the last event that had one; empty when none had. */
    id: string;
}

/** Whether one call would be permitted. */
export interface ServerDecision {
    endpoint: string;
    allowed: boolean;
    /** Why not: `unknown_endpoint`, `endpoint_disabled`, `missing_scope`, `path_not_allowed` and so on. */
    code: string | undefined;
    reason: string | undefined;
    rule: string | undefined;
}
