// The files of a sandbox, over the package's own `Sandbox`: the filesystem protocol of the built-in provider and of REST providers.

import { FileSizeLimitError } from "./errors.js";
import { Handoff, StreamReader } from "./stream.js";
import { meaning, translated } from "./translate.js";

/** Whose home relative paths begin at, and who owns what is written. */
const USER = "user";

const CHANGES = { create: "created", write: "modified", remove: "deleted", rename: "renamed", chmod: "modified" };

export class EnvdFiles {
  #sandbox;
  #provider;

  constructor(sandbox, provider) {
    this.#sandbox = sandbox;
    this.#provider = provider;
  }

  #do(what, changes, act) {
    return translated(act(this.#sandbox.files), { provider: this.#provider, kind: "file", what, changes });
  }

  async stat(path, call = {}) {
    return entryOf(await this.#do("reading about a file", false, (files) => files.getInfo(path, optionsOf(call))));
  }

  async list(path, call = {}) {
    const entries = await this.#do("listing a directory", false, (files) => files.list(path, optionsOf(call)));
    // Some gateways answer nothing for a directory that does not exist.
    if (entries.length === 0) await this.stat(path, call);
    return entries.map(entryOf);
  }

  exists(path, call = {}) {
    return this.#do("looking for a file", false, (files) => files.exists(path, optionsOf(call)));
  }

  async makeDir(path, call = {}) {
    await this.#do("making a directory", true, (files) => files.makeDir(path, optionsOf(call)));
  }

  async remove(path, call = {}) {
    await this.#do("removing a file", true, (files) => files.remove(path, optionsOf(call)));
  }

  async move(source, destination, call = {}) {
    await this.#do("moving a file", true, (files) => files.rename(source, destination, optionsOf(call)));
  }

  async write(path, data, call = {}) {
    await this.#do("writing a file", true, (files) => files.write(path, data, optionsOf(call)));
  }

  /** The bytes of a file. The transfer ends as soon as there are more than `maxBytes`. */
  async read(path, { maxBytes } = {}, call = {}) {
    if (maxBytes === undefined) return this.#do("reading a file", false, (files) => files.read(path, { ...optionsOf(call), format: "bytes" }));
    return this.#do("reading a file", false, async (files) => {
      const stream = await files.read(path, { ...optionsOf(call), format: "stream" });
      const pieces = [];
      let length = 0;
      const reader = stream.getReader();
      try {
        for (let step = await reader.read(); !step.done; step = await reader.read()) {
          length += step.value.length;
          if (length > maxBytes) throw tooLarge(maxBytes, this.#provider);
          pieces.push(step.value);
        }
      } catch (error) {
        reader.cancel(error).catch(() => {});
        throw error;
      }
      return new Uint8Array(await new Blob(pieces).arrayBuffer());
    });
  }

  async watch(path, call = {}) {
    const changes = new Handoff();
    const onEvent = ({ name, type }) => changes.put({ type: CHANGES[type] ?? "modified", path: name, oldPath: null, timestamp: null });
    const onExit = (error) => changes.end(error === undefined ? {} : { error });
    const handle = await this.#do("watching a directory", false, (files) => files.watchDir(path, onEvent, { ...optionsOf(call), onExit }));
    const about = { provider: this.#provider, kind: "file", what: "watching a directory" };
    async function* events() {
      try {
        for (let step = await changes.take(); step.item; step = await changes.take()) yield step.item;
      } catch (error) {
        throw meaning(error, about);
      }
    }
    return new StreamReader(events(), async () => {
      changes.leave();
      await handle.stop();
    });
  }

  uploadUrl(path, options = {}) {
    return this.#sandbox.uploadUrl(path, { user: USER, ...options });
  }

  downloadUrl(path, options = {}) {
    return this.#sandbox.downloadUrl(path, { user: USER, ...options });
  }
}

export function tooLarge(limit, provider) {
  return new FileSizeLimitError(`The file is larger than the configured limit of ${limit} bytes. Raise maxBytes, or read a part of it`, { provider, limit });
}

function optionsOf({ signal }) {
  return { user: USER, signal };
}

function entryOf({ name, path, type, size, modifiedTime }) {
  return { name, path, type: type === "dir" ? "directory" : "file", size, modified: modifiedTime ?? null };
}
