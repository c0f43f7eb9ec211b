// Providers: what they declare, what they are given as, and what they are driven by.

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

/** What a provider is set up with, for its sandboxes and for its management operations. */
export interface ProviderSettings {
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
}
