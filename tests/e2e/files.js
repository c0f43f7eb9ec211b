// Files against the real server: every way in and out, and what goes wrong.

import { assert, equal, rejects } from "./assert.js";
import { emptyInEveryFormat, everyKindAndFormat } from "./contents.js";
import { withSandbox } from "./context.js";

/** Writes a file below /tmp and answers its size; reads one. */
function inTmp({ files }) {
  const write = async (name, data) => {
    const { path } = await files.write(`/tmp/${name}`, data);
    return (await files.getInfo(path)).size;
  };
  return [write, (name, opts) => files.read(`/tmp/${name}`, opts)];
}

export const cases = [
  {
    name: "files: write and read text",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const info = await sandbox.files.write("/tmp/data.txt", "content – ünïcode 🦀\n");
        equal([info.name, info.path, info.type], ["data.txt", "/tmp/data.txt", "file"]);
        equal(await sandbox.files.read("/tmp/data.txt"), "content – ünïcode 🦀\n");
      }),
  },
  {
    name: "files: every kind of data in, every format out",
    run: (ctx) =>
      withSandbox(ctx, (sandbox) => everyKindAndFormat(...inTmp(sandbox))),
  },
  {
    name: "files: an empty file is a file, in every format",
    run: (ctx) => withSandbox(ctx, (sandbox) => emptyInEveryFormat(...inTmp(sandbox))),
  },
  {
    name: "files: several at once, in the order given, with any character in their names",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const names = ["a b&c.txt", 'quo"te', "ünï/çödé", "percent%41", "plus+", "new\nline", "hash#?x=1", "back\\slash"];
        const infos = await sandbox.files.write(names.map((name) => ({ path: `/tmp/many/${name}`, data: name })));
        equal(infos.map((info) => info.path), names.map((name) => `/tmp/many/${name}`));
        for (const name of names) equal(await sandbox.files.read(`/tmp/many/${name}`), name, name);
        equal(await sandbox.files.write([]), []);
      }),
  },
  {
    name: "files: relative paths are below the home directory",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const info = await sandbox.files.write("notes/today.md", "# x");
        equal(info.path, "/home/user/notes/today.md");
        equal((await sandbox.commands.run("stat -c '%U %n' notes notes/today.md")).stdout, "user notes\nuser notes/today.md\n");
      }),
  },
  {
    name: "files: 20 MB there and back are the same bytes",
    timeoutMs: 120_000,
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const size = 20_000_000;
        const data = new Uint8Array(size);
        for (let i = 0, x = 1; i < size; i++) data[i] = x = (x * 31 + i) & 255;
        await sandbox.files.write("/tmp/big", data);
        const back = await sandbox.files.read("/tmp/big", { format: "bytes" });
        equal(back.length, size);
        assert(back.every((value, i) => value === data[i]), "every byte");
      }),
  },
  {
    name: "files: list with depth, and what an entry says",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.files.write([
          { path: "/tmp/tree/a.txt", data: "12345" },
          { path: "/tmp/tree/sub/b.txt", data: "" },
        ]);
        await sandbox.commands.run("ln -s /tmp/tree/a.txt /tmp/tree/link; chmod 640 /tmp/tree/a.txt");
        const top = await sandbox.files.list("/tmp/tree");
        equal(top.map((e) => [e.name, e.type]), [["a.txt", "file"], ["link", "file"], ["sub", "dir"]]);
        const [a, link] = top;
        equal([a.path, a.size, a.mode, a.permissions, a.owner, a.group], ["/tmp/tree/a.txt", 5, 0o640, "-rw-r-----", "user", "user"]);
        assert(a.modifiedTime instanceof Date && Math.abs(a.modifiedTime - Date.now()) < 3_600_000, `${a.modifiedTime}`);
        equal(link.symlinkTarget, "/tmp/tree/a.txt");
        const deep = await sandbox.files.list("/tmp/tree", { depth: 2 });
        assert(deep.some((e) => e.path === "/tmp/tree/sub/b.txt"), "depth 2 sees the grandchild");
      }),
  },
  {
    name: "files: exists, getInfo, makeDir, rename, remove",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { files } = sandbox;
        equal(await files.exists("/tmp/d"), false);
        equal(await files.makeDir("/tmp/d/e"), true);
        equal(await files.makeDir("/tmp/d/e"), false, "again");
        equal((await files.getInfo("/tmp/d/e")).type, "dir");
        await files.write("/tmp/d/f", "x");
        equal((await files.rename("/tmp/d/f", "/tmp/d/e/g")).path, "/tmp/d/e/g");
        equal(await files.exists("/tmp/d/f"), false);
        equal(await files.read("/tmp/d/e/g"), "x");
        equal(await files.remove("/tmp/d"), undefined);
        equal(await files.exists("/tmp/d"), false);
        equal(await files.remove("/tmp/d"), undefined, "removing what is not there");
      }),
  },
  {
    name: "errors: a missing file is a FileNotFoundError that names it",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { FileNotFoundError, NotFoundError } = ctx.sdk;
        for (const call of [
          () => sandbox.files.read("/tmp/missing"),
          () => sandbox.files.read("/tmp/missing", { format: "stream" }),
          () => sandbox.files.getInfo("/tmp/missing"),
          () => sandbox.files.list("/tmp/missing"),
          () => sandbox.files.rename("/tmp/missing", "/tmp/other"),
        ]) {
          const error = await rejects(call(), FileNotFoundError, "file_not_found");
          assert(error instanceof NotFoundError && error.message.includes("/tmp/missing"), error.message);
        }
      }),
  },
  {
    name: "errors: a directory is no file, and a file no directory",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { InvalidArgumentError } = ctx.sdk;
        await rejects(sandbox.files.read("/tmp"), InvalidArgumentError);
        await rejects(sandbox.files.write("/tmp", "x"), InvalidArgumentError);
        await sandbox.files.write("/tmp/file", "x");
        await rejects(sandbox.files.list("/tmp/file"), InvalidArgumentError);
        await rejects(sandbox.files.makeDir("/tmp/file"), InvalidArgumentError);
      }),
  },
  {
    name: "errors: files check their arguments by name, and never send an empty path",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        const { InvalidArgumentError } = ctx.sdk;
        // On the wire an empty path means the home directory: removing that must not be one typing error away.
        await rejects(sandbox.files.remove(""), InvalidArgumentError);
        await rejects(sandbox.files.read(""), InvalidArgumentError);
        await rejects(sandbox.files.read("/etc/hostname", { format: "json" }), InvalidArgumentError);
        await rejects(sandbox.files.write("/tmp/x", 5), InvalidArgumentError);
        await rejects(sandbox.files.write("/tmp/x"), InvalidArgumentError);
        await rejects(sandbox.files.write([{ path: "/tmp/x" }]), InvalidArgumentError);
        await rejects(sandbox.files.list("/tmp", { depth: 0 }), InvalidArgumentError);
        await rejects(sandbox.files.list("/tmp", { depth: 1.5 }), InvalidArgumentError);
        equal(await sandbox.files.exists("/home/user"), true);
      }),
  },
  {
    name: "files: leaving a stream early frees it, and the next read works",
    run: (ctx) =>
      withSandbox(ctx, async (sandbox) => {
        await sandbox.commands.run("head -c 5000000 /dev/zero > /tmp/zeros");
        for (let i = 0; i < 8; i++) {
          const stream = await sandbox.files.read("/tmp/zeros", { format: "stream" });
          const reader = stream.getReader();
          assert((await reader.read()).value.length > 0, "a first chunk");
          await reader.cancel("enough");
        }
        equal((await sandbox.files.read("/tmp/zeros", { format: "bytes" })).length, 5_000_000);
      }),
  },
];
