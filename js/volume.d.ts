/** What is at a path of a volume. */
export const VolumeFileType: {
    readonly UNKNOWN: "unknown";
    readonly FILE: "file";
    readonly DIRECTORY: "directory";
    readonly SYMLINK: "symlink";
};
export type VolumeFileType = (typeof VolumeFileType)[keyof typeof VolumeFileType];

/** A volume of the key's team. */
export interface VolumeInfo {
    volumeId: string;
    name: string;
}

/** A volume with what gives access to its content. */
export interface VolumeAndToken extends VolumeInfo {
    /** Sent with every call about the content. It opens this volume alone, but keep it secret. */
    token: string;
    /** The domain below which the content is served, where the server says so. */
    domain?: string;
}

/** A file, directory or link of a volume. */
export interface VolumeEntryStat {
    /** The last part of the path. */
    name: string;
    type: VolumeFileType;
    /** From the top of the volume. */
    path: string;
    /** Bytes. */
    size: number;
    /** The permission bits, such as `0o644`. */
    mode: number;
    uid: number;
    gid: number;
    /** When it was last read. */
    atime: Date;
    /** When its content last changed. */
    mtime: Date;
    /** When its content, owner or permissions last changed. */
    ctime: Date;
    /** Where a link leads. */
    target?: string;
}

/** Options of calls about a volume's content. What is not given is as it was when the volume was opened. */
export interface VolumeApiOpts {
    /** Instead of the volume's own token. */
    token?: string | undefined;
    /** Base URL of the content API. Default: `E2B_VOLUME_API_URL`, or else where the server says that the volume is. */
    apiUrl?: string | undefined;
    /** The content is at `https://api.<domain>`. Default: as the server says. */
    domain?: string | undefined;
    /** The content is at `http://localhost:8080`. Default false. */
    debug?: boolean | undefined;
    /** Limits the call, in milliseconds. Default 60 000, for reading and writing files 3 600 000; 0 means no limit. */
    requestTimeoutMs?: number | undefined;
    /** How often a call that was refused with 429 is repeated, when the server says how long to wait. Default 3. */
    retries?: number | undefined;
    /** Headers added to the request. A page can only send those that the server's CORS rules allow. */
    headers?: Record<string, string> | undefined;
    /** Ends the call early: it then rejects with `signal.reason`. */
    signal?: AbortSignal | undefined;
    /** Used in place of the global `fetch`. */
    fetch?: typeof globalThis.fetch | undefined;
    /** Called before each request. What it throws is dropped. */
    onRequest?: ((request: RequestFacts) => void) | undefined;
    /** Called when the head of an answer has arrived, or the request has failed. What it throws is dropped. */
    onResponse?: ((response: ResponseFacts) => void) | undefined;
}

/** Owner and permissions of an entry. */
export interface VolumeMetadata {
    /** User id. Default for something new: 1000, the sandboxes' `user`. */
    uid?: number | undefined;
    /** Group id. Default for something new: 1000. */
    gid?: number | undefined;
    /** Permission bits. Default for something new: `0o644` for files, `0o755` for directories. */
    mode?: number | undefined;
}

/** Options of `volume.list`. */
export interface VolumeListOpts extends VolumeApiOpts {
    /** How many levels to list. Default 1: the directory's own entries. */
    depth?: number | undefined;
}

/** Options of `volume.makeDir` and `volume.writeFile`. */
export interface VolumeWriteOpts extends VolumeApiOpts, VolumeMetadata {
    /** For a directory: makes those above it too, and accepts one that exists. For a file: replaces one that exists. Default false. */
    force?: boolean | undefined;
}

/** Options of `volume.readFile`. */
export interface VolumeReadOpts extends VolumeApiOpts {
    /** What to answer. Default `"text"`. */
    format?: "text" | "bytes" | "blob" | "stream" | undefined;
    /**
     * With `format: "stream"`: ends the stream when no bytes arrive for so many milliseconds. Default: as `requestTimeoutMs`,
     * which then limits only the time to the first answer. 0 means no limit.
     */
    streamIdleTimeoutMs?: number | undefined;
}

/**
 * A directory that sandboxes can share, and that outlives them: `Sandbox.create({ volumeMounts: { "/mnt/data": volume } })`.
 *
 * All methods reject with an `AuthenticationError` for a key or token that is missing or wrong, a `VolumeNotFoundError` when
 * there is no such volume, and a `ConnectionError` when the server cannot be reached. Paths start at the top of the volume.
 */
export class Volume {
    private constructor();
    readonly volumeId: string;
    readonly name: string;
    /** What gives access to the content. */
    readonly token: string;

    /** Makes a volume. Rejects with a `VolumeError` when the name is taken or has other characters than letters, digits, `-` and `_`. */
    static create(name: string, opts?: ConnectionOpts): Promise<Volume>;
    /** Opens a volume that exists. */
    static connect(volumeId: string, opts?: ConnectionOpts): Promise<Volume>;
    /** What the control plane knows of a volume. */
    static getInfo(volumeId: string, opts?: ConnectionOpts): Promise<VolumeAndToken>;
    /** All volumes of the key's team. */
    static list(opts?: ConnectionOpts): Promise<VolumeInfo[]>;
    /** Deletes a volume and its content. Resolves to false when there is none of that id. */
    static destroy(volumeId: string, opts?: ConnectionOpts): Promise<boolean>;

    /** The entries of a directory. Rejects with a `VolumePathNotFoundError` when it does not exist. */
    list(path: string, opts?: VolumeListOpts): Promise<VolumeEntryStat[]>;
    /**
     * Makes a directory.
     *
     * Rejects with a `VolumePathNotFoundError` when the one above does not exist, and with a `VolumeError` of code
     * `already_exists` when there is something at that path.
     */
    makeDir(path: string, opts?: VolumeWriteOpts): Promise<VolumeEntryStat>;
    /** What is at the path; of a link, the link itself. Rejects with a `VolumePathNotFoundError` when there is nothing. */
    getInfo(path: string, opts?: VolumeApiOpts): Promise<VolumeEntryStat>;
    /** Whether there is something at the path. */
    exists(path: string, opts?: VolumeApiOpts): Promise<boolean>;
    /** Changes owner and permissions; what is not given stays. Rejects with a `VolumePathNotFoundError` when there is nothing. */
    updateMetadata(path: string, metadata: VolumeMetadata, opts?: VolumeApiOpts): Promise<VolumeEntryStat>;
    /** Removes a file, or a directory with all it holds. Rejects with a `VolumePathNotFoundError` when there is nothing. */
    remove(path: string, opts?: VolumeApiOpts): Promise<void>;
    /**
     * Reads a file as text: UTF-8, where invalid bytes become U+FFFD.
     *
     * Rejects with a `VolumePathNotFoundError` when there is none, and with a `VolumeError` for a directory.
     */
    readFile(path: string, opts?: VolumeReadOpts & { format?: "text" | undefined }): Promise<string>;
    /** Reads a file as bytes. */
    readFile(path: string, opts: VolumeReadOpts & { format: "bytes" }): Promise<Uint8Array<ArrayBuffer>>;
    /** Reads a file as a `Blob`. */
    readFile(path: string, opts: VolumeReadOpts & { format: "blob" }): Promise<Blob>;
    /** Reads a file as a stream, which holds one chunk at a time. Cancelling it ends the transfer. */
    readFile(path: string, opts: VolumeReadOpts & { format: "stream" }): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
    /**
     * Writes a file. It appears when it is complete; one that was cut off is not seen at all.
     *
     * Rejects with a `VolumePathNotFoundError` when the directory does not exist, with a `VolumeError` of code `already_exists`
     * when there is something at that path, and with a `NotEnoughSpaceError` when the volume is full.
     */
    writeFile(path: string, data: FileData, opts?: VolumeWriteOpts): Promise<VolumeEntryStat>;
}
