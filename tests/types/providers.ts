// The provider family, as a strict consumer without Node types compiles it.

import { AuthenticationError, InvalidArgumentError, SandboxError, TimeoutError, UnsupportedError } from "agent-sandbox-web";
import type { ExecutionError } from "agent-sandbox-web";
import {
  ApplicationClient,
  CommandTimeoutError,
  InvalidAPIKeyError,
  ProviderConfigError,
  ProviderEngine,
  ProviderFeatureNotSupportedError,
  ProviderProtocolError,
  ProviderSandbox,
  StreamReader,
  capabilitiesOf,
  defineProvider,
  describeProvider,
  expressProvider,
  listProviders,
  parseReference,
  registerProvider,
} from "agent-sandbox-web/providers";
import type * as providers from "agent-sandbox-web/providers";
import type { Capability, ManagementCommand, Operation, ProcessChunk, ProcessResult, Provider, ProviderDefinition, RestProviderDefinition } from "agent-sandbox-web/providers";

const rest: RestProviderDefinition = {
  id: "acme",
  kind: "rest",
  baseUrl: "https://api.acme.example",
  auth: { scheme: "header", header: "X-My-Key" },
  apiKey: "k",
  features: ["exec.run", "files.rw"],
  operations: ["sandbox.create", "exec.run"],
  configFields: [{ key: "zone", type: "enum", choices: ["a", "b"] }],
};

const own: ProviderDefinition = {
  id: "own",
  features: [],
  operations: ["sandbox.create", "exec.run"],
  open: ({ fields, connection }) => ({
    sandbox: {
      create: async ({ template, timeout }, { signal }) => {
        signal?.throwIfAborted();
        return { sandboxId: String(fields["name"]), template, status: "running", metadata: {}, timeout: timeout + connection.timeout };
      },
    },
    session: (info) => ({
      process: {
        start: async ({ cmd, args }) =>
          new StreamReader<ProcessChunk>(
            (async function* () {
              yield { type: "stdout", data: [cmd, ...args].join(" ") } as const;
              yield { type: "exit", data: "", exitCode: info.sandboxId.length } as const;
            })(),
            async () => {},
          ),
      },
    }),
  }),
};

const wrong: RestProviderDefinition = {
  id: "acme",
  kind: "rest",
  baseUrl: "https://api.acme.example",
  features: [],
  // @ts-expect-error there is no such operation
  operations: ["sandbox.explode"],
};

export async function use(signal: AbortSignal, background: boolean): Promise<string> {
  const provider: Provider = registerProvider(own);
  const kinds: Set<Capability> = capabilitiesOf(provider);
  await using sandbox = await ProviderSandbox.create("base", { provider: rest, timeout: 300, signal, volumeMounts: { "/mnt/x": "v" } });
  const operations: Set<Operation> = sandbox.operations;
  const result: ProcessResult = await sandbox.commands.run("echo hi", { timeout: 5, onStdout: (data: string) => void data });
  const reader: StreamReader<ProcessChunk> = await sandbox.commands.run(["sleep", "1"], { background: true });
  const either: ProcessResult | StreamReader<ProcessChunk> = await sandbox.commands.run("x", { background });
  for await (const chunk of sandbox.commands.stream("ls")) if (chunk.type === "exit") return String(chunk.exitCode);
  for await (const { type } of await sandbox.files.watch("/")) if (type === "deleted") break;
  const bytes: Uint8Array = await sandbox.files.readBytes("/x", { maxBytes: 10, signal });
  const [url, headers] = await sandbox.network.resolve(8080);
  const failure: ExecutionError | undefined = (await sandbox.runCode("1", { mode: "default-context" })).error;
  const client: ApplicationClient = await sandbox.applicationClient(9000, { token: "t" });
  const answer: unknown = await client.run("hello", { list: ["a"] });
  const response: Response = await client.fetch("/x", { method: "POST", body: "x" });
  const engine = new ProviderEngine({ url: "http://localhost:1", token: () => "t" });
  const commands: ManagementCommand[] = await engine.listCommands("alicloud-express");
  await engine.runCommand("alicloud-express", "volumes.delete", { input: { id: "v" }, confirm: true });
  // @ts-expect-error nothing but a boolean confirms
  await engine.runCommand("alicloud-express", "volumes.delete", { confirm: "yes" });
  // @ts-expect-error a sandbox is created, not constructed
  new ProviderSandbox();
  // @ts-expect-error there is no such mode
  await sandbox.runCode("1", { mode: "elsewhere" });
  return [kinds, operations, result, reader, either, bytes, url, headers, failure, answer, response, commands, describeProvider(provider).kind, listProviders().length, wrong, defineProvider(own), expressProvider({ code: true }), parseReference("a:b").sandboxId].join();
}

export function explain(error: unknown): string {
  if (error instanceof ProviderProtocolError && error.outcomeUnknown) return "look first";
  if (error instanceof ProviderFeatureNotSupportedError) return `${error.provider}: ${error.operation ?? error.feature}`;
  return error instanceof SandboxError ? error.code : "";
}

/** Errors are of the class of the package that means the same. */
export const parents: [AuthenticationError, InvalidArgumentError, TimeoutError, UnsupportedError] = [
  new InvalidAPIKeyError("x"),
  new ProviderConfigError("x", { provider: "p" }),
  new CommandTimeoutError("x"),
  new ProviderFeatureNotSupportedError("x"),
];

type IsAny<T> = 0 extends 1 & T ? true : false;
type Suspects<Member> = IsAny<Member> extends true ? true : Member extends (...args: infer A) => infer R ? IsAny<A[number]> | IsAny<R> | IsAny<Awaited<R>> : IsAny<Awaited<Member>>;
type Leaks<T> = { [Name in keyof T]-?: true extends Suspects<T[Name]> ? Name : never }[keyof T];
type Nothing<T extends never> = T;

/** No `any` is left in what the entry exports. */
export type Checked = [
  Nothing<Leaks<typeof providers>>,
  Nothing<Leaks<providers.ProviderSandbox>>,
  Nothing<Leaks<providers.ProviderCommands>>,
  Nothing<Leaks<providers.ProviderFiles>>,
  Nothing<Leaks<providers.ProviderCode>>,
  Nothing<Leaks<providers.ProviderNetwork>>,
  Nothing<Leaks<providers.ApplicationClient>>,
  Nothing<Leaks<providers.ProviderEngine>>,
  Nothing<Leaks<providers.StreamReader<string>>>,
];
