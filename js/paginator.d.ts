/** Options of `Sandbox.list`. */
export interface SandboxListOpts extends ConnectionOpts {
    /** Which sandboxes to list. Default: all. */
    query?: SandboxQuery | undefined;
    /** By start time: `"desc"` is the newest first. Default `"desc"`. */
    order?: "asc" | "desc" | undefined;
    /** Sandboxes per page, 1 to 100. Default 100. */
    limit?: number | undefined;
    /** Where to go on: the `nextToken` of an earlier paginator with the same query and order. */
    nextToken?: string | undefined;
}

/** Which sandboxes `Sandbox.list` lists. */
export interface SandboxQuery {
    /** All of these values must have been given at creation. */
    metadata?: Record<string, string> | undefined;
    /** Default: both. */
    state?: ("running" | "paused")[] | undefined;
    /** Started at this time or later. */
    startedAfter?: Date | undefined;
    /** Made from this template: its id, or an alias without a tag. */
    template?: string | undefined;
}

/** Options of `Sandbox.listSnapshots`. */
export interface SnapshotListOpts extends ConnectionOpts {
    /** Only snapshots of this sandbox. */
    sandboxId?: string | undefined;
    /** Only snapshots of this name. */
    name?: string | undefined;
    /** Snapshots per page, 1 to 100. Default 100. */
    limit?: number | undefined;
    /** Where to go on: the `nextToken` of an earlier paginator with the same query. */
    nextToken?: string | undefined;
}

/** Pages of sandboxes. `for await` goes through all of them one by one. */
export class SandboxPaginator {
    private constructor();
    /**
     * The next page.
     *
     * Rejects with a `SandboxError` of code `out_of_range` after the last page, and of code `conflict` while another
     * call is under way.
     */
    nextItems(opts?: RequestOpts): Promise<SandboxInfo[]>;
    /**
     * Whether there is another page; true before the first. A page can only know when the server lets it read the header
     * `X-Next-Token` (CORS); otherwise it is false after the first.
     */
    readonly hasNext: boolean;
    /** Where the next page begins; undefined before the first page and after the last. */
    readonly nextToken: string | undefined;
}

export interface SandboxPaginator extends AsyncIterable<SandboxInfo> {}

/** Pages of snapshots. `for await` goes through all of them one by one. */
export class SnapshotPaginator {
    private constructor();
    /**
     * The next page.
     *
     * Rejects with a `SandboxError` of code `out_of_range` after the last page, and of code `conflict` while another
     * call is under way.
     */
    nextItems(opts?: RequestOpts): Promise<SnapshotInfo[]>;
    /** Whether there is another page; true before the first. */
    readonly hasNext: boolean;
    /** Where the next page begins; undefined before the first page and after the last. */
    readonly nextToken: string | undefined;
}

export interface SnapshotPaginator extends AsyncIterable<SnapshotInfo> {}
