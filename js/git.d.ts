/** Options of all methods of `sandbox.git`. */
export interface GitOpts {
    /** Environment variables, over `GIT_TERMINAL_PROMPT=0` and `LC_ALL=C`. Failures are told apart by git's English messages. */
    envs?: Record<string, string> | undefined;
    /** The user to run as. Default: the sandbox's default user. */
    user?: string | undefined;
    /** Where relative paths start from. Default: the user's home directory. */
    cwd?: string | undefined;
    /** Kills git after so many milliseconds; 0 means no limit. Default 60 000. */
    timeoutMs?: number | undefined;
    /** Limits how long each start may take, in milliseconds. Default 60 000; 0 means no limit. */
    requestTimeoutMs?: number | undefined;
    /** Kills git: the call rejects with `signal.reason`. */
    signal?: AbortSignal | undefined;
}

/**
 * Credentials for one call, for http and https. They are handed to git through its environment, only for the server of the
 * remote's URL, and are kept nowhere. A user name alone says nothing.
 */
export interface GitCredentialOpts extends GitOpts {
    username?: string | undefined;
    /** A password or token. */
    password?: string | undefined;
}

/** Options of `git.clone`. */
export interface GitCloneOpts extends GitCredentialOpts {
    /** Where to. Default: a directory named after the repository. */
    path?: string | undefined;
    /** Clone this branch only. Default: the remote's current branch, and all others. */
    branch?: string | undefined;
    /** How many commits of history. Default: all. */
    depth?: number | undefined;
    /** Keep the credentials in the remote's URL, where everybody in the sandbox can read them. Default false. */
    dangerouslyStoreCredentials?: boolean | undefined;
}

/** Options of `git.init`. */
export interface GitInitOpts extends GitOpts {
    bare?: boolean | undefined;
    /** Default: as git is configured. */
    initialBranch?: string | undefined;
}

/** Options of `git.remoteAdd`. */
export interface GitRemoteAddOpts extends GitOpts {
    /** Fetch from it at once. Default false. */
    fetch?: boolean | undefined;
    /** Replace the URL of a remote that exists. Default false. */
    overwrite?: boolean | undefined;
}

/** Options of `git.add`. */
export interface GitAddOpts extends GitOpts {
    /** Default: everything. */
    files?: string[] | undefined;
    /** Without `files`: also what was deleted, and outside of the path. Default true. */
    all?: boolean | undefined;
}

/** Options of `git.commit`. */
export interface GitCommitOpts extends GitOpts {
    authorName?: string | undefined;
    authorEmail?: string | undefined;
    /** Default false. */
    allowEmpty?: boolean | undefined;
}

/** Options of `git.reset`. */
export interface GitResetOpts extends GitOpts {
    /** Default: as git has it, `"mixed"`. */
    mode?: "soft" | "mixed" | "hard" | "merge" | "keep" | undefined;
    /** A commit. Default `HEAD`. */
    target?: string | undefined;
    paths?: string[] | undefined;
}

/** Options of `git.restore`. */
export interface GitRestoreOpts extends GitOpts {
    /** At least one. */
    paths: string[];
    /** Restore the index. Default false. */
    staged?: boolean | undefined;
    /** Restore the files. Default: unless `staged`. */
    worktree?: boolean | undefined;
    /** A commit. Default: as git has it. */
    source?: string | undefined;
}

/** Options of `git.pull`. */
export interface GitPullOpts extends GitCredentialOpts {
    /** Default: the upstream's; with credentials or a branch, the only one. */
    remote?: string | undefined;
    /** Default: the upstream. */
    branch?: string | undefined;
}

/** Options of `git.push`. */
export interface GitPushOpts extends GitPullOpts {
    /** Make it the branch's upstream, when a remote is known. Default true. */
    setUpstream?: boolean | undefined;
}

/** Options of the methods about git's configuration. */
export interface GitConfigOpts extends GitOpts {
    /** Default `"global"`. */
    scope?: "global" | "local" | "system" | undefined;
    /** The repository, for `"local"`. */
    path?: string | undefined;
}

/** Options of `git.dangerouslyAuthenticate`. */
export interface GitAuthenticateOpts extends GitOpts {
    /** Default `github.com`. */
    host?: string | undefined;
    /** Default `https`. */
    protocol?: string | undefined;
}

/** A file that differs. */
export interface GitFileStatus {
    /** The path below the repository, as it is. */
    name: string;
    status: "untracked" | "conflict" | "renamed" | "copied" | "deleted" | "added" | "modified" | "typechange" | "unknown";
    /** git's letter for the index, or a space. */
    indexStatus: string;
    /** git's letter for the file, or a space. */
    workingTreeStatus: string;
    /** Whether a change is in the index. */
    staged: boolean;
    /** Where a renamed or copied file comes from. */
    renamedFrom?: string;
}

/** The state of a repository. */
export interface GitStatus {
    /** Undefined in detached state. */
    currentBranch: string | undefined;
    upstream: string | undefined;
    /** Commits that the upstream lacks. */
    ahead: number;
    /** Commits that the branch lacks. */
    behind: number;
    detached: boolean;
    fileStatus: GitFileStatus[];
    isClean: boolean;
    hasChanges: boolean;
    hasStaged: boolean;
    hasUntracked: boolean;
    hasConflicts: boolean;
    totalCount: number;
    stagedCount: number;
    /** Files without a change in the index, untracked ones included. */
    unstagedCount: number;
    untrackedCount: number;
    conflictCount: number;
}

/** The branches of a repository. */
export interface GitBranches {
    branches: string[];
    /** Undefined in detached state. */
    currentBranch: string | undefined;
}

/**
 * git in a sandbox, as `sandbox.git`. Arguments reach git as they are, without a shell.
 *
 * Methods reject with a `CommandExitError` when git fails, of which two kinds have classes of their own: `GitAuthError` and
 * `GitUpstreamError`. Arguments that git could take for options are refused with an `InvalidArgumentError`. Passwords never are
 * part of results and errors.
 */
export class Git {
    constructor(commands: Commands);
    /** Clones a repository. Credentials in the URL are used for this call, and left out of the remote's URL. */
    clone(url: string, opts?: GitCloneOpts): Promise<CommandResult>;
    init(path: string, opts?: GitInitOpts): Promise<CommandResult>;
    remoteAdd(path: string, name: string, url: string, opts?: GitRemoteAddOpts): Promise<CommandResult>;
    /** The URL of a remote; undefined when there is none of that name. */
    remoteGet(path: string, name: string, opts?: GitOpts): Promise<string | undefined>;
    status(path: string, opts?: GitOpts): Promise<GitStatus>;
    branches(path: string, opts?: GitOpts): Promise<GitBranches>;
    /** Makes a branch and switches to it. */
    createBranch(path: string, branch: string, opts?: GitOpts): Promise<CommandResult>;
    checkoutBranch(path: string, branch: string, opts?: GitOpts): Promise<CommandResult>;
    /** Deletes a branch; with `force` also one that was not merged. */
    deleteBranch(path: string, branch: string, opts?: GitOpts & { force?: boolean | undefined }): Promise<CommandResult>;
    add(path: string, opts?: GitAddOpts): Promise<CommandResult>;
    commit(path: string, message: string, opts?: GitCommitOpts): Promise<CommandResult>;
    reset(path: string, opts?: GitResetOpts): Promise<CommandResult>;
    restore(path: string, opts: GitRestoreOpts): Promise<CommandResult>;
    /** Pushes the current branch, or the one that is named. */
    push(path: string, opts?: GitPushOpts): Promise<CommandResult>;
    pull(path: string, opts?: GitPullOpts): Promise<CommandResult>;
    setConfig(key: string, value: string, opts?: GitConfigOpts): Promise<CommandResult>;
    /** The value of a setting; undefined when it is not set. */
    getConfig(key: string, opts?: GitConfigOpts): Promise<string | undefined>;
    /** Sets the name and address of the user's commits. */
    configureUser(name: string, email: string, opts?: GitConfigOpts): Promise<CommandResult>;
    /** Keeps credentials in the sandbox, readable, for every git command of the user from now on. */
    dangerouslyAuthenticate(username: string, password: string, opts?: GitAuthenticateOpts): Promise<CommandResult>;
    dangerouslyAuthenticate(opts: GitAuthenticateOpts & { username: string; password: string }): Promise<CommandResult>;
}
