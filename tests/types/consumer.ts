// A strict consumer without Node types. It is only compiled: `cargo xtask test --only types`.

import {
  ALL_TRAFFIC,
  ChartType,
  CommandExitError,
  CommandHandle,
  ConnectionConfig,
  E2B,
  ApiClient,
  Execution,
  ExecutionError,
  GitAuthError,
  Result,
  Sandbox,
  SandboxError,
  Template,
  TimeoutError,
  Secret,
  SecretError,
  SecretNotFoundError,
  SecretPaginator,
  getSignature,
  Volume,
  VolumeError,
  VolumeFileType,
  VolumePathNotFoundError,
} from "agent-sandbox-web";
import type { ChartTypes, Context, ExecutionEvent, OutputMessage, RunCodeOpts } from "agent-sandbox-web";
import type { CommandReconnectEvent, CommandToken } from "agent-sandbox-web";
import { BuildError, FileUploadError, LogEntry, TemplateBase, defaultBuildLogger, waitForPort } from "agent-sandbox-web";
import type { BuildInfo, TemplateBuilder, TemplateClass } from "agent-sandbox-web";
import type { CommandResult, EntryInfo, ProcessInfo, SandboxInfo, SandboxOpts } from "agent-sandbox-web";
import type { E2BClientOpts, GitStatus, Logger, SandboxLog, SandboxNetworkOpts, TransferProgress } from "agent-sandbox-web";
import Default from "agent-sandbox-web";
import type { SecretInfo } from "agent-sandbox-web";
import type { VolumeAndToken, VolumeEntryStat, VolumeInfo, VolumeReadOpts } from "agent-sandbox-web";

export async function creates(options: SandboxOpts): Promise<string> {
  await using sandbox = await Sandbox.create("base", { ...options, timeoutMs: 60_000, signal: AbortSignal.timeout(1000) });
  const other: Sandbox = await Sandbox.connect(sandbox.sandboxId);
  const info: SandboxInfo = await other.getInfo();
  const ended: boolean = await Sandbox.kill(info.sandboxId);
  const host: string = sandbox.getHost(3000);
  return `${ended} ${host} ${info.endAt.toISOString()}`;
}

export async function runs(sandbox: Sandbox): Promise<void> {
  const result: CommandResult = await sandbox.commands.run("true", { onStdout: (text) => void text.length, cwd: "/" });
  const code: number = result.exitCode;
  const handle: CommandHandle = await sandbox.commands.run("cat", { background: true, stdin: true });
  await handle.sendStdin(new Uint8Array([code]));
  const soFar: number | undefined = handle.exitCode;
  const processes: ProcessInfo[] = await sandbox.commands.list();
  // @ts-expect-error a handle is only answered in the background
  const wrong: CommandHandle = await sandbox.commands.run("true");
  // @ts-expect-error options are checked by name
  await sandbox.commands.run("true", { timeout: 5 });
  void [soFar, processes, wrong];
}

export async function continues(sandbox: Sandbox): Promise<CommandResult> {
  const handle = await sandbox.commands.run("make", {
    background: true,
    durable: true,
    spoolBytes: 1_000_000,
    spoolExpiryMs: 60_000,
    reconnectMs: 5_000,
    onToken: ({ spoolId, stdout }: CommandToken) => void [spoolId, stdout.toFixed()],
    onReconnect: ({ state, attempt, error }: CommandReconnectEvent) => void [state === "lost", attempt + 1, error?.code],
  });
  const token: CommandToken | undefined = handle.token;
  // @ts-expect-error commands that are not durable have no token
  const wrong: CommandToken = handle.token;
  const saved = JSON.parse(JSON.stringify(token ?? wrong)) as CommandToken;
  const again: CommandHandle = await sandbox.commands.attach({ ...saved, stdout: 0 }, { check: false, onStdout: (text) => void text.length });
  const gaps: number = again.gaps + ((await again.wait()).gaps ?? 0);
  return (await sandbox.commands.connect(again.pid + gaps, { reconnectMs: 1 })).wait();
}

export async function reads(sandbox: Sandbox): Promise<void> {
  const text: string = await sandbox.files.read("/a");
  const bytes: Uint8Array = await sandbox.files.read("/a", { format: "bytes" });
  const blob: Blob = await sandbox.files.read("/a", { format: "blob" });
  const stream: ReadableStream<Uint8Array> = await sandbox.files.read("/a", { format: "stream" });
  for (const data of [text, bytes, blob, stream, bytes.slice().buffer]) await sandbox.files.write("/b", data);
  const entries: EntryInfo[] = await sandbox.files.list("/");
  // @ts-expect-error numbers are not file data
  await sandbox.files.write("/a", 7);
  void entries;
}

export async function transfers(sandbox: Sandbox, start?: number): Promise<number> {
  let most = 0;
  const onProgress = ({ loaded, total = 0, path }: TransferProgress) => void (most = Math.max(most, loaded, total, path?.length ?? 0));
  const part: Uint8Array = await sandbox.files.read("/a", { format: "bytes", range: { start, end: 10 }, gzip: false, onProgress });
  await sandbox.files.writeFiles([{ path: "/b", data: part }], { gzip: true, onProgress, metadata: { a: "b" }, useOctetStream: true });
  // @ts-expect-error a range has numbers
  await sandbox.files.read("/a", { range: { start: "0" } });
  return most;
}

export async function isClient(logger: Logger, options: E2BClientOpts): Promise<string> {
  const client = new E2B({ ...options, logger, apiKey: undefined });
  const sandbox: Sandbox = await client.Sandbox.create("base", { logger: console });
  const same: boolean = sandbox instanceof client.Sandbox && sandbox instanceof Default;
  const logs: SandboxLog[] = await client.Sandbox.getLogs(sandbox.sandboxId, { limit: 5, level: "warn", cursor: new Date() });
  // @ts-expect-error a signal belongs to single calls
  new E2B({ signal: AbortSignal.timeout(1) });
  const { apiUrl, apiKey }: ConnectionConfig = new ConnectionConfig(options);
  class Mine extends Sandbox {}
  const mine = await Mine.connect(sandbox.sandboxId);
  return `${same} ${logs[0]?.timestamp.getTime()} ${apiUrl} ${apiKey} ${mine.sandboxId} ${ConnectionConfig.envdPort.toFixed()}`;
}

export async function usesPlatform(sandbox: Sandbox): Promise<void> {
  const network: SandboxNetworkOpts = {
    rules: new Map([["api.test", [{ transform: { headers: { a: "b" } } }]]]),
    allowOut: ({ rules }) => [...rules.keys()],
    denyOut: [ALL_TRAFFIC],
    egressProxy: { address: "proxy.test:1080" },
  };
  await Sandbox.create({ network, mcp: { exa: { apiKey: "k" } }, iam: { tokens: { a: { audience: "b", tokenType: "JWT-SVID" } } } });
  await sandbox.updateNetwork({ denyOut: ({ allTraffic }) => [allTraffic] });
  const token: string | undefined = await sandbox.getMcpToken();
  const url: string = sandbox.getMcpUrl();
  const { signature, expiration } = await getSignature({ path: "/a", operation: "read", envdAccessToken: token ?? "", expirationInSeconds: 5 });
  const { network: rules, lifecycle, volumeMounts } = await sandbox.getInfo();
  // @ts-expect-error there are two operations
  await getSignature({ path: "/a", operation: "list", envdAccessToken: "" });
  void [url, signature, expiration?.toFixed(), rules?.allowOut, lifecycle?.onTimeout, volumeMounts?.[0]?.path];
}

export async function keepsSecrets(options: E2BClientOpts): Promise<string> {
  const made: SecretInfo = await Secret.create("openai", "value", { metadata: { team: "a" }, signal: AbortSignal.timeout(1) });
  const pages: SecretPaginator = new E2B(options).Secret.list({ limit: 5 });
  const names: string[] = (await pages.nextItems()).map(({ name }) => name);
  for await (const { secretId, updatedAt } of pages) names.push(secretId, updatedAt.toISOString());
  const gone: boolean = (await Secret.exists("a")) && (await Secret.destroy(made.secretId));
  const tokens = { aws: Secret.iamToken({ audience: "sts.test", tokenType: "JWT-SVID" }) };
  const transform = { headers: { "X-Key": Secret.fill("openai") } };
  const rules = { "a.test": [{ transform }], "b.test": [{ transform: ({ iam }) => ({ headers: { a: `Bearer ${iam.tokens.aws}` } }) }] } satisfies SandboxNetworkOpts["rules"];
  await Sandbox.create({ iam: { tokens }, network: { rules } });
  // @ts-expect-error a transform answers at once
  await Sandbox.create({ network: { rules: { "a.test": [{ transform: async () => ({}) }] } } });
  try {
    await Secret.update("a", "b");
  } catch (error) {
    if (error instanceof SecretNotFoundError || error instanceof SecretError) return error.code;
  }
  // @ts-expect-error values are never answered
  const value: string = made.value;
  return `${names.join()} ${gone} ${value} ${made.version.toFixed()}`;
}

export async function asksDirectly(config: ConnectionConfig): Promise<string> {
  const { api } = new ApiClient(config, { requireApiKey: true });
  const { data, error, response } = await api.GET<{ templateID: string }[]>("/templates", { params: { query: { teamID: "t" } } });
  const posted = await api.POST("/templates/{id}", { params: { path: { id: 5 } }, body: { a: 1 }, headers: { b: "c" }, requestTimeoutMs: 5 });
  // @ts-expect-error what was not named is unknown
  posted.data?.id;
  return data === undefined ? String(error) : `${data[0]?.templateID} ${response.status}`;
}

export async function usesGit({ git }: Sandbox): Promise<string> {
  const { stdout }: CommandResult = await git.clone("https://h.test/r", { username: "u", password: "p", depth: 1, signal: AbortSignal.timeout(1) });
  const { currentBranch, fileStatus, isClean }: GitStatus = await git.status("/r");
  const { branches } = await git.branches("/r", { user: "root" });
  await git.restore("/r", { paths: ["a"], staged: true });
  try {
    await git.push("/r", { remote: "origin", setUpstream: false });
  } catch (error) {
    if (error instanceof GitAuthError) return error.code;
  }
  // @ts-expect-error paths are needed
  await git.restore("/r", {});
  return `${stdout} ${currentBranch} ${fileStatus[0]?.renamedFrom} ${isClean} ${branches.length}`;
}

export async function shares(options: VolumeReadOpts): Promise<string> {
  const volume: Volume = await Volume.create("data", { signal: AbortSignal.timeout(1000) });
  const [listed]: VolumeInfo[] = await Volume.list();
  const { token, domain }: VolumeAndToken = await Volume.getInfo(volume.volumeId);
  await using sandbox = await Sandbox.create({ volumeMounts: { "/mnt/data": volume, "/mnt/other": "other" } });
  const mounts: { name: string; path: string }[] | undefined = (await sandbox.getInfo()).volumeMounts;
  const entry: VolumeEntryStat = await volume.writeFile("/a", new Uint8Array(), { uid: 0, mode: 0o600, force: true });
  for (const data of ["text", new Blob(["x"]), new ReadableStream<Uint8Array>()]) await volume.writeFile("/b", data, { token });
  const text: string = await volume.readFile("/a");
  const bytes: Uint8Array = await volume.readFile("/a", { ...options, format: "bytes" });
  const stream: ReadableStream<Uint8Array> = await volume.readFile("/a", { format: "stream", streamIdleTimeoutMs: 0 });
  const isDirectory: boolean = entry.type === VolumeFileType.DIRECTORY || (await volume.exists("/", { apiUrl: domain }));
  const newest = (await volume.list("/", { depth: 2 })).map(({ mtime }) => mtime.getTime());
  // @ts-expect-error numbers are not file data
  await volume.writeFile("/a", 7);
  // @ts-expect-error volumes are made by `create` and `connect`
  new Volume();
  const ended: boolean = await Volume.destroy(volume.volumeId);
  return `${listed?.name} ${mounts?.length} ${text} ${bytes.length} ${stream.locked} ${isDirectory} ${newest.join()} ${ended}`;
}

export async function runsCode(sandbox: Sandbox, options: RunCodeOpts): Promise<string> {
  const context: Context = await sandbox.createCodeContext({ language: "python", cwd: "/" });
  const lines: string[] = [];
  const execution: Execution = await sandbox.runCode("1", {
    context,
    onStdout: ({ line, time }: OutputMessage) => void lines.push(`${time.getTime()} ${line}`),
    onResult: async (result) => void lines.push(...result.formats()),
    onError: (error) => void lines.push(error.traceback),
    signal: AbortSignal.timeout(1000),
  });
  const error: ExecutionError | undefined = execution.error;
  const image: Blob | undefined = execution.results.find((result) => result instanceof Result)?.toBlob("png");
  await using run = sandbox.streamCode("1", options);
  for await (const event of run) lines.push(describes(event));
  // @ts-expect-error the output of code is not text
  await sandbox.runCode("1", { onStdout: (text: string) => void text });
  await sandbox.removeCodeContext(context.id);
  return `${(await run.result()).text ?? ""} ${error?.name} ${image?.size}`;
}

function describes(event: ExecutionEvent): string {
  switch (event.type) {
    case "stdout":
    case "stderr":
      return event.data.line;
    case "result":
      return event.data.chart ? plots(event.data.chart) : (event.data.text ?? "");
    case "error":
      return event.data.value;
    case "executionCount":
      return event.data.toFixed();
  }
}

function plots(chart: ChartTypes): string {
  if (chart.type === ChartType.SUPERCHART) return chart.elements.map(plots).join();
  if (chart.type === "line") return `${chart.x_scale} ${chart.elements[0]?.points.length}`;
  if (chart.type === "box_and_whisker") return chart.elements.map(({ median }) => median).join();
  return chart.title ?? chart.type;
}

export async function lists(): Promise<SandboxInfo[]> {
  const found: SandboxInfo[] = [];
  for await (const sandbox of Sandbox.list({ query: { state: ["running"] } })) found.push(sandbox);
  return found;
}

export function explains(error: unknown): string {
  if (error instanceof VolumePathNotFoundError && error instanceof VolumeError) return error.message;
  if (error instanceof CommandExitError) return `${error.exitCode}: ${error.stderr}`;
  if (error instanceof TimeoutError) return error.code;
  if (error instanceof SandboxError) return `${error.code} ${error.retryable} ${error.status}`;
  return String(error);
}

// @ts-expect-error sandboxes are made by `create` and `connect`
new Sandbox();

declare const sandbox: Sandbox;
// @ts-expect-error memory is released by itself
sandbox.free();

export async function buildsTemplates(apiKey: string | undefined): Promise<string> {
  const begun: TemplateBuilder = Template({ files: { "a.txt": "text", "b.sh": { data: new Uint8Array(), mode: 0o755 }, c: new Blob([]) } })
    .skipCache()
    .fromPythonImage("3.12")
    .copy(["a.txt", "b.sh"], "/app/", { user: "root" })
    .runCmd("true", { user: "root" });
  const template: TemplateClass = begun.setStartCmd("serve", waitForPort(80));
  const info: BuildInfo = await Template.build(template, "n", { apiKey, cpuCount: 2, onBuildLogs: defaultBuildLogger() });
  await Template.build(template, { alias: "n", apiKey });
  const lines: string[] = [];
  for await (const entry of Template.streamBuildLogs(info, { apiKey })) lines.push(entry instanceof LogEntry ? entry.message : "");
  for await (const { status, reason } of Template.streamBuildStatus(info)) lines.push(status, reason?.message ?? "");
  const again: TemplateBase = new TemplateBase();
  try {
    lines.push(await Template.toJSON(again.fromImage("x")), Template.toDockerfile(template));
  } catch (error) {
    if (error instanceof FileUploadError || error instanceof BuildError) lines.push(error.step ?? "");
  }
  // @ts-expect-error a template that is complete takes no further steps
  template.runCmd("x");
  // @ts-expect-error numbers are no file content
  Template({ files: { a: 5 } });
  // @ts-expect-error options are checked by name
  await Template.build(template, "n", { cpus: 2 });
  return lines.join("\n");
}
