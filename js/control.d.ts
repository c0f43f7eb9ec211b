/** Options of `Sandbox.create`. */
export interface SandboxOpts extends ConnectionOpts {
    /** Name, `name:tag` or snapshot id; the first argument says the same. Default `base`. */
    template?: string | undefined;
    /** Values to find the sandbox by, see `Sandbox.list`. */
    metadata?: Record<string, string> | undefined;
    /** Environment variables of every command. */
    envs?: Record<string, string> | undefined;
    /** How long the sandbox lives, in milliseconds, rounded up to seconds. Default 300 000. */
    timeoutMs?: number | undefined;
    /** Whether the sandbox answers only to those who hold its token. Default true. */
    secure?: boolean | undefined;
    /** Whether processes may reach the internet. Default true. */
    allowInternetAccess?: boolean | undefined;
    /** What processes may reach, and who may reach the sandbox's ports. */
    network?: SandboxNetworkOpts | undefined;
    /**
     * MCP servers, by name, that a gateway inside of the sandbox serves: see `getMcpUrl` and `getMcpToken`. The template is then
     * `mcp-gateway`, unless another one is named.
     */
    mcp?: McpServer | undefined;
    /** Who processes can prove to be, where the platform issues such tokens. */
    iam?: SandboxIamOpts | undefined;
    /** What happens when the sandbox's time is up. Default: it is killed. */
    lifecycle?: SandboxLifecycle | undefined;
    /** Volumes by mount path: each as a `Volume`, or by its name. Other sandboxes may have the same ones mounted. */
    volumeMounts?: Record<string, Volume | string> | undefined;
}

/** What happens when the sandbox's time is up. */
export interface SandboxLifecycle {
    /** Default `"kill"`. A paused sandbox is resumed by `connect`. */
    onTimeout?: "kill" | "pause" | { action: "pause"; keepMemory?: boolean } | { action: "kill" };
    /** Whether traffic to a paused sandbox resumes it. Only with `"pause"`, and only when its memory is kept. Default false. */
    autoResume?: boolean;
}

/** What processes may reach, and who may reach the sandbox's ports. */
export interface SandboxNetworkOpts {
    /** Addresses, networks and domains that may be reached, whatever `denyOut` says. Domains need `ALL_TRAFFIC` in `denyOut`. */
    allowOut?: SandboxNetworkTargets | undefined;
    /** Addresses and networks that may not be reached. `ALL_TRAFFIC` is everything. */
    denyOut?: SandboxNetworkTargets | undefined;
    /** Changes to requests, by host. */
    rules?: SandboxNetworkRules | undefined;
    /** A SOCKS5 proxy, `host:port`, that all connections to the outside go through. */
    egressProxy?: { address: string; username?: string | undefined; password?: string | undefined } | undefined;
    /** Whether the sandbox's ports answer without a token. Default true. */
    allowPublicTraffic?: boolean | undefined;
    /** The `Host` that servers in the sandbox see; `${PORT}` stands for the port. */
    maskRequestHost?: string | undefined;
    /** Ports whose servers speak TLS themselves. */
    httpsPorts?: number[] | undefined;
}

/** Who processes can prove to be: names of tokens, and for whom each is. */
export interface SandboxIamOpts {
    tokens: Record<string, { audience: string; tokenType: string }>;
}

/** Options of `Sandbox.connect`. */
export interface SandboxConnectOpts extends ConnectionOpts {
    /**
     * How long the sandbox lives from now on, in milliseconds, rounded up to seconds. Never shortens its life. Default
     * 300 000.
     */
    timeoutMs?: number | undefined;
    /**
     * How a paused sandbox goes on: `"restore"` with its memory and processes as they were, `"reboot"` from its files alone, which
     * many servers refuse with an `InvalidArgumentError`. Default: as it was paused.
     */
    onResume?: "restore" | "reboot" | undefined;
}

/** A sandbox as the control plane knows it. */
export interface SandboxInfo {
    sandboxId: string;
    templateId: string;
    /** The name of the template, when it has one. */
    name?: string;
    /** What was given as `metadata` at creation. */
    metadata: Record<string, string>;
    startedAt: Date;
    /** When the sandbox will end, unless its timeout is changed. */
    endAt: Date;
    /** `running`, `paused`, or a state that only other servers know. */
    state: "running" | "paused" | (string & {});
    cpuCount: number;
    /** Mebibytes. */
    memoryMB: number;
    envdVersion: string;
    /** Whether processes may reach the internet, where the server says so. */
    allowInternetAccess?: boolean;
    /** The domain below which the sandbox's ports are served, where the server says so. */
    sandboxDomain?: string;
    /** The network settings in force, where the server says so. */
    network?: SandboxNetworkOpts;
    /** What happens when the time is up, where the server says so. */
    lifecycle?: { onTimeout: "kill" | "pause" | (string & {}); autoResume: boolean };
    /** The volumes that are mounted, where there are any. */
    volumeMounts?: { name: string; path: string }[];
}

/** Options of `pause`. */
export interface SandboxPauseOpts extends ConnectionOpts {
    /** Whether processes go on where they were after a resume. With false only the files are kept. Default true. */
    keepMemory?: boolean | undefined;
}

/** Options of `fork`. */
export interface SandboxForkOpts extends ConnectionOpts {
    /** How many copies, 1 to 100. Default 1. */
    count?: number | undefined;
    /** How long each copy lives, in milliseconds, rounded up to seconds. Default 300 000. */
    timeoutMs?: number | undefined;
}

/** Options of `getMetrics`. */
export interface SandboxMetricsOpts extends ConnectionOpts {
    /** Default: all there are. */
    start?: Date | undefined;
    /** Default: now. */
    end?: Date | undefined;
}

/** What a sandbox used at one moment. */
export interface SandboxMetrics {
    timestamp: Date;
    /** Percent of all processors together. */
    cpuUsedPct: number;
    cpuCount: number;
    /** Bytes. */
    memUsed: number;
    /** Bytes. */
    memTotal: number;
    /** Bytes. */
    memCache: number;
    /** Bytes. */
    diskUsed: number;
    /** Bytes. */
    diskTotal: number;
}

/** What processes may reach, and what is added to their requests. */
export interface SandboxNetworkUpdate {
    /** Addresses, networks and domains that may be reached, whatever `denyOut` says. Domains need `ALL_TRAFFIC` in `denyOut`. */
    allowOut?: SandboxNetworkTargets | undefined;
    /** Addresses and networks that may not be reached. `ALL_TRAFFIC` is everything. */
    denyOut?: SandboxNetworkTargets | undefined;
    /** Changes to requests, by host. */
    rules?: SandboxNetworkRules | undefined;
    /** A SOCKS5 proxy, `host:port`, that all connections to the outside go through. */
    egressProxy?: { address: string; username?: string | undefined; password?: string | undefined } | undefined;
    /** False is the same as `ALL_TRAFFIC` in `denyOut`. */
    allowInternetAccess?: boolean | undefined;
}

/** Options of `createSnapshot`. */
export interface SnapshotCreateOpts extends ConnectionOpts {
    /** A name, which may carry a tag: `name:tag`. Default: none. */
    name?: string | undefined;
}

/** A snapshot: `Sandbox.create(snapshotId)` makes a sandbox of it. */
export interface SnapshotInfo {
    snapshotId: string;
    names: string[];
}

export namespace Sandbox {
    /**
     * Makes a sandbox. `template` may be left out: `Sandbox.create(opts)`.
     *
     * Rejects with an `AuthenticationError` for a missing or wrong key, a `NotFoundError` for an unknown template, a
     * `RateLimitError` when too many sandboxes run, and a `ConnectionError` when the server cannot be reached.
     */
    function create(template?: string | SandboxOpts, opts?: SandboxOpts): Promise<Sandbox>;
    /**
     * Connects to a sandbox that exists; a paused one is resumed.
     *
     * Rejects with a `SandboxNotFoundError` when there is none of that id.
     */
    function connect(sandboxId: string, opts?: SandboxConnectOpts): Promise<Sandbox>;
    /** Ends a sandbox. Resolves to false when there is none of that id. */
    function kill(sandboxId: string, opts?: ConnectionOpts): Promise<boolean>;
    /** What the control plane knows of a sandbox. Rejects with a `SandboxNotFoundError` when there is none of that id. */
    function getInfo(sandboxId: string, opts?: ConnectionOpts): Promise<SandboxInfo>;
    /**
     * Ends a sandbox so many milliseconds from now (rounded up to seconds), which may be sooner than before; 0 ends it at once.
     *
     * Rejects with a `SandboxNotFoundError` when there is none of that id.
     */
    function setTimeout(sandboxId: string, timeoutMs: number, opts?: ConnectionOpts): Promise<void>;
    /** As the method of the same name, for the sandbox of that id. */
    function pause(sandboxId: string, opts?: SandboxPauseOpts): Promise<boolean>;
    /** As the method of the same name, for the sandbox of that id. */
    function fork(sandboxId: string, opts?: SandboxForkOpts): Promise<(Sandbox | SandboxError)[]>;
    /** As the method of the same name, for the sandbox of that id. */
    function getMetrics(sandboxId: string, opts?: SandboxMetricsOpts): Promise<SandboxMetrics[]>;
    /** As the method of the same name, for the sandbox of that id. */
    function updateNetwork(sandboxId: string, network: SandboxNetworkUpdate, opts?: ConnectionOpts): Promise<void>;
    /** As the method of the same name, for the sandbox of that id. */
    function createSnapshot(sandboxId: string, opts?: SnapshotCreateOpts): Promise<SnapshotInfo>;
    /**
     * The sandboxes of the key's team, in pages or one by one with `for await`.
     *
     * Throws an `InvalidArgumentError` for wrong options; the pages' calls reject like those of `Sandbox.create`.
     */
    function list(opts?: SandboxListOpts): SandboxPaginator;
    /**
     * The snapshots of the key's team, in pages or one by one with `for await`.
     *
     * Throws an `InvalidArgumentError` for wrong options.
     */
    function listSnapshots(opts?: SnapshotListOpts): SnapshotPaginator;
    /** Deletes a snapshot. Resolves to false when there is none of that id. */
    function deleteSnapshot(snapshotId: string, opts?: ConnectionOpts): Promise<boolean>;
}

export interface Sandbox {
    /**
     * Refreshes the timeout of this sandbox, and resumes it when it is paused. Resolves to this object, which uses the
     * sandbox's tokens from then on.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended.
     */
    connect(opts?: SandboxConnectOpts): Promise<this>;
    /** Kills the sandbox: `await using sandbox = await Sandbox.create()`. */
    [Symbol.asyncDispose](): Promise<void>;
    /**
     * What the control plane knows of the sandbox.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended.
     */
    getInfo(opts?: ConnectionOpts): Promise<SandboxInfo>;
    /** Ends the sandbox. Resolves to false when it had ended before. */
    kill(opts?: ConnectionOpts): Promise<boolean>;
    /**
     * Ends the sandbox so many milliseconds from now (rounded up to seconds), which may be sooner than before; 0 ends it
     * at once.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended.
     */
    setTimeout(timeoutMs: number, opts?: ConnectionOpts): Promise<void>;
    /**
     * Pauses the sandbox; `connect` resumes it. Resolves to false when it was paused already.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended.
     */
    pause(opts?: SandboxPauseOpts): Promise<boolean>;
    /**
     * Copies the running sandbox, memory and processes included. Resolves to one entry per copy: a sandbox, or why there is
     * none.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended, and with a `SandboxError` of code `conflict` while it is
     * paused.
     */
    fork(opts?: SandboxForkOpts): Promise<(Sandbox | SandboxError)[]>;
    /**
     * What the sandbox used, one entry about every five seconds; empty before the first.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended, and with a `TemplateError` when the sandbox is too old.
     */
    getMetrics(opts?: SandboxMetricsOpts): Promise<SandboxMetrics[]>;
    /**
     * Replaces what the sandbox's processes may reach. What is left out is cleared.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended or is paused.
     */
    updateNetwork(network: SandboxNetworkUpdate, opts?: ConnectionOpts): Promise<void>;
    /**
     * Keeps the state of the running sandbox as something to create from. The sandbox stands still meanwhile.
     *
     * Rejects with a `SandboxNotFoundError` when it has ended or is paused.
     */
    createSnapshot(opts?: SnapshotCreateOpts): Promise<SnapshotInfo>;
}
