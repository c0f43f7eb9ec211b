// Services in the sandbox: HTTP of applications, and named commands of its server.

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
