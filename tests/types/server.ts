// The client of the in-image server, as a strict consumer without Node types compiles it.

import { Sandbox, SandboxError } from "agent-sandbox-web";
import {
  CommandArgumentError,
  PathDeniedError,
  PolicyDeniedError,
  ServerClient,
  ServerProcess,
  generateCommandTypes,
} from "agent-sandbox-web/server";
import type { ServerCapabilities, ServerClientOpts, ServerCommand, ServerFileChange, ServerOutputEvent, TypedCommands, WithServerFacts } from "agent-sandbox-web/server";

/** As `generateCommandTypes` makes it. */
interface Commands {
  greet(args: { name: string; xs?: string[] | undefined }): { message: string };
  add(args?: { a?: number | undefined }): Promise<number>;
  "quoted-name"(args?: Record<string, never>): unknown;
}

const opts: ServerClientOpts = { token: "t", headers: async () => ({ a: "b" }), requestTimeoutMs: 5, retries: 1, through: "broker", fetch: (url, init) => fetch(url, init) };

export const clients: ServerClient[] = [new ServerClient("https://h.test", opts), new ServerClient(new URL("https://h.test"))];

export async function use(sandbox: Sandbox, endpoint: string): Promise<void> {
  const client = new ServerClient(await Sandbox.attach({ endpoint }), { port: 9000 });
  const capabilities: ServerCapabilities = await new ServerClient(sandbox).discover({ signal: AbortSignal.timeout(5) });
  const can: boolean = capabilities.can("shell");

  const commands: TypedCommands<Commands> = client.commands.typed<Commands>();
  const { message } = await commands.greet({ name: "x", xs: ["a"] }, { timeoutMs: 5 });
  const sum: number = await commands.add();
  // @ts-expect-error an array is no text
  await commands.greet({ name: "x", xs: "a,b" });
  // @ts-expect-error a name is needed
  await commands.greet({});
  // @ts-expect-error there is no such command
  await commands.other();
  const untyped: unknown = await client.commands.run("greet", { name: message });
  const listed: ServerCommand[] = await client.commands.list();
  const text: string = generateCommandTypes(listed, { name: "Own", results: { greet: "string" } });

  for await (const event of client.process.stream(["ls", text])) {
    const one: ServerOutputEvent = event;
    if (one.type === "exit") one.exitCode satisfies number;
    else one.data satisfies string;
  }
  const { exitCode } = await client.process.run("ls", { onStdout: (line) => void line.length, shell: can });
  const started: ServerProcess = await client.process.start("cat", { stdin: true, captureOutput: true });
  for await (const { data } of started) data satisfies string;
  await started.signal("SIGTERM");
  // @ts-expect-error the server does not deliver it
  await started.signal("SIGHUP");
  // @ts-expect-error a line for a shell is one text
  await client.process.run(["ls", 1]);

  for await (const change of client.files.watch("/x", { intervalMs: 100 })) change satisfies ServerFileChange;
  const bytes: Uint8Array = await client.files.download("/x");
  await client.files.upload("/x", new Blob([bytes.slice()]));
  const modified: Date | undefined = (await client.files.stat("/x")).modified;

  const answer: Response = await client.fetch("/own", { method: "PUT", body: bytes.slice() });
  const json: { a: number } = await client.request<{ a: number }>("POST", "/own", { json: { a: sum } });
  for await (const { data, id } of client.events("/feed", { lastEventId: "7", reconnect: { attempts: 3 } })) `${data}${id}` satisfies string;

  const session = await client.agents.sessions.create({ agent: { name: "n" } });
  await client.agents.sessions.send(session.id, { input: "hi" }, { idempotencyKey: "k" });
  for await (const { data } of client.agents.sessions.events(session.id, { after: 0 })) data satisfies Record<string, unknown>;
  const context = await client.code.createContext({ language: "python" });
  const run = await client.code.run("1", { contextId: context.id });
  void [untyped, exitCode, modified, answer.ok, json.a, run.results.length];
}

export function classify(error: unknown): string {
  if (error instanceof PathDeniedError) return error.server?.code ?? "";
  if (error instanceof PolicyDeniedError) return error.server?.scope ?? "";
  if (error instanceof CommandArgumentError) return error.code;
  return error instanceof SandboxError ? ((error as SandboxError & WithServerFacts).server?.text ?? error.message) : "";
}
