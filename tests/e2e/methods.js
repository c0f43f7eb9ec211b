// Every public method that sends a request, one line each: what `faults.js` breaks in every way it knows.
//
// An entry is { name, kind, path, call(fixture, opts), ... }: `name` is `Class.method` for statics and `Class#method` for the
// others, `path` a part of the path of the request that is broken, `call` makes it with `opts` (a signal, or nothing). The
// fixture has { sdk, sandbox, connection } and what `prepare(fixture)` adds to it.

/** The media type of an answer, and the beginning of one that is then cut off. */
export const KINDS = {
  control: { type: "application/json", start: "{" },
  unary: { type: "application/proto", start: "\n" },
  stream: { type: "application/connect+proto", start: "\0\0\0" },
  file: { type: "application/octet-stream", start: "part" },
  written: { type: "application/json", start: "[" },
  code: { type: "application/x-ndjson", start: '{"type":' },
  context: { type: "application/json", start: "{" },
};

const SANDBOX = "/sandboxes/";
const START = "/process.Process/Start";
const process = (method) => `/process.Process/${method}`;
const filesystem = (method) => `/filesystem.Filesystem/${method}`;

/** Something that runs and reads its standard input. */
const cat = async (fixture) => {
  fixture.handle = await fixture.sandbox.commands.run("cat", { background: true, stdin: true });
};
const terminal = async (fixture) => {
  fixture.handle = await fixture.sandbox.pty.create({ cols: 80, rows: 24, onData() {} });
};
const snapshot = async (fixture) => {
  fixture.snapshotId = (await fixture.sandbox.createSnapshot()).snapshotId;
};
const context = async (fixture) => {
  fixture.context ??= await fixture.sandbox.createCodeContext();
};
const poller = async (fixture) => {
  fixture.poller = await fixture.sandbox.files.pollDir("/tmp");
};

const id = ({ sandbox }) => sandbox.sandboxId;
const drop = (sandboxes) => Promise.all(sandboxes.map((one) => one.kill()));
const readAll = async (stream) => {
  for await (const _ of iterate(stream));
};

/** Not every browser can iterate a stream. */
async function* iterate(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

/** Calls whose success has no body: any answer with a success status will do. */
const EMPTY = { emptyAnswer: true };

const statics = [
  {
    name: "Sandbox.create",
    kind: "control",
    path: "/sandboxes",
    call: async ({ sdk, connection }, opts) => drop([await sdk.Sandbox.create("base", { ...connection, ...opts })]),
  },
  { name: "Sandbox.connect", kind: "control", path: "/connect", call: (f, opts) => f.sdk.Sandbox.connect(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.getInfo", kind: "control", path: SANDBOX, call: (f, opts) => f.sdk.Sandbox.getInfo(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.getFullInfo", kind: "control", path: SANDBOX, call: (f, opts) => f.sdk.Sandbox.getFullInfo(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.getLogs", kind: "control", path: "/logs", call: (f, opts) => f.sdk.Sandbox.getLogs(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.getMetrics", kind: "control", path: "/metrics", call: (f, opts) => f.sdk.Sandbox.getMetrics(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.setTimeout", kind: "control", path: "/timeout", ...EMPTY, call: (f, opts) => f.sdk.Sandbox.setTimeout(id(f), 60_000, { ...f.connection, ...opts }) },
  { name: "Sandbox.updateNetwork", kind: "control", path: "/network", ...EMPTY, call: (f, opts) => f.sdk.Sandbox.updateNetwork(id(f), {}, { ...f.connection, ...opts }) },
  { name: "Sandbox.fork", kind: "control", path: "/fork", call: async (f, opts) => drop(await f.sdk.Sandbox.fork(id(f), { ...f.connection, ...opts })) },
  { name: "Sandbox.createSnapshot", kind: "control", path: "/snapshots", call: (f, opts) => f.sdk.Sandbox.createSnapshot(id(f), { ...f.connection, ...opts }) },
  {
    name: "Sandbox.deleteSnapshot",
    kind: "control",
    path: "/templates/",
    ...EMPTY,
    prepare: snapshot,
    call: (f, opts) => f.sdk.Sandbox.deleteSnapshot(f.snapshotId, { ...f.connection, ...opts }),
  },
  { name: "Sandbox.pause", kind: "control", path: "/pause", ...EMPTY, call: (f, opts) => f.sdk.Sandbox.pause(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.betaPause", kind: "control", path: "/pause", ...EMPTY, call: (f, opts) => f.sdk.Sandbox.betaPause(id(f), { ...f.connection, ...opts }) },
  { name: "Sandbox.kill", kind: "control", path: SANDBOX, ...EMPTY, call: (f, opts) => f.sdk.Sandbox.kill(id(f), { ...f.connection, ...opts }) },
  { name: "SandboxPaginator#nextItems", kind: "control", path: "/sandboxes", call: (f, opts) => f.sdk.Sandbox.list(f.connection).nextItems(opts) },
  { name: "SnapshotPaginator#nextItems", kind: "control", path: "/snapshots", call: (f, opts) => f.sdk.Sandbox.listSnapshots(f.connection).nextItems(opts) },
];

const ofSandbox = [
  { name: "Sandbox#connect", kind: "control", path: "/connect", call: ({ sandbox }, opts) => sandbox.connect(opts) },
  { name: "Sandbox#getInfo", kind: "control", path: SANDBOX, call: ({ sandbox }, opts) => sandbox.getInfo(opts) },
  { name: "Sandbox#getFullInfo", kind: "control", path: SANDBOX, call: ({ sandbox }, opts) => sandbox.getFullInfo(opts) },
  { name: "Sandbox#getLogs", kind: "control", path: "/logs", call: ({ sandbox }, opts) => sandbox.getLogs(opts) },
  { name: "Sandbox#getMcpToken", kind: "file", path: "/files", anyType: true, call: ({ sandbox }, opts) => sandbox.getMcpToken(opts) },
  { name: "Sandbox#getMetrics", kind: "control", path: "/metrics", call: ({ sandbox }, opts) => sandbox.getMetrics(opts) },
  { name: "Sandbox#isRunning", kind: "file", path: "/health", ...EMPTY, gone: false, call: ({ sandbox }, opts) => sandbox.isRunning(opts) },
  { name: "Sandbox#setTimeout", kind: "control", path: "/timeout", ...EMPTY, call: ({ sandbox }, opts) => sandbox.setTimeout(60_000, opts) },
  { name: "Sandbox#updateNetwork", kind: "control", path: "/network", ...EMPTY, call: ({ sandbox }, opts) => sandbox.updateNetwork({}, opts) },
  { name: "Sandbox#fork", kind: "control", path: "/fork", call: async ({ sandbox }, opts) => drop(await sandbox.fork(opts)) },
  { name: "Sandbox#createSnapshot", kind: "control", path: "/snapshots", call: ({ sandbox }, opts) => sandbox.createSnapshot(opts) },
  { name: "Sandbox#pause", kind: "control", path: "/pause", ...EMPTY, call: ({ sandbox }, opts) => sandbox.pause(opts) },
  { name: "Sandbox#betaPause", kind: "control", path: "/pause", ...EMPTY, call: ({ sandbox }, opts) => sandbox.betaPause(opts) },
  { name: "Sandbox#kill", kind: "control", path: SANDBOX, ...EMPTY, call: ({ sandbox }, opts) => sandbox.kill(opts) },
];

const commands = [
  { name: "Commands#run", kind: "stream", path: START, call: ({ sandbox }, opts) => sandbox.commands.run("echo hi", opts) },
  {
    name: "Commands#run, in the background",
    kind: "stream",
    path: START,
    call: async ({ sandbox }, opts) => (await sandbox.commands.run("echo hi", { background: true, ...opts })).wait(),
  },
  {
    name: "Commands#connect",
    kind: "stream",
    path: process("Connect"),
    prepare: cat,
    call: async ({ sandbox, handle }, opts) => (await sandbox.commands.connect(handle.pid, opts)).disconnect(),
  },
  {
    name: "Commands#attach",
    kind: "stream",
    path: START,
    prepare: async (fixture) => {
      fixture.handle = await fixture.sandbox.commands.run("cat", { background: true, stdin: true, durable: true });
    },
    call: async ({ sandbox, handle }, opts) => (await sandbox.commands.attach(handle.token, opts)).disconnect(),
  },
  { name: "Commands#list", kind: "unary", path: process("List"), call: ({ sandbox }, opts) => sandbox.commands.list(opts) },
  { name: "Commands#sendStdin", kind: "unary", path: process("SendInput"), prepare: cat, call: ({ sandbox, handle }, opts) => sandbox.commands.sendStdin(handle.pid, "x", opts) },
  { name: "Commands#closeStdin", kind: "unary", path: process("CloseStdin"), prepare: cat, call: ({ sandbox, handle }, opts) => sandbox.commands.closeStdin(handle.pid, opts) },
  { name: "Commands#kill", kind: "unary", path: process("SendSignal"), prepare: cat, call: ({ sandbox, handle }, opts) => sandbox.commands.kill(handle.pid, opts) },
  { name: "CommandHandle#sendStdin", kind: "unary", path: process("SendInput"), prepare: cat, call: ({ handle }, opts) => handle.sendStdin("x", opts) },
  { name: "CommandHandle#closeStdin", kind: "unary", path: process("CloseStdin"), prepare: cat, call: ({ handle }, opts) => handle.closeStdin(opts) },
  { name: "CommandHandle#kill", kind: "unary", path: process("SendSignal"), prepare: cat, call: ({ handle }, opts) => handle.kill(opts) },
  { name: "CommandHandle#resize", kind: "unary", path: process("Update"), prepare: terminal, call: ({ handle }, opts) => handle.resize({ cols: 90, rows: 30 }, opts) },
];

const pty = [
  {
    name: "Pty#create",
    kind: "stream",
    path: START,
    call: async ({ sandbox }, opts) => (await sandbox.pty.create({ cols: 80, rows: 24, onData() {}, ...opts })).disconnect(),
  },
  {
    name: "Pty#connect",
    kind: "stream",
    path: process("Connect"),
    prepare: terminal,
    call: async ({ sandbox, handle }, opts) => (await sandbox.pty.connect(handle.pid, { onData() {}, ...opts })).disconnect(),
  },
  { name: "Pty#sendInput", kind: "unary", path: process("SendInput"), prepare: terminal, call: ({ sandbox, handle }, opts) => sandbox.pty.sendInput(handle.pid, "x", opts) },
  { name: "Pty#resize", kind: "unary", path: process("Update"), prepare: terminal, call: ({ sandbox, handle }, opts) => sandbox.pty.resize(handle.pid, { cols: 90, rows: 30 }, opts) },
  { name: "Pty#kill", kind: "unary", path: process("SendSignal"), prepare: terminal, call: ({ sandbox, handle }, opts) => sandbox.pty.kill(handle.pid, opts) },
];

const files = [
  { name: "Filesystem#read", kind: "file", path: "/files", anyType: true, call: ({ sandbox }, opts) => sandbox.files.read("/etc/hostname", opts) },
  {
    name: "Filesystem#read, as a stream",
    kind: "file",
    path: "/files",
    anyType: true,
    call: async ({ sandbox }, opts) => readAll(await sandbox.files.read("/etc/hostname", { format: "stream", ...opts })),
  },
  { name: "Filesystem#write", kind: "written", path: "/files", call: ({ sandbox }, opts) => sandbox.files.write("/tmp/x", "y", opts) },
  { name: "Filesystem#writeFiles", kind: "written", path: "/files", call: ({ sandbox }, opts) => sandbox.files.writeFiles([{ path: "/tmp/x", data: "y" }], opts) },
  { name: "Filesystem#list", kind: "unary", path: filesystem("ListDir"), call: ({ sandbox }, opts) => sandbox.files.list("/", opts) },
  { name: "Filesystem#exists", kind: "unary", path: filesystem("Stat"), call: ({ sandbox }, opts) => sandbox.files.exists("/etc", opts) },
  { name: "Filesystem#getInfo", kind: "unary", path: filesystem("Stat"), call: ({ sandbox }, opts) => sandbox.files.getInfo("/etc", opts) },
  { name: "Filesystem#makeDir", kind: "unary", path: filesystem("MakeDir"), call: ({ sandbox }, opts) => sandbox.files.makeDir("/tmp/d", opts) },
  { name: "Filesystem#remove", kind: "unary", path: filesystem("Remove"), call: ({ sandbox }, opts) => sandbox.files.remove("/tmp/none", opts) },
  {
    name: "Filesystem#rename",
    kind: "unary",
    path: filesystem("Move"),
    prepare: ({ sandbox }) => sandbox.files.write("/tmp/old", ""),
    call: ({ sandbox }, opts) => sandbox.files.rename("/tmp/old", "/tmp/new", opts),
  },
  {
    name: "Filesystem#watchDir",
    kind: "stream",
    path: filesystem("WatchDir"),
    call: async ({ sandbox }, opts) => (await sandbox.files.watchDir("/tmp", undefined, opts)).stop(),
  },
  {
    name: "Filesystem#pollDir",
    kind: "unary",
    path: filesystem("CreateWatcher"),
    call: async ({ sandbox }, opts) => (await sandbox.files.pollDir("/tmp", opts)).stop(),
  },
  { name: "DirPoller#getNewEvents", kind: "unary", path: filesystem("GetWatcherEvents"), prepare: poller, call: (f, opts) => f.poller.getNewEvents(opts) },
  { name: "DirPoller#stop", kind: "unary", path: filesystem("RemoveWatcher"), prepare: poller, call: (f, opts) => f.poller.stop(opts) },
];

const volume = async (fixture) => {
  fixture.volume = await fixture.sdk.Volume.create(freshName(), fixture.connection);
  await fixture.volume.writeFile("/file", "content");
};
const freshName = () => `faults-${Date.now()}-${Math.random().toString(36).slice(2)}`;
const volumeId = (fixture) => fixture.volume.volumeId;
const CONTENT = "/volumecontent/";

const volumes = [
  {
    name: "Volume.create",
    kind: "control",
    path: "/volumes",
    call: async (f, opts) => f.sdk.Volume.destroy((await f.sdk.Volume.create(freshName(), { ...f.connection, ...opts })).volumeId, f.connection),
  },
  { name: "Volume.connect", kind: "control", path: "/volumes/", call: (f, opts) => f.sdk.Volume.connect(volumeId(f), { ...f.connection, ...opts }) },
  { name: "Volume.getInfo", kind: "control", path: "/volumes/", call: (f, opts) => f.sdk.Volume.getInfo(volumeId(f), { ...f.connection, ...opts }) },
  { name: "Volume.list", kind: "control", path: "/volumes", call: (f, opts) => f.sdk.Volume.list({ ...f.connection, ...opts }) },
  { name: "Volume.destroy", kind: "control", path: "/volumes/", ...EMPTY, call: (f, opts) => f.sdk.Volume.destroy(volumeId(f), { ...f.connection, ...opts }) },
  { name: "Volume#list", kind: "control", path: CONTENT, call: (f, opts) => f.volume.list("/", opts) },
  { name: "Volume#makeDir", kind: "control", path: CONTENT, call: (f, opts) => f.volume.makeDir("/d", { force: true, ...opts }) },
  { name: "Volume#getInfo", kind: "control", path: CONTENT, call: (f, opts) => f.volume.getInfo("/file", opts) },
  { name: "Volume#exists", kind: "control", path: CONTENT, call: (f, opts) => f.volume.exists("/file", opts) },
  { name: "Volume#updateMetadata", kind: "control", path: CONTENT, call: (f, opts) => f.volume.updateMetadata("/file", {}, opts) },
  { name: "Volume#remove", kind: "control", path: CONTENT, ...EMPTY, call: (f, opts) => f.volume.remove("/file", opts) },
  { name: "Volume#readFile", kind: "file", path: CONTENT, anyType: true, call: (f, opts) => f.volume.readFile("/file", opts) },
  {
    name: "Volume#readFile, as a stream",
    kind: "file",
    path: CONTENT,
    anyType: true,
    call: async (f, opts) => readAll(await f.volume.readFile("/file", { format: "stream", ...opts })),
  },
  { name: "Volume#writeFile", kind: "control", path: CONTENT, call: (f, opts) => f.volume.writeFile("/file", "x", { force: true, ...opts }) },
].map((one) => ({ prepare: volume, ...one }));

/** These need a sandbox with kernels, which they share. */
const code = [
  { name: "Sandbox#runCode", kind: "code", path: "/execute", call: ({ sandbox }, opts) => sandbox.runCode("1 + 1", opts) },
  { name: "CodeRun#result", kind: "code", path: "/execute", call: ({ sandbox }, opts) => sandbox.streamCode("1 + 1", opts).result() },
  { name: "Sandbox#createCodeContext", kind: "context", path: "/contexts", call: async ({ sandbox }, opts) => sandbox.removeCodeContext(await sandbox.createCodeContext(opts)) },
  { name: "Sandbox#listCodeContexts", kind: "context", path: "/contexts", call: ({ sandbox }, opts) => sandbox.listCodeContexts(opts) },
  { name: "Sandbox#restartCodeContext", kind: "context", path: "/contexts", ...EMPTY, prepare: context, call: (f, opts) => f.sandbox.restartCodeContext(f.context, opts) },
  { name: "Sandbox#removeCodeContext", kind: "context", path: "/contexts", ...EMPTY, prepare: context, call: (f, opts) => f.sandbox.removeCodeContext(f.context, opts) },
].map((one) => ({ ...one, template: "code-interpreter-v1" }));

/** A template that was built from nothing. */
const template = async (fixture) => {
  const { Template } = fixture.sdk;
  fixture.build = await Template.build(Template().fromTemplate("base"), "faults", fixture.connection);
};

const templates = [
  { name: "TemplateBase.exists", kind: "control", path: "/templates/aliases/", call: (f, opts) => f.sdk.Template.exists("free", { ...f.connection, ...opts }) },
  { name: "TemplateBase.aliasExists", kind: "control", path: "/templates/aliases/", call: (f, opts) => f.sdk.Template.aliasExists("free", { ...f.connection, ...opts }) },
  { name: "TemplateBase.build", kind: "control", path: "/v3/templates", call: (f, opts) => f.sdk.Template.build(f.sdk.Template().fromTemplate("base"), "faults", { ...f.connection, ...opts }) },
  {
    name: "TemplateBase.build, while it is followed",
    kind: "control",
    path: "/status",
    call: (f, opts) => f.sdk.Template.build(f.sdk.Template().fromTemplate("base"), "faults", { ...f.connection, ...opts }),
  },
  {
    name: "TemplateBase.buildInBackground",
    kind: "control",
    path: "/v3/templates",
    call: (f, opts) => f.sdk.Template.buildInBackground(f.sdk.Template().fromTemplate("base"), "faults", { ...f.connection, ...opts }),
  },
  { name: "TemplateBase.getBuildStatus", kind: "control", path: "/status", prepare: template, call: (f, opts) => f.sdk.Template.getBuildStatus(f.build, { ...f.connection, ...opts }) },
  { name: "TemplateBase.streamBuildStatus", kind: "control", path: "/status", prepare: template, call: (f, opts) => f.sdk.Template.streamBuildStatus(f.build, { ...f.connection, ...opts }).next() },
  { name: "TemplateBase.streamBuildLogs", kind: "control", path: "/status", prepare: template, call: (f, opts) => f.sdk.Template.streamBuildLogs(f.build, { ...f.connection, ...opts }).next() },
  { name: "TemplateBase.assignTags", kind: "control", path: "/templates/tags", prepare: template, call: (f, opts) => f.sdk.Template.assignTags("faults", "v1", { ...f.connection, ...opts }) },
  { name: "TemplateBase.removeTags", kind: "control", path: "/templates/tags", ...EMPTY, prepare: template, call: (f, opts) => f.sdk.Template.removeTags("faults", "v1", { ...f.connection, ...opts }) },
  { name: "TemplateBase.getTags", kind: "control", path: "/tags", prepare: template, call: (f, opts) => f.sdk.Template.getTags("faults", { ...f.connection, ...opts }) },
];

/** What describes a template. */
const BUILDER =
  "addMcpServer aptInstall betaDevContainerPrebuild betaSetDevContainerStart bunInstall copy copyItems fromAWSRegistry fromAlpineImage fromArchImage fromBaseImage fromBunImage fromDebianImage fromDockerfile fromFedoraImage fromGCPRegistry fromImage fromNodeImage fromPythonImage fromTemplate fromUbuntuImage gitClone makeDir makeSymlink npmInstall pipInstall remove rename runCmd setEnvs setReadyCmd setStartCmd setUser setWorkdir skipCache";

export const methods = [...statics, ...ofSandbox, ...commands, ...pty, ...files, ...volumes, ...code, ...templates];

/** Public methods that send no request of their own, or end one that another method made. */
export const WITHOUT_REQUEST = [
  "Sandbox.attach",
  "Sandbox.list",
  "Sandbox.listSnapshots",
  "Sandbox#downloadUrl",
  "Sandbox#getHost",
  "Sandbox#getMcpUrl",
  "Sandbox#streamCode",
  "Sandbox#toToken",
  "Sandbox#uploadUrl",
  "CodeRun#cancel",
  "CommandHandle#disconnect",
  "CommandHandle#readable",
  "CommandHandle#wait",
  "WatchHandle#stop",
  "TemplateBase.toDockerfile",
  "TemplateBase.toJSON",
  ...BUILDER.split(" ").map((name) => `TemplateBase#${name}`),
];
