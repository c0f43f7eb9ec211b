// Running commands: what streams in, how it ends, and output that means no good.

import { assert, equal } from "../e2e/assert.js";
import { editorState, ended, enter, open, openReady, run, save, state } from "./steps.js";

export const cases = [
  {
    name: "terminal: the first command starts a sandbox, and shows output and exit code",
    async run(ctx) {
      const { page } = ctx;
      await open(ctx);
      const { state: end, output, result } = await run(page, "echo hello; echo world");
      equal([end, output], ["ok", "hello\nworld"]);
      assert(/exit code 0 · [\d.]+ m?s/.test(result), result);
      await state(page, "Ready");
      await page.locator("#code").filter({ hasText: 'sandbox.commands.run("echo hello; echo world"' }).waitFor();
      await page.locator("#code").filter({ hasText: "// exitCode: 0" }).waitFor();
    },
  },
  {
    name: "terminal: output appears while the command runs",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      const entry = await enter(page, "echo early; until [ -e /tmp/go ]; do sleep 0.05; done; echo late");
      await entry.locator(".line").filter({ hasText: "early" }).waitFor();
      equal(await entry.getAttribute("data-state"), "running");
      await save(page, "/tmp/go", "");
      equal((await ended(entry)).output, "early\nlate");
    },
  },
  {
    name: "terminal: a failing command shows its code, and standard error by name",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await page.getByRole("button", { name: "Fail", exact: true }).click();
      const entry = page.locator(".entry");
      const { state: end, result } = await ended(entry);
      equal(end, "failed");
      assert(result.includes("exit code 3") && result.includes("CommandExitError"), result);
      const line = entry.locator(".line").filter({ hasText: "no answer in here" });
      equal(await line.getAttribute("data-stream"), "stderr");
      equal(await line.evaluate((node) => getComputedStyle(node, "::after").content), '"stderr"', "label");
      // Which of the two streams comes first is not settled.
      equal(await entry.locator('.line[data-stream="stdout"]').count() > 0, true, "standard output is another stream");
      equal((await run(page, "no-such-command-here")).state, "failed");
      equal((await run(page, "kill -9 $$")).result.includes("ended by SIGKILL"), true, "the signal is named");
    },
  },
  {
    name: "terminal: stop ends the command, also in the sandbox",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      const entry = await enter(page, "echo started; exec sleep 300");
      await entry.locator(".line").filter({ hasText: "started" }).waitFor();
      await page.getByRole("button", { name: "Stop" }).click();
      const { state: end, output, result } = await ended(entry);
      equal([end, output], ["stopped", "started"]);
      assert(result.includes("stopped"), result);
      equal((await run(page, "while grep -qas '[s]leep.300' /proc/[0-9]*/cmdline; do sleep 0.05; done; echo ended")).output, "ended");
    },
  },
  {
    name: "terminal: everything can be done from the keyboard",
    async run(ctx) {
      const { page } = ctx;
      const { keyboard } = page;
      await open(ctx);
      await keyboard.press("Tab");
      equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the command line");
      await keyboard.press("Enter");
      const input = page.getByRole("textbox", { name: "Command" });
      await page.waitForFunction(() => document.activeElement.id === "command");

      await keyboard.type("echo one");
      await keyboard.press("Enter");
      equal((await ended(page.locator(".entry").nth(0))).output, "one");
      await keyboard.type("echo two");
      await keyboard.press("Enter");
      equal((await ended(page.locator(".entry").nth(1))).output, "two");

      await keyboard.type("a draft");
      const steps = [
        ["ArrowUp", "echo two"],
        ["ArrowUp", "echo one"],
        ["ArrowUp", "echo one"],
        ["ArrowDown", "echo two"],
        ["ArrowDown", "a draft"],
      ];
      for (const [key, text] of steps) {
        await keyboard.press(key);
        equal(await input.inputValue(), text, key);
      }
      await input.fill("echo waiting; exec sleep 300");
      await keyboard.press("Enter");
      const third = page.locator(".entry").nth(2);
      await third.locator(".line").filter({ hasText: "waiting" }).waitFor();
      await keyboard.press("Escape");
      equal((await ended(third)).state, "stopped");
      equal(await page.evaluate(() => document.activeElement.id), "command", "focus");
      await page.locator("#announcer").filter({ hasText: "Command: stopped" }).waitFor();

      await page.getByRole("textbox", { name: "Contents of the file" }).focus();
      await keyboard.press("Control+a");
      await keyboard.type("echo saved by keys");
      await keyboard.press("Control+s");
      await editorState(page, "As in the sandbox");
      await input.focus();
      await keyboard.type("bash greet.sh");
      await keyboard.press("Enter");
      equal((await ended(page.locator(".entry").nth(3))).output, "saved by keys");
    },
  },
  {
    name: "terminal: hostile output is text and nothing else",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      const title = await page.title();
      const lines = [
        '<img src=x onerror="document.title=1"><script>document.title=2</script>',
        String.raw`\033]0;title\007\033[31mred\033[0m plain\033[2J\033[999;999H`,
        String.raw`\033[8mhidden?\033[0m`,
        String.raw`\033]8;;javascript:alert(1)\033\\link\033]8;;\033\\`,
      ];
      const { output } = await run(page, `printf '${lines.join("\\n")}\\n'`);
      equal(
        output.split("\n"),
        ['<img src=x onerror="document.title=1"><script>document.title=2</script>', "red plain", "hidden?", "link"],
      );
      equal(await page.locator("#output").locator("img, script, b, a").count(), 0, "elements made from output");
      equal(await page.locator(".line span").filter({ hasText: "red" }).getAttribute("class"), "in-1");
      equal(await page.title(), title);
    },
  },
  {
    name: "terminal: bytes that are no text, carriage returns, and sequences cut in two",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      equal((await run(page, String.raw`printf 'a\000b\377\376c\001\n'`)).output, "a\u2400b\ufffd\ufffdc\u2401");
      equal((await run(page, String.raw`printf '10%%\r50%%\r100%%\r\nnext\r\n'`)).output, "100%\nnext");
      equal((await run(page, String.raw`printf 'x\033['; sleep 0.1; printf '32mgreen\033[0m\n'`)).output, "xgreen");
      equal((await run(page, String.raw`printf '\360\237'; sleep 0.1; printf '\246\200 \346\274\242\n'`)).output, "🦀 漢");
      equal((await run(page, String.raw`printf '\033]0;never closed\nstill here\n'`)).output.endsWith("still here"), true, "an open sequence");
      equal((await run(page, "true")).output.trim(), "");
    },
  },
  {
    name: "terminal: 2 MB of output is bounded on the page and ends at its end",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await page.getByRole("button", { name: "Print 2 MB" }).click();
      const entry = page.locator(".entry");
      equal((await ended(entry)).state, "ok");
      await entry.getByText(/[\d,]+ earlier lines \([\d,]+ characters\) not shown/).waitFor();
      const seen = await entry.locator(".lines").evaluate((node) => [node.childElementCount, node.textContent.length]);
      assert(seen[0] > 100 && seen[0] <= 2_000 && seen[1] <= 200_000, `${seen[0]} lines, ${seen[1]} characters`);
      await page.waitForFunction(() => {
        const view = document.getElementById("output");
        return view.scrollHeight - view.scrollTop - view.clientHeight < 2;
      });
      // One line without an end is bounded as well.
      equal((await run(page, "head -c 1000000 /dev/zero | tr '\\0' x")).state, "ok");
      const long = await page.locator(".entry").nth(1).locator(".lines").evaluate((node) => node.textContent.length);
      assert(long > 100_000 && long <= 200_000, `${long} characters`);
    },
  },
  {
    name: "terminal: the page can be used in the middle of a flood",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      const entry = await enter(page, "while :; do seq 1000; echo oops >&2; done");
      await entry.getByText("not shown").waitFor();
      const theme = page.getByRole("button", { name: "Dark theme" });
      await theme.click();
      equal(await theme.getAttribute("aria-pressed"), "true");
      await page.getByRole("textbox", { name: "Contents of the file" }).fill("typed meanwhile");
      await page.keyboard.press("Escape");
      equal((await ended(entry)).state, "stopped");
      equal((await run(page, "echo fine")).output, "fine");
    },
  },
  {
    name: "terminal: the view stays where the reader scrolled it",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      const entry = await enter(page, "seq 300; until [ -e /tmp/more ]; do sleep 0.05; done; seq 301 600");
      await entry.locator(".line").filter({ hasText: /^300$/ }).waitFor();
      const view = page.locator("#output");
      await view.evaluate((node) => (node.scrollTop = 100));
      const jump = page.getByRole("button", { name: "Go to the latest" });
      await jump.waitFor();
      await save(page, "/tmp/more", "");
      await ended(entry);
      equal(await view.evaluate((node) => node.scrollTop), 100, "scroll position");
      await jump.click();
      await jump.waitFor({ state: "hidden" });
      assert(await view.evaluate((node) => node.scrollHeight - node.scrollTop - node.clientHeight < 2), "at the end");
    },
  },
  {
    name: "terminal: clear leaves a running command alone",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await run(page, "echo old");
      const running = await enter(page, "echo new; exec sleep 300");
      await running.locator(".line").filter({ hasText: "new" }).waitFor();
      await page.getByRole("button", { name: "Clear" }).click();
      equal(await page.locator(".entry").count(), 1);
      await page.getByRole("button", { name: "Stop" }).click();
      equal((await ended(page.locator(".entry"))).state, "stopped");
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByText("Pick an example above").waitFor();
    },
  },
];
