// git against recordings of another client, which writes lines for a shell and reads an older form of the status. No server is needed.

import { assert, equal, rejects } from "./assert.js";
import { commandsOf, wordsOf } from "./shell-line.js";
import { replay } from "./vectors.js";

/** `sandbox.git` over commands that only note what would be run, and answer as `respond(words)` says. */
function noting({ Git }, respond = () => ({})) {
  const run = [];
  const commands = {
    run: async (words, { envs }) => {
      run.push({ words, envs });
      return { exitCode: 0, stdout: "", stderr: "", ...respond(words) };
    },
  };
  return { git: new Git(commands), run };
}

/** What each recorded call is here, and how the repository answers. */
const COMMANDS = {
  status: (git) => git.status("/r e'po"),
  branches: (git) => git.branches("/r"),
  create_branch: (git) => git.createBranch("/r", "f/x"),
  checkout: (git) => git.checkoutBranch("/r", "m"),
  delete: (git) => git.deleteBranch("/r", "m"),
  "delete force": (git) => git.deleteBranch("/r", "m", { force: true }),
  "add default": (git) => git.add("/r"),
  "add all=False": (git) => git.add("/r", { all: false }),
  "add files": (git) => git.add("/r", { files: ["a", "b c"] }),
  "add empty list": (git) => git.add("/r", { files: [] }),
  commit: (git) => git.commit("/r", "it's", { authorName: "N", authorEmail: "e@x", allowEmpty: true }),
  "commit simple": (git) => git.commit("/r", "m"),
  "reset hard": (git) => git.reset("/r", { mode: "hard", target: "HEAD~1" }),
  "reset paths": (git) => git.reset("/r", { paths: ["a"] }),
  "restore staged=None worktree=None source=S": (git) => git.restore("/r", { paths: ["a"], source: "S" }),
  "restore staged=True worktree=None source=S": (git) => git.restore("/r", { paths: ["a"], source: "S", staged: true }),
  "restore staged=False worktree=None source=S": (git) => git.restore("/r", { paths: ["a"], source: "S", staged: false }),
  "restore staged=None worktree=True source=S": (git) => git.restore("/r", { paths: ["a"], source: "S", worktree: true }),
  "restore staged=True worktree=True source=S": (git) => git.restore("/r", { paths: ["a"], source: "S", staged: true, worktree: true }),
  "restore staged=True worktree=False source=S": (git) => git.restore("/r", { paths: ["a"], source: "S", staged: true, worktree: false }),
  "restore staged=None worktree=False": (git) => git.restore("/r", { paths: ["a"], worktree: false }),
  "push remote_name=None {'remote': None, 'branch': None, 'set_upstream': True}": (git) => git.push("/r"),
  "push remote_name=None {'remote': 'origin', 'branch': 'main', 'set_upstream': True}": (git) => git.push("/r", { remote: "origin", branch: "main" }),
  "push remote_name=None {'remote': 'origin', 'branch': None, 'set_upstream': False}": (git) => git.push("/r", { remote: "origin", setUpstream: false }),
  // The remote is the only one that the repository has.
  "push remote_name=up {'remote': 'origin', 'branch': 'b', 'set_upstream': True}": (git) => git.push("/r", { branch: "b" }),
  pull: (git) => git.pull("/r"),
  "pull origin main": (git) => git.pull("/r", { remote: "origin", branch: "main" }),
};

const without = (...left) => (words) => words.filter((word) => !left.includes(word));
const after = (word, ...more) => (words) => words.flatMap((one) => (one === word ? [one, ...more] : [one]));

/** What is run here where something else was recorded. */
const COMMANDS_INSTEAD = {
  status: (words) => [...words.slice(0, 4), "--porcelain=2", "-z", "--branch"],
  branches: (words) => [...words.slice(0, 3), "for-each-ref", "--format=%(HEAD)%(refname:lstrip=2)", "refs/heads"],
  checkout: (words) => [...words, "--"],
  delete: after("-d", "--"),
  "delete force": after("-D", "--"),
  "restore staged=False worktree=None source=S": after("restore", "--worktree"),
  has_upstream: null,
};

const SHELL_LINES = {
  "remote_add overwrite fetch": (git) => git.remoteAdd("/r", "o", "https://u/r.git", { overwrite: true, fetch: true }),
  "remote_add overwrite": (git) => git.remoteAdd("/r", "o", "https://u/r.git", { overwrite: true }),
  remote_get: (git) => git.remoteGet("/r", "o"),
  "credential approve": (git) => git.dangerouslyAuthenticate("u", "p'w"),
  get_config: (git) => git.getConfig("user.name"),
};

const SHELL_LINES_INSTEAD = {
  "remote_add overwrite fetch": ({ fine, failed }) => ({ fine: fine.slice(0, 1), failed }),
  "credential approve": () => {
    const store = ["git", "config", "--global", "credential.helper", "store"];
    const script = 'printf "protocol=%s\\nhost=%s\\nusername=%s\\npassword=%s\\n\\n" "$SANDBOX_GIT_PROTOCOL" "$SANDBOX_GIT_HOST" "$SANDBOX_GIT_USERNAME" "$SANDBOX_GIT_PASSWORD" | git credential approve';
    return { fine: [store, ["sh", "-c", script]], failed: [store] };
  },
};

/** The records of `git status --porcelain=2 -z --branch` that say what the lines of `git status --porcelain=1 --branch` say. */
function inVersion2(output) {
  const records = [];
  for (const line of output.split("\n").filter((one) => one !== "")) {
    const [columns, rest] = [line.slice(0, 2), line.slice(3)];
    if (columns === "##") records.push(...heads(rest));
    else if (columns === "??" || columns === "!!") records.push(`${columns[0]} ${rest}`);
    else if (columns === "UU") records.push(`u UU N... 100644 100644 100644 100644 1 2 3 ${rest}`);
    else {
      const [from, to] = rest.split(" -> ");
      const states = columns.replaceAll(" ", ".");
      const fields = "N... 100644 100644 100644 1 2";
      if (to === undefined) records.push(`1 ${states} ${fields} ${rest}`);
      else records.push(`2 ${states} ${fields} ${columns[0]}100 ${to}`, from);
    }
  }
  return records.map((record) => `${record}\0`).join("");
}

function heads(rest) {
  const begun = /^(?:No commits yet|Initial commit) on (.*)$/.exec(rest);
  if (begun) return ["# branch.oid (initial)", `# branch.head ${begun[1]}`];
  if (rest.startsWith("HEAD (")) return ["# branch.oid 1", "# branch.head (detached)"];
  const [, head, upstream, ahead = 0, behind = 0] = /^(.*?)(?:\.\.\.(\S+))?(?: \[(?:ahead (\d+))?(?:, )?(?:behind (\d+))?(?:gone)?\])?$/.exec(rest);
  const records = ["# branch.oid 1", `# branch.head ${head}`];
  if (upstream !== undefined) records.push(`# branch.upstream ${upstream}`);
  if (upstream !== undefined && !rest.includes("[gone]")) records.push(`# branch.ab +${ahead} -${behind}`);
  return records;
}

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** A recorded value in this language: its names, and undefined for what is not there. */
function renamed(value) {
  if (Array.isArray(value)) return value.map(renamed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== null).map(([name, item]) => [camel(name), renamed(item)]));
}

/** The same with its members in order and without those that only this client has. */
function comparable({ hasChanges, ...value }) {
  const sorted = (item) => {
    if (Array.isArray(item)) return item.map(sorted);
    if (typeof item !== "object" || item === null) return item;
    const pairs = Object.entries(item).filter(([, member]) => member !== undefined);
    return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]));
  };
  return sorted(value);
}

const failure = (error) => `refused: ${error.class}`;

export const cases = [
  {
    name: "git vectors: commands have the recorded words",
    async run({ sdk }) {
      const compare = async ({ args, repo_path, expect, error }, name) => {
        const { git, run } = noting(sdk, (words) => (words.at(-1) === "remote" ? { stdout: "up\n" } : {}));
        if (error !== undefined) {
          await rejects(COMMANDS[name](git), sdk.InvalidArgumentError, "invalid_argument");
          return [failure(error), failure(error)];
        }
        await COMMANDS[name](git);
        const theirs = wordsOf(expect);
        equal(theirs, ["git", "-C", repo_path, ...args], "the recorded line");
        return [run.at(-1).words, theirs];
      };
      await replay("git", "commands", compare, COMMANDS_INSTEAD);
    },
  },
  {
    name: "git vectors: sequences run what the recorded lines run, whether their first command succeeds or fails",
    async run({ sdk }) {
      const compare = async ({ expect }, name) => {
        const ours = {};
        const theirs = {};
        for (const [outcome, isFine] of [["fine", true], ["failed", false]]) {
          let left = 1;
          const fails = () => left-- > 0 && !isFine;
          const { git, run } = noting(sdk, () => (fails() ? { exitCode: 1, stderr: "error: No such remote 'o'" } : {}));
          await SHELL_LINES[name](git).catch((error) => assert(error instanceof sdk.CommandExitError, error.message));
          ours[outcome] = run.map(({ words }) => words);
          for (const { words } of run) assert(!words.some((word) => word.includes("p'w")), "the password is in no word");
          left = 1;
          theirs[outcome] = commandsOf(expect, () => !fails());
        }
        return [ours, theirs];
      };
      await replay("git", "shell_commands", compare, SHELL_LINES_INSTEAD);
    },
  },
  {
    name: "git vectors: clones have the recorded words, without credentials in them",
    async run({ sdk }) {
      const compare = async ({ args, expect }) => {
        const { url, path, branch, depth, auth_username, auth_password, dangerously_store_credentials } = args;
        const { git, run } = noting(sdk);
        const given = { path, branch, depth, username: auth_username, password: auth_password };
        const opts = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null && value !== 0));
        const cloning = git.clone(url, { ...opts, dangerouslyStoreCredentials: dangerously_store_credentials });
        if (url.startsWith("git@")) {
          await rejects(cloning, sdk.InvalidArgumentError, "invalid_argument");
          return [failure(expect.error), expect.error ? failure(expect.error) : expect.args];
        }
        await cloning;
        // How git logs in is asked below; what ends the options stands in every clone.
        const [{ words, envs }, ...rest] = run;
        const plain = words.slice(words.indexOf("clone")).filter((word) => word !== "--");
        const login = envs.SANDBOX_GIT_PASSWORD === undefined ? undefined : [envs.SANDBOX_GIT_USERNAME, envs.SANDBOX_GIT_PASSWORD];
        const ours = { args: plain, login, then: rest.map(({ words: next }) => next.slice(next.indexOf("remote"))) };
        return [ours, expect.error ? failure(expect.error) : { args: expect.args, login: undefined, then: [] }];
      };
      const strip = (url) => url.replace(/\/\/[^/]*@/, "//");
      const inEnvironment = (...login) => ({ args }) => ({ args: args.map(strip), login, then: [] });
      await replay("git", "clone_plans", compare, {
        1: () => ({
          args: ["clone", "--branch", "b", "--single-branch", "--depth", "1", "https://github.com/o/r.git", "/w/r"],
          login: ["u", "p@s:s/w"],
          then: [],
        }),
        2: (theirs) => ({ ...inEnvironment("u", "p")(theirs), then: [["remote", "set-url", "origin", theirs.args.at(-1)]] }),
        3: inEnvironment("x", "y"),
        5: inEnvironment("u", "p"),
      });
    },
  },
  {
    name: "git vectors: the status says what was recorded",
    async run({ sdk }) {
      const compare = async ({ output, expect }) => {
        const { git } = noting(sdk, () => ({ stdout: inVersion2(output) }));
        return [comparable(await git.status("/r")), expect.error ? failure(expect.error) : comparable(renamed(expect))];
      };
      const { currentBranch, ...clean } = comparable(await noting(sdk).git.status("/r"));
      await replay("git", "status", compare, {
        // The recorded client counts them as staged.
        0: ({ fileStatus, totalCount, stagedCount, ...rest }) =>
          comparable({ ...rest, fileStatus: fileStatus.slice(0, -1), totalCount: totalCount - 1, stagedCount: stagedCount - 1 }),
        9: ({ detached, ...rest }) => comparable({ ...rest, currentBranch: "detached-branch", detached: false }),
        10: () => comparable({ ...clean, currentBranch: "a", upstream: "b...c" }),
      });
    },
  },
  {
    name: "git vectors: branches are as recorded",
    async run({ sdk }) {
      const compare = async ({ output, expect }) => {
        const lines = output.split("\n").filter((line) => line !== "" && !line.startsWith("("));
        const stdout = lines.map((line) => line.split("\t").reverse().join("")).join("\n");
        const { git } = noting(sdk, () => ({ stdout }));
        return [comparable(await git.branches("/r")), comparable(renamed(expect))];
      };
      await replay("git", "branches", compare, { 1: ({ branches }) => ({ branches: branches.slice(1) }) });
    },
  },
];
