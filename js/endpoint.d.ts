/** A broker of `agent-sandbox-web/edge`, and what to ask it for. */
export interface SandboxEndpoint {
    /** The broker's address. Relative ones belong to the page. */
    endpoint: string | URL;
    /** Which of the visitor's sandboxes, where the broker allows several. Default `"default"`. */
    slot?: string | undefined;
    /** What the session shall permit, as far as the broker grants it. Default: all that it grants. */
    scopes?: SandboxScope[] | undefined;
    /** Headers by which the back end knows the visitor, or a function that answers them for each request. */
    headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>) | undefined;
    /** Whether cookies are sent to a broker of another origin. Default: as `fetch` does. */
    credentials?: "omit" | "same-origin" | "include" | undefined;
    /** Where the session survives a reload. Default: `sessionStorage` in a page, nowhere elsewhere; null: nowhere. */
    storage?: SandboxSessionStorage | null | undefined;
}

/** What keeps a session across reloads: `sessionStorage`, `localStorage`, or something with the same three methods. */
export interface SandboxSessionStorage {
    getItem(key: string): string | null;
    setItem(key: string, value: string): void;
    removeItem(key: string): void;
}

/** What a session permits. `run` permits everything inside of the sandbox. */
export type SandboxScope = "run" | "files:read" | "files:write" | "lifecycle" | `port:${number}`;

/** A sandbox behind a broker: `kill`, `pause`, `setTimeout`, `getInfo` and `connect` ask it, and need no API key. */
export interface AttachedSandbox extends Sandbox {
    /**
     * A request to a port of the sandbox through the broker. Needs the scope `port:<n>`.
     *
     * Answers whatever the port answers, and the broker's own refusals as answers too. Rejects with a `ConnectionError` when the
     * broker cannot be reached. An `Authorization` for the port is given as `X-Sandbox-Authorization`.
     */
    fetchPort(port: number, path: string, init?: RequestInit): Promise<Response>;
}

export namespace Sandbox {
    /**
     * Attaches to a sandbox that a back end has created, with the token that it handed over. Needs no API key and sends no
     * request. Everything that happens inside of the sandbox works; calls of the control plane (`kill`, `getInfo` …) need a
     * key.
     *
     * Rejects with an `InvalidArgumentError` when the token lacks something or is of the wrong shape.
     */
    function attach(token: SandboxToken, opts?: SandboxAttachOpts): Promise<Sandbox>;
    /**
     * Attaches to the visitor's sandbox of a broker, which makes or resumes it. After a reload the same sandbox is found again,
     * and its access is renewed while it is used.
     *
     * Rejects with an `AuthenticationError` when the broker does not know the visitor, a `RateLimitError` when the visitor has
     * had enough, and a `ConnectionError` when the broker cannot be reached.
     */
    function attach(endpoint: SandboxEndpoint, opts?: Omit<SandboxAttachOpts, "refresh">): Promise<AttachedSandbox>;
}
