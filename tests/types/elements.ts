// The elements, as a page or a framework uses them.

import { SandboxCode, type SandboxCodeState } from "agent-sandbox-web/elements";
import { Sandbox } from "agent-sandbox-web";

export async function use(): Promise<SandboxCodeState> {
  const session = document.querySelector("sandbox-session");
  if (session) {
    session.sandbox = () => Sandbox.create();
    session.addEventListener("sandboxstatechange", ({ detail }) => console.log(detail.state satisfies "idle" | "starting" | "ready" | "lost" | "ended"));
    const { sandboxId }: Sandbox = await session.ensure();
    console.log(sandboxId, session.sandbox?.sandboxId);
  }
  const cell: SandboxCode = document.createElement("sandbox-code");
  cell.code = "1 + 1";
  await document.createElement("sandbox-files").upload([new File([], "a.txt")]);
  const terminal = document.createElement("sandbox-terminal");
  terminal.socket = async () => "wss://x.example/terminal";
  await terminal.open();
  // @ts-expect-error The state is told, not set.
  cell.state = "ok";
  return cell.run();
}
