/** One request of an `ApiClient`. */
export interface ApiRequest {
    params?: {
        /** What stands for the names in braces of the path. */
        path?: Record<string, string | number> | undefined;
        /** Lists are joined by commas; what is undefined or null is left out. */
        query?: Record<string, unknown> | undefined;
        header?: Record<string, string> | undefined;
    } | undefined;
    /** Plain data, sent as JSON. Default: no body. */
    body?: unknown;
    /** Added to the request, with precedence over those of the client. */
    headers?: Record<string, string> | undefined;
    /** Limits the request, in milliseconds. Default: as the client says, 60 000; 0 means no limit. */
    requestTimeoutMs?: number | undefined;
    /** Ends the request early: it then rejects with `signal.reason`. */
    signal?: AbortSignal | undefined;
}

/** `data` of a success, undefined when it had none; `error` is what the server said otherwise: JSON, or words. */
export type ApiAnswer<T> =
    | { data: T; error?: undefined; response: Response }
    | { data?: undefined; error: unknown; response: Response };

export type ApiCall = <T = unknown>(path: string, request?: ApiRequest) => Promise<ApiAnswer<T>>;

/**
 * Any request of the control plane, for what no class covers:
 * `await new ApiClient(config).api.GET("/templates/{templateID}", { params: { path: { templateID } } })`.
 *
 * A refusal is an answer with `error`. What gets no answer rejects as every call does: `ConnectionError`, `TimeoutError`, the
 * reason of `signal`; a success that is not JSON with a `ProtocolError`. `response` has the status, the body, and of the headers
 * those that this package reads.
 */
export class ApiClient {
    /**
     * Throws an `AuthenticationError` when there is neither an API key nor `auth`, unless `requireApiKey` is false, and an `InvalidArgumentError` for
     * a wrong option.
     */
    constructor(config: ConnectionConfig | ConnectionOpts, opts?: { requireApiKey?: boolean | undefined });
    readonly api: {
        readonly GET: ApiCall;
        readonly POST: ApiCall;
        readonly PUT: ApiCall;
        readonly PATCH: ApiCall;
        readonly DELETE: ApiCall;
    };
}
