/** What connection options and the environment come to. For reading: calls take options. */
export class ConnectionConfig {
    /** Throws an `InvalidArgumentError` that names the option which is wrong. */
    constructor(opts?: ConnectionOpts);
    /** The port of the daemon in a sandbox. */
    static readonly envdPort: number;
    /** `opts` over `bound`. What is undefined in `opts` says nothing. */
    static mergeOpts<T extends object>(bound: T, opts?: Partial<T>): T;
    readonly debug: boolean;
    readonly domain: string;
    readonly apiUrl: string;
    readonly sandboxUrl: string | undefined;
    /** Milliseconds; 0 means no limit. */
    readonly requestTimeoutMs: number;
    readonly retries: number;
    /** Whether the API key was held against the form of E2B's. */
    readonly validateApiKey: boolean;
    /** Not shown when the settings are printed. */
    readonly apiKey: string | undefined;
    readonly headers: Record<string, string>;
    readonly logger: Logger | undefined;
    /** The host of a port, below the configured domain unless another is named. A server on this machine has its own: see `sandbox.getHost`. */
    getHost(sandboxId: string, port: number, sandboxDomain?: string): string;
    /** The base URL of a sandbox's daemon. */
    getSandboxUrl(sandboxId: string, opts?: { sandboxDomain?: string | undefined; envdPort?: number | undefined }): string;
    /** A signal that fires after the timeout (in milliseconds, default `requestTimeoutMs`) and with `signal`; undefined when neither can. */
    getSignal(requestTimeoutMs?: number, signal?: AbortSignal): AbortSignal | undefined;
}
