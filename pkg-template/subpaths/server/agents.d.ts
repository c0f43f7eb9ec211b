/** An object of the agents, with the names that it has on the wire. */
export interface ServerAgentObject {
    id: string;
    object: string;
    [member: string]: unknown;
}

/** A page of a list. The next one is asked for with `after: last_id`. */
export interface ServerAgentPage {
    object: "list";
    data: ServerAgentObject[];
    first_id?: string | null;
    last_id?: string | null;
    has_more?: boolean;
    [member: string]: unknown;
}

/** Which part of a list: `limit` 1 to 100 (20), `order` (`desc`), and behind which id. */
export interface ServerAgentQuery {
    limit?: number | undefined;
    order?: "asc" | "desc" | undefined;
    after?: string | undefined;
    [name: string]: string | number | boolean | Record<string, string> | undefined;
}

export type ServerAgentBody = Record<string, unknown>;

export interface ServerAgentOpts extends ServerCallOpts {
    /** In milliseconds. Default: as `requestTimeoutMs`, and half an hour for responses. */
    timeoutMs?: number | undefined;
}

export interface ServerAgentWriteOpts extends ServerAgentOpts {
    /** A second request with the same key does nothing. 1 to 128 printable ASCII characters. */
    idempotencyKey?: string | undefined;
}

type ServerAgentCreate = (body?: ServerAgentBody, opts?: ServerAgentWriteOpts) => Promise<ServerAgentObject>;
type ServerAgentList = (query?: ServerAgentQuery, opts?: ServerAgentOpts) => Promise<ServerAgentPage>;
type ServerAgentGet = (id: string, query?: ServerAgentQuery, opts?: ServerAgentOpts) => Promise<ServerAgentObject>;
type ServerAgentChange = (id: string, body?: ServerAgentBody, opts?: ServerAgentWriteOpts) => Promise<ServerAgentObject>;
type ServerAgentListOf = (id: string, query?: ServerAgentQuery, opts?: ServerAgentOpts) => Promise<ServerAgentPage>;
type ServerAgentGetOf = (id: string, part: string, query?: ServerAgentQuery, opts?: ServerAgentOpts) => Promise<ServerAgentObject>;
type ServerAgentChangeOf = (id: string, part: string, body?: ServerAgentBody, opts?: ServerAgentWriteOpts) => Promise<ServerAgentObject>;
type ServerAgentListWithin = (id: string, part: string, query?: ServerAgentQuery, opts?: ServerAgentOpts) => Promise<ServerAgentPage>;

/**
 * Agents on the server: an interface in the shape of a known one, over programs that are installed there. Bodies and answers are passed as they
 * are. What the server cannot do rejects with a `NotFoundError` (`agents.not_implemented_locally`).
 */
export interface ServerAgents {
    definitions: { create: ServerAgentCreate; list: ServerAgentList; get: ServerAgentGet; update: ServerAgentChange; delete: ServerAgentGet };
    sessions: {
        create: ServerAgentCreate;
        list: ServerAgentList;
        get: ServerAgentGet;
        update: ServerAgentChange;
        delete: ServerAgentGet;
        /** Gives input: `{ input }` or `{ events }`. Answers nothing: an empty object. */
        send(sessionId: string, body: ServerAgentBody, opts?: ServerAgentWriteOpts): Promise<Record<string, unknown>>;
        /**
         * What happens, behind the event `after` (default: from now on), until the session is idle and nothing is left. After a cut it goes on
         * behind the last event.
         */
        events(sessionId: string, opts?: ServerStreamOpts & { after?: string | number | undefined }): AsyncGenerator<ServerEvent<Record<string, unknown>>, void, undefined>;
        items: ServerAgentListOf;
        traces: ServerAgentListOf;
        turns: { list: ServerAgentListOf; get: ServerAgentGetOf; items: ServerAgentListWithin };
        artifacts: {
            list: ServerAgentListOf;
            get: ServerAgentGetOf;
            delete: ServerAgentGetOf;
            /** The content as it is. */
            content(sessionId: string, artifactId: string, opts?: ServerCallOpts): Promise<Uint8Array<ArrayBuffer>>;
        };
        subagents: {
            list: ServerAgentListOf;
            get: ServerAgentGetOf;
            items: ServerAgentListWithin;
            turns: {
                list: ServerAgentListWithin;
                get(sessionId: string, subagentId: string, turnId: string, query?: ServerAgentQuery, opts?: ServerAgentOpts): Promise<ServerAgentObject>;
                items(sessionId: string, subagentId: string, turnId: string, query?: ServerAgentQuery, opts?: ServerAgentOpts): Promise<ServerAgentPage>;
            };
        };
    };
    runtimes: { list: ServerAgentList };
    models: { list: ServerAgentList; get: ServerAgentGet; delete: ServerAgentGet };
    environments: {
        create: ServerAgentCreate;
        list: ServerAgentList;
        get: ServerAgentGet;
        register: ServerAgentChange;
        connect: ServerAgentGet;
        files: { create: ServerAgentChange; list: ServerAgentListOf };
        templates: { create: ServerAgentCreate; list: ServerAgentList; get: ServerAgentGet; update: ServerAgentChange; delete: ServerAgentGet };
    };
    vaults: {
        create: ServerAgentCreate;
        list: ServerAgentList;
        get: ServerAgentGet;
        update: ServerAgentChange;
        delete: ServerAgentGet;
        credentials: { create: ServerAgentChange; list: ServerAgentListOf; get: ServerAgentGetOf; update: ServerAgentChangeOf; delete: ServerAgentGetOf };
    };
    responses: {
        /** One turn of an agent. A turn that fails is an answer with `status: "failed"`. */
        create: ServerAgentCreate;
        get: ServerAgentGet;
        delete: ServerAgentGet;
        cancel: ServerAgentChange;
        inputItems: ServerAgentListOf;
        inputTokens: ServerAgentCreate;
        compact: ServerAgentCreate;
        /**
         * Creates a response and answers its events, up to `response.completed`, `.failed` or `.incomplete`. After a cut they are replayed behind the last
         * one; a request whose answer never began is not repeated.
         */
        stream(body: ServerAgentBody, opts?: ServerStreamOpts & { idempotencyKey?: string | undefined }): AsyncGenerator<ServerEvent<Record<string, unknown>>, void, undefined>;
        /** The events of a response that exists, behind the one of this number. */
        replay(responseId: string, opts?: ServerStreamOpts & { startingAfter?: number | undefined }): AsyncGenerator<ServerEvent<Record<string, unknown>>, void, undefined>;
    };
    files: { create: ServerAgentCreate };
    webhooks: { create: ServerAgentCreate; list: ServerAgentList; get: ServerAgentGet; update: ServerAgentChange; delete: ServerAgentGet; rotateSecret: ServerAgentChange; test: ServerAgentChange; eventTypes: ServerAgentList };
}
