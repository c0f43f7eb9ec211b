import { ConnectionOpts, SandboxAuth, SandboxOpts, SandboxScope } from "#package";

/** Options of {@link createSandboxBroker}. Those of the connection with the control plane are the ones of `Sandbox.create`. */
export interface SandboxBrokerOpts extends Omit<ConnectionOpts, "signal"> {
    /** The same as `auth`, for an access key. */
    accessKey?: Extract<SandboxAuth, { accessKeyId: string }> | undefined;
    /**
     * Signs the sessions: at least 32 bytes, such as `openssl rand -base64 32` makes. Of a list the first one signs and all are
     * accepted: put a new one in front, and drop the old one when the sessions of `sessionMs` are over.
     */
    secret: string | string[];
    /**
     * Who makes a request: a text that stands for the visitor, the same each time, such as the id of a user. Nothing (undefined,
     * null, "") refuses with 401; a `Response`, answered or thrown, is sent as it is. Called for every request, whose body it must
     * not read.
     */
    authorize(request: Request): BrokerVisitor | BrokerAnswer | Promise<BrokerVisitor | BrokerAnswer>;
    /** The origins whose pages may ask, exactly as browsers send them: `"https://app.example"`. There is no wildcard. */
    allowedOrigins: string[];
    /** The path at which the broker is mounted. Default `/sandbox`. */
    path?: string | undefined;
    /** The broker's address as pages have it, where the host sees another one. Default: that of the request. */
    publicUrl?: string | undefined;
    /** What sandboxes are made from. Default `base`. */
    template?: string | undefined;
    /** Further options of new sandboxes, as for `Sandbox.create`. They are always secured. */
    sandbox?: Omit<SandboxOpts, keyof ConnectionOpts | "timeoutMs" | "secure"> | undefined;
    /**
     * What visitors may do, unless `authorize` says otherwise. Default: `run`, `files:read`, `files:write`, `lifecycle`. With a
     * scope `port:<n>`, sandboxes are made with `network: { allowPublicTraffic: false }` unless `sandbox.network` says otherwise.
     */
    scopes?: SandboxScope[] | undefined;
    /**
     * Whether sessions with the scope `run` get the sandbox's own token and talk to it directly. Default true. With false the
     * token never leaves the broker, and everything goes through it.
     */
    direct?: boolean | undefined;
    /** How long a sandbox lives without being refreshed, in milliseconds. Default 300 000. */
    timeoutMs?: number | undefined;
    /** How long a session lives without being refreshed, in milliseconds. Default 600 000. */
    sessionMs?: number | undefined;
    /**
     * Makes a request a WebSocket, where the host has its own way to: answers the socket, and the response that the host wants, if it
     * wants one. Default: `WebSocketPair` in Workers; elsewhere terminals over WebSockets are refused with 501. In Deno
     * `(request) => Deno.upgradeWebSocket(request)`; in Node whatever answers a socket as that of the package `ws`.
     */
    upgradeWebSocket?:
        | ((request: Request, context: BrokerContext | undefined) => BrokerUpgrade | Promise<BrokerUpgrade>)
        | undefined;
    /** How long the address of a terminal is good for being dialled, once, in milliseconds. Default 60 000. */
    terminalTokenMs?: number | undefined;
    /** How far the clocks of the broker's hosts may be apart, in milliseconds. Default 30 000. */
    clockSkewMs?: number | undefined;
    /** How much each visitor may have. */
    limits?: BrokerLimits | undefined;
    /** Where it is counted. Default: {@link memoryStorage}, where each process or isolate counts for itself. */
    storage?: BrokerStorage | undefined;
    /** Names of further request headers that reach ports of the sandbox. */
    forwardHeaders?: string[] | undefined;
    /** Tells brokers apart that share a secret or an API key: sessions and sandboxes belong to one. Default `"broker"`. */
    name?: string | undefined;
    /** The time, in milliseconds since the epoch. Default `Date.now`. */
    now?: (() => number) | undefined;
    /** Told what went wrong behind an answer of 500 and more. Default: `console.error`. */
    onError?: ((error: unknown) => void) | undefined;
}

/** What {@link SandboxBrokerOpts.upgradeWebSocket} answers. */
export interface BrokerUpgrade {
    socket: BrokerSocket;
    /** Handed to the host as it is. Without one the host has answered already, and gets an empty answer. */
    response?: Response | undefined;
}

/** A WebSocket of the server's side, in the manner of browsers: `addEventListener` is needed as well, which each host declares its own way. */
export interface BrokerSocket {
    readonly readyState?: number;
    readonly bufferedAmount?: number;
    send(data: string | Uint8Array<ArrayBuffer>): void;
    close(code?: number, reason?: string): void;
}

/** Who a visitor is: a text alone, or with what differs from the broker's options. */
export type BrokerVisitor =
    | string
    | {
          visitor: string;
          scopes?: SandboxScope[] | undefined;
          sandbox?: (Omit<SandboxOpts, keyof ConnectionOpts | "timeoutMs" | "secure"> & { template?: string | undefined }) | undefined;
      };

/** What refuses a visitor. */
export type BrokerAnswer = Response | null | undefined | false | "";

/** How much each visitor may have. */
export interface BrokerLimits {
    /** Sandboxes that run at the same time, each in a slot of its own. Default 1. */
    concurrent?: number | undefined;
    /** Sandboxes that are made within `windowMs`. Default 20. */
    sandboxes?: number | undefined;
    /** Minutes that sandboxes run within `windowMs`, all together. Default 480. */
    minutes?: number | undefined;
    /** Milliseconds. Default a day. */
    windowMs?: number | undefined;
    /** The longest life that a page may ask for at once, in milliseconds. Default an hour. */
    timeoutMs?: number | undefined;
}

/** Where the broker keeps what each visitor has had: plain data that JSON can express. */
export interface BrokerStorage {
    /**
     * Replaces the value of `key` by what `change` makes of it (undefined: there is none), and keeps it for at least `ttlMs`
     * milliseconds. What happens in between must not be lost: do it in a transaction, or call `change` again.
     */
    update(key: string, change: (value: unknown) => unknown, ttlMs: number): Promise<void>;
}

/** Storage in the memory of one process or isolate, for 10 000 visitors: others count for themselves, a restart forgets. */
export declare function memoryStorage(): BrokerStorage;

/** What a host gives beside the request. `waitUntil` lets work go on whose page has gone away. */
export interface BrokerContext {
    waitUntil?(work: Promise<unknown>): void;
}

/**
 * Makes a handler that creates or resumes a sandbox for each visitor of your pages, and hands out sessions that open nothing
 * else. Pages use it by `Sandbox.attach({ endpoint })`. Sends no request by itself.
 *
 * Throws an `InvalidArgumentError` that names the option that is wrong. The handler never rejects.
 */
export declare function createSandboxBroker(opts: SandboxBrokerOpts): (request: Request, context?: BrokerContext) => Promise<Response>;
