// Templates, built by a server and used.

import { assert, equal, eventually, rejects, rejectsWith } from "./assert.js";
import { connection, faulty } from "./context.js";

const FILES = {
  "app/main.sh": { data: "#!/bin/sh\necho from the app\n", mode: 0o755 },
  "app/data.bin": new Uint8Array([0, 1, 2, 255]),
  "app/blob.txt": new Blob(["blob"]),
  [`app/${"long".repeat(30)}/é.txt`]: "deep",
  "app/empty": "",
  "app/skipped.log": "log",
};

let names = 0;
const fresh = () => `t${Date.now().toString(36)}-${names++}`;

/** Runs `body` with a sandbox of `template`. */
async function within(ctx, template, body) {
  const sandbox = await ctx.sdk.Sandbox.create(template, connection(ctx));
  try {
    return await body(sandbox);
  } finally {
    await sandbox.kill();
  }
}

/** Deletes a template as a snapshot is deleted. */
const remove = (ctx, name) => ctx.sdk.Sandbox.deleteSnapshot(name, connection(ctx));

const output = async (sandbox, command) => (await sandbox.commands.run(command)).stdout;

export const cases = [
  {
    name: "template: built with files, variables, a start command, and used",
    timeoutMs: 180_000,
    async run(ctx) {
      const { Template, waitForFile } = ctx.sdk;
      const name = fresh();
      const template = Template({ files: FILES, fileIgnorePatterns: ["**/*.log"] })
        .fromBaseImage()
        .copy("app", "/home/user/app")
        .copy("app/blob.txt", "/tmp/moved.txt", { mode: 0o600 })
        .setEnvs({ GREETING: "hi there" })
        .runCmd(["cd app", "./main.sh > out.txt"])
        .setWorkdir("/home/user/app")
        .setStartCmd("echo started > /tmp/started; exec sleep 1000", waitForFile("/tmp/started"));
      const logged = [];
      equal(await Template.exists(name, connection(ctx)), false, "before");
      const info = await Template.build(template, `${name}:v1`, { ...connection(ctx), tags: ["default"], onBuildLogs: (entry) => logged.push(entry) });
      equal([info.name, info.tags], [`${name}:v1`, ["default", "v1"]]);
      equal(await Template.exists(name, connection(ctx)), true, "after");
      assert(logged[0] instanceof ctx.sdk.LogEntryStart && logged.at(-1) instanceof ctx.sdk.LogEntryEnd, "first and last entry");
      assert(logged.some(({ message }) => message.includes("RUN cd app && ./main.sh")), "the server's words");
      equal(logged.filter(({ message }) => message.startsWith("Uploaded")).length, 2, "uploads");
      await within(ctx, name, async (sandbox) => {
        equal(await output(sandbox, "cat out.txt blob.txt; pwd; echo $GREETING"), "from the app\nblob/home/user/app\nhi there\n");
        equal(await output(sandbox, "stat -c '%U %a' main.sh /tmp/moved.txt; ls *.log 2>/dev/null; cat long*/*.txt; pgrep -x sleep | wc -l"), "user 755\nuser 600\ndeep1\n");
        equal(await sandbox.files.read("app/data.bin", { format: "bytes" }), FILES["app/data.bin"]);
        equal(await sandbox.files.read("app/empty"), "");
      });
      // The same files again: the server has them.
      const again = [];
      await Template.build(template, name, { ...connection(ctx), onBuildLogs: (entry) => again.push(entry.message) });
      equal(again.filter((message) => message.startsWith("Skipping upload")).length, 2, "cached uploads");
      equal(await remove(ctx, name), true);
    },
  },
  {
    name: "template: a step that fails rejects with its number and its last words",
    timeoutMs: 120_000,
    async run(ctx) {
      const { Template, BuildError } = ctx.sdk;
      const name = fresh();
      const logged = [];
      const template = Template().fromTemplate("base").runCmd("true").runCmd("echo last words >&2; exit 3");
      const building = Template.build(template, name, { ...connection(ctx), onBuildLogs: (entry) => logged.push(entry) });
      const error = await rejects(building, BuildError, "build_failed");
      equal(error.step, "2");
      assert(error.message.includes("exit status 3") && error.logEntries.some(({ message }) => message === "last words"), error.message);
      assert(logged.at(-1) instanceof ctx.sdk.LogEntryEnd, "the last entry");
      const image = Template.build(Template().fromImage("alpine"), name, connection(ctx));
      assert((await rejects(image, BuildError, "build_failed")).message.includes("fromTemplate('base')"), "says what to use");
      await rejects(ctx.sdk.Sandbox.create(name, connection(ctx)), ctx.sdk.NotFoundError);
      await remove(ctx, name);
    },
  },
  {
    name: "template: built in the background, followed as status and as log",
    timeoutMs: 120_000,
    async run(ctx) {
      const { Template } = ctx.sdk;
      const name = fresh();
      const template = Template().fromTemplate("base").runCmd("for i in 1 2 3; do echo line $i; sleep 0.2; done");
      const info = await Template.buildInBackground(template, name, connection(ctx));
      const lines = [];
      for await (const entry of Template.streamBuildLogs(info, connection(ctx))) lines.push(entry.message);
      equal(lines.filter((line) => line.startsWith("line")), ["line 1", "line 2", "line 3"]);
      const seen = [];
      for await (const { status, logEntries } of Template.streamBuildStatus(info, { ...connection(ctx), logsOffset: lines.length - 1 })) {
        seen.push([status, logEntries.length]);
      }
      equal(seen, [["building", 1], ["ready", 0]], "entries first, the end last");
      const status = await Template.getBuildStatus(info, connection(ctx));
      equal([status.status, status.logEntries.length, status.buildID], ["ready", lines.length, info.buildId]);
      const failing = await Template.buildInBackground(Template().fromTemplate("base").runCmd("exit 9"), name, connection(ctx));
      const read = async () => {
        for await (const entry of Template.streamBuildLogs(failing, connection(ctx))) void entry;
      };
      equal((await rejects(read(), ctx.sdk.BuildError, "build_failed")).step, "1");
      for (const wrong of [{ templateId: info.templateId, buildId: "no-id" }, { templateId: "none", buildId: info.buildId }]) {
        await rejects(Template.getBuildStatus(wrong, connection(ctx)), ctx.sdk.BuildError);
      }
      await remove(ctx, name);
    },
  },
  {
    name: "template: tags",
    timeoutMs: 120_000,
    async run(ctx) {
      const { Template, TemplateError } = ctx.sdk;
      const name = fresh();
      const { buildId } = await Template.build(Template().fromTemplate("base").runCmd("echo tagged > mark"), name, connection(ctx));
      equal(await Template.assignTags(name, ["v1", "stable"], connection(ctx)), { buildId, tags: ["v1", "stable"] });
      await within(ctx, `${name}:v1`, async (sandbox) => equal(await output(sandbox, "cat mark"), "tagged\n"));
      const tags = await Template.getTags(name, connection(ctx));
      equal(tags.map(({ tag }) => tag).sort(), ["default", "stable", "v1"]);
      assert(tags.every((tag) => tag.buildId === buildId && tag.createdAt instanceof Date), "facts");
      await Template.removeTags(name, "v1", connection(ctx));
      equal((await Template.getTags(name, connection(ctx))).length, 2);
      await rejects(Template.removeTags(name, "default", connection(ctx)), TemplateError, "invalid_argument");
      await rejects(Template.assignTags(`${name}:none`, "x", connection(ctx)), TemplateError, "not_found");
      await rejects(Template.getTags("free", connection(ctx)), TemplateError, "not_found");
      await remove(ctx, name);
    },
  },
  {
    name: "template: an abort ends the waiting with its own reason, wherever it comes",
    timeoutMs: 120_000,
    async run(ctx) {
      const { Template } = ctx.sdk;
      const name = fresh();
      const reason = new RangeError("the caller's own");
      const template = Template({ files: FILES }).fromTemplate("base").copy("app", "/tmp/a").runCmd("sleep 1000");
      await rejectsWith(Template.build(template, name, { ...connection(ctx), signal: AbortSignal.abort(reason) }), reason);
      // In the middle of each kind of request, and of a pause.
      for (const part of ["/v3/templates", "/files/", "/builds/", "/status"]) {
        const controller = new AbortController();
        const fetch = faulty(part, (response) => {
          controller.abort(reason);
          return response;
        });
        await rejectsWith(Template.build(template, name, { ...connection(ctx), fetch, signal: controller.signal }), reason);
        // The server builds on, and does not build many at a time.
        equal(await remove(ctx, name), true, `deleted after ${part}`);
      }
      const controller = new AbortController();
      const onBuildLogs = ({ message }) => message.includes("RUN sleep") && setTimeout(() => controller.abort(reason), 50);
      await rejectsWith(Template.build(template, name, { ...connection(ctx), onBuildLogs, signal: controller.signal }), reason);
      // What the callback throws ends the call too.
      const thrown = new TypeError("from the callback");
      const throws = () => {
        throw thrown;
      };
      await rejectsWith(Template.build(template, name, { ...connection(ctx), onBuildLogs: throws }), thrown);
      equal(await remove(ctx, name), true, "what goes on is given up");
    },
  },
  {
    name: "template: cut connections and refused uploads are told apart",
    timeoutMs: 120_000,
    async run(ctx) {
      const { Template, ConnectionError, FileUploadError, BuildError, TimeoutError, AuthenticationError } = ctx.sdk;
      const name = fresh();
      // What was uploaded before a failure is not asked for again otherwise.
      const template = Template({ files: FILES }).fromTemplate("base").copy("app", "/tmp/a", { forceUpload: true });
      const build = (opts) => Template.build(template, name, { ...connection(ctx), ...opts });
      const broken = (part) => async (url, init) => {
        if (new URL(url).pathname.includes(part)) throw new TypeError("network down");
        return fetch(url, init);
      };
      for (const part of ["/v3/templates", "/files/", "/builds/", "/status"]) {
        await rejects(build({ fetch: broken(part) }), ConnectionError, "connection_failed");
      }
      const refusing = async (url, init) =>
        init.method === "PUT" ? new Response("<Error>expired</Error>", { status: 403 }) : fetch(url, init);
      const refused = await rejects(build({ fetch: refusing }), FileUploadError, "server_error");
      assert(refused instanceof BuildError && refused.status === 403 && refused.message.includes("expired"), refused.message);
      const hanging = (url, init) => (init.method === "PUT" ? new Promise(() => {}) : fetch(url, init));
      await rejects(build({ fetch: hanging, requestTimeoutMs: 400 }), TimeoutError, "request_timeout");
      const nonsense = faulty("/status", () => new Response("{}", { headers: { "content-type": "application/json" } }));
      await rejects(build({ fetch: nonsense }), BuildError, "protocol_error");
      const page = faulty("/v3/templates", () => new Response("<html>", { status: 200 }));
      await rejects(build({ fetch: page }), ctx.sdk.ProtocolError);
      await rejects(build({ apiKey: undefined }), AuthenticationError, "unauthenticated");
      await eventually(() => remove(ctx, name), "the template is deleted");
    },
  },
  {
    name: "template: arguments are checked by name before any request",
    async run(ctx) {
      const { Template, TemplateBase, InvalidArgumentError, TemplateError, UnsupportedError } = ctx.sdk;
      const fetch = () => Promise.reject(new Error("no request must be made"));
      const opts = { ...connection(ctx), fetch };
      assert(Template() instanceof TemplateBase && new Template() instanceof Template, "with and without new");
      for (const [make, type, text] of [
        [() => Template({ fileContextPath: "." }), UnsupportedError, "fileContextPath"],
        [() => Template({ files: { "../a": "x" } }), InvalidArgumentError, '"../a"'],
        [() => Template({ files: { "/a": "x" } }), InvalidArgumentError, '"/a"'],
        [() => Template({ files: { a: 5 } }), InvalidArgumentError, '"a"'],
        [() => Template({ files: { a: { data: "x", mode: "rwx" } } }), InvalidArgumentError, "mode"],
        [() => Template({ files: { a: "x", "a/b": "y" } }), InvalidArgumentError, "both"],
        [() => Template({ fileIgnorePatterns: "*" }), InvalidArgumentError, "fileIgnorePatterns"],
        [() => Template().runCmd(""), InvalidArgumentError, "command of runCmd"],
        [() => Template().runCmd([]), InvalidArgumentError, "command of runCmd"],
        [() => Template().runCmd("x", "root"), InvalidArgumentError, "runCmd"],
        [() => Template().copy("a", "/", { mode: 0o17777 }), InvalidArgumentError, "mode of copy"],
        [() => Template().setEnvs({ A: 1 }), InvalidArgumentError, "variable A"],
        [() => Template().gitClone("u", "p", { depth: 0 }), InvalidArgumentError, "depth of gitClone"],
        [() => Template().fromDockerfile("FROM a AS b\nCOPY --from=b x y"), TemplateError, "--from"],
        [() => Template().fromDockerfile("FROM a\nRUN <<EOF\nx\nEOF"), TemplateError, "Here-documents"],
        [() => Template().fromDockerfile("FROM a\nRUN --mount=type=secret,id=x y"), TemplateError, "--mount"],
        [() => Template.build({}, "n", opts), InvalidArgumentError, "Template()"],
        [() => Template.build(Template(), "", opts), TemplateError, "name"],
        [() => Template.build(Template(), "n", { ...opts, cpuCount: 1.5 }), InvalidArgumentError, "cpuCount"],
        [() => Template.build(Template(), "n", { ...opts, onBuildLogs: 5 }), InvalidArgumentError, "onBuildLogs"],
        [() => Template.build(Template(), "n", { ...opts, apiKey: 5 }), InvalidArgumentError, "apiKey"],
        [() => Template.build(Template().copy("gone", "/"), "n", opts), TemplateError, '"gone"'],
        [() => Template.getBuildStatus({}, opts), InvalidArgumentError, "templateId"],
        [() => Template.getBuildStatus({ templateId: "..", buildId: "b" }, opts), InvalidArgumentError, "path"],
        [() => Template.assignTags("n", [], opts), InvalidArgumentError, "tags"],
      ]) {
        const error = await rejects((async () => make())(), type);
        assert(error.message.includes(text), `${error.message} lacks ${text}`);
      }
      // What a Dockerfile may have.
      const text = "# syntax\nfrom python:3 as x\nRUN --mount=type=cache,target=/c pip install a \\\n  # between\n  b\nRUN [\"echo\", \"a b\"]\nCOPY [\"a b\", \"/d/\"]\nEXPOSE 80\nENTRYPOINT python -m x";
      const steps = JSON.parse(await Template.toJSON(Template({ files: { "a b": "x" } }).fromDockerfile(text))).steps;
      const runs = steps.filter(({ type }) => type === "RUN").map(({ args }) => args[0]);
      equal(runs, ["pip install a   b", "'echo' 'a b'"]);
      equal(steps.find(({ type }) => type === "COPY").args, ["a b", "/d/", "", ""]);
    },
  },
  {
    name: "template: the usual logger prints lines from its level on",
    async run(ctx) {
      const { log } = console;
      const printed = [];
      console.log = (line) => printed.push(line);
      try {
        const logger = ctx.sdk.defaultBuildLogger();
        logger(new ctx.sdk.LogEntryStart(new Date(0), "start"));
        logger(new ctx.sdk.LogEntry(new Date(1500), "info", "\u001b[1mbold\u001b[0m"));
      } finally {
        console.log = log;
      }
      equal(printed, ["    1.5s  info   bold"]);
    },
  },
];
