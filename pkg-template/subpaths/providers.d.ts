import {
    AuthenticationError,
    ErrorFacts,
    ExecutionError,
    InvalidArgumentError,
    NotFoundError,
    ProtocolError,
    RateLimitError,
    Result,
    SandboxError,
    TimeoutError,
    UnsupportedError,
} from "#package";

/** Something that a provider can do, coarsely. */
export type Feature =
    | "sandbox.lifecycle"
    | "sandbox.timeout"
    | "sandbox.pause"
    | "exec.run"
    | "exec.stream"
    | "process.manage"
    | "pty"
    | "files.rw"
    | "files.watch"
    | "files.transfer"
    | "templates.read"
    | "templates.build"
    | "templates.deploy"
    | "ports.url"
    | "ports.domain"
    | "storage.mount"
    | "network.vpc"
    | "sessions";

/** One operation of a provider, exactly. Calls are held against these before anything is sent. */
export type Operation =
    | "sandbox.create"
    | "sandbox.get"
    | "sandbox.list"
    | "sandbox.delete"
    | "sandbox.timeout"
    | "sandbox.pause"
    | "sandbox.resume"
    | "template.prepare"
    | "exec.run"
    | "exec.stream"
    | "files.read"
    | "files.write"
    | "files.list"
    | "files.stat"
    | "files.remove"
    | "files.move"
    | "ports.resolve"
    | "code.execute"
    | "code.context.create"
    | "code.context.execute"
    | "code.context.list"
    | "code.context.restart"
    | "code.context.delete"
    | "code.default-context.execute"
    | "code.stream"
    | "code.results.structured";

/** What a provider can do in one word each: for discovery only. */
export type Capability = "shell" | "files" | "code" | "terminal" | "ports";

export declare const FEATURES: readonly Feature[];
export declare const OPERATIONS: readonly Operation[];
export declare function capabilitiesOf(provider: Pick<Provider, "features" | "operations">): Set<Capability>;

/** What every call takes. */
export interface CallOpts {
    /** Ends the call early: it then rejects with `signal.reason`. */
    signal?: AbortSignal | undefined;
}

// ---- providers

/** A setting of a provider: `providerOptions: { [key]: … }`, or the variable `ABX_<ID>_<KEY>` of the environment. */
export interface ProviderField {
    /** Lower-case letters, digits and underscores. */
    key: string;
    /** Default `"str"`. */
    type?: "str" | "url" | "int" | "float" | "bool" | "enum" | "path" | "csv" | undefined;
    /** Default false. */
    required?: boolean | undefined;
    /** Never has a default. Default false. */
    secret?: boolean | undefined;
    /** Whether its absence is an `InvalidCredentialsError`. Default false. */
    credential?: boolean | undefined;
    default?: string | number | boolean | undefined;
    /** Further variables of the environment. */
    env?: string[] | undefined;
    /** Of an `enum`. */
    choices?: string[] | undefined;
    description?: string | undefined;
    descriptionZh?: string | undefined;
}

/** Which of the options that every call takes reach a provider. Default: none. */
export type InheritedOption = "sandbox_api_key" | "sandbox_base_url" | "sandbox_domain";

/** What every provider says about itself. */
export interface ProviderDeclaration {
    /** 2 to 40 lower-case letters, digits and single dashes. Some are reserved. */
    id: string;
    name?: string | undefined;
    nameZh?: string | undefined;
    version?: string | undefined;
    features: readonly Feature[];
    operations: readonly Operation[];
    workflowInputs?: readonly ("source" | "image" | "managed" | "service")[] | undefined;
    startupModes?: readonly ("exec" | "entrypoint" | "none")[] | undefined;
    /** Optional inputs of `create`. */
    createOptions?: readonly "volume_mounts"[] | undefined;
    inherit?: readonly InheritedOption[] | undefined;
    configFields?: readonly ProviderField[] | undefined;
    /** Groups of fields, of which one must be complete. */
    authAnyOf?: readonly (readonly string[])[] | undefined;
}

/** A platform that speaks like the built-in provider's, at an address of its own: plain data. */
export interface RestProviderDefinition extends ProviderDeclaration {
    kind: "rest";
    /** Absolute http(s) address of the control plane. */
    baseUrl: string;
    /** What the names of ports end in. Default: the host of `baseUrl` without `api.`. */
    domain?: string | undefined;
    /** How the key is sent. Default: as a bearer token; the header's default name is `X-API-Key`. */
    auth?: { scheme: "bearer" } | { scheme: "header"; header?: string | undefined } | undefined;
    /** Default: `providerOptions.api_key`, or the inherited `sandboxApiKey`. */
    apiKey?: string | undefined;
}

/** Where an engine is. It writes both to its `engine.json` when it starts. */
export interface EngineAddress {
    /** Absolute http(s) address. */
    url: string;
    /** A text, or a function that answers the current one: it is asked again when the engine refuses the last one. */
    token: string | (() => string | Promise<string>);
    /** Used in place of the global `fetch`. */
    fetch?: typeof globalThis.fetch | undefined;
}

/** A provider that an engine carries: plain data. */
export interface EngineProviderDefinition extends ProviderDeclaration {
    kind: "node";
    engine: EngineAddress;
}

/** A provider of one's own. */
export interface ProviderDefinition extends ProviderDeclaration {
    kind?: "custom" | undefined;
    /** Makes the back end of one sandbox, or of one call. Throw an error of this module to refuse the configuration. */
    open(config: ProviderConfig): ProviderBackend | Promise<ProviderBackend>;
}

/** A provider with everything that its definition leaves out. Made by `defineProvider` and its like; cannot be changed. */
export interface Provider {
    readonly id: string;
    readonly name: string;
    readonly nameZh: string;
    readonly version: string;
    readonly kind: string;
    readonly features: readonly Feature[];
    readonly operations: readonly Operation[];
    readonly workflowInputs: readonly string[];
    readonly startupModes: readonly string[];
    readonly createOptions: readonly string[];
    readonly inherit: readonly string[];
    readonly authAnyOf: readonly (readonly string[])[];
    readonly configFields: readonly ProviderField[];
    open(config: ProviderConfig): ProviderBackend | Promise<ProviderBackend>;
}

/** A provider in any form. */
export type ProviderLike = string | Provider | RestProviderDefinition | EngineProviderDefinition | ProviderDefinition;

/** What a provider is opened with: checked, and complete. */
export interface ProviderConfig {
    /** The provider's own fields, by key. */
    fields: Record<string, unknown>;
    /** The options of every call that it inherits. */
    generic: { sandboxApiKey?: string; sandboxBaseUrl?: string; sandboxDomain?: string };
    env: Record<string, string> | undefined;
    connection: {
        fetch: typeof globalThis.fetch | undefined;
        /** Seconds. */
        timeout: number;
        encoding: "auto" | "proto" | "json" | undefined;
    };
}

/** How a call reaches a protocol. */
export interface ProtocolCall {
    signal?: AbortSignal | undefined;
    /** Seconds. */
    timeout?: number | undefined;
}

/**
 * What carries the calls of a provider. Whatever is missing is refused with E8004, and never done in another way. Methods are called
 * behind the gates of what the provider declares.
 */
export interface ProviderBackend {
    sandbox: SandboxProtocol;
    /** The protocols of one sandbox. */
    session?(info: ProviderSandboxInfo, context: { operation: "create" | "connect"; secure: boolean; signal: AbortSignal | undefined }): ProviderSession | Promise<ProviderSession>;
    close?(): void | Promise<void>;
}

export interface SandboxProtocol {
    create?(request: SandboxRequest, call: ProtocolCall): Promise<ProviderSandboxInfo>;
    get?(id: string, call: ProtocolCall): Promise<ProviderSandboxInfo>;
    connect?(id: string, call: ProtocolCall): Promise<ProviderSandboxInfo>;
    list?(query: { status: string | undefined; limit: number; offset: number }, call: ProtocolCall): Promise<ProviderSandboxInfo[]>;
    /** A sandbox that is not there is no error. */
    kill?(id: string, call: ProtocolCall): Promise<void>;
    setTimeout?(id: string, seconds: number, call: ProtocolCall): Promise<void>;
    isRunning?(id: string, call: ProtocolCall): Promise<boolean>;
    pause?(id: string, call: ProtocolCall): Promise<void>;
    resume?(id: string, call: ProtocolCall): Promise<void>;
}

export interface SandboxRequest {
    template: string;
    /** Seconds. */
    timeout: number;
    metadata: Record<string, string>;
    envs: Record<string, string>;
    volumeMounts: { name: string; path: string }[];
    cpu?: number | undefined;
    /** MB. */
    memory?: number | undefined;
    /** MB. */
    disk?: number | undefined;
    gpu?: string | undefined;
    secure?: boolean | undefined;
    /** Seconds. */
    requestTimeout?: number | undefined;
}

export interface ProviderSession {
    process?: ProcessProtocol | undefined;
    filesystem?: FilesystemProtocol | undefined;
    code?: CodeProtocol | undefined;
    ports?: PortProtocol | undefined;
    terminal?: { open(size: { cols: number; rows: number }, call: ProtocolCall): Promise<ProviderTerminal> } | undefined;
    close?(): void | Promise<void>;
}

export interface ProcessProtocol {
    /** Answers output as soon as the program runs; the last chunk is an `exit`. */
    start?(
        request: { cmd: string; args: string[]; env: Record<string, string>; cwd: string; user: string; timeout: number | undefined; leave?: boolean },
        call: ProtocolCall,
    ): Promise<StreamReader<ProcessChunk>>;
    list?(call: ProtocolCall): Promise<ProviderProcess[]>;
    sendInput?(pid: number | string, data: string | Uint8Array, call: ProtocolCall): Promise<unknown>;
    sendSignal?(pid: number | string, signal: number, call: ProtocolCall): Promise<unknown>;
}

export interface FilesystemProtocol {
    stat?(path: string, call: ProtocolCall): Promise<ProviderFileInfo>;
    list?(path: string, call: ProtocolCall): Promise<ProviderFileInfo[]>;
    exists?(path: string, call: ProtocolCall): Promise<boolean>;
    read?(path: string, opts: { maxBytes?: number | undefined }, call: ProtocolCall): Promise<Uint8Array>;
    write?(path: string, data: string | ArrayBuffer | ArrayBufferView, call: ProtocolCall): Promise<unknown>;
    makeDir?(path: string, call: ProtocolCall): Promise<unknown>;
    remove?(path: string, call: ProtocolCall): Promise<unknown>;
    move?(source: string, destination: string, call: ProtocolCall): Promise<unknown>;
    watch?(path: string, call: ProtocolCall): Promise<StreamReader<ProviderWatchEvent>>;
    uploadUrl?(path: string, opts: { useSignatureExpiration?: number }): Promise<string> | string;
    downloadUrl?(path: string, opts: { useSignatureExpiration?: number }): Promise<string> | string;
}

export interface CodeProtocol {
    run?(
        request: Required<Pick<ProviderRunCodeOpts, "language" | "timeout" | "mode">> & Omit<ProviderRunCodeOpts, "signal"> & { code: string },
        call: ProtocolCall,
    ): Promise<CodeResult>;
    createContext?(language: string, call: ProtocolCall): Promise<CodeContext>;
    listContexts?(call: ProtocolCall): Promise<CodeContext[]>;
    restartContext?(id: string, call: ProtocolCall): Promise<CodeContext | void>;
    removeContext?(id: string, call: ProtocolCall): Promise<void>;
}

export interface PortProtocol {
    host?(port: number): string;
    url?(port: number): string;
    accessHeaders?(): Record<string, string>;
    serverHeaders?(): Record<string, string>;
    /** Default: as `endpoint` says. */
    resolve?(port: number, call: ProtocolCall): Promise<{ url: string; headers: Record<string, string> }>;
    endpoint?(port: number, call: ProtocolCall): Promise<EndpointDescriptor>;
}

/** Where a service in a sandbox is. Names are those of the wire. */
export interface EndpointDescriptor {
    provider_id: string;
    sandbox_id: string;
    port: number;
    url: string;
    headers: Record<string, string>;
    authentication_audience: "gateway";
    /** Only `"prefix"` can be used by `ApplicationClient`. */
    path_mode: string;
    /** ISO 8601 with a zone. */
    expires_at?: string | undefined;
}

/**
 * The built-in provider, `alicloud-express`. With `code: true` it also declares the operations of code, and carries them out with the
 * code interpreter of the sandbox, whose template must have one; the original declares none. Default false.
 */
export declare function expressProvider(opts?: { code?: boolean | undefined }): Provider;
/** Throws a `ProviderConfigError` that says what is wrong. */
export declare function restProvider(definition: RestProviderDefinition): Provider;
/** Throws a `ProviderConfigError` or `InvalidArgumentError` that says what is wrong. */
export declare function engineProvider(definition: EngineProviderDefinition): Provider;
/** Throws a `ProviderConfigError` that says what is wrong. */
export declare function defineProvider(definition: ProviderDefinition): Provider;

/** What a provider declares, as plain data without secrets. Names are those of the wire. */
export interface ProviderDescription {
    id: string;
    name: string;
    name_zh: string;
    version: string;
    kind: string;
    features: Feature[];
    operation_contract_version: number;
    operations: { cli: Operation[]; python: Operation[] };
    workflow_inputs: string[];
    startup_modes: string[];
    extensions: unknown[];
    config_fields: {
        key: string;
        type: string;
        secret: boolean;
        credential: boolean;
        required: boolean;
        default: string | number | boolean | null;
        env: string[];
        aliases: string[];
        description: string;
        description_zh: string;
    }[];
    inherit: string[];
}
export declare function describeProvider(provider: Provider): ProviderDescription;

/** Makes a provider known by its id for the rest of the program. Throws a `ProviderConflictError` when the id is taken. */
export declare function registerProvider(provider: Exclude<ProviderLike, string>): Provider;
/** Forgets a registered provider; whether there was one. */
export declare function unregisterProvider(id: string): boolean;
/** Throws a `ProviderNotFoundError`, with what may have been meant. */
export declare function findProvider(id: string): Provider;
/** The built-in provider first, then those that are registered, by id. */
export declare function listProviders(): {
    id: string;
    name: string;
    name_zh: string;
    version: string;
    kind: string;
    trust: "builtin" | "local";
    features: Feature[];
}[];

/** `provider:sandboxId`. */
export declare function qualify(provider: string | Provider, sandboxId: string): string;
/** Cut at the first colon. Throws a `ProviderConfigError` for what is no reference. */
export declare function parseReference(reference: string): { provider?: string; sandboxId: string };

// ---- sandboxes

/** Which provider is asked, and with what. */
export interface ProviderConnectionOpts extends CallOpts {
    /** Default: that of a qualified id, then `ABX_PROVIDER` of the environment, then the built-in one. Objects are used as they are. */
    provider?: ProviderLike | undefined;
    /** The fields of the provider. One that it does not have is an error. */
    providerOptions?: Record<string, unknown> | undefined;
    /** Default: `ABX_SANDBOX_API_KEY` of the environment, for providers that inherit it. Never put one into a public page. */
    sandboxApiKey?: string | undefined;
    sandboxBaseUrl?: string | undefined;
    /** What the names of ports end in. Default: as `sandboxBaseUrl` says. */
    sandboxDomain?: string | undefined;
    /** Of the built-in provider. Default `cn-hangzhou`. */
    region?: string | undefined;
    /** Of the built-in provider; only its engine uses it. */
    accessKeyId?: string | undefined;
    /** Of the built-in provider; only its engine uses it. */
    accessKeySecret?: string | undefined;
    /** The environment, such as the bindings of a Worker. Default: that of the runtime, where it has one. */
    env?: Record<string, string> | undefined;
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

// ---- services in the sandbox

export interface ApplicationOpts extends CallOpts {
    /** Of the service. Never the key of the account, nor the token of the sandbox. */
    token?: string | undefined;
    /** Seconds for each request. Default 30. */
    timeout?: number | undefined;
}

export interface ServerCommandOpts extends ApplicationOpts {
    /** Default: 9000. */
    serverPort?: number | undefined;
}

export interface NamedCommand {
    name: string;
    description: string;
    args: { name: string; type: string; required: boolean; default?: unknown; description?: string }[];
}

export interface StartServerOpts extends CallOpts {
    /** Default: 9000. */
    port?: number | undefined;
    /** The file in the sandbox with named commands. */
    commands?: string | undefined;
    /** The name of a preset, or a policy. */
    policy?: string | Record<string, unknown> | undefined;
    token?: string | undefined;
    env?: Record<string, string> | undefined;
    /** In place of `agent-sandbox-server serve …`; then `commands` and presets are not added. */
    command?: string | string[] | undefined;
    /** Default true. */
    wait?: boolean | undefined;
    /** Seconds until the server must be well. Default 30. */
    timeout?: number | undefined;
}

export interface ServiceRequest extends CallOpts {
    /** Parameters behind those of the address, none of which can be overridden. */
    params?: Record<string, string | number | boolean | undefined> | undefined;
    /** Seconds. */
    timeout?: number | undefined;
}

/** The HTTP service behind a port. Requests are sent once; none can leave the path of the address; redirects are refused (E9000). */
export declare class ApplicationClient {
    private constructor();
    /** Without a query. */
    readonly baseUrl: string;
    /** Where the terminals of the server are, when the address was known without asking. */
    readonly ptyUrl: string | undefined;
    /** False when the service does not answer, or says otherwise. */
    health(opts?: ServiceRequest): Promise<boolean>;
    listCommands(opts?: ServiceRequest): Promise<NamedCommand[]>;
    /** Rejects with a `CommandNotFoundError` (E3005), an `InvalidArgumentError`, or what else the service says. */
    run(name: string, args?: Record<string, unknown>, opts?: ServiceRequest): Promise<unknown>;
    /** JSON in and out. Rejects with an error of E9000 to E9005 for a refusal. */
    json(method: string, path: string, opts?: ServiceRequest & { body?: unknown }): Promise<Record<string, unknown>>;
    /** Any request. Answers whatever the service answers. */
    fetch(path: string, init?: ServiceRequest & { method?: string | undefined; headers?: Record<string, string> | undefined; body?: RequestInit["body"] }): Promise<Response>;
    /** Whatever is sent afterwards is refused. */
    close(): void;
}

// ---- engines

/** An operation on resources of an account. Names are those of the wire. */
export interface ManagementCommand {
    id: string;
    description: string;
    description_zh: string;
    input_schema: Record<string, unknown>;
    output_schema: Record<string, unknown>;
    effect: "read" | "write" | "delete";
    idempotent: boolean;
}

export interface EngineCallOpts extends CallOpts {
    /** Seconds. Default 60, for `initialize` 30. */
    timeout?: number | undefined;
}

export interface EngineConfigOpts extends EngineCallOpts {
    providerOptions?: Record<string, unknown> | undefined;
    sandboxApiKey?: string | undefined;
    sandboxBaseUrl?: string | undefined;
    sandboxDomain?: string | undefined;
    region?: string | undefined;
    accessKeyId?: string | undefined;
    accessKeySecret?: string | undefined;
    env?: Record<string, string> | undefined;
}

export interface RunManagementOpts extends EngineConfigOpts {
    /** Plain data. Default: `{}`. */
    input?: Record<string, unknown> | undefined;
    /** Must be true for what writes or deletes; nothing but a boolean is taken. Default false. */
    confirm?: boolean | undefined;
}

/** An engine (`abx-engine/1`), for the management operations of its providers. */
export declare class ProviderEngine {
    /** Throws an `InvalidArgumentError` that names what is wrong. */
    constructor(engine: EngineAddress);
    /** That the engine has the provider, and that it can be used so. Sent once. */
    initialize(provider: ProviderLike, opts?: EngineConfigOpts): Promise<void>;
    /** No credentials are sent. */
    listCommands(provider: ProviderLike, opts?: EngineCallOpts): Promise<ManagementCommand[]>;
    getCommand(provider: ProviderLike, commandId: string, opts?: EngineCallOpts): Promise<ManagementCommand>;
    /**
     * Sent exactly once. Rejects with a `ProviderConfigError` (E8002) before anything is sent when `confirm` is missing for what is
     * known to change something, and with a `ProviderProtocolError` (E8020) when the outcome is unknown.
     */
    runCommand(provider: ProviderLike, commandId: string, opts?: RunManagementOpts): Promise<unknown>;
}

// ---- what needs a host: each always rejects with a ProviderFeatureNotSupportedError that says what to do instead

export declare function installProvider(source?: string): Promise<never>;
export declare function uninstallProvider(id?: string): Promise<never>;
export declare function updateProvider(id?: string): Promise<never>;
export declare function doctor(id?: string): Promise<never>;
/** Providers that are programs which speak over standard input and output. */
export declare function startExecProvider(command?: readonly string[]): Promise<never>;
export declare function discoverEngine(): Promise<never>;

// ---- errors: all are SandboxErrors, and of the class of the package that means the same

/** What errors of the family may know. */
export interface ProviderErrorFacts extends ErrorFacts {
    provider?: string | undefined;
    feature?: string | undefined;
    operation?: string | undefined;
    outcomeUnknown?: boolean | undefined;
}

/** What every error of the family may have. */
export interface ProviderFacts {
    /** The id of the provider. */
    readonly provider?: string;
    /** True when nobody can say whether what was asked for was done: inspect the state before repeating it. */
    readonly outcomeUnknown?: boolean;
}

/** E1001 */
export declare class InvalidAPIKeyError extends AuthenticationError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E1003 */
export declare class InvalidCredentialsError extends AuthenticationError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E2000 */
export declare class SandboxCreationError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E2001 */
export declare class TemplateNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E2002 */
export declare class QuotaExceededError extends RateLimitError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E3001 */
export declare class CommandTimeoutError extends TimeoutError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E3005 */
export declare class CommandNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E3006 */
export declare class EnvdRpcError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly rpcPath?: string;
}
/** E4000 */
export declare class FileOperationError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E4002 */
export declare class PermissionDeniedError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E4003 */
export declare class FileSizeLimitError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    /** Bytes. */
    readonly limit?: number;
}
/** E8000 */
export declare class ProviderError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8001 */
export declare class ProviderNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8002 */
export declare class ProviderConfigError extends InvalidArgumentError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8003 */
export declare class ProviderConflictError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8004: the provider does not declare it, or has no way to do it. Nothing was sent. */
export declare class ProviderFeatureNotSupportedError extends UnsupportedError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly feature?: string;
    readonly operation?: string;
}
/** E8005 */
export declare class ProviderResourceNotFoundError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8020: the answer is not the protocol, or did not come, and then nobody knows what was done. */
export declare class ProviderProtocolError extends ProtocolError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8022 */
export declare class ProviderTimeoutError extends TimeoutError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E8030 */
export declare class ProviderMismatchError extends InvalidArgumentError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E9000: the service behind a port refused, or answered something else than JSON (`errorType`: `ProtocolError`, `BindingRedirect`). */
export declare class ServerAPIError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly errorType?: string;
}
/** E9001 */
export declare class ServerAuthError extends AuthenticationError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E9002 */
export declare class PolicyDeniedError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    readonly scope?: string;
}
/** E9003 */
export declare class EndpointNotAvailableError extends NotFoundError {
    constructor(message: string, facts?: ProviderErrorFacts);
}
/** E9004 */
export declare class PayloadTooLargeError extends SandboxError {
    constructor(message: string, facts?: ProviderErrorFacts);
    /** Bytes. */
    readonly limit?: number;
}
/** E9005 */
export declare class RateLimitedError extends RateLimitError {
    constructor(message: string, facts?: ProviderErrorFacts);
    /** Seconds. */
    readonly retryAfter?: number;
}

export interface InvalidAPIKeyError extends ProviderFacts {}
export interface InvalidCredentialsError extends ProviderFacts {}
export interface SandboxCreationError extends ProviderFacts {}
export interface TemplateNotFoundError extends ProviderFacts {}
export interface QuotaExceededError extends ProviderFacts {}
export interface CommandTimeoutError extends ProviderFacts {}
export interface CommandNotFoundError extends ProviderFacts {}
export interface EnvdRpcError extends ProviderFacts {}
export interface FileOperationError extends ProviderFacts {}
export interface PermissionDeniedError extends ProviderFacts {}
export interface FileSizeLimitError extends ProviderFacts {}
export interface ProviderError extends ProviderFacts {}
export interface ProviderNotFoundError extends ProviderFacts {}
export interface ProviderConfigError extends ProviderFacts {}
export interface ProviderConflictError extends ProviderFacts {}
export interface ProviderFeatureNotSupportedError extends ProviderFacts {}
export interface ProviderResourceNotFoundError extends ProviderFacts {}
export interface ProviderProtocolError extends ProviderFacts {}
export interface ProviderTimeoutError extends ProviderFacts {}
export interface ProviderMismatchError extends ProviderFacts {}
export interface ServerAPIError extends ProviderFacts {}
export interface ServerAuthError extends ProviderFacts {}
export interface PolicyDeniedError extends ProviderFacts {}
export interface EndpointNotAvailableError extends ProviderFacts {}
export interface PayloadTooLargeError extends ProviderFacts {}
export interface RateLimitedError extends ProviderFacts {}
