/** Content for `files.upload`. */
export type ServerFileData = string | Uint8Array | ArrayBuffer | Blob;

/**
 * Files as the server sees them, within the paths of its policy. Relative paths belong to the server's working directory. Contents go
 * as one piece of at most 7.5 MiB; `sandbox.files` is for larger ones.
 */
export interface ServerFiles {
    /**
     * A directory. With `recursive` the server lists three levels, but does not say where its entries are: use `walk`.
     *
     * Rejects with a `FileNotFoundError` when it does not exist or is no directory.
     */
    list(path: string, opts?: ServerCallOpts & { recursive?: boolean | undefined; maxEntries?: number | undefined }): Promise<ServerFileEntry[]>;
    /** Everything below a directory, level by level, with one request for each directory. */
    walk(path: string, opts?: ServerCallOpts & { maxDepth?: number | undefined; maxEntries?: number | undefined }): AsyncGenerator<ServerFileEntry, void, undefined>;
    /** What is known of a path. One where nothing is has `exists: false`. */
    stat(path: string, opts?: ServerCallOpts): Promise<ServerFileInfo>;
    exists(path: string, opts?: ServerCallOpts): Promise<boolean>;
    /** Makes a directory and those above it. `created` is true for one that existed, too. */
    mkdir(path: string, opts?: ServerCallOpts): Promise<{ path: string; created: boolean }>;
    /** Removes a file, or a directory with what is in it. */
    delete(path: string, opts?: ServerCallOpts): Promise<{ path: string; deleted: boolean }>;
    /** Moves. A directory that exists at `destination` gets it inside, whatever the answer says. */
    move(source: string, destination: string, opts?: ServerCallOpts): Promise<{ source: string; destination: string }>;
    /** Files whose name fits a pattern with `*` and `?`. */
    search(path: string, pattern: string, opts?: ServerCallOpts & { maxDepth?: number | undefined; maxResults?: number | undefined }): Promise<{ results: { name: string; path: string }[]; timedOut: boolean }>;
    /**
     * Writes a file, and makes the directories above it. An empty one is made by a program, because the server refuses it.
     *
     * Rejects with a {@link PayloadTooLargeError} before anything is sent when the server is known to refuse it.
     */
    upload(path: string, data: ServerFileData, opts?: ServerCallOpts): Promise<{ path: string; size: number }>;
    download(path: string, opts?: ServerCallOpts): Promise<Uint8Array<ArrayBuffer>>;
    /** A file as text. Bytes that are none become U+FFFD. */
    readText(path: string, opts?: ServerCallOpts & { encoding?: string | undefined }): Promise<string>;
    archive(paths: string[], opts?: ServerCallOpts & { format?: "tar.gz" | "zip" | undefined }): Promise<{ format: string; size: number; data: Uint8Array<ArrayBuffer> }>;
    /**
     * What changes below a directory, until `timeoutMs` are over (milliseconds, at most and by default 300 000). The server looks every
     * `intervalMs` (100 to 5000, default 500): what happens in between is one change.
     */
    watch(path: string, opts?: ServerWatchOpts): AsyncGenerator<ServerFileChange, void, undefined>;
    /** All changes within so many milliseconds. */
    watchFor(path: string, ms: number, opts?: Omit<ServerWatchOpts, "timeoutMs">): Promise<ServerFileChange[]>;
}

export interface ServerWatchOpts {
    recursive?: boolean | undefined;
    intervalMs?: number | undefined;
    timeoutMs?: number | undefined;
    signal?: AbortSignal | undefined;
}

export interface ServerFileChange {
    type: "created" | "modified" | "deleted" | (string & {});
    path: string;
    isDir: boolean;
}

export interface ServerFileEntry {
    name: string;
    /** Absent in what `list` answers with `recursive`. */
    path?: string;
    /** A link counts as a file. */
    type: "file" | "directory" | "unknown" | (string & {});
    size: number;
    modified: Date | undefined;
}

export interface ServerFileInfo extends ServerFileEntry {
    path: string;
    /** Three octal digits. */
    permissions: string;
    accessed: Date | undefined;
    /** When the file's state changed last. */
    created: Date | undefined;
    exists: boolean;
}
