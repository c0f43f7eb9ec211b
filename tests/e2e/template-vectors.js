// Templates against recordings of another client: descriptions as JSON and as Dockerfiles, and the requests of builds. No
// server is needed.

import { assert, equal, rejects } from "./assert.js";
import { load, replay } from "./vectors.js";

/** How each recorded description was made; Dockerfiles are in the recordings. */
const BUILDERS = {
  python: (t) => t.fromPythonImage("3.12").setWorkdir("/app").setUser("root").setEnvs({ A: "1", B: "x y" }).setEnvs({}).runCmd(["a", "b"], { user: "u" }).runCmd("c"),
  copy: (t) =>
    t.fromBaseImage().copy("app.py", "/app/", { user: "user:group", mode: 0o755 }).skipCache().copy(["dir", "app.py"], "/d/", { forceUpload: true }),
  installs: (t) =>
    t
      .fromDebianImage()
      .pipInstall("numpy")
      .pipInstall(["a", "b"], { g: false })
      .pipInstall()
      .npmInstall("x", { g: true })
      .npmInstall(undefined, { dev: true })
      .bunInstall("y", { dev: true })
      .bunInstall(undefined, { g: true })
      .aptInstall(["git", "curl"], { noInstallRecommends: true, fixMissing: true })
      .aptInstall("vim"),
  fsops: (t) =>
    t
      .fromUbuntuImage()
      .remove(["/a b", "/c"], { force: true, recursive: true, user: "root" })
      .rename("/a", "/b", { force: true })
      .makeDir(["/x", "/y z"], { mode: 0o700 })
      .makeSymlink("/s", "/d", { force: true })
      .gitClone("https://h/r.git", "/p q", { branch: "b r", depth: 1, user: "u" }),
  start: (t, sdk) => t.fromNodeImage().skipCache().runCmd("x").setStartCmd("npm start", sdk.waitForPort(80)),
  skip_before_from: (t) => t.skipCache().fromBunImage().runCmd("x"),
  ready_only: (t, sdk) => t.fromImage("img", { username: "u", password: "p" }).setReadyCmd(sdk.waitForURL("http://l/h?a=b", 204)),
  from_template: (t) => t.fromTemplate("base").runCmd("x"),
  aws: (t) => t.fromAWSRegistry("i", { accessKeyId: "ak", secretAccessKey: "sk", region: "r" }).runCmd("x"),
  gcp: (t) => t.fromGCPRegistry("i", { serviceAccountJSON: '{"a": 1}' }).runCmd("x"),
  mcp: (t) => t.fromTemplate("mcp-gateway").addMcpServer(["a", "b"]),
  devcontainer: (t) => t.fromTemplate("devcontainer").betaDevContainerPrebuild("/w").betaSetDevContainerStart("/w"),
};

/** What is refused, and as what. */
const REFUSED = {
  err_multi: ["TemplateError", (t) => t.fromDockerfile("FROM a\nRUN x\nFROM b\n")],
  err_nofrom: ["TemplateError", (t) => t.fromDockerfile("RUN x\n")],
  err_abs: ["TemplateError", (t) => t.fromBaseImage().copy("/etc/passwd", "/x")],
  err_escape: ["TemplateError", (t) => t.fromBaseImage().copy("dir/../../x", "/x")],
  err_mcp_wrong: ["BuildError", (t) => t.fromBaseImage().addMcpServer("a")],
  err_cred: ["InvalidArgumentError", (t) => t.fromImage("i", { username: "u" })],
  err_missing_file: ["TemplateError", (t) => t.fromBaseImage().copy("absent", "/x")],
};

const FILES = {
  "app.py": "print(1)\n",
  "dir/x.txt": { data: "x", mode: 0o600 },
  "dir/z.log": "log",
};

/** What a call of a recording stands for. */
const CALLS = {
  build: (sdk, opts, log) => sdk.Template.build(small(sdk), "n:v1", { ...opts, tags: ["v1"], cpuCount: 1, memoryMB: 512, skipCache: true, onBuildLogs: log }),
  build_error: (sdk, opts) => sdk.Template.build(small(sdk), "n", opts),
  build_in_background: (sdk, opts) => sdk.Template.buildInBackground(sdk.Template().fromTemplate("base").runCmd("x").setStartCmd("s", "r"), "n", opts),
  get_build_status: (sdk, opts) => sdk.Template.getBuildStatus({ templateId: "tpl1", buildId: "b1" }, { ...opts, logsOffset: 7 }),
  exists: (sdk, opts) => sdk.Template.exists("yes", opts),
  exists_403: (sdk, opts) => sdk.Template.aliasExists("forb", opts),
  exists_404: (sdk, opts) => sdk.Template.exists("no", opts),
  exists_slash: (sdk, opts) => sdk.Template.exists("team/name:v1", opts),
  assign_tags: (sdk, opts) => sdk.Template.assignTags("n:v1", "p", opts),
  remove_tags: (sdk, opts) => sdk.Template.removeTags("n", ["p", "q"], opts),
  get_tags: (sdk, opts) => sdk.Template.getTags("tpl1", opts),
  no_name: (sdk, opts) => sdk.Template.build(small(sdk), opts),
};

const small = (sdk) => sdk.Template({ files: FILES }).fromPythonImage("3").copy("app.py", "/app/").runCmd("x");

/** Recorded hashes of directories hold the size that a disk gave them. */
function withoutDirectoryHashes({ steps, ...rest }) {
  return { ...rest, steps: steps.map((step) => (step.args[0] === "dir" ? { ...step, filesHash: undefined } : step)) };
}

/** The same value with its keys in order. */
function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  const pairs = Object.entries(value).filter(([, item]) => item !== undefined);
  return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, sorted(item)]));
}

/** `fetch` that answers with the recorded responses, in order, and checks the requests. */
function answering(requests, differs) {
  const left = [...requests];
  const fetch = async (url, { method, headers, body }) => {
    const { pathname, search, host } = new URL(url);
    const expected = left.shift();
    assert(expected !== undefined, `an unexpected request: ${method} ${pathname}`);
    equal(`${method} ${differs ? decodeURIComponent(pathname) : pathname}${search}`, `${expected.method} ${expected.target}`, "request");
    equal(host, expected.target.startsWith("/upload/") ? "store.test" : "api.test", "host");
    equal(headers["x-api-key"], expected.target.startsWith("/upload/") ? undefined : "k1", "key");
    if (expected.json !== undefined) {
      equal(headers["content-type"], "application/json", "type of the body");
      equal(sorted(JSON.parse(body)), sorted(expected.json), "body");
    }
    const { status, json, headers: answered } = expected.response;
    const text = json === undefined ? null : JSON.stringify(json).replace("<host>", "store.test");
    return new Response(status === 204 ? null : text, { status, headers: answered });
  };
  return { fetch, left };
}

/** The paths in the archive that a build of the template uploads. */
async function uploaded(sdk, template) {
  let archive;
  const answers = {
    "/v3/templates": { templateID: "t1", buildID: "b1" },
    "/v2/templates/t1/builds/b1": {},
    "/templates/t1/builds/b1/status": { status: "ready", logEntries: [] },
  };
  const fetch = async (url, { body }) => {
    const { pathname } = new URL(url);
    if (pathname === "/upload") archive = new Uint8Array(await new Response(body).arrayBuffer());
    return Response.json(pathname === "/upload" ? {} : (answers[pathname] ?? { present: false, url: "https://store.test/upload" }));
  };
  await sdk.Template.build(template, "n", { apiKey: "k1", apiUrl: "http://api.test", fetch });
  return pathsOf(archive);
}

/** The names in a tar archive, sorted: 512 bytes about each entry, then its content in blocks of 512. */
function pathsOf(archive) {
  const text = (from, length) => new TextDecoder().decode(archive.subarray(from, from + length)).replace(/\0.*$/s, "");
  const paths = [];
  for (let at = 0; archive[at]; ) {
    paths.push(text(at, 100).replace(/\/$/, ""));
    at += 512 * (1 + Math.ceil(parseInt(text(at + 124, 12), 8) / 512));
  }
  return paths.sort();
}

const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

export const cases = [
  {
    name: "template: descriptions are as recorded, in JSON and as Dockerfiles",
    async run({ sdk }) {
      const { recorded, differs } = await load("templates");
      let seen = 0;
      for (const { name, json, dockerfile, input } of recorded.builder_cases) {
        if (json === undefined) continue;
        const begun = sdk.Template({ files: FILES, fileIgnorePatterns: ["**/*.log"] });
        const template = input === undefined ? BUILDERS[name](begun, sdk) : begun.fromDockerfile(input);
        const made = JSON.parse(await sdk.Template.toJSON(template));
        const expected = withoutDirectoryHashes(json);
        const isKnown = differs("builder_cases", name);
        // The one difference: the name of a build stage is no part of an image's name.
        if (isKnown) expected.fromImage = expected.fromImage.replace(/ AS .*/, "");
        equal(sorted(withoutDirectoryHashes(made)), sorted(expected), name);
        for (const { args, filesHash } of made.steps) assert(args[0] !== "dir" || /^[0-9a-f]{64}$/.test(filesHash), "hash");
        if (dockerfile === undefined) await rejects((async () => sdk.Template.toDockerfile(template))(), sdk.TemplateError);
        else equal(sdk.Template.toDockerfile(template), isKnown ? dockerfile.replace(/ AS .*/, "") : dockerfile, name);
        seen += 1;
      }
      equal(seen, Object.keys(BUILDERS).length + 2, "recorded descriptions");
    },
  },
  {
    name: "template: what is wrong is refused in time",
    async run({ sdk }) {
      const { recorded } = await load("templates");
      for (const { name, error } of recorded.builder_cases) {
        if (error === undefined) continue;
        const [type, build] = REFUSED[name];
        const caught = await rejects((async () => sdk.Template.toJSON(build(sdk.Template({ files: FILES }))))(), sdk[type]);
        assert(caught instanceof sdk.SandboxError, "one tree of errors");
      }
    },
  },
  {
    name: "template: ready commands are as recorded",
    async run({ sdk }) {
      const { recorded } = await load("templates");
      const { waitForPort, waitForURL, waitForProcess, waitForFile, waitForTimeout } = sdk;
      const made = {
        port: waitForPort(8000),
        url: waitForURL("http://l/h's", 204),
        process: waitForProcess("a b"),
        file: waitForFile("/t x"),
        timeout_500: waitForTimeout(500),
        timeout_5999: waitForTimeout(5999),
      };
      equal(Object.keys(made), Object.keys(recorded.ready_commands), "the recorded commands");
      for (const [name, command] of Object.entries(made)) {
        assert(command instanceof sdk.ReadyCmd, name);
        equal(command.getCmd(), recorded.ready_commands[name], name);
      }
    },
  },
  {
    name: "template: sources mean the files that were recorded",
    async run({ sdk }) {
      const { recorded } = await load("templates");
      // Links cannot be given, so a file stands in for one.
      const files = {};
      for (const { path, mode, content = "", symlink } of recorded.context_files) {
        if (mode !== "040755") files[path] = symlink ?? content;
      }
      const compare = async (theirs, name) => {
        const [, source, pattern] = /^(\S+) (?:no ignore|with ignore \[(.+)\])$/.exec(name);
        // The file with patterns takes part of its own accord, so it is empty here.
        const options = { files: { ...files, ".dockerignore": "" }, fileIgnorePatterns: pattern === undefined ? [] : [pattern] };
        const template = sdk.Template(options).fromBaseImage().copy(source, "/app/", { gzip: false });
        return [await uploaded(sdk, template), theirs];
      };
      await replay("templates", "glob_results", compare);
    },
  },
  {
    name: "template: builds send what was recorded and answer alike",
    async run({ sdk }) {
      const { recorded, differs } = await load("templates");
      for (const { name, requests, result, error } of recorded.build_flow) {
        const { fetch, left } = answering(requests, differs("build_flow", name));
        const logged = [];
        const opts = { apiKey: "k1", apiUrl: "http://api.test", fetch };
        const call = CALLS[name](sdk, opts, (entry) => logged.push(entry));
        if (error === undefined) {
          const expected = JSON.parse(JSON.stringify(result), (_key, value) => renamed(value));
          equal(sorted(JSON.parse(JSON.stringify((await call) ?? null))), sorted(expected), name);
        } else {
          const caught = await rejects(call, sdk[error.class.replace("Exception", "Error")]);
          if (error.message_contains) assert(caught.message.includes(error.message_contains), caught.message);
          if (name === "build_error") equal([caught.code, caught.step], ["build_failed", "2"], "facts");
        }
        equal(left.length, 0, `${name}: requests that were not made`);
        if (name === "build") {
          assert(logged[0] instanceof sdk.LogEntryStart && logged.at(-1) instanceof sdk.LogEntryEnd, "first and last entry");
          assert(logged.some((entry) => entry.message === "red line" && entry instanceof sdk.LogEntry), "without colours");
        }
      }
    },
  },
];

/** Recorded results have names of another language, and two that are spelled as on the wire here. */
function renamed(value) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const wire = "log_entries" in value && "status" in value ? { build_id: "buildID", template_id: "templateID" } : {};
  const time = (item) => (typeof item === "string" && /^\d{4}-.*Z$/.test(item) ? new Date(item).toJSON() : item);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [wire[key] ?? camel(key), time(item)]));
}
