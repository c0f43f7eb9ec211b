import {
    AuthenticationError,
    ErrorFacts,
    ExecutionError,
    InvalidArgumentError,
    NotFoundError,
    ProtocolError,
    RateLimitError,
    Result,
    SandboxError,
    TimeoutError,
    UnsupportedError,
} from "#package";

/** Something that a provider can do, coarsely. */
export type Feature =
    | "sandbox.lifecycle"
    | "sandbox.timeout"
    | "sandbox.pause"
    | "exec.run"
    | "exec.stream"
    | "process.manage"
    | "pty"
    | "files.rw"
    | "files.watch"
    | "files.transfer"
    | "templates.read"
    | "templates.build"
    | "templates.deploy"
    | "ports.url"
    | "ports.domain"
    | "storage.mount"
    | "network.vpc"
    | "sessions";

/** One operation of a provider, exactly. Calls are held against these before anything is sent. */
export type Operation =
    | "sandbox.create"
    | "sandbox.get"
    | "sandbox.list"
    | "sandbox.delete"
    | "sandbox.timeout"
    | "sandbox.pause"
    | "sandbox.resume"
    | "template.prepare"
    | "exec.run"
    | "exec.stream"
    | "files.read"
    | "files.write"
    | "files.list"
    | "files.stat"
    | "files.remove"
    | "files.move"
    | "ports.resolve"
    | "code.execute"
    | "code.context.create"
    | "code.context.execute"
    | "code.context.list"
    | "code.context.restart"
    | "code.context.delete"
    | "code.default-context.execute"
    | "code.stream"
    | "code.results.structured";

/** What a provider can do in one word each: for discovery only. */
export type Capability = "shell" | "files" | "code" | "terminal" | "ports";

export declare const FEATURES: readonly Feature[];
export declare const OPERATIONS: readonly Operation[];
export declare function capabilitiesOf(provider: Pick<Provider, "features" | "operations">): Set<Capability>;

/** What every call takes. */
export interface CallOpts {
    /** Ends the call early: it then rejects with `signal.reason`. */
    signal?: AbortSignal | undefined;
}
