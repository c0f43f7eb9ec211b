// The files panel: writing, reading, listing, and what must not be lost.

import { assert, equal } from "../e2e/assert.js";
import { editorState, notice, openPath, openReady, run, save } from "./steps.js";

const text = (page) => page.getByRole("textbox", { name: "Contents of the file" });
const entry = (page, name) => page.locator(".list-entry").filter({ has: page.getByText(name, { exact: true }) });
const question = (page, answer) => page.getByRole("dialog").getByRole("button", { name: answer });

export const cases = [
  {
    name: "files: write, list and read a file, there and back",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await save(page, "notes.txt", "first – ünïcode 🦀\n");
      equal(await page.getByRole("textbox", { name: "Path" }).inputValue(), "/home/user/notes.txt", "the path as it is");
      equal(await entry(page, "notes.txt").getAttribute("aria-current"), "true");
      equal((await run(page, "cat notes.txt; echo second >> notes.txt; mkdir sub; echo inner > sub/inner.txt")).output, "first – ünïcode 🦀");

      await entry(page, "notes.txt").click();
      await page.waitForFunction(() => document.getElementById("text").value.endsWith("second\n"));
      await page.getByRole("button", { name: "Refresh" }).click();
      await entry(page, "sub/").click();
      await entry(page, "inner.txt").click();
      await page.waitForFunction(() => document.getElementById("text").value === "inner\n");
      await page.locator("#directory").getByText("/home/user/sub", { exact: true }).waitFor();
      await entry(page, "..").click();
      await entry(page, "notes.txt").waitFor();
      await openPath(page, "/");
      await entry(page, "etc/").waitFor();
      equal(await entry(page, "..").count(), 0, "there is nothing above the root");
    },
  },
  {
    name: "files: unsaved changes are shown, saved with Ctrl+S, and not thrown away unasked",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await run(page, "mkdir /tmp/work");
      await save(page, "/tmp/work/a.txt", "a");
      await text(page).fill("a, changed");
      await editorState(page, "Unsaved changes");
      await text(page).press("Control+s");
      await editorState(page, "As in the sandbox");
      equal((await run(page, "echo b > /tmp/work/b.txt; cat /tmp/work/a.txt")).output, "a, changed");
      await page.getByRole("button", { name: "Refresh" }).click();

      await text(page).fill("precious");
      await entry(page, "b.txt").click();
      await question(page, "Keep editing").click();
      equal(await text(page).inputValue(), "precious");
      await editorState(page, "Unsaved changes");
      await entry(page, "b.txt").click();
      await question(page, "Discard it").click();
      await page.waitForFunction(() => document.getElementById("text").value === "b\n");

      await page.getByRole("textbox", { name: "Path" }).fill("/tmp/work/a.txt");
      await page.getByRole("button", { name: "Save" }).click();
      await question(page, "Keep it").click();
      equal((await run(page, "cat /tmp/work/a.txt")).output, "a, changed");
      await page.getByRole("button", { name: "Save" }).click();
      await question(page, "Overwrite it").click();
      await editorState(page, "As in the sandbox");
      equal((await run(page, "cat /tmp/work/a.txt")).output, "b");
    },
  },
  {
    name: "files: a missing file is a FileNotFoundError with a way on",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await openPath(page, "/tmp/no/such.txt");
      const panel = await notice(page, "FileNotFoundError");
      await panel.getByText("file_not_found").waitFor();
      await panel.getByText("/tmp/no/such.txt").first().waitFor();
      await panel.getByRole("button", { name: "Create this file" }).click();
      await page.waitForFunction(() => document.activeElement.id === "text");
      await save(page, "/tmp/no/such.txt", "now it is");
      equal((await run(page, "cat /tmp/no/such.txt")).output, "now it is");
      equal(await page.getByRole("alert").count(), 0, "error panels");
    },
  },
  {
    name: "files: a path that cannot be written is an error that keeps the text",
    networkErrors: true,
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await page.getByRole("textbox", { name: "Path" }).fill("/tmp");
      await text(page).fill("kept");
      await page.getByRole("button", { name: "Save" }).click();
      await question(page, "Overwrite it").click();
      await notice(page, "InvalidArgumentError");
      equal(await text(page).inputValue(), "kept");
      await page.getByRole("button", { name: "Dismiss" }).click();
      equal(await page.getByRole("alert").count(), 0, "error panels");
    },
  },
  {
    name: "files: what is no text is shown but cannot be saved, and line ends survive",
    async run(ctx) {
      const { page } = ctx;
      await openReady(ctx);
      await run(page, String.raw`printf '\377\000' > /tmp/raw; printf 'one\r\ntwo\r\n' > /tmp/dos.txt; head -c 1000001 /dev/zero > /tmp/large`);
      await openPath(page, "/tmp/raw");
      await editorState(page, "Not UTF-8 text");
      assert(await page.getByRole("button", { name: "Save" }).isDisabled(), "it cannot be saved");

      await openPath(page, "/tmp/dos.txt");
      await editorState(page, "As in the sandbox");
      await text(page).press("Control+End");
      await text(page).pressSequentially("three");
      await text(page).press("Control+s");
      await editorState(page, "As in the sandbox");
      equal((await run(page, "od -An -c /tmp/dos.txt | tr -d ' \\n'")).output, String.raw`one\r\ntwo\r\nthree`);

      await openPath(page, "/tmp/large");
      const panel = await notice(page, "DemoError");
      await panel.getByText("1.0 MB").first().waitFor();
    },
  },
];
