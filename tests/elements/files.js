// <sandbox-files>: the tree, what is done with entries, and transfers.

import { readFile } from "node:fs/promises";
import { assert, equal, eventually } from "../e2e/assert.js";
import { open, run, session } from "./steps.js";

const files = (page) => page.locator("sandbox-files");
const row = (page, name) => files(page).getByRole("treeitem").filter({ hasText: name });

/** Opens the page and starts the sandbox with its files in view. */
async function openFiles(ctx) {
  await open(ctx);
  await files(ctx.page).getByRole("button", { name: "Show the files" }).click();
  await session(ctx.page, "ready");
}

/** Hands a file of that many zeros to the upload, made in the page. */
const upload = (page, name, size) =>
  files(page).evaluate((element, [name, size]) => {
    const piece = new Uint8Array(Math.min(size, 1_000_000));
    element.uploading = element.upload([new File(Array.from({ length: Math.ceil(size / piece.length) }, () => piece), name)]);
  }, [name, size]);

export const cases = [
  {
    name: "files: what programs write shows by itself; rename, edit, download, delete",
    async run(ctx) {
      const { page } = ctx;
      await openFiles(ctx);
      equal(await run(page, "first", "import os\nos.makedirs('src/deep', exist_ok=True)\nopen('src/a.py', 'w').write('print(1)\\n')\nopen('note.txt', 'w').write('hello')"), "ok");
      await row(page, "note.txt").waitFor();
      await row(page, "src/").click();
      await row(page, "a.py").waitFor();
      await row(page, "deep/").waitFor();

      await row(page, "note.txt").click();
      await page.keyboard.press("F2");
      await files(page).getByRole("textbox", { name: "Rename note.txt" }).fill("renamed.txt");
      await page.keyboard.press("Enter");
      await row(page, "renamed.txt").waitFor();
      equal(await row(page, "note.txt").count(), 0);

      await page.keyboard.press("Enter");
      const text = files(page).getByRole("textbox", { name: "Contents of renamed.txt" });
      await text.click();
      await page.keyboard.press("End");
      await page.keyboard.type(" world");
      await files(page).getByText("Changed", { exact: true }).waitFor();
      await page.keyboard.press("ControlOrMeta+S");
      await files(page).getByText("Saved", { exact: true }).waitFor();
      equal(await run(page, "second", "open('renamed.txt').read()"), "ok");
      await page.locator("sandbox-code#second").getByText("hello world").waitFor();

      const [download] = await Promise.all([page.waitForEvent("download"), files(page).getByRole("button", { name: "Download" }).click()]);
      equal(await readFile(await download.path(), "utf8"), "hello world");
      await files(page).getByRole("button", { name: "Delete" }).click();
      await files(page).getByText("Delete renamed.txt?").waitFor();
      await files(page).locator(".question").getByRole("button", { name: "Delete" }).click();
      await row(page, "renamed.txt").waitFor({ state: "detached" });
    },
  },
  {
    name: "files: a dropped file goes where it was dropped",
    async run(ctx) {
      const { page } = ctx;
      await openFiles(ctx);
      equal(await run(page, "first", "import os\nos.makedirs('inbox')"), "ok");
      await row(page, "inbox/").click();
      const data = await page.evaluateHandle(() => {
        const data = new DataTransfer();
        data.items.add(new File(["dropped"], "drop.txt"));
        return data;
      });
      await row(page, "inbox/").dispatchEvent("drop", { dataTransfer: data, bubbles: true, composed: true });
      await row(page, "drop.txt").waitFor();
      equal(await run(page, "second", "open('inbox/drop.txt').read()"), "ok");
      await page.locator("sandbox-code#second").getByText("dropped").waitFor();
    },
  },
  {
    name: "files: 300 MB are called off on the way and leave nothing; a whole upload tells how far it is",
    async run(ctx) {
      const { page } = ctx;
      await openFiles(ctx);
      await upload(page, "large.bin", 300_000_000);
      const bar = files(page).getByRole("progressbar", { name: "Uploading large.bin" });
      await bar.waitFor();
      await eventually(async () => (await bar.evaluate((progress) => progress.value)) > 0, "progress");
      await files(page).getByRole("button", { name: "Cancel" }).click();
      await files(page).evaluate((element) => element.uploading);
      equal(await bar.count(), 0);
      equal(await files(page).getByRole("alert").count(), 0, "error notices");
      await upload(page, "small.bin", 3_000_000);
      await row(page, "small.bin").waitFor();
      await row(page, "3.0 MB").waitFor();
      equal(await run(page, "first", "import os\nos.path.exists('large.bin')"), "ok");
      await page.locator("sandbox-code#first").getByText("False").waitFor();
    },
  },
  {
    name: "files: what is no text is not opened as one",
    async run(ctx) {
      const { page } = ctx;
      await openFiles(ctx);
      equal(await run(page, "first", "open('data.bin', 'wb').write(bytes(range(256)))"), "ok");
      await row(page, "data.bin").dblclick();
      await files(page).getByRole("alert").getByText("file_not_text").waitFor();
      assert(await files(page).locator(".file").isHidden(), "no editor");
    },
  },
];
