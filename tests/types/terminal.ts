// Terminals over WebSockets, as a strict consumer without Node types compiles them.

import { Sandbox } from "agent-sandbox-web";
import { createSandboxBroker } from "agent-sandbox-web/edge";
import type { BrokerUpgrade } from "agent-sandbox-web/edge";
import { openServerTerminal, openTerminal, terminalUrl } from "agent-sandbox-web/terminal";
import type { BridgeTerminalOpts, TerminalExit, TerminalState, TerminalTarget, WebSocketTerminal } from "agent-sandbox-web/terminal";

const targets: TerminalTarget[] = ["wss://x", new URL("wss://x"), ({ pid, attempt }) => `wss://x/?${pid ?? attempt}`, async () => new URL("wss://x")];

const opts: BridgeTerminalOpts = {
  cols: 80,
  rows: 24,
  user: "root",
  onData: async (bytes) => void bytes.subarray(1),
  onState: (state: TerminalState, { error, delayMs }) => void [state, error, delayMs],
  reconnect: { attempts: 3 },
  // The global class is one of those that fit.
  WebSocket,
};

export async function use(sandbox: Sandbox, screen: WritableStream<Uint8Array>): Promise<string> {
  const url: string = await terminalUrl(sandbox, { cols: 80, rows: 24, signal: AbortSignal.timeout(5) });
  const terminal: WebSocketTerminal = await openTerminal(sandbox, opts);
  await openTerminal(targets[0] ?? url);
  await terminal.write("ls\n");
  await terminal.write(new Uint8Array(3));
  terminal.resize({ cols: 1, rows: 2 });
  terminal.signal("SIGQUIT");
  for await (const text of terminal.text()) text.trim();
  for await (const bytes of terminal) bytes.buffer.slice(0);
  await terminal.output.pipeTo(screen);
  await terminal.input.getWriter().write("x");
  const { exitCode, reason }: TerminalExit = await terminal.exit;
  terminal.detach();
  await using server = await openServerTerminal({ url, sessionId: "s", token: "t" }, { reconnect: false });
  // @ts-expect-error a session of the in-image server is opened by its id
  await openServerTerminal({ url });
  // @ts-expect-error its shell was chosen when the session was made
  await openServerTerminal({ url, sessionId: "s" }, { cwd: "/" });
  // @ts-expect-error there is no such signal
  terminal.signal("SIGSTOP");
  return `${exitCode ?? reason} ${server.state}`;
}

export const upgraded = (upgrade: (request: Request) => BrokerUpgrade) =>
  createSandboxBroker({ apiKey: "k", secret: "s", allowedOrigins: ["https://x.example"], authorize: () => "v", upgradeWebSocket: upgrade });

/** What hosts have fits. */
export const socketOf = (socket: WebSocket): BrokerUpgrade => ({ socket, response: new Response() });
