/** Options of a client: those of connections, but for `signal`, which belongs to single calls. */
export interface E2BClientOpts extends Omit<ConnectionOpts, "signal"> {}

/**
 * A client with options of its own: `new E2B({ apiKey }).Sandbox.create()`. Clients do not see each other's options. What a call
 * passes itself comes first; what it passes as undefined says nothing.
 */
export class E2B {
    /** Throws an `InvalidArgumentError` when `opts` is no object or has a `signal`. The options are checked by the calls. */
    constructor(opts?: E2BClientOpts);
    /** `Sandbox` with the client's options as defaults. */
    readonly Sandbox: typeof Sandbox;
    /** `Volume` with the client's options as defaults. */
    readonly Volume: typeof Volume;
    /** `Template` with the client's options as defaults. */
    readonly Template: typeof Template;
    /** `Secret` with the client's options as defaults. */
    readonly Secret: typeof Secret;
}
