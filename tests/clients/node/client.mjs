// One of the standard JavaScript clients, by name, through its quick start and what comes after it. Nothing is configured
// but the environment. `cargo xtask test --only clients` starts it.

import { createRequire } from "node:module";
import assert from "node:assert/strict";

const [name, mode] = process.argv.slice(2);
const { Sandbox } = await import(name);
const { version } = createRequire(import.meta.url)(`./node_modules/${name}/package.json`);
const label = `${name} ${version} (JavaScript${mode === "debug" ? ", debug mode" : ""})`;

const counts = { passed: 0, failed: 0 };

async function step(title, run) {
  const started = performance.now();
  try {
    await run();
    counts.passed += 1;
    console.log(`  ok      ${label}: ${title} (${Math.round(performance.now() - started)} ms)`);
  } catch (error) {
    counts.failed += 1;
    console.log(`  FAILED  ${label}: ${title}: ${error?.stack ?? error}`);
  }
}

/** Waits for what a callback brings. */
async function until(what, condition) {
  const end = Date.now() + 60_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`nothing came of it: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let sandbox;
await step("create", async () => {
  sandbox = await Sandbox.create();
  assert.equal(await sandbox.isRunning(), true);
});
if (sandbox) await steps();
console.log(`${label}: ${counts.passed} passed, ${counts.failed} failed`);
process.exit(counts.failed === 0 ? 0 : 1);

async function steps() {
  await step("command", async () => {
    const result = await sandbox.commands.run('echo "Hello from E2B!"');
    assert.equal(result.stdout, "Hello from E2B!\n");
    const pieces = [];
    await sandbox.commands.run("echo out; echo err >&2", {
      onStdout: (text) => pieces.push(text),
      onStderr: (text) => pieces.push(text),
    });
    assert.deepEqual(pieces.sort(), ["err\n", "out\n"]);
    await assert.rejects(sandbox.commands.run("exit 3"), { name: "CommandExitError", exitCode: 3 });
  });

  await step("command with input", async () => {
    const cat = await sandbox.commands.run("cat", { background: true, stdin: true });
    await sandbox.commands.sendStdin(cat.pid, "typed\n");
    await until("output of cat", () => cat.stdout === "typed\n");
    assert.ok((await sandbox.commands.list()).some((process) => process.pid === cat.pid));
    assert.equal(await cat.kill(), true);
  });

  await step("files", async () => {
    await sandbox.files.write("/tmp/data.txt", "content");
    assert.equal(await sandbox.files.read("/tmp/data.txt"), "content");
    await sandbox.files.makeDir("dir");
    await sandbox.files.write([
      { path: "dir/a", data: "a" },
      { path: "dir/b", data: new Uint8Array([0, 255]).buffer },
    ]);
    assert.deepEqual([...(await sandbox.files.read("dir/b", { format: "bytes" }))], [0, 255]);
    assert.deepEqual((await sandbox.files.list("dir")).map((entry) => entry.name).sort(), ["a", "b"]);
    await sandbox.files.rename("dir/a", "dir/c");
    assert.equal((await sandbox.files.getInfo("dir/c")).size, 1);
    await sandbox.files.remove("dir");
    assert.equal(await sandbox.files.exists("dir"), false);
  });

  if (mode !== "debug") {
    await step("signed URLs", async () => {
      const body = new FormData();
      body.append("file", new Blob(["through a URL"]), "upload.txt");
      const sent = await fetch(await sandbox.uploadUrl("upload.txt"), { method: "POST", body, headers: routing() });
      assert.equal(sent.status, 200, await sent.text());
      const got = await fetch(await sandbox.downloadUrl("upload.txt"), { headers: routing() });
      assert.equal(await got.text(), "through a URL");
    });
  }

  await step("watch", async () => {
    const names = [];
    const watch = await sandbox.files.watchDir("/home/user", (event) => void names.push(`${event.type} ${event.name}`));
    await sandbox.files.write("watched.txt", "x");
    await until("an event", () => names.includes("create watched.txt"));
    await watch.stop();
  });

  await step("PTY", async () => {
    let screen = "";
    const decoder = new TextDecoder();
    const onData = (bytes) => void (screen += decoder.decode(bytes, { stream: true }));
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, onData });
    await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 });
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode("stty size; exit\n"));
    await until("the size of the terminal", () => screen.includes("30 100"));
    await terminal.wait();
  });

  if (name === "@e2b/code-interpreter") await step("code", code);
  if (mode === "debug") return;

  await step("pause and connect", async () => {
    const sleeper = await sandbox.commands.run("sleep 1000", { background: true, timeoutMs: 0 });
    await sandbox.pause();
    assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, "paused");
    sandbox = await Sandbox.connect(sandbox.sandboxId);
    assert.equal((await sandbox.getInfo()).state, "running");
    assert.equal(await sandbox.files.read("/tmp/data.txt"), "content");
    assert.equal(await sandbox.commands.kill(sleeper.pid), true);
  });

  await step("list", async () => {
    const found = [];
    const pages = Sandbox.list({ query: { state: ["running"] } });
    while (pages.hasNext) found.push(...(await pages.nextItems()));
    assert.ok(found.some((info) => info.sandboxId === sandbox.sandboxId));
    await sandbox.setTimeout(60_000);
  });

  await step("kill", async () => {
    await sandbox.kill();
    assert.equal(await sandbox.isRunning(), false);
    await assert.rejects(Sandbox.connect(sandbox.sandboxId), { name: "SandboxNotFoundError" });
  });
}

async function code() {
  await sandbox.runCode("x = 1");
  assert.equal((await sandbox.runCode("x+=1; x")).text, "2");
  const frame = await sandbox.runCode("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [3, 4]})");
  assert.match(frame.results[0].html, /<table/);
  const plot = await sandbox.runCode("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [4, 5, 6])\nplt.show()");
  assert.ok(plot.results[0].png.length > 1000);
  assert.equal(plot.results[0].chart.type, "line");
  const failure = await sandbox.runCode("1/0");
  assert.equal(failure.error.name, "ZeroDivisionError");
  const shell = await sandbox.runCode("echo $((6 * 7))", { language: "bash" });
  assert.deepEqual(shell.logs.stdout, ["42\n"]);
  if (mode === "debug") return;
  const context = await sandbox.createCodeContext({ cwd: "/tmp" });
  assert.equal((await sandbox.runCode("import os; os.getcwd()", { context })).text, "/tmp");
}

/** A URL on the shared address does not name the sandbox. */
function routing() {
  return { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": "49983" };
}
