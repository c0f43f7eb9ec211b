import { PtySize, Sandbox } from "#package";

/** How a terminal is: `lost` while its connection is gone and it is dialled again, `ended` for ever. */
export type TerminalState = "connecting" | "ready" | "lost" | "ended";

/** What there is to say about a state. */
export interface TerminalStateFacts {
    /** Why the terminal is `lost`, or has `ended` when it failed or was aborted. */
    error?: unknown;
    /** Of `lost`: which attempt in a row comes next, from 1 on. */
    attempt?: number;
    /** Of `lost`: in how many milliseconds it comes. */
    delayMs?: number;
    /** Of `ended`: as in {@link TerminalExit}. */
    exitCode?: number | undefined;
    signal?: string | undefined;
    reason?: TerminalExit["reason"];
}

/** How a terminal ended that did not fail. */
export interface TerminalExit {
    /** `exited`: the shell did. `closed` and `detached`: this side left. */
    reason: "exited" | "closed" | "detached";
    /** The shell's exit code, where the server tells: the in-image server does not. */
    exitCode: number | undefined;
    /** The signal that ended the shell, such as `SIGKILL`. */
    signal: string | undefined;
}

/** When a lost connection is dialled again. */
export interface TerminalReconnectOpts {
    /** How many attempts in a row. Default 8; 0: none. */
    attempts?: number | undefined;
    /** Milliseconds before the first one, of which up to a half is left to chance. Doubled each time. Default 500. */
    initialDelayMs?: number | undefined;
    /** Milliseconds that no pause exceeds. Default 8000. */
    maxDelayMs?: number | undefined;
}

/**
 * The class of WebSockets: the global one, or any that behaves as it, listeners included, such as that of the package `ws`. They are
 * not spelled out, because each host declares them in a way of its own.
 */
export type WebSocketClass = new (url: string) => {
    binaryType: string;
    readonly readyState: number;
    send(data: string | Uint8Array<ArrayBuffer>): void;
    close(code?: number): void;
};

/** Options of {@link openTerminal} and {@link openServerTerminal}. */
export interface TerminalOpts {
    /** Character cells, from 1 to 65535. Default 80 by 24; a terminal that is open already keeps its size. */
    cols?: number | undefined;
    rows?: number | undefined;
    /** Called with each piece of output, in order, and awaited. What it throws ends the terminal. */
    onData?: ((bytes: Uint8Array<ArrayBuffer>) => void | Promise<void>) | undefined;
    /** Called with each change of the state. What it throws ends the terminal. */
    onState?: ((state: TerminalState, facts: TerminalStateFacts) => void) | undefined;
    /** Ends the terminal, whose promises then reject with `signal.reason`. */
    signal?: AbortSignal | undefined;
    /** How long the server may take to say that the terminal is there, in milliseconds, for each connection. Default 30 000; 0: no limit. */
    connectTimeoutMs?: number | undefined;
    /** Whether and when a lost connection is dialled again. Default: yes. */
    reconnect?: boolean | TerminalReconnectOpts | undefined;
    /**
     * How many bytes of output may wait to be read. Default 4 MiB. Past half of it a bridge is told to wait, and with it the program;
     * the in-image server cannot be: past all of it the terminal fails with the code `buffer_full`.
     */
    outputBufferBytes?: number | undefined;
    /** How many bytes of input may wait to be sent, beside what the host keeps. Default 1 MiB. */
    inputBufferBytes?: number | undefined;
    /** Default: the global `WebSocket`. */
    WebSocket?: WebSocketClass | undefined;
}

/** Options of {@link openTerminal}. */
export interface BridgeTerminalOpts extends TerminalOpts {
    /** The user whose shell it is. Default: the sandbox's default user. */
    user?: string | undefined;
    /** The shell's working directory. Default: the user's home. */
    cwd?: string | undefined;
    /** The process of a terminal that is open already, in place of a new one. Nothing is replayed. */
    pid?: number | undefined;
}

/** What a function that answers an address is told: it is asked for each connection, because tokens expire. */
export interface TerminalAddressRequest {
    /** The terminal's process, once it is known. The address need not repeat it. */
    pid: number | undefined;
    /** 0 for the first connection. */
    attempt: number;
    signal: AbortSignal | undefined;
}

/**
 * Where a plain bridge is: its URL (`ws:`, `wss:`, or the same with `http`), a function that answers one, or a sandbox whose server
 * or broker has a bridge.
 */
export type TerminalTarget = string | URL | Sandbox | ((request: TerminalAddressRequest) => string | URL | Promise<string | URL>);

/** A terminal session of the in-image server. */
export interface ServerTerminalTarget {
    /** The sandbox's address of port 9001, as `https:` or `wss:`. The `ws_url` that the server answers is of no use. */
    url: string | URL;
    /** The `session_id` that `POST /pty/sessions` answered. */
    sessionId: string;
    /** Sent in the query, because WebSockets of pages carry no headers. */
    token?: string | undefined;
}

/** A terminal over a WebSocket. It has one reader: `onData`, `output`, or a loop at a time. */
export declare class WebSocketTerminal {
    private constructor();
    readonly state: TerminalState;
    /** The shell's process, as the server says it. */
    readonly pid: number | undefined;
    /** As it was last asked for here. */
    readonly size: PtySize;
    /**
     * How it ended. Rejects with what it failed with, and with `signal.reason`; may be left alone. Codes: `connection_lost` when no
     * attempt to dial again succeeded, `unauthenticated`, `permission_denied`, `not_found` when the terminal is gone,
     * `buffer_full`, `message_too_large`, `server_error`, `protocol_error`.
     */
    readonly exit: Promise<TerminalExit>;
    /** The output as it was written, in bytes. Cancelling it closes the terminal. */
    readonly output: ReadableStream<Uint8Array<ArrayBuffer>>;
    /** The same as {@link write}, of any length. Closing it leaves the terminal open; aborting it does not. */
    readonly input: WritableStream<string | Uint8Array | ArrayBuffer>;
    /**
     * Types. Resolves when the bytes are with the host and there is room for more; while the terminal is `lost` they wait. What
     * was on the way when a connection was lost is lost.
     *
     * Rejects with `buffer_full` when more than `inputBufferBytes` would wait, with `disconnected` after the end, and, at the
     * in-image server, with `invalid_argument` for what is not UTF-8.
     */
    write(data: string | Uint8Array | ArrayBuffer): Promise<void>;
    /** Changes the size. While the terminal is `lost` it is kept for later. Throws an `InvalidArgumentError`. */
    resize(size: PtySize): void;
    /**
     * Sends a signal to what runs in the terminal. Default `SIGINT`. Bridges have `SIGINT` and `SIGQUIT`, which are typed; the in-image
     * server also `SIGTERM`, `SIGKILL` and `SIGHUP`. Throws an `InvalidArgumentError` for others.
     */
    signal(name?: "SIGINT" | "SIGQUIT" | "SIGTERM" | "SIGKILL" | "SIGHUP"): void;
    /** The output as text, of one decoder. Leaving the loop leaves the terminal open. */
    text(): AsyncGenerator<string, void, undefined>;
    /** The output in bytes. Leaving the loop leaves the terminal open. */
    [Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined>;
    /** Ends the terminal. A shell that a bridge has started ends with it; a session of the in-image server waits to be deleted. */
    close(): void;
    /** Ends the terminal and leaves its shell running, to be opened again by its `pid` or session. A bridge keeps it for a minute. */
    detach(): void;
    /** The same as {@link close}. */
    dispose(): void;
    [Symbol.dispose](): void;
    [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens a terminal at a plain bridge: that of the local server or of a broker.
 *
 * Rejects with `invalid_argument` for options that are wrong, `unsupported` where there is no `WebSocket`, `connection_failed`,
 * `request_timeout` (`connectTimeoutMs`), `unauthenticated`, `permission_denied`, `not_found` for a `pid` that is no terminal, and with
 * `signal.reason`. No error and no log has the query of a URL.
 */
export declare function openTerminal(target: TerminalTarget, opts?: BridgeTerminalOpts): Promise<WebSocketTerminal>;

/** Opens a session of the in-image server. Its output is text that the server has decoded. Rejects as {@link openTerminal}. */
export declare function openServerTerminal(target: ServerTerminalTarget, opts?: TerminalOpts): Promise<WebSocketTerminal>;

/**
 * The address of a sandbox's terminal, for stock clients: whoever dials it gets a shell, as binary frames both ways. Keep it out of
 * logs: it carries the sandbox's token, or one of the broker's that is good for one minute.
 *
 * Rejects as `Sandbox.attach` where a broker is asked.
 */
export declare function terminalUrl(
    sandbox: Sandbox,
    opts?: Partial<PtySize> & { user?: string; cwd?: string; pid?: number; signal?: AbortSignal },
): Promise<string>;
