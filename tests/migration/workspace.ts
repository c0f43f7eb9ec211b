// The back end of an online editor, as programs of this kind are written for the standard client: a terminal, a file tree
// that follows the sandbox, uploads and downloads by URL, and sandboxes that several parts of the program share.

import { FileType, FilesystemEventType, Sandbox, SandboxError } from "e2b";
import type { FilesystemEvent, WatchHandle } from "e2b";
import { connection, print } from "./settings.js";

class Screen {
  private text = "";
  private waiting: { wanted: string; found(): void }[] = [];
  private readonly decoder = new TextDecoder();

  readonly write = (bytes: Uint8Array) => {
    this.text += this.decoder.decode(bytes, { stream: true });
    this.waiting = this.waiting.filter(({ wanted, found }) => !this.text.includes(wanted) || found());
  };

  shows(wanted: string): Promise<void> {
    if (this.text.includes(wanted)) return Promise.resolve();
    return new Promise((found) => this.waiting.push({ wanted, found }));
  }
}

async function terminal(sandbox: Sandbox): Promise<void> {
  const screen = new Screen();
  const encode = (text: string) => new TextEncoder().encode(text);
  const pty = await sandbox.pty.create({
    cols: 100,
    rows: 30,
    onData: screen.write,
    envs: { EDITOR: "none" },
    cwd: "/tmp",
    timeoutMs: 0,
  });
  await sandbox.pty.sendInput(pty.pid, encode("echo size: $(stty size) term: $TERM in $PWD, $EDITOR\n"));
  await screen.shows("size: 30 100 term: xterm-256color in /tmp, none");
  await sandbox.pty.resize(pty.pid, { cols: 120, rows: 40 });
  await sandbox.pty.sendInput(pty.pid, encode("echo now: $(stty size)\n"));
  await screen.shows("now: 40 120");
  print("terminal: sized and resized");
  await sandbox.pty.sendInput(pty.pid, encode("sleep 100; echo over\n"));
  await sandbox.pty.sendInput(pty.pid, encode("\u0003"));
  await sandbox.pty.sendInput(pty.pid, encode("echo inter''rupted\n"));
  await screen.shows("interrupted");
  const second = new Screen();
  const view = await sandbox.pty.connect(pty.pid, { onData: second.write });
  await sandbox.pty.sendInput(pty.pid, encode("echo for''both\n"));
  await Promise.all([screen.shows("forboth"), second.shows("forboth")]);
  print("terminal: shared by two screens");
  await view.disconnect();
  print(`terminal: killed ${await sandbox.pty.kill(pty.pid)}`);
  await pty.wait().catch(() => print("terminal: ended"));
}

async function watching(sandbox: Sandbox): Promise<void> {
  await sandbox.files.makeDir("/home/user/tree/deep");
  const events: FilesystemEvent[] = [];
  let exited = 0;
  const handle: WatchHandle = await sandbox.files.watchDir("/home/user/tree", (event) => void events.push(event), {
    recursive: true,
    timeoutMs: 0,
    onExit: () => void (exited += 1),
  });
  const seen = async (type: FilesystemEventType, name: string) => {
    for (let tries = 0; tries < 200; tries++) {
      if (events.some((event) => event.type === type && event.name === name)) return print(`watch: ${type} ${name}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`no ${type} of ${name} among ${JSON.stringify(events)}`);
  };
  await sandbox.files.write("/home/user/tree/deep/new.txt", "1");
  await seen(FilesystemEventType.CREATE, "deep/new.txt");
  await seen(FilesystemEventType.WRITE, "deep/new.txt");
  await sandbox.commands.run("mv tree/deep/new.txt tree/moved.txt && chmod 600 tree/moved.txt && rm tree/moved.txt");
  await seen(FilesystemEventType.RENAME, "deep/new.txt");
  await seen(FilesystemEventType.REMOVE, "moved.txt");
  await handle.stop();
  for (let tries = 0; exited === 0 && tries < 100; tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  print(`watch: exited ${exited} time`);
}

async function transfers(sandbox: Sandbox): Promise<void> {
  const bytes = new Uint8Array(300_000).map((_, at) => (at * 31) % 251);
  await sandbox.files.write("blob.bin", new Blob([bytes]));
  const back = await sandbox.files.read("blob.bin", { format: "bytes" });
  print(`bytes: ${back.length} ${back.every((byte, at) => byte === bytes[at])}`);
  await sandbox.files.write("buffer.bin", bytes.buffer);
  const stream = await sandbox.files.read("buffer.bin", { format: "stream" });
  const reader = stream.getReader();
  let total = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) total += part.value.length;
  const blob = await sandbox.files.read("blob.bin", { format: "blob" });
  print(`stream: ${total}, blob: ${blob.size}`);
  const info = await sandbox.files.getInfo("blob.bin");
  print(`info: ${info.name} ${info.type === FileType.FILE} ${info.size} ${info.owner} ${info.path}`);
}

async function sharing(sandbox: Sandbox): Promise<void> {
  const other = await Sandbox.connect(sandbox.sandboxId, connection);
  const runs = await Promise.all([1, 2, 3, 4].map((n) => (n % 2 ? sandbox : other).commands.run(`echo ${n} >> shared; echo ${n}`)));
  print(`shared: ${runs.map((run) => run.stdout.trim()).join(" ")}`);
  print(`lines: ${(await other.files.read("shared")).trim().split("\n").sort().join(" ")}`);
  const host = sandbox.getHost(3000);
  print(`host: ${host.startsWith(`3000-${sandbox.sandboxId}.`)}`);
  const asRoot = await sandbox.commands.run("id -un; echo $HOME", { user: "root" });
  print(`root: ${asRoot.stdout.trim().replace("\n", " ")}`);
  try {
    await sandbox.commands.run("true", { cwd: "/no/such/place" });
  } catch (error) {
    print(`bad cwd: ${error instanceof SandboxError} ${error instanceof Error && error.message.includes("/no/such/place")}`);
  }
  const metrics = await sandbox.getMetrics();
  print(`metrics: ${Array.isArray(metrics)}`);
}

export async function main(): Promise<void> {
  const sandbox = await Sandbox.create({ ...connection, metadata: { app: "workspace" } });
  try {
    await terminal(sandbox);
    await watching(sandbox);
    await transfers(sandbox);
    await sharing(sandbox);
  } finally {
    await sandbox.kill();
  }
}
