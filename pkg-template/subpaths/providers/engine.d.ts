// Engines, which carry providers and run management operations.

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

export interface EngineConfigOpts extends EngineCallOpts, ProviderSettings {}

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
