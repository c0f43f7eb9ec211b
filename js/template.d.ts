/** Content of a file that a template copies: text (as UTF-8), bytes, or a Blob. */
export type TemplateFileData = string | Uint8Array | ArrayBuffer | Blob;

/** Options of `Template()`. */
export interface TemplateOptions {
    /**
     * The files that `copy` can take, by relative path. A mode is permission bits, default `0o644`. A `.dockerignore` among
     * them, given as text, adds to `fileIgnorePatterns`.
     */
    files?: Record<string, TemplateFileData | { data: TemplateFileData; mode?: number | undefined }> | undefined;
    /**
     * Patterns of files that are not copied: `*`, `**`, `?` and `[…]` against the whole path. What fits a directory also
     * leaves out all below it.
     */
    fileIgnorePatterns?: string[] | undefined;
}

/** Options of `copy`. */
export interface TemplateCopyOpts {
    /** Uploads the files even when the server has them. Default false. */
    forceUpload?: boolean | undefined;
    /** The owner, as `user` or `user:group`. Default: the user of this step. */
    user?: string | undefined;
    /** Permission bits of all that is copied, such as `0o755`. Default: those of the files. */
    mode?: number | undefined;
    /** Whether the archive is compressed for the upload. Default true where the runtime can. */
    gzip?: boolean | undefined;
}

/** An item of `copyItems`. */
export interface CopyItem extends TemplateCopyOpts {
    src: string | string[];
    dest: string;
}

/** What a template is made from. All methods return the builder itself, and throw an `InvalidArgumentError` for a wrong argument. */
export interface TemplateFromImage {
    /** `debian:<variant>`; default `stable`. */
    fromDebianImage(variant?: string): TemplateBuilder;
    /** `ubuntu:<variant>`; default `latest`. */
    fromUbuntuImage(variant?: string): TemplateBuilder;
    /** `fedora:<variant>`; default `latest`. */
    fromFedoraImage(variant?: string): TemplateBuilder;
    /** `alpine:<variant>`; default `latest`. */
    fromAlpineImage(variant?: string): TemplateBuilder;
    /** `archlinux:<variant>`; default `latest`. */
    fromArchImage(variant?: string): TemplateBuilder;
    /** `python:<version>`; default `3`. */
    fromPythonImage(version?: string): TemplateBuilder;
    /** `node:<variant>`; default `lts`. */
    fromNodeImage(variant?: string): TemplateBuilder;
    /** `oven/bun:<variant>`; default `latest`. */
    fromBunImage(variant?: string): TemplateBuilder;
    /** The platform's own base image, which is also the default. */
    fromBaseImage(): TemplateBuilder;
    /** Any image, with the credentials of a private registry. They are sent to the platform when the build starts. */
    fromImage(image: string, credentials?: { username: string; password: string }): TemplateBuilder;
    /** An image of Amazon's registry. */
    fromAWSRegistry(image: string, credentials: { accessKeyId: string; secretAccessKey: string; region: string }): TemplateBuilder;
    /** An image of Google's registry. The account is the JSON key file's content, as text or parsed. */
    fromGCPRegistry(image: string, credentials: { serviceAccountJSON: object | string }): TemplateBuilder;
    /** Another template, by name, `name:tag` or id. */
    fromTemplate(template: string): TemplateBuilder;
    /**
     * The steps of a Dockerfile, given as text. It has one stage; what has no counterpart, such as `EXPOSE`, is skipped.
     *
     * Throws a `TemplateError` (`invalid_dockerfile`) for what would change the result: several stages, `COPY --from`,
     * `RUN --mount` other than caches, here-documents.
     */
    fromDockerfile(content: string): TemplateBuilder;
    /** Builds everything anew, without what the server has kept of earlier builds. */
    skipCache(): this;
}

/** What is done in a template, in order. All methods return the builder itself, and throw an `InvalidArgumentError` for a wrong argument. */
export interface TemplateBuilder {
    /**
     * Copies files of `Template({ files })`. A source is a file, a directory (all below it goes into `dest`), or a pattern of
     * `*`, `**`, `?` and `[…]`.
     *
     * Throws a `TemplateError` for a source outside of the files; that one matches nothing is found out when building.
     */
    copy(src: string | string[], dest: string, options?: TemplateCopyOpts): TemplateBuilder;
    /** Several copies. */
    copyItems(items: CopyItem[]): TemplateBuilder;
    /** Removes paths. */
    remove(path: string | string[], options?: { force?: boolean | undefined; recursive?: boolean | undefined; user?: string | undefined }): TemplateBuilder;
    /** Moves a path. */
    rename(src: string, dest: string, options?: { force?: boolean | undefined; user?: string | undefined }): TemplateBuilder;
    /** Makes directories and their parents. */
    makeDir(path: string | string[], options?: { mode?: number | undefined; user?: string | undefined }): TemplateBuilder;
    /** Makes a symbolic link `dest` to `src`. */
    makeSymlink(src: string, dest: string, options?: { user?: string | undefined; force?: boolean | undefined }): TemplateBuilder;
    /** Runs a shell command, or several that must all succeed. `user` may be `root`. */
    runCmd(command: string | string[], options?: { user?: string | undefined }): TemplateBuilder;
    /** The directory of the following steps, of the start command, and of commands in sandboxes. */
    setWorkdir(workdir: string): TemplateBuilder;
    /** The user of the following steps, of the start command, and of commands in sandboxes. */
    setUser(user: string): TemplateBuilder;
    /** Installs Python packages, or the project in the working directory: for all users (as root) unless `g` is false. */
    pipInstall(packages?: string | string[], options?: { g?: boolean | undefined }): TemplateBuilder;
    /** Installs npm packages, or those of `package.json`; with `g` for all users. */
    npmInstall(packages?: string | string[], options?: { g?: boolean | undefined; dev?: boolean | undefined }): TemplateBuilder;
    /** Installs packages with Bun, or those of `package.json`; with `g` for all users. */
    bunInstall(packages?: string | string[], options?: { g?: boolean | undefined; dev?: boolean | undefined }): TemplateBuilder;
    /** Installs Debian or Ubuntu packages. */
    aptInstall(packages: string | string[], options?: { noInstallRecommends?: boolean | undefined; fixMissing?: boolean | undefined }): TemplateBuilder;
    /** Fetches MCP servers. Throws a `BuildError` without `fromTemplate("mcp-gateway")`. */
    addMcpServer(servers: string | string[]): TemplateBuilder;
    /** Clones a repository; `depth` is a number of commits. */
    gitClone(url: string, path?: string, options?: { branch?: string | undefined; depth?: number | undefined; user?: string | undefined }): TemplateBuilder;
    /** Environment variables of the following steps, of the start command, and of commands in sandboxes. */
    setEnvs(envs: Record<string, string>): TemplateBuilder;
    /** Runs the following steps anew, without what the server has kept of earlier builds. */
    skipCache(): this;
    /** What runs in every sandbox of the template, and the command that succeeds once it is ready. */
    setStartCmd(startCommand: string, readyCommand: string | ReadyCmd): TemplateFinal;
    /** The command that succeeds once a sandbox is ready. */
    setReadyCmd(readyCommand: string | ReadyCmd): TemplateFinal;
    /** Builds a dev container ahead. Throws a `BuildError` without `fromTemplate("devcontainer")`. */
    betaDevContainerPrebuild(directory: string): TemplateBuilder;
    /** Starts a dev container in every sandbox. Throws a `BuildError` without `fromTemplate("devcontainer")`. */
    betaSetDevContainerStart(directory: string): TemplateFinal;
}

/** A template that is complete. */
export interface TemplateFinal {}

/** A template that can be built. */
export type TemplateClass = TemplateBuilder | TemplateFinal;

/** Options of `Template.build` and `Template.buildInBackground`. */
export interface BuildOptions extends ConnectionOpts {
    /** The template's name, `name` or `name:tag`, when it is not an argument of its own. */
    alias?: string | undefined;
    /** Further tags of the build. Default: that of the name, or `default`. */
    tags?: string[] | undefined;
    /** Processors of a sandbox. Default 2. */
    cpuCount?: number | undefined;
    /** Memory of a sandbox, in mebibytes. Default 1024. */
    memoryMB?: number | undefined;
    /** Disk space that a sandbox must have free at least, in mebibytes. Default: the platform's. */
    minFreeDiskMb?: number | undefined;
    /** Builds everything anew, without what the server has kept of earlier builds. Default false. */
    skipCache?: boolean | undefined;
    /** Called with what happens. One that throws ends the call, which rejects with what it threw; the server builds on. */
    onBuildLogs?: ((logEntry: LogEntry) => void) | undefined;
}

/** A build that was started. */
export interface BuildInfo {
    /** The same as `name`. */
    alias: string;
    name: string;
    tags: string[];
    templateId: string;
    buildId: string;
}

/** Options of calls about a build. */
export interface GetBuildStatusOptions extends ConnectionOpts {
    /** How many log entries are known already. Default 0. */
    logsOffset?: number | undefined;
}

export type TemplateBuildStatus = "building" | "waiting" | "ready" | "error";

/** Why a build failed. */
export interface BuildStatusReason {
    message: string;
    /** The step that failed: its number from 1 on, `base`, or `finalize`. */
    step: string | undefined;
    logEntries: LogEntry[];
}

/** How a build is going. */
export interface TemplateBuildStatusResponse {
    buildID: string;
    templateID: string;
    status: TemplateBuildStatus;
    /** At most 100 entries from `logsOffset` on. */
    logEntries: LogEntry[];
    /** The same as bare lines, where the server gives them. */
    logs: string[];
    reason: BuildStatusReason | undefined;
}

/** Tags that were given to a build. */
export interface TemplateTagInfo {
    buildId: string;
    tags: string[];
}

/** A tag of a template. */
export interface TemplateTag {
    tag: string;
    buildId: string;
    createdAt: Date;
}

/**
 * Describes a template, and has it built. There is no file system: the files to copy are given.
 *
 * All static methods reject with an `AuthenticationError` for a missing or wrong key and with a `ConnectionError` when the server
 * cannot be reached. `requestTimeoutMs` limits each request (uploads: 3 600 000 unless given), not the whole build.
 */
export class TemplateBase implements TemplateFromImage, TemplateBuilder, TemplateFinal {
    constructor(options?: TemplateOptions);
    /** The description as JSON. Rejects with a `TemplateError` when a source matches no file, unless `computeHashes` is false. */
    static toJSON(template: TemplateClass, computeHashes?: boolean): Promise<string>;
    /** The description as a Dockerfile. Throws a `TemplateError` when it is based on another template. */
    static toDockerfile(template: TemplateClass): string;
    /**
     * Builds the template and waits for the end. Aborting ends the waiting; the server builds on.
     *
     * Rejects with a `BuildError` when a step or the start fails, a `FileUploadError` when files cannot be uploaded, and a
     * `TemplateError` without a name, or when a source matches no file.
     */
    static build(template: TemplateClass, name: string, options?: Omit<BuildOptions, "alias">): Promise<BuildInfo>;
    static build(template: TemplateClass, options: BuildOptions): Promise<BuildInfo>;
    /** Starts a build and does not wait for it. Rejects like `build`. */
    static buildInBackground(template: TemplateClass, name: string, options?: Omit<BuildOptions, "alias">): Promise<BuildInfo>;
    static buildInBackground(template: TemplateClass, options: BuildOptions): Promise<BuildInfo>;
    /** How a build is going. Rejects with a `BuildError` when there is no such build. */
    static getBuildStatus(build: Pick<BuildInfo, "templateId" | "buildId">, options?: GetBuildStatusOptions): Promise<TemplateBuildStatusResponse>;
    /**
     * Every answer with something new, the last one being `ready` or `error`. The server is asked only while the loop waits for
     * more: every 200 ms after news, and ever more rarely, down to every 2 s, while there are none.
     */
    static streamBuildStatus(build: Pick<BuildInfo, "templateId" | "buildId">, options?: GetBuildStatusOptions): AsyncGenerator<TemplateBuildStatusResponse, void, undefined>;
    /** The log entries of a build to its end; throws a `BuildError` when it fails. Asks as `streamBuildStatus` does. */
    static streamBuildLogs(build: Pick<BuildInfo, "templateId" | "buildId">, options?: GetBuildStatusOptions): AsyncGenerator<LogEntry, void, undefined>;
    /** Whether a name is taken, by whomever. */
    static exists(name: string, options?: ConnectionOpts): Promise<boolean>;
    /** The same as `exists`. */
    static aliasExists(alias: string, options?: ConnectionOpts): Promise<boolean>;
    /** Gives further tags to the build that `name:tag` means. Rejects with a `TemplateError` when there is none. */
    static assignTags(targetName: string, tags: string | string[], options?: ConnectionOpts): Promise<TemplateTagInfo>;
    /** Takes tags away. Rejects with a `TemplateError` when there is no such template, and for `default`. */
    static removeTags(name: string, tags: string | string[], options?: ConnectionOpts): Promise<void>;
    /** The tags of a template. Rejects with a `TemplateError` when there is no such template. */
    static getTags(templateId: string, options?: ConnectionOpts): Promise<TemplateTag[]>;
}
export interface TemplateBase extends TemplateFromImage, TemplateBuilder, TemplateFinal {
    skipCache(): this;
}

/** Begins a template; `new` may be left out. */
export const Template: typeof TemplateBase & ((options?: TemplateOptions) => TemplateFromImage & TemplateBuilder);

/** A shell command that succeeds once something is ready. */
export class ReadyCmd {
    constructor(command: string);
    getCmd(): string;
}
/** Ready when something listens on the port. */
export function waitForPort(port: number): ReadyCmd;
/** Ready when the address answers with the status. Default 200. */
export function waitForURL(url: string, statusCode?: number): ReadyCmd;
/** Ready when a process of that name runs. */
export function waitForProcess(processName: string): ReadyCmd;
/** Ready when the file exists. */
export function waitForFile(filename: string): ReadyCmd;
/** Ready after so many milliseconds, in whole seconds and at least one. */
export function waitForTimeout(timeoutMs: number): ReadyCmd;

export type LogEntryLevel = "debug" | "info" | "warn" | "error";

/** Something that a build says. */
export class LogEntry {
    constructor(timestamp: Date, level: LogEntryLevel, message: string);
    readonly timestamp: Date;
    readonly level: LogEntryLevel;
    /** Without the escape sequences of terminals. */
    readonly message: string;
    toString(): string;
}
/** The first entry of `Template.build`. */
export class LogEntryStart extends LogEntry {
    constructor(timestamp: Date, message: string);
}
/** The last entry of `Template.build`, whatever its outcome. */
export class LogEntryEnd extends LogEntry {
    constructor(timestamp: Date, message: string);
}
/** A function for `onBuildLogs` that prints entries, with the seconds since the first, to the console. `minLevel` defaults to `"info"`. */
export function defaultBuildLogger(options?: { minLevel?: LogEntryLevel | undefined }): (logEntry: LogEntry) => void;
