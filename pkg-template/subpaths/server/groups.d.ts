/** Terminal sessions. Their content goes over a WebSocket, for which `url` has the address. */
export interface ServerTerminals {
    /** Starts a shell: `/bin/bash` (default), `/bin/sh` or `/bin/zsh`, in a terminal of `cols` (80) by `rows` (24), each 1 to 1000. */
    create(opts?: ServerCallOpts & { shell?: string | undefined; cols?: number | undefined; rows?: number | undefined; env?: Record<string, string | undefined> | undefined }): Promise<{ sessionId: string; pid: number }>;
    list(opts?: ServerCallOpts): Promise<ServerTerminal[]>;
    /** Rejects with a `NotFoundError` when there is no such session. */
    get(id: string, opts?: ServerCallOpts): Promise<ServerTerminal>;
    resize(id: string, cols: number, rows: number, opts?: ServerCallOpts): Promise<ServerTerminal>;
    /** Ends a session. The server takes about three seconds for it. */
    delete(id: string, opts?: ServerCallOpts): Promise<void>;
    /** The address of the session's WebSocket, without a token. The one that the server itself names is wrong from outside. */
    url(id: string): string;
}

export interface ServerTerminal {
    id: string;
    pid: number;
    createdAt: Date | undefined;
    cols: number;
    rows: number;
    alive: boolean;
}

/** The machine, and the environment of the server's process. */
export interface ServerSystem {
    info(opts?: ServerCallOpts): Promise<{
        os: string;
        arch: string;
        cpuCount: number;
        memoryTotalMb: number;
        memoryAvailableMb: number;
        diskTotalGb: number;
        diskFreeGb: number;
        pythonVersion: string;
        hostname: string;
    }>;
    metrics(opts?: ServerCallOpts): Promise<{
        cpuLoad1m: number;
        cpuLoad5m: number;
        cpuLoad15m: number;
        memoryUsedMb: number;
        memoryTotalMb: number;
        memoryPercent: number;
        diskUsedGb: number;
        diskTotalGb: number;
        diskPercent: number;
        uptimeSeconds: number;
    }>;
    /** Variables of the server's process, or those of these names. The server leaves out what looks secret. */
    env(names?: string[], opts?: ServerCallOpts): Promise<Record<string, string>>;
    /** Sets variables for everything that the server starts from then on, for all callers. They cannot be unset. Answers their names. */
    setEnv(vars: Record<string, string>, opts?: ServerCallOpts): Promise<string[]>;
    ports(opts?: ServerCallOpts): Promise<{ port: number; protocol: "tcp" | "tcp6" | (string & {}); address: string; pid: number | undefined }[]>;
    packages(manager?: "pip" | "npm", opts?: ServerCallOpts): Promise<{ name: string; version: string }[]>;
}

/** Code in an interpreter of its own, and git. */
export interface ServerDevTools {
    /** `timeoutMs` is rounded up to whole seconds; default 30 000, at most 300 000. Rejects with a `TimeoutError` (`command_timeout`). */
    runCode(code: string, opts?: ServerCallOpts & { language?: "python" | "node" | "bash" | (string & {}) | undefined; timeoutMs?: number | undefined }): Promise<ServerResult & { language: string; executionTimeMs: number }>;
    gitStatus(path?: string, opts?: ServerCallOpts): Promise<{ branch: string; clean: boolean; files: { path: string; status: string }[] }>;
    gitDiff(path?: string, opts?: ServerCallOpts & { staged?: boolean | undefined; file?: string | undefined }): Promise<{ diff: string; stats: { filesChanged: number; insertions: number; deletions: number } }>;
}

/**
 * A page of a browser on the server, which all callers share. Rejects with an `UnsupportedError` when the image has no browser. Version 0.4
 * of the server loses the browser with its first request: further calls reject with a {@link ServerError} (`browser_gone`).
 */
export interface ServerBrowser {
    navigate(url: string, opts?: ServerCallOpts & { waitUntil?: "load" | "domcontentloaded" | "networkidle" | "commit" | undefined; timeoutMs?: number | undefined }): Promise<{ url: string; title: string; status: number }>;
    screenshot(opts?: ServerCallOpts & { selector?: string | undefined; fullPage?: boolean | undefined; format?: "png" | "jpeg" | undefined }): Promise<Uint8Array<ArrayBuffer>>;
    content(type?: "html" | "text", opts?: ServerCallOpts): Promise<{ content: string; url: string; title: string }>;
    click(selector: string, opts?: ServerCallOpts & { timeoutMs?: number | undefined }): Promise<{ clicked: boolean; selector: string }>;
    type(selector: string, text: string, opts?: ServerCallOpts & { clear?: boolean | undefined; delayMs?: number | undefined }): Promise<{ typed: boolean; selector: string; text: string }>;
    /** `timeoutMs` bounds waiting for the page, not the script. */
    evaluate(script: string, opts?: ServerCallOpts & { timeoutMs?: number | undefined }): Promise<unknown>;
    pdf(opts?: ServerCallOpts & { format?: string | undefined; landscape?: boolean | undefined }): Promise<Uint8Array<ArrayBuffer>>;
    /** What pages have logged since this was asked last. */
    console(opts?: ServerCallOpts): Promise<{ type: string; text: string; timestamp: Date | undefined }[]>;
}

export interface ServerCodeOpts extends ServerCallOpts {
    /** Default `python`. */
    language?: string | undefined;
    /** In milliseconds. */
    timeoutMs?: number | undefined;
    /** Stateless code runs on the server in an interpreter of its own; the default context is that of the sandbox's code interpreter. Default `stateless`. */
    mode?: "stateless" | "default-context" | undefined;
    /** Runs in this context, of `createContext`. */
    contextId?: string | undefined;
    /** Variables of this run, in contexts. */
    envs?: Record<string, string> | undefined;
    /** Told what is written as it comes; of stateless code at the end. */
    onStdout?: ((text: string) => void | Promise<void>) | undefined;
    onStderr?: ((text: string) => void | Promise<void>) | undefined;
}

/**
 * Code that is run. Contexts need a client that was made for a sandbox with a code interpreter: otherwise their calls reject with an
 * `UnsupportedError` (`needs_sandbox`). No mode ever stands in for another.
 */
export interface ServerCode {
    run(code: string, opts?: ServerCodeOpts): Promise<{
        /** The main result, or what was written, without the spaces around it. */
        text: string;
        stdout: string;
        stderr: string;
        exitCode: number;
        executionTimeMs: number;
        /** Rich results, in contexts. */
        results: Result[];
        error: ExecutionError | undefined;
    }>;
    createContext(opts?: CreateCodeContextOpts): Promise<Context>;
    listContexts(opts?: RequestOpts): Promise<Context[]>;
    restartContext(id: string, opts?: RequestOpts): Promise<void>;
    removeContext(id: string, opts?: RequestOpts): Promise<void>;
}
