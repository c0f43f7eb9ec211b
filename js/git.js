// git in the sandbox. Commands are run as arrays of words, so no shell reads what callers pass; credentials travel in the
// environment of the one command that needs them, never in its words nor in a remote's URL.

import { CommandExitError, GitAuthError, GitUpstreamError } from "./errors.js";
import { invalid } from "./options.js";

/** English messages, because they are all that tells failures apart, and no question that nobody could answer. */
const ENVIRONMENT = { GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" };

const AUTH =
  /authentication failed|terminal prompts disabled|could not read (username|password)|invalid (username|credentials)|access denied|permission denied \((publickey|password|keyboard)|permission to .+ denied|not authorized|returned error: 40[13]/i;
const UPSTREAM =
  /no upstream (branch|configured)|no tracking information|set the remote as upstream|set the upstream branch|specify which branch you want to/i;

const NO_LOGIN = { words: [], envs: {}, secrets: [] };

export class Git {
  #commands;

  constructor(commands) {
    this.#commands = commands;
  }

  async clone(url, opts = {}) {
    const { path, branch, depth, dangerouslyStoreCredentials } = opts;
    word(url, "url");
    const plain = url.replace(/^(https?:\/\/)[^/?#]*@/i, "$1");
    const credentials = credentialsOf(opts) ?? credentialsIn(url);
    const login = credentials ? loginTo(plain, credentials) : NO_LOGIN;
    const words = ["clone"];
    if (branch !== undefined) words.push("--branch", word(branch, "branch"), "--single-branch");
    if (depth !== undefined) words.push("--depth", String(whole(depth, "depth")));
    words.push("--", plain);
    if (path !== undefined) words.push(text(path, "path"));
    const result = await this.#run(words, opts, { login });
    if (credentials && dangerouslyStoreCredentials) {
      const full = new URL(plain);
      full.username = encodeURIComponent(credentials.username);
      full.password = encodeURIComponent(credentials.password);
      await this.#run(["remote", "set-url", "origin", full.href], opts, { path: path ?? folderOf(plain), login });
    }
    return result;
  }

  async init(path, opts = {}) {
    const words = ["init"];
    if (opts.initialBranch !== undefined) words.push("--initial-branch", word(opts.initialBranch, "initialBranch"));
    if (opts.bare) words.push("--bare");
    return this.#run([...words, "--", text(path, "path")], opts);
  }

  async remoteAdd(path, name, url, opts = {}) {
    const target = [word(name, "name"), word(url, "url")];
    const add = ["remote", "add", ...(opts.fetch ? ["-f"] : []), ...target];
    if (!opts.overwrite) return this.#run(add, opts, { path });
    const added = await this.#run(add, opts, { path, check: false });
    if (added.exitCode === 0) return added;
    const set = await this.#run(["remote", "set-url", ...target], opts, { path });
    return opts.fetch ? this.#run(["fetch", name], opts, { path }) : set;
  }

  async remoteGet(path, name, opts = {}) {
    const result = await this.#run(["remote", "get-url", word(name, "name")], opts, { path, check: false });
    if (result.exitCode !== 0 && /no such remote/i.test(result.stderr)) return undefined;
    return checked(result).stdout.trim() || undefined;
  }

  async status(path, opts = {}) {
    return readStatus((await this.#run(["status", "--porcelain=2", "-z", "--branch"], opts, { path })).stdout);
  }

  async branches(path, opts = {}) {
    const words = ["for-each-ref", "--format=%(HEAD)%(refname:lstrip=2)", "refs/heads"];
    const lines = (await this.#run(words, opts, { path })).stdout.split("\n").filter((line) => line !== "");
    return {
      branches: lines.map((line) => line.slice(1)),
      currentBranch: lines.find((line) => line.startsWith("*"))?.slice(1),
    };
  }

  async createBranch(path, branch, opts = {}) {
    return this.#run(["checkout", "-b", word(branch, "branch")], opts, { path });
  }

  async checkoutBranch(path, branch, opts = {}) {
    return this.#run(["checkout", word(branch, "branch"), "--"], opts, { path });
  }

  async deleteBranch(path, branch, opts = {}) {
    return this.#run(["branch", opts.force ? "-D" : "-d", "--", word(branch, "branch")], opts, { path });
  }

  async add(path, opts = {}) {
    const { files = [], all = true } = opts;
    return this.#run(files.length > 0 ? ["add", "--", ...texts(files, "files")] : ["add", all ? "-A" : "."], opts, { path });
  }

  async commit(path, message, opts = {}) {
    const words = [];
    if (opts.authorName !== undefined) words.push("-c", `user.name=${text(opts.authorName, "authorName")}`);
    if (opts.authorEmail !== undefined) words.push("-c", `user.email=${text(opts.authorEmail, "authorEmail")}`);
    words.push("commit", "-m", text(message, "message"));
    if (opts.allowEmpty) words.push("--allow-empty");
    return this.#run(words, opts, { path });
  }

  async reset(path, opts = {}) {
    const { mode, target, paths = [] } = opts;
    const words = ["reset"];
    if (mode !== undefined) words.push(`--${oneOf(mode, "mode", ["soft", "mixed", "hard", "merge", "keep"])}`);
    if (target !== undefined) words.push(word(target, "target"));
    if (paths.length > 0) words.push("--", ...texts(paths, "paths"));
    return this.#run(words, opts, { path });
  }

  async restore(path, opts = {}) {
    const { paths, staged, worktree, source } = opts;
    if (texts(paths, "paths").length === 0) throw invalid("paths of git.restore must name at least one path");
    if (worktree === false && !staged) throw invalid("git.restore would restore nothing: set staged or worktree");
    const words = ["restore"];
    if (worktree || (worktree === undefined && !staged)) words.push("--worktree");
    if (staged) words.push("--staged");
    if (source !== undefined) words.push("--source", word(source, "source"));
    return this.#run([...words, "--", ...paths], opts, { path });
  }

  async push(path, opts = {}) {
    const { branch, setUpstream = true } = opts;
    const [remote, login] = await this.#remote(path, opts, true);
    const words = ["push"];
    if (remote !== undefined) {
      if (setUpstream) words.push("--set-upstream");
      words.push(remote);
      if (branch !== undefined || setUpstream) words.push(branch ?? "HEAD");
    }
    return this.#run(words, opts, { path, login });
  }

  async pull(path, opts = {}) {
    const [remote, login] = await this.#remote(path, opts, false);
    return this.#run(["pull", remote, opts.branch].filter((part) => part !== undefined), opts, { path, login });
  }

  async setConfig(key, value, opts = {}) {
    const [scope, place] = scopeOf(opts);
    return this.#run(["config", scope, word(key, "key"), text(value, "value")], opts, place);
  }

  async getConfig(key, opts = {}) {
    const [scope, place] = scopeOf(opts);
    const result = await this.#run(["config", scope, "--get", word(key, "key")], opts, { ...place, check: false });
    return result.exitCode === 1 ? undefined : checked(result).stdout.trim() || undefined;
  }

  async configureUser(name, email, opts = {}) {
    text(email, "email");
    await this.setConfig("user.name", text(name, "name"), opts);
    return this.setConfig("user.email", email, opts);
  }

  async dangerouslyAuthenticate(username, password, opts = {}) {
    if (typeof username === "object" && username !== null) return this.dangerouslyAuthenticate(username.username, username.password, username);
    const { host = "github.com", protocol = "https" } = opts;
    const credentials = credentialsOf({ username: text(username, "username"), password: text(password, "password") });
    for (const [name, value] of Object.entries({ host, protocol })) singleLine(text(value, name), name);
    await this.#run(["config", "--global", "credential.helper", "store"], opts);
    const login = {
      words: [],
      envs: { SANDBOX_GIT_HOST: host, SANDBOX_GIT_PROTOCOL: protocol, ...environmentOf(credentials) },
      secrets: secretsOf(credentials),
    };
    const script =
      'printf "protocol=%s\\nhost=%s\\nusername=%s\\npassword=%s\\n\\n" "$SANDBOX_GIT_PROTOCOL" "$SANDBOX_GIT_HOST" "$SANDBOX_GIT_USERNAME" "$SANDBOX_GIT_PASSWORD" | git credential approve';
    return this.#run([], opts, { login, command: ["sh", "-c", script] });
  }

  /** The remote of a push or pull, as far as it must be known, and how to log in there. */
  async #remote(path, opts, isPush) {
    const credentials = credentialsOf(opts);
    if (opts.branch !== undefined) word(opts.branch, "branch");
    let remote = opts.remote === undefined ? undefined : word(opts.remote, "remote");
    // A branch alone would be taken for a remote.
    if (remote === undefined && (credentials || opts.branch !== undefined)) {
      const remotes = (await this.#run(["remote"], opts, { path })).stdout.split("\n").filter((name) => name !== "");
      if (remotes.length !== 1) throw invalid(`The repository has ${remotes.length} remotes. Name one as the option remote`);
      [remote] = remotes;
    }
    if (!credentials) return [remote, NO_LOGIN];
    if (remote.includes("://")) return [remote, loginTo(remote, credentials)];
    const words = ["remote", "get-url", ...(isPush ? ["--push"] : []), remote];
    return [remote, loginTo((await this.#run(words, opts, { path })).stdout.trim(), credentials)];
  }

  async #run(words, opts, { path, login = NO_LOGIN, check = true, command } = {}) {
    const { user, cwd, timeoutMs, requestTimeoutMs, signal } = opts;
    const folder = path === undefined ? [] : ["-C", text(path, "path")];
    const envs = { ...ENVIRONMENT, ...opts.envs, ...login.envs };
    const options = { envs, user, cwd, timeoutMs, requestTimeoutMs, signal, check: false };
    let result;
    try {
      result = await this.#commands.run(command ?? ["git", ...folder, ...login.words, ...words], options);
    } catch (error) {
      hide(error, login.secrets);
      throw error;
    }
    hide(result, login.secrets);
    return check ? checked(result) : result;
  }
}

/** The result of a command that succeeded, or what its failure means. */
function checked(result) {
  if (result.exitCode === 0) return result;
  const cause = new CommandExitError(result);
  const output = `${result.stderr}\n${result.stdout}`;
  if (AUTH.test(output)) {
    throw new GitAuthError(`The server refused the credentials, or asked for some. Pass username and password (or a token as password). ${cause.message}`, { code: "git_auth", cause });
  }
  if (UPSTREAM.test(output)) {
    throw new GitUpstreamError(`The branch has no upstream. Pass remote and branch, or push it once. ${cause.message}`, { code: "git_upstream", cause });
  }
  throw cause;
}

/** Takes secrets out of the output that a result or an error has. */
function hide(holder, secrets) {
  for (const name of ["stdout", "stderr"]) {
    for (const secret of secrets) {
      if (typeof holder?.[name] === "string" && holder[name].includes(secret)) holder[name] = holder[name].replaceAll(secret, "***");
    }
  }
}

/** `username` and `password` of the options. A user name alone says nothing. */
function credentialsOf({ username, password }) {
  if (password === undefined) return undefined;
  if (username === undefined) throw invalid("password needs a username beside it");
  return { username: singleLine(text(username, "username"), "username"), password: singleLine(text(password, "password"), "password") };
}

/** The credentials that a URL carries. */
function credentialsIn(url) {
  if (!/^https?:/i.test(url)) return undefined;
  const { username, password } = parsed(url);
  return username !== "" && password !== "" ? credentialsOf({ username: decoded(username), password: decoded(password) }) : undefined;
}

/**
 * How git logs in to the server of `url` and to no other: through a helper that reads the environment. The helpers of the
 * configuration are left out, because one of them might keep the credentials.
 */
function loginTo(url, credentials) {
  if (!/^https?:/i.test(url)) throw invalid("username and password only work with http and https URLs");
  const helper = `!f() { if test "$1" = get; then printf 'username=%s\\npassword=%s\\n' "$SANDBOX_GIT_USERNAME" "$SANDBOX_GIT_PASSWORD"; fi; }; f`;
  return {
    words: ["-c", "credential.helper=", "-c", `credential.${parsed(url).origin}.helper=${helper}`],
    envs: environmentOf(credentials),
    secrets: secretsOf(credentials),
  };
}

function environmentOf({ username, password }) {
  return { SANDBOX_GIT_USERNAME: username, SANDBOX_GIT_PASSWORD: password };
}

/** The forms in which a password may come back. */
function secretsOf({ password }) {
  return [...new Set([password, encodeURIComponent(password)])].filter((secret) => secret !== "");
}

function parsed(url) {
  try {
    return new URL(url);
  } catch {
    // The text of the engine's error repeats the URL, which may hold a password.
    throw invalid("url is not a URL");
  }
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The folder that `git clone` makes. */
function folderOf(url) {
  return new URL(url).pathname.replace(/\/+$/, "").split("/").at(-1).replace(/\.git$/, "");
}

function scopeOf({ scope = "global", path }) {
  const name = oneOf(text(scope, "scope").trim().toLowerCase(), "scope", ["global", "local", "system"]);
  if (name === "local" && path === undefined) throw invalid('scope "local" needs the path of a repository');
  return [`--${name}`, name === "local" ? { path } : {}];
}

const KINDS = { "?": "untracked", R: "renamed", C: "copied", D: "deleted", A: "added", M: "modified", T: "typechange" };

/** Reads `git status --porcelain=2 -z --branch`, in which paths stand as they are. */
export function readStatus(output) {
  const status = { currentBranch: undefined, upstream: undefined, ahead: 0, behind: 0, detached: false, fileStatus: [] };
  const records = output.split("\0");
  for (let at = 0; at < records.length; at++) {
    const record = records[at];
    if (record.startsWith("# branch.head ")) {
      const name = record.slice("# branch.head ".length);
      status.detached = name === "(detached)";
      if (!status.detached) status.currentBranch = name;
    } else if (record.startsWith("# branch.upstream ")) {
      status.upstream = record.slice("# branch.upstream ".length);
    } else if (record.startsWith("# branch.ab ")) {
      const [ahead, behind] = record.slice("# branch.ab ".length).split(" ");
      Object.assign(status, { ahead: Number(ahead), behind: -Number(behind) });
    } else if (record.startsWith("? ")) {
      status.fileStatus.push(fileStatus("??", record.slice(2)));
    } else if (/^[12u] /.test(record)) {
      // The path is what follows the fixed number of fields; it may hold spaces.
      const fields = { 1: 8, 2: 9, u: 10 }[record[0]];
      const path = record.split(" ").slice(fields).join(" ");
      const renamedFrom = record[0] === "2" ? records[++at] : undefined;
      status.fileStatus.push(fileStatus(record.slice(2, 4), path, renamedFrom, record[0] === "u"));
    }
  }
  const count = (test) => status.fileStatus.filter(test).length;
  const counts = {
    totalCount: status.fileStatus.length,
    stagedCount: count(({ staged }) => staged),
    unstagedCount: count(({ staged }) => !staged),
    untrackedCount: count(({ status }) => status === "untracked"),
    conflictCount: count(({ status }) => status === "conflict"),
  };
  return {
    ...status,
    ...counts,
    isClean: counts.totalCount === 0,
    hasChanges: counts.totalCount > 0,
    hasStaged: counts.stagedCount > 0,
    hasUntracked: counts.untrackedCount > 0,
    hasConflicts: counts.conflictCount > 0,
  };
}

function fileStatus(columns, name, renamedFrom, isConflict = false) {
  const [index, worktree] = columns.replaceAll(".", " ");
  const kind = Object.keys(KINDS).find((letter) => letter === index || letter === worktree);
  return {
    name,
    status: isConflict ? "conflict" : (KINDS[kind] ?? "unknown"),
    indexStatus: index,
    workingTreeStatus: worktree,
    staged: index !== " " && index !== "?",
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
  };
}

function text(value, name) {
  if (typeof value !== "string" || value === "") throw invalid(`${name} of git must be a string that is not empty`);
  // The operating system ends words there.
  if (value.includes("\0")) throw invalid(`${name} of git must not hold a null character`);
  return value;
}

/** A text that git cannot take for an option. */
function word(value, name) {
  if (text(value, name).startsWith("-")) throw invalid(`${name} of git must not begin with a dash`);
  return value;
}

function texts(values, name) {
  if (!Array.isArray(values)) throw invalid(`${name} of git must be an array of strings`);
  for (const value of values) text(value, name);
  return values;
}

function singleLine(value, name) {
  if (/[\r\n]/.test(value)) throw invalid(`${name} of git must not hold line breaks`);
  return value;
}

function whole(value, name) {
  if (!Number.isInteger(value) || value < 1) throw invalid(`${name} of git must be a whole number of 1 or more`);
  return value;
}

function oneOf(value, name, allowed) {
  if (!allowed.includes(value)) throw invalid(`${name} of git must be one of ${allowed.join(", ")}`);
  return value;
}
