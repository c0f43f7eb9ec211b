/** What the server permits to whoever has asked. */
export declare class ServerCapabilities {
    private constructor();
    readonly apiVersion: 2;
    readonly serverVersion: string;
    /** Who the server takes the token for. */
    readonly identity: { id: string; scopes: string[] };
    readonly policy: { preset: string; revision: string; configured: boolean };
    /** Whether at least one endpoint of a group is enabled. */
    readonly groups: Record<string, boolean>;
    readonly groupSummary: Record<string, { enabled: number; total: number }>;
    readonly warnings: string[];
    readonly endpoints: Record<string, ServerEndpoint>;
    /** What the server has answered, as it is. */
    readonly document: Record<string, unknown>;

    info(endpoint: string): ServerEndpoint | undefined;
    can(endpoint: string): boolean;
    /** Why an endpoint cannot be used: `unknown_endpoint`, `endpoint_disabled`, `missing_scope`; undefined when it can. */
    denial(endpoint: string): string | undefined;
    /** Throws a {@link PolicyDeniedError} or an {@link EndpointUnavailableError} when it cannot be used. */
    demand(endpoint: string): void;
    /** A limit of an endpoint, such as `maxBytes`; undefined when there is none. */
    limit(endpoint: string, key: string): number | undefined;
    /** A setting of an endpoint, such as `allowCommands`. */
    param(endpoint: string, key: string): unknown;
    /** The endpoints that need a scope. */
    endpointsFor(scope: string): string[];
    /** The endpoints that can be used. */
    available(): string[];
}

export interface ServerEndpoint {
    id: string;
    method: string;
    path: string;
    group: string;
    summary: string;
    streaming: boolean;
    enabled: boolean;
    allowed: boolean;
    reason: string | undefined;
    rule: string | undefined;
    scopes: string[];
    limits: Record<string, number>;
    params: Record<string, unknown>;
    paths: { allow: string[]; readOnly: boolean; denyCount: number; symlinks: string } | undefined;
}
