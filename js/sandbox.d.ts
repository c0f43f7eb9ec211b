/** MCP servers by name, each with its own settings: `{ exa: { apiKey }, "github/owner/repository": { runCmd } }`. */
export type McpServer = Record<string, object>;

/** Options of `getLogs`. */
export interface SandboxLogsOpts extends ConnectionOpts {
    /** Where to begin. Default: the end that `direction` comes from. */
    cursor?: Date | undefined;
    /** How many entries, 1 to 1000. Default 1000. */
    limit?: number | undefined;
    /** Towards newer or older entries. Default `"backward"`: the newest first. */
    direction?: "forward" | "backward" | undefined;
    /** Only entries of this level and above. Default: all. */
    level?: "debug" | "info" | "warn" | "error" | undefined;
    /** Only entries whose message holds this text. Default: all. */
    search?: string | undefined;
}

/** One entry of the logs that the control plane keeps. */
export interface SandboxLog {
    timestamp: Date;
    level: "debug" | "info" | "warn" | "error" | (string & {});
    message: string;
    fields: Record<string, unknown>;
}

export namespace Sandbox {
    /** As the method of the same name, for the sandbox of that id. */
    function getLogs(sandboxId: string, opts?: SandboxLogsOpts): Promise<SandboxLog[]>;
    /** @deprecated The same as `getInfo`. */
    function getFullInfo(sandboxId: string, opts?: ConnectionOpts): Promise<SandboxInfo>;
    /** @deprecated The same as `pause`. */
    function betaPause(sandboxId: string, opts?: SandboxPauseOpts): Promise<boolean>;
}

export interface Sandbox {
    /** Runs git in the sandbox. */
    readonly git: Git;
    /**
     * What the control plane has logged about the sandbox. Servers that only know the older route answer at most the oldest 1000
     * entries, of which the rest is chosen here.
     *
     * Rejects with a `SandboxNotFoundError` when there is no such sandbox.
     */
    getLogs(opts?: SandboxLogsOpts): Promise<SandboxLog[]>;
    /** The bearer token of the MCP gateway at `getMcpUrl()`; undefined in a sandbox that was created without `mcp`. */
    getMcpToken(opts?: RequestOpts): Promise<string | undefined>;
    /** @deprecated The same as `getInfo`. */
    getFullInfo(opts?: ConnectionOpts): Promise<SandboxInfo>;
    /** @deprecated The same as `pause`. */
    betaPause(opts?: SandboxPauseOpts): Promise<boolean>;
}

export default Sandbox;
