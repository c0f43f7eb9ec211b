// Sandboxes of any provider: commands, files, network, code and terminals.

/** Which provider is asked, and with what. */
export interface ProviderConnectionOpts extends CallOpts, ProviderSettings {
    /** Default: that of a qualified id, then `ABX_PROVIDER` of the environment, then the built-in one. Objects are used as they are. */
    provider?: ProviderLike | undefined;
    /** Used in place of the global `fetch`. */
    fetch?: typeof globalThis.fetch | undefined;
    /** Seconds that one request to the control plane or an engine may take. Default 60. */
    requestTimeout?: number | undefined;
    /** How messages to a daemon are written. Default `"auto"`. */
    encoding?: "auto" | "proto" | "json" | undefined;
}

export interface ProviderCreateOpts extends ProviderConnectionOpts {
    /** How long the sandbox lives, in seconds: 1 to 86 400. Default 300. */
    timeout?: number | undefined;
    metadata?: Record<string, string> | undefined;
    envs?: Record<string, string> | undefined;
    /** Names of volumes by path. */
    volumeMounts?: Record<string, string> | undefined;
    cpu?: number | undefined;
    /** MB. */
    memory?: number | undefined;
    /** MB. */
    disk?: number | undefined;
    gpu?: string | undefined;
    /** Whether ports are reached over TLS, with the sandbox's token. Never sent to REST platforms. Default true. */
    secure?: boolean | undefined;
    /** Told the id as soon as there is one. If it throws, the sandbox is killed and `create` rejects with what it threw. */
    onCreated?: ((sandboxId: string) => void) | undefined;
}

/** What is known of a sandbox. What the server did not say is null. */
export interface ProviderSandboxInfo {
    readonly sandboxId: string;
    readonly template: string;
    /** `creating`, `running`, `paused`, `pausing`, `stopping`, `stopped`, `error`, or what a newer server says. */
    readonly status: string;
    readonly metadata: Record<string, string>;
    readonly aliasName?: string | null;
    readonly envdVersion?: string | null;
    readonly clientId?: string | null;
    readonly accountId?: string | null;
    readonly userId?: string | null;
    readonly startedAt?: string | null;
    readonly endAt?: string | null;
    readonly cpuCount?: number | null;
    readonly memoryMb?: number | null;
    readonly diskSizeMb?: number | null;
    readonly lifecycle?: unknown;
    /** What the server says, which is not used. */
    readonly reportedDomain?: string | null;
    /** Seconds. */
    readonly timeout?: number;
    readonly region?: string;
    readonly envdUrl?: string | null;
    /** Opens the sandbox. Not among what is printed or written as JSON. */
    readonly envdAccessToken?: string | null;
}

/**
 * A sandbox of any provider. Every call is held against what the provider declares before anything is sent: what it does not declare
 * is a `ProviderFeatureNotSupportedError` (E8004).
 *
 * Requests that change something are sent once. When their connection is lost, the call rejects with a `ProviderProtocolError` (E8020)
 * whose `outcomeUnknown` is true, unless the runtime says that nothing was sent: that, and the loss of what only reads, is a
 * `ConnectionError` (E5001). What takes too long is a `ProviderTimeoutError` (E8022).
 *
 * `await using` kills the sandbox at the end of the block.
 */
export declare class ProviderSandbox {
    private constructor();
    /**
     * Default template: `base`. Rejects with an `InvalidAPIKeyError` without a key or with a wrong one, a `TemplateNotFoundError`, a
     * `QuotaExceededError`, a `SandboxCreationError`. When something fails after the sandbox exists, it is killed again, and the
     * error has `ownedResource` and `cleanedUp`.
     */
    static create(opts?: ProviderCreateOpts): Promise<ProviderSandbox>;
    static create(template: string, opts?: ProviderCreateOpts): Promise<ProviderSandbox>;
    /** Neither resumes a paused sandbox nor lets one live longer. Rejects with a `SandboxNotFoundError` (E2009). */
    static connect(sandboxId: string, opts?: ProviderConnectionOpts & { secure?: boolean | undefined }): Promise<ProviderSandbox>;
    /** Default: 100 from the first on, of any status. */
    static list(opts?: ProviderConnectionOpts & { status?: string | undefined; limit?: number | undefined; offset?: number | undefined }): Promise<ProviderSandboxInfo[]>;
    static getInfoById(sandboxId: string, opts?: ProviderConnectionOpts): Promise<ProviderSandboxInfo>;
    /** Seconds from now on. */
    static setTimeoutById(sandboxId: string, seconds: number, opts?: ProviderConnectionOpts): Promise<void>;
    /** A sandbox that is not there is no error. */
    static killById(sandboxId: string, opts?: ProviderConnectionOpts): Promise<void>;

    readonly id: string;
    /** The id of the provider. */
    readonly provider: string;
    readonly status: string;
    /** The address of the daemon, where the provider named one. */
    readonly url: string | null;
    readonly info: ProviderSandboxInfo;
    readonly capabilities: Set<Capability>;
    readonly operations: Set<Operation>;
    readonly commands: ProviderCommands;
    readonly files: ProviderFiles;
    readonly network: ProviderNetwork;
    readonly code: ProviderCode;
    /** The same as `serverAt()`. Throws E8004 where addresses must be asked for. */
    readonly server: ApplicationClient;

    /** The second call does nothing. */
    kill(opts?: CallOpts): Promise<void>;
    /** Gives back what is held here, and leaves the sandbox running. */
    close(): Promise<void>;
    /** Seconds from now on. */
    setTimeout(seconds: number, opts?: CallOpts): Promise<void>;
    /** False for one that is not there. What keeps from finding out is an error. */
    isRunning(opts?: CallOpts): Promise<boolean>;
    pause(opts?: CallOpts): Promise<void>;
    resume(opts?: CallOpts): Promise<void>;
    refreshInfo(opts?: CallOpts): Promise<ProviderSandboxInfo>;
    /** The same as `code.run`. */
    runCode(code: string, opts?: ProviderRunCodeOpts): Promise<CodeResult>;
    /** Default: 80 columns, 24 rows. */
    getTerminal(opts?: CallOpts & { cols?: number | undefined; rows?: number | undefined }): Promise<ProviderTerminal>;
    /** A client of the service behind a port, at the address that the provider names. Default port: 9000. */
    applicationClient(port?: number, opts?: ApplicationOpts): Promise<ApplicationClient>;
    /** The same without asking the provider. Throws E8004 where addresses must be asked for. */
    serverAt(port?: number, opts?: Omit<ApplicationOpts, "signal"> & { ptyPort?: number | undefined }): ApplicationClient;
    /** The named commands of the server of the image. */
    listCommands(opts?: ServerCommandOpts): Promise<NamedCommand[]>;
    /** Runs a named command and answers its result. Rejects with a `CommandNotFoundError` (E3005). */
    run(name: string, args?: Record<string, unknown>, opts?: ServerCommandOpts): Promise<unknown>;
    /** Starts the server of the image and waits until it is well. */
    startServer(opts?: StartServerOpts): Promise<ApplicationClient>;
    /** Always rejects with a `FileOperationError`, as in the original: `files.uploadUrl` names the address. */
    uploadUrl(path: string): Promise<never>;
    /** Always rejects with a `FileOperationError`, as in the original: `files.downloadUrl` names the address. */
    downloadUrl(path: string): Promise<never>;
    getUploadUrl(path: string): Promise<never>;
    getDownloadUrl(path: string): Promise<never>;
    [Symbol.asyncDispose](): Promise<void>;
}

/** A stream that is read once. Leaving its loop, or `close()`, ends what feeds it. */
export declare class StreamReader<T> implements AsyncIterable<T> {
    constructor(source: AsyncIterator<T>, close: () => Promise<void>, facts?: { pid?: number });
    /** Of output: the process, where it is known. */
    readonly pid?: number;
    [Symbol.asyncIterator](): AsyncIterableIterator<T>;
    /** Everything until the end. */
    collect(): Promise<T[]>;
    readable(): ReadableStream<T>;
    close(): Promise<void>;
    [Symbol.asyncDispose](): Promise<void>;
}

/** A piece of output, or the end. The first one of a stream is empty and has the pid. */
export interface ProcessChunk {
    type: "stdout" | "stderr" | "exit";
    data: string;
    /** Of an `exit`. */
    exitCode?: number;
    pid?: number;
    timestamp?: string | number;
}

export interface ProcessResult {
    stdout: string;
    stderr: string;
    /** Other codes than 0 are no error. -1 when a signal ended the program. */
    exitCode: number;
    /** Seconds. */
    executionTime: number;
    success: boolean;
}

export interface ProviderProcess {
    pid: number;
    /** The program and its arguments. */
    command: string;
    status: string;
    args: string[];
    tag?: string;
    cwd?: string;
    envs?: Record<string, string>;
}

export interface ProviderStartOpts extends CallOpts {
    /** Seconds, after which the program is killed. Default: 60 for `run` and `stream`, none for `start` and in the background. */
    timeout?: number | undefined;
    env?: Record<string, string> | undefined;
    cwd?: string | undefined;
    /** Default: `user`. */
    user?: string | undefined;
    /** Whether a command line is given to `sh -c` as it is. Default: if it has an operator (`| & ; < > ( )`) outside of quotes. */
    shell?: boolean | undefined;
}

export interface ProviderRunOpts extends ProviderStartOpts {
    /** Awaited before the next piece. If it throws, the program is killed and `run` rejects with what it threw. */
    onStdout?: ((data: string) => void | Promise<void>) | undefined;
    onStderr?: ((data: string) => void | Promise<void>) | undefined;
}

/**
 * Programs in the sandbox. A text is split into words as a shell does, and run without one: nothing in it is expanded, unless it has an
 * operator. A list is a program and its arguments.
 */
export interface ProviderCommands {
    /**
     * Waits for the end. When `signal` fires, the program is killed. Rejects with a `CommandTimeoutError` (E3001) after `timeout`, when
     * the program has been killed, and with an `EnvdRpcError` (E3006) when it cannot be started.
     */
    run(cmd: string | string[], opts?: ProviderRunOpts & { background?: false }): Promise<ProcessResult>;
    /** Starts a program and leaves it. Callbacks are told what is read from the answer. */
    run(cmd: string | string[], opts: ProviderRunOpts & { background: true }): Promise<StreamReader<ProcessChunk>>;
    run(cmd: string | string[], opts?: ProviderRunOpts & { background?: boolean }): Promise<ProcessResult | StreamReader<ProcessChunk>>;
    /** Output as it comes; the program starts when its loop does. Leaving the loop kills the program. */
    stream(cmd: string | string[], opts?: ProviderStartOpts): AsyncIterable<ProcessChunk>;
    /**
     * Starts a program at once and leaves it: closing the reader, and `signal`, only end the reading. Until then, a program whose
     * output nobody reads is kept waiting.
     */
    start(cmd: string | string[], opts?: ProviderStartOpts): Promise<StreamReader<ProcessChunk>>;
    list(opts?: CallOpts): Promise<ProviderProcess[]>;
    /** A text of digits is a pid, any other text a tag. Rejects with an `EnvdRpcError` when there is no such process. */
    kill(pid: number | string, opts?: CallOpts): Promise<void>;
    /** Default: 15. The daemon of the built-in provider and of REST providers delivers 9 and 15 only. */
    sendSignal(pid: number | string, signal?: number, opts?: CallOpts): Promise<void>;
    sendInput(pid: number | string, data: string | Uint8Array, opts?: CallOpts): Promise<void>;
}

export interface ProviderFileInfo {
    name: string;
    path: string;
    type: "file" | "directory";
    /** Bytes. */
    size: number;
    modified: Date | null;
}

export interface ProviderWatchEvent {
    type: "created" | "modified" | "deleted" | "renamed";
    path: string;
    oldPath: string | null;
    timestamp: string | number | null;
}

/**
 * The files of the sandbox. Rejects with a `FileNotFoundError` (E4001), a `PermissionDeniedError` (E4002), or a `FileOperationError`
 * (E4000) for whatever else goes wrong there.
 */
export interface ProviderFiles {
    /** Default encoding: utf-8. Bytes that are no text of it are a `FileOperationError`. */
    read(path: string, opts?: CallOpts & { encoding?: string | undefined }): Promise<string>;
    /** With `maxBytes`, the transfer of a longer file ends with a `FileSizeLimitError` (E4003). */
    readBytes(path: string, opts?: CallOpts & { maxBytes?: number | undefined }): Promise<Uint8Array>;
    write(path: string, data: string | ArrayBuffer | ArrayBufferView, opts?: CallOpts): Promise<void>;
    /** Default: `/`. */
    list(path?: string, opts?: CallOpts): Promise<ProviderFileInfo[]>;
    getInfo(path: string, opts?: CallOpts): Promise<ProviderFileInfo>;
    /** What keeps from finding out is an error, and not a no. */
    exists(path: string, opts?: CallOpts): Promise<boolean>;
    makeDir(path: string, opts?: CallOpts): Promise<void>;
    remove(path: string, opts?: CallOpts): Promise<void>;
    move(source: string, destination: string, opts?: CallOpts): Promise<void>;
    /** Changes from now on. */
    watch(path: string, opts?: CallOpts): Promise<StreamReader<ProviderWatchEvent>>;
    /** A signed address; `expiresIn` are seconds, by default it does not expire. E8004 where the provider has none. */
    uploadUrl(path: string, opts?: { expiresIn?: number | undefined }): Promise<string>;
    /** A signed address; `expiresIn` are seconds, by default it does not expire. E8004 where the provider has none. */
    downloadUrl(path: string, opts?: { expiresIn?: number | undefined }): Promise<string>;
    /** Always rejects (E8004): there is no disk here. Use `write`. */
    upload(localPath: string, remotePath: string): Promise<never>;
    /** Always rejects (E8004): there is no disk here. Use `readBytes`. */
    download(remotePath: string, localPath: string): Promise<never>;
}

/** Where ports are. The first four throw E8004 where the provider must be asked. */
export interface ProviderNetwork {
    getHost(port: number): string;
    getUrl(port: number): string;
    /** For ports that are guarded by the gateway. */
    getAccessHeaders(): Record<string, string>;
    /** For the server of the image. */
    getServerHeaders(): Record<string, string>;
    /** The address with the headers of the gateway. */
    resolve(port: number, opts?: CallOpts): Promise<[url: string, headers: Record<string, string>]>;
    resolveUrl(port: number, opts?: CallOpts): Promise<string>;
}

export interface ProviderRunCodeOpts extends CallOpts {
    /** Default: python. */
    language?: string | undefined;
    /** Seconds. Default 30. */
    timeout?: number | undefined;
    /** Runs in this context. Needs `code.context.execute`. */
    contextId?: string | undefined;
    /** `stateless` (default) runs alone, `default-context` where the last such run was. Needs `code.execute` or `code.default-context.execute`. */
    mode?: "stateless" | "default-context" | undefined;
    envs?: Record<string, string> | undefined;
    /** Callbacks need `code.stream`. */
    onStdout?: ((data: string) => void | Promise<void>) | undefined;
    onStderr?: ((data: string) => void | Promise<void>) | undefined;
    /** Told each result, as the provider makes them. */
    onResult?: ((result: Result | CodeResult) => void | Promise<void>) | undefined;
}

export interface CodeResult {
    /** The value of the last expression as text, or what was written to standard output. */
    text: string;
    stdout: string;
    stderr: string;
    exitCode: number;
    outputFiles: never[];
    /** Seconds. */
    executionTime: number;
    success: boolean;
    /** In all formats, where the provider has a code interpreter. */
    results: Result[];
    /** How the code failed, where the provider says it. */
    error: ExecutionError | undefined;
}

export interface CodeContext {
    id: string;
    language: string;
    cwd?: string;
}

/** Code, where the provider declares it. No way of running falls back to another. */
export interface ProviderCode {
    /** Code that fails is no error: see `success`. Rejects with a `CommandTimeoutError` (E3001) after `timeout`. */
    run(code: string, opts?: ProviderRunCodeOpts): Promise<CodeResult>;
    createContext(opts?: CallOpts & { language?: string | undefined }): Promise<CodeContext>;
    listContexts(opts?: CallOpts): Promise<CodeContext[]>;
    /** Rejects with a `ProviderResourceNotFoundError` (E8005) when there is no such context. */
    restartContext(id: string, opts?: CallOpts): Promise<CodeContext | void>;
    removeContext(id: string, opts?: CallOpts): Promise<void>;
}

export interface ProviderTerminal {
    readonly isConnected: boolean;
    send(text: string): Promise<void>;
    sendBytes(bytes: Uint8Array): Promise<void>;
    /** The next bytes; undefined after the end. */
    receive(): Promise<Uint8Array | undefined>;
    outputStream(): AsyncIterableIterator<Uint8Array>;
    resize(cols: number, rows: number): Promise<void>;
    /** Ends the shell. */
    close(): Promise<void>;
}
