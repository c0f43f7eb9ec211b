"""One of the standard Python clients, by module name, through its quick start and what comes after it, in both of its
styles. Nothing is configured but the environment. `cargo xtask test --only clients` starts it."""

import asyncio
import importlib
import importlib.metadata
import re
import sys
import time
import traceback

MODULE = sys.argv[1]
DEBUG = sys.argv[2:] == ["debug"]
DISTRIBUTIONS = {"agent_sandbox": "agent-sandbox-client", "e2b": "e2b", "e2b_code_interpreter": "e2b-code-interpreter"}

client = importlib.import_module(MODULE)
package = DISTRIBUTIONS[MODULE.split(".")[0]]
LABEL = f"{package} {importlib.metadata.version(package)} (Python, {MODULE}{', debug mode' if DEBUG else ''})"

counts = {"passed": 0, "failed": 0}


async def step(title, run):
    started = time.monotonic()
    try:
        await run()
        counts["passed"] += 1
        print(f"  ok      {LABEL}: {title} ({round((time.monotonic() - started) * 1000)} ms)", flush=True)
    except Exception:
        counts["failed"] += 1
        print(f"  FAILED  {LABEL}: {title}: {traceback.format_exc()}", flush=True)


async def until(what, condition):
    """Waits for what a callback brings."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"nothing came of it: {what}"
        await asyncio.sleep(0.01)


async def refuses(error, awaitable):
    try:
        await awaitable
    except error as found:
        return found
    raise AssertionError(f"no {error.__name__}")


class Steps:
    async def create(self):
        self.sandbox = await client.AsyncSandbox.create()
        assert await self.sandbox.is_running()

    async def command(self):
        result = await self.sandbox.commands.run("echo hello")
        assert result.stdout == "hello\n", result
        pieces = []
        await self.sandbox.commands.run("echo out; echo err >&2", on_stdout=pieces.append, on_stderr=pieces.append)
        assert sorted(pieces) == ["err\n", "out\n"], pieces
        error = await refuses(client.CommandExitException, self.sandbox.commands.run("exit 3"))
        assert error.exit_code == 3, error

    async def command_with_input(self):
        cat = await self.sandbox.commands.run("cat", background=True, stdin=True)
        await self.sandbox.commands.send_stdin(cat.pid, "typed\n")
        await until("output of cat", lambda: cat.stdout == "typed\n")
        assert cat.pid in [process.pid for process in await self.sandbox.commands.list()]
        assert await cat.kill()

    async def files(self):
        files = self.sandbox.files
        await files.write("/tmp/data.txt", "content")
        assert await files.read("/tmp/data.txt") == "content"
        await files.make_dir("dir")
        await files.write("dir/a", "a")
        await files.write("dir/b", b"\x00\xff")
        assert bytes(await files.read("dir/b", format="bytes")) == b"\x00\xff"
        assert sorted(entry.name for entry in await files.list("dir")) == ["a", "b"]
        await files.rename("dir/a", "dir/c")
        assert (await files.get_info("dir/c")).size == 1
        await files.remove("dir")
        assert not await files.exists("dir")

    async def watch(self):
        names = []
        watch = await self.sandbox.files.watch_dir("/home/user", on_event=lambda event: names.append(event.name))
        await self.sandbox.files.write("watched.txt", "x")
        await until("an event", lambda: "watched.txt" in names)
        await watch.stop()

    async def pty(self):
        screen = bytearray()
        size = client.PtySize(rows=24, cols=80)
        terminal = await self.sandbox.pty.create(size, on_data=screen.extend)
        await self.sandbox.pty.resize(terminal.pid, client.PtySize(rows=30, cols=100))
        await self.sandbox.pty.send_stdin(terminal.pid, b"stty size; exit\n")
        await until("the size of the terminal", lambda: b"30 100" in screen)
        await terminal.wait()

    async def code(self):
        run = self.sandbox.run_code
        await run("x = 1")
        assert (await run("x+=1; x")).text == "2"
        frame = await run("import pandas as pd\npd.DataFrame({'a': [1, 2], 'b': [3, 4]})")
        assert "<table" in frame.results[0].html
        plot = await run("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3], [4, 5, 6])\nplt.show()")
        assert len(plot.results[0].png) > 1000
        assert plot.results[0].chart.type.value == "line", plot.results[0].chart
        assert (await run("1/0")).error.name == "ZeroDivisionError"
        assert (await run("echo $((6 * 7))", language="bash")).logs.stdout == ["42\n"]
        if DEBUG:
            return
        context = await self.sandbox.create_code_context(cwd="/tmp")
        assert (await run("import os; os.getcwd()", context=context)).text == "/tmp"

    async def pause_and_connect(self):
        sleeper = await self.sandbox.commands.run("sleep 1000", background=True, timeout=0)
        await self.sandbox.pause()
        identifier = self.sandbox.sandbox_id
        assert (await client.AsyncSandbox.get_info(identifier)).state.value == "paused"
        self.sandbox = await client.AsyncSandbox.connect(identifier)
        assert await self.sandbox.files.read("/tmp/data.txt") == "content"
        assert await self.sandbox.commands.kill(sleeper.pid)

    async def list(self):
        found = []
        pages = client.AsyncSandbox.list()
        while pages.has_next:
            found += [info.sandbox_id for info in await pages.next_items()]
        assert self.sandbox.sandbox_id in found, found
        await self.sandbox.set_timeout(60)

    async def kill(self):
        assert await self.sandbox.kill()
        assert not await self.sandbox.is_running()
        await refuses(client.NotFoundException, client.AsyncSandbox.connect(self.sandbox.sandbox_id))

    async def blocking_style(self):
        await asyncio.to_thread(blocking)


def blocking():
    """The same client without asyncio; its watchers are asked for what happened instead of being told."""
    with client.Sandbox.create() as sandbox:
        assert sandbox.commands.run("echo hello").stdout == "hello\n"
        sandbox.files.write("/tmp/data.txt", "content")
        assert sandbox.files.read("/tmp/data.txt") == "content"
        watch = sandbox.files.watch_dir("/home/user")
        sandbox.files.write("seen.txt", "x")
        end = time.monotonic() + 60
        while not any(event.name == "seen.txt" for event in watch.get_new_events()):
            assert time.monotonic() < end, "no event"
            time.sleep(0.01)
        watch.stop()
        terminal = sandbox.pty.create(client.PtySize(rows=24, cols=80))
        sandbox.pty.send_stdin(terminal.pid, b"exit\n")
        terminal.wait()


async def main():
    steps = Steps()
    await step("create", steps.create)
    if hasattr(steps, "sandbox"):
        wanted = ["command", "command_with_input", "files", "watch", "pty"]
        if hasattr(steps.sandbox, "run_code"):
            wanted.append("code")
        if not DEBUG:
            wanted += ["pause_and_connect", "list", "kill", "blocking_style"]
        for name in wanted:
            await step(re.sub("_", " ", name), getattr(steps, name))
    print(f"{LABEL}: {counts['passed']} passed, {counts['failed']} failed", flush=True)
    sys.exit(counts["failed"] > 0)


asyncio.run(main())
