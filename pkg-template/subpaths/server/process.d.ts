/** Options of commands. */
export interface ServerProcessOpts extends ServerCallOpts {
    cwd?: string | undefined;
    /** Added to the server's own environment. Names that begin with `ABX_` are refused. */
    env?: Record<string, string | undefined> | undefined;
    /** Whether a shell reads the line. Default false: the server splits it into words and runs them. */
    shell?: boolean | undefined;
}

export interface ServerRunOpts extends ServerProcessOpts {
    /** After how many milliseconds the server kills the program; not what the program has started itself. Default 300 000. */
    timeoutMs?: number | undefined;
}

/** A line, which is split into words as a POSIX shell would and run without one, or the words themselves. */
export type ServerCommandLine = string | string[];

/** Programs on the server. A code other than 0 is an answer, not an error. */
export interface ServerProcesses {
    /**
     * Runs a command, tells its output line by line as it comes, and answers all of it. A last line without an end gets one, because the
     * server does not tell. What is no UTF-8 becomes U+FFFD.
     *
     * Rejects with a `TimeoutError` (`command_timeout`) and with a {@link ServerError} (`command_not_started`); errors have what had arrived
     * as `stdout` and `stderr`. Aborting does not stop the program, because the server does not notice: use `start` for that.
     */
    run(command: ServerCommandLine, opts?: ServerRunOpts & { onStdout?: ((text: string) => void | Promise<void>) | undefined; onStderr?: ((text: string) => void | Promise<void>) | undefined }): Promise<ServerResult>;
    /** The same as events, of which `exit` is the last. */
    stream(command: ServerCommandLine, opts?: ServerRunOpts): AsyncGenerator<ServerOutputEvent, void, undefined>;
    /**
     * Runs a command and answers its output at the end, in one answer: exact in its last line, but `\r` becomes `\n`.
     *
     * Rejects with a `TimeoutError` (`command_timeout`), and the output is lost; with a {@link ServerError} (`output_not_text`) when it is no UTF-8.
     */
    shell(command: ServerCommandLine, opts?: ServerRunOpts): Promise<ServerResult>;
    /** Starts a command in the background, without a time limit. */
    start(command: ServerCommandLine, opts?: ServerProcessOpts & { captureOutput?: boolean | undefined; stdin?: boolean | undefined }): Promise<ServerProcess>;
    /** Those that run. The server forgets those that have ended with it: their output and exit codes are lost. */
    list(opts?: ServerCallOpts): Promise<ServerProcessInfo[]>;
    /** Rejects with a `NotFoundError` (`process_not_found`) when there is none, or when it was forgotten. */
    get(pid: number, opts?: ServerCallOpts): Promise<ServerProcessInfo>;
    /** Sends a signal: 2, 9, 15, 18 or 20. Default `SIGTERM`. */
    signal(pid: number, signal?: ServerSignal, opts?: ServerCallOpts): Promise<{ pid: number; signal: number }>;
    kill(pid: number, opts?: ServerCallOpts): Promise<{ pid: number; signal: number }>;
    terminate(pid: number, opts?: ServerCallOpts): Promise<{ pid: number; signal: number }>;
    /** Only for processes that were started with `stdin`; else a {@link ServerError} (`conflict`). */
    sendStdin(pid: number, data: ServerFileData, opts?: ServerCallOpts & { eof?: boolean | undefined }): Promise<{ pid: number; written: number; closed: boolean }>;
    closeStdin(pid: number, opts?: ServerCallOpts): Promise<{ pid: number; written: number; closed: boolean }>;
    /**
     * What a process that was started with `captureOutput` has written, from the event `since` on. Waits up to `waitMs` (milliseconds, at
     * most 30 000) for something new. Characters at the edges of the server's pieces of 4096 bytes may be damaged.
     */
    output(pid: number, opts?: ServerCallOpts & { since?: number | undefined; waitMs?: number | undefined }): Promise<ServerOutput>;
    /** The same as it comes, until the process has ended; the loop's result is the exit code. */
    follow(pid: number, opts?: ServerFollowOpts): AsyncGenerator<ServerFollowEvent, number | undefined, undefined>;
    /** Waits for the end and answers the exit code. Rejects with a `TimeoutError` after `timeoutMs`; the process goes on. */
    wait(pid: number, opts?: ServerWaitOpts): Promise<number>;
}

/** A process in the background. The methods are those of `process` for its pid. */
export declare class ServerProcess {
    private constructor();
    readonly pid: number;
    readonly command: string;
    info(opts?: ServerCallOpts): Promise<ServerProcessInfo>;
    sendStdin(data: ServerFileData, opts?: ServerCallOpts & { eof?: boolean | undefined }): Promise<{ pid: number; written: number; closed: boolean }>;
    closeStdin(opts?: ServerCallOpts): Promise<{ pid: number; written: number; closed: boolean }>;
    output(opts?: ServerCallOpts & { since?: number | undefined; waitMs?: number | undefined }): Promise<ServerOutput>;
    follow(opts?: ServerFollowOpts): AsyncGenerator<ServerFollowEvent, number | undefined, undefined>;
    wait(opts?: ServerWaitOpts): Promise<number>;
    signal(signal?: ServerSignal, opts?: ServerCallOpts): Promise<{ pid: number; signal: number }>;
    kill(opts?: ServerCallOpts): Promise<{ pid: number; signal: number }>;
    terminate(opts?: ServerCallOpts): Promise<{ pid: number; signal: number }>;
    [Symbol.asyncIterator](): AsyncGenerator<ServerFollowEvent, number | undefined, undefined>;
}

export type ServerSignal = number | "SIGINT" | "SIGKILL" | "SIGTERM" | "SIGCONT" | "SIGTSTP";

export interface ServerResult {
    stdout: string;
    stderr: string;
    /** -N when signal N has ended the program. */
    exitCode: number;
    /** Whether the server's policy has cut the output. */
    truncated: boolean;
}

export type ServerOutputEvent = { type: "stdout" | "stderr"; data: string } | { type: "exit"; exitCode: number };

export interface ServerFollowEvent {
    type: "stdout" | "stderr";
    data: string;
    seq: number;
    /** Whether the server has dropped output before it, because nobody had read it. */
    dropped: boolean;
}

export interface ServerOutput {
    pid: number;
    events: { seq: number; stream: "stdout" | "stderr"; data: string }[];
    /** What `since` goes on with. */
    next: number;
    state: "running" | "exited" | (string & {});
    exitCode: number | undefined;
    dropped: boolean;
}

export interface ServerProcessInfo {
    pid: number;
    command: string;
    state: "running" | "exited" | (string & {});
    startedAt: Date | undefined;
    exitCode: number | undefined;
}

export interface ServerFollowOpts {
    since?: number | undefined;
    /** How long the server holds each question, in milliseconds, at most 30 000. Default 5000. */
    pollMs?: number | undefined;
    signal?: AbortSignal | undefined;
}

export interface ServerWaitOpts {
    /** In milliseconds. Default: for ever. */
    timeoutMs?: number | undefined;
    /** How often it is asked, in milliseconds. Default 500. */
    pollMs?: number | undefined;
    signal?: AbortSignal | undefined;
}
