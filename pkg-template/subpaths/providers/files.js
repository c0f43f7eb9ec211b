// `sandbox.files`: the files of the sandbox, whatever the provider.

import { optionsOf, text, whole } from "./checks.js";
import { callOf } from "./commands.js";
import { FileOperationError, ProviderFeatureNotSupportedError, invalid } from "./errors.js";

export class ProviderFiles {
  #files;
  #provider;

  constructor(provider, files) {
    this.#provider = provider;
    this.#files = files;
  }

  /** A file as text. Bytes that are no text of the encoding are an error, not other characters. */
  async read(path, opts) {
    const { encoding = "utf-8" } = optionsOf(opts, "files.read");
    let decoder;
    try {
      decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
    } catch {
      throw invalid("Option encoding of files.read must be the name of an encoding that this runtime knows, such as utf-8");
    }
    const bytes = await this.#files.read(text(path, "path", "files.read"), {}, callOf(opts, "files.read"));
    try {
      return decoder.decode(bytes);
    } catch (cause) {
      throw new FileOperationError(`The file is not text in ${encoding}. Read it with files.readBytes`, { provider: this.#provider.id, cause });
    }
  }

  async readBytes(path, opts) {
    const { maxBytes } = optionsOf(opts, "files.readBytes");
    const limit = maxBytes === undefined ? undefined : whole(maxBytes, 0, Number.MAX_SAFE_INTEGER, "Option maxBytes", "files.readBytes");
    return this.#files.read(text(path, "path", "files.readBytes"), { maxBytes: limit }, callOf(opts, "files.readBytes"));
  }

  async write(path, data, opts) {
    const isData = typeof data === "string" || data instanceof ArrayBuffer || ArrayBuffer.isView(data);
    if (!isData) throw invalid("data of files.write must be a text, an ArrayBuffer or a view of one");
    await this.#files.write(text(path, "path", "files.write"), data, callOf(opts, "files.write"));
  }

  async list(path = "/", opts) {
    return this.#files.list(text(path, "path", "files.list"), callOf(opts, "files.list"));
  }

  async getInfo(path, opts) {
    return this.#files.stat(text(path, "path", "files.getInfo"), callOf(opts, "files.getInfo"));
  }

  /** Whether there is something. What keeps from finding out is an error, and not a no. */
  async exists(path, opts) {
    return this.#files.exists(text(path, "path", "files.exists"), callOf(opts, "files.exists"));
  }

  async makeDir(path, opts) {
    await this.#files.makeDir(text(path, "path", "files.makeDir"), callOf(opts, "files.makeDir"));
  }

  async remove(path, opts) {
    await this.#files.remove(text(path, "path", "files.remove"), callOf(opts, "files.remove"));
  }

  async move(source, destination, opts) {
    await this.#files.move(text(source, "source", "files.move"), text(destination, "destination", "files.move"), callOf(opts, "files.move"));
  }

  async watch(path, opts) {
    return this.#files.watch(text(path, "path", "files.watch"), callOf(opts, "files.watch"));
  }

  async uploadUrl(path, opts) {
    return this.#files.uploadUrl(text(path, "path", "files.uploadUrl"), urlOptions(opts, "files.uploadUrl"));
  }

  async downloadUrl(path, opts) {
    return this.#files.downloadUrl(text(path, "path", "files.downloadUrl"), urlOptions(opts, "files.downloadUrl"));
  }

  async upload() {
    throw hostOnly("files.upload", "Pass what you have read to files.write");
  }

  async download() {
    throw hostOnly("files.download", "Take the bytes from files.readBytes");
  }
}

function urlOptions(opts, owner) {
  const { expiresIn } = optionsOf(opts, owner);
  return expiresIn === undefined ? {} : { useSignatureExpiration: whole(expiresIn, 0, 2 ** 31, "Option expiresIn", owner) };
}

function hostOnly(name, instead) {
  return new ProviderFeatureNotSupportedError(`${name} needs a disk of the host, which a package for pages and edge runtimes does not touch. ${instead}`, { feature: name });
}
