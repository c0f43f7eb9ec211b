// A small build service, as programs of this kind are written for the standard client: it takes the files of a project, runs
// its steps in a sandbox with live logs, keeps a cache between builds by pausing, and cleans up.

import { CommandExitError, NotFoundError, Sandbox, TimeoutError } from "e2b";
import type { CommandHandle, CommandResult, EntryInfo, SandboxInfo } from "e2b";
import { connection, hideIds, print } from "./settings.js";

interface Step {
  name: string;
  cmd: string;
  cwd?: string;
  envs?: Record<string, string>;
  timeoutMs?: number;
  mayFail?: boolean;
}

interface Report {
  step: string;
  exitCode: number;
  lines: string[];
}

const project: Record<string, string> = {
  "app/Makefile": "all: out/report.txt\n\nout/report.txt: src/*.txt\n\tmkdir -p out\n\tcat src/*.txt | sort > $@\n",
  "app/src/b.txt": "banana\nblueberry\n",
  "app/src/a.txt": "apple\navocado\n",
  "app/src/ü.txt": "über\n",
  "app/check.sh": "#!/bin/sh\necho checking $1\ntest -s \"$1\" || { echo \"missing $1\" >&2; exit 3; }\necho $(wc -l < \"$1\") lines in $MODE mode\n",
};

const steps: Step[] = [
  { name: "permissions", cmd: "chmod +x check.sh && ls -1", cwd: "/home/user/app" },
  { name: "before", cmd: "./check.sh out/report.txt", cwd: "/home/user/app", mayFail: true },
  { name: "build", cmd: "mkdir -p out; cat src/*.txt | LC_ALL=C sort > out/report.txt; echo built", cwd: "/home/user/app" },
  { name: "after", cmd: "./check.sh out/report.txt", cwd: "/home/user/app", envs: { MODE: "release" } },
  { name: "slow", cmd: "echo begin; sleep 30; echo never", timeoutMs: 700, mayFail: true },
];

class BuildRunner {
  private constructor(private readonly sandbox: Sandbox) {}

  static async start(): Promise<BuildRunner> {
    const sandbox = await Sandbox.create("base", {
      ...connection,
      timeoutMs: 120_000,
      metadata: { service: "build-runner", owner: "tests & Söhne" },
      envs: { MODE: "debug" },
    });
    return new BuildRunner(sandbox);
  }

  async upload(files: Record<string, string>): Promise<void> {
    const written = await this.sandbox.files.write(Object.entries(files).map(([path, data]) => ({ path, data })));
    print(`uploaded ${written.length} files, first at ${written[0]?.path}`);
  }

  async run(step: Step): Promise<Report> {
    const lines: string[] = [];
    const log = (stream: string) => (text: string) => {
      for (const line of text.split("\n").filter(Boolean)) lines.push(`${stream}: ${line}`);
    };
    let exitCode: number;
    try {
      const { name, cmd, mayFail, ...opts } = step;
      const result: CommandResult = await this.sandbox.commands.run(cmd, { ...opts, onStdout: log("out"), onStderr: log("err") });
      exitCode = result.exitCode;
    } catch (error) {
      if (error instanceof CommandExitError) exitCode = error.exitCode;
      else if (error instanceof TimeoutError) exitCode = -1;
      else throw error;
      if (!step.mayFail) throw error;
    }
    // Which of the two streams is heard first is not settled.
    const of = (stream: string) => lines.filter((line) => line.startsWith(stream));
    return { step: step.name, exitCode, lines: [...of("out"), ...of("err")] };
  }

  async serve(): Promise<void> {
    const server: CommandHandle = await this.sandbox.commands.run("while true; do sleep 0.05; echo tick; done", { background: true });
    const known = await this.sandbox.commands.list();
    print(`server is listed: ${known.some((one) => one.pid === server.pid)}`);
    const other = await this.sandbox.commands.connect(server.pid, { timeoutMs: 0 });
    while (!other.stdout.includes("tick")) await new Promise((resolve) => setTimeout(resolve, 20));
    await other.disconnect();
    print(`server killed: ${await server.kill()}, again: ${await this.sandbox.commands.kill(server.pid)}`);
    const end = await server.wait().catch((error: unknown) => error);
    print(`server ended with ${end instanceof CommandExitError ? "a CommandExitError" : String(end)}`);
  }

  async talk(): Promise<void> {
    const cat = await this.sandbox.commands.run("read line; echo got $line; cat", { background: true, stdin: true });
    await this.sandbox.commands.sendStdin(cat.pid, "first\n");
    await cat.sendStdin("second\n");
    await cat.closeStdin();
    const { stdout, exitCode } = await cat.wait();
    print(`talk: ${JSON.stringify(stdout)} ${exitCode}`);
  }

  async listing(): Promise<void> {
    const entries: EntryInfo[] = await this.sandbox.files.list("app", { depth: 2 });
    for (const { path, type, size, permissions } of entries.sort((a, b) => (a.path < b.path ? -1 : 1))) {
      if (type === "file") print(`${path} ${type} ${size} ${permissions}`);
    }
    print(`exists: ${await this.sandbox.files.exists("app/none")}, ${await this.sandbox.files.exists("app/src")}`);
    await this.sandbox.files.rename("app/out/report.txt", "app/out/final.txt");
    print(await this.sandbox.files.read("app/out/final.txt"));
    print(`made: ${await this.sandbox.files.makeDir("app/cache")}, again: ${await this.sandbox.files.makeDir("app/cache")}`);
    await this.sandbox.files.remove("app/src");
    try {
      await this.sandbox.files.read("app/src/a.txt");
    } catch (error) {
      print(`after removal: ${error instanceof NotFoundError}`);
    }
  }

  async cycle(): Promise<void> {
    const id = this.sandbox.sandboxId;
    print(`paused: ${await this.sandbox.pause()}`);
    const paginator = Sandbox.list({ ...connection, query: { metadata: { owner: "tests & Söhne" }, state: ["paused"] } });
    const found: SandboxInfo[] = [];
    while (paginator.hasNext) found.push(...(await paginator.nextItems()));
    print(`found paused: ${found.some((one) => one.sandboxId === id)}, ${found[0]?.metadata.service}`);
    const again = await Sandbox.connect(id, { ...connection, timeoutMs: 60_000 });
    print(`kept: ${(await again.files.read("app/out/final.txt")).length} characters`);
    const info = await again.getInfo();
    print(`state: ${info.state}, lives ${Math.round((info.endAt.getTime() - Date.now()) / 1000) > 50}`);
    await again.setTimeout(90_000);
    print(`running: ${await again.isRunning()}`);
  }

  async stop(): Promise<void> {
    print(`killed: ${await this.sandbox.kill()}, again: ${await Sandbox.kill(this.sandbox.sandboxId, connection)}`);
    try {
      await this.sandbox.commands.run("true");
    } catch (error) {
      print(`after the end: ${error instanceof Error && error.name}`);
    }
  }

  hide(text: string): string {
    return hideIds(text, this.sandbox.sandboxId);
  }
}

export async function main(): Promise<void> {
  const runner = await BuildRunner.start();
  try {
    await runner.upload(project);
    for (const step of steps) {
      const { exitCode, lines } = await runner.run(step);
      print(`${step.name}: exit ${exitCode}\n${lines.map((line) => runner.hide(`  ${line}`)).join("\n")}`);
    }
    await runner.serve();
    await runner.talk();
    await runner.listing();
    await runner.cycle();
  } finally {
    await runner.stop();
  }
}
