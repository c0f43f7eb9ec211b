// What completes the exported classes: things JavaScript can say and a WebAssembly binding cannot. Runs once, when the
// package is imported, and touches nothing but the classes themselves.

import { completeSandbox } from "./sandbox.js";

/** What a path leads to. */
export const FileType = Object.freeze({ FILE: "file", DIR: "dir", SYMLINK: "symlink" });

/** What happened to an entry of a watched directory. */
export const FilesystemEventType = Object.freeze({
  CHMOD: "chmod",
  CREATE: "create",
  REMOVE: "remove",
  RENAME: "rename",
  WRITE: "write",
});

/** The symbol behind `await using`, also where the runtime does not know it yet but a compiler's helper uses it. */
const asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

export function completeClasses(classes) {
  const { Sandbox, Filesystem, CommandHandle, CodeRun, WatchHandle, DirPoller } = classes;
  completeSandbox(Sandbox);

  define(Filesystem.prototype, "writeFiles", function (files, opts) {
    return this.write(files, opts);
  });

  for (const type of [CommandHandle, WatchHandle]) {
    define(type.prototype, Symbol.asyncIterator, function () {
      return iterate(this._reader());
    });
  }
  define(CommandHandle.prototype, "readable", function () {
    return stream(this[Symbol.asyncIterator]());
  });
  Object.defineProperty(CommandHandle.prototype, "stdin", {
    configurable: true,
    get() {
      return new WritableStream({
        write: (data) => this.sendStdin(data),
        close: () => this.closeStdin(),
      });
    },
  });
  define(CommandHandle.prototype, asyncDispose, async function () {
    await this.disconnect();
  });

  define(CodeRun.prototype, Symbol.asyncIterator, function () {
    return iterate({ next: () => this._next(), close: () => this._leave() });
  });
  define(CodeRun.prototype, asyncDispose, async function () {
    await this.cancel();
  });

  for (const type of [WatchHandle, DirPoller]) {
    define(type.prototype, asyncDispose, async function () {
      await this.stop();
    });
  }
}

/** Gives classes their names back where a minifier took them: people read them in logs, and programs compare them. */
export function keepNames(exported) {
  for (const [name, value] of Object.entries(exported)) {
    if (typeof value === "function") Object.defineProperty(value, "name", { value: name, configurable: true });
  }
}

function define(target, name, value) {
  Object.defineProperty(target, name, { value, configurable: true, writable: true });
}

/** An iterator over a reader of the WebAssembly side, which answers undefined at its end. */
function iterate(reader) {
  const end = { done: true, value: undefined };
  let open = true;
  const close = () => {
    open = false;
    reader.close();
  };
  return {
    async next() {
      if (!open) return end;
      try {
        const value = await reader.next();
        if (value !== undefined) return { done: false, value };
      } catch (error) {
        close();
        throw error;
      }
      close();
      return end;
    },
    async return() {
      close();
      return end;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** A stream that asks its iterator only when its own reader asks. */
function stream(iterator) {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await iterator.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => iterator.return(),
    },
    { highWaterMark: 0 },
  );
}
