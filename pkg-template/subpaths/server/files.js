// Files on the server's side of things: whole contents as base64 in JSON, so for small files; `sandbox.files` is for large ones.

import { SandboxError, UnsupportedError } from "#package";
import { bytesOf, fromBase64, toBase64 } from "./base64.js";
import { callOptions, defined, queryOf, withSize } from "./calls.js";
import { flag, milliseconds, oneOf, optional, options, path as checkPath, strings, text, whole, wrong } from "./check.js";
import { EndpointUnavailableError, PathDeniedError, PayloadTooLargeError, PolicyDeniedError, failure, tooLarge } from "./errors.js";
import { once } from "./events.js";
import { camel, camelKeys, time } from "./json.js";
import { WATCH_MS, seconds, withReserve } from "./times.js";

/** How deep `walk` goes, and how much it lists, unless it is told otherwise. */
const DEPTH = 32;
const MOST_ENTRIES = 100_000;

export class ServerFiles {
  #calls;
  #run;

  /** `run` runs a program on the server: what no endpoint of files can do is done by one. */
  constructor(calls, run) {
    this.#calls = calls;
    this.#run = run;
  }

  async list(path, given) {
    const owner = "files.list";
    const opts = options(given, owner);
    const recursive = flag(opts.recursive, `Option recursive of ${owner}`) ?? false;
    const max_entries = optional(whole, opts.maxEntries, `Option maxEntries of ${owner}`, 1);
    const query = queryOf({ path: checkPath(path, `path of ${owner}`), recursive, max_entries });
    const { entries } = await this.#calls.ask("files_list", "GET", "/files/list", { owner, opts, query });
    // Of a recursive list nobody can say which directory an entry belongs to.
    return (entries ?? []).map((entry) => ({ ...entryOf(entry), ...(recursive ? {} : { path: join(path, entry.name) }) }));
  }

  /** Directory by directory, because the server's own recursive list has no paths. */
  async *walk(path, given) {
    const owner = "files.walk";
    const opts = options(given, owner);
    const depth = optional(whole, opts.maxDepth, `Option maxDepth of ${owner}`, 1) ?? DEPTH;
    let left = optional(whole, opts.maxEntries, `Option maxEntries of ${owner}`, 1) ?? MOST_ENTRIES;
    const waiting = [{ path: checkPath(path, `path of ${owner}`), depth: 1 }];
    while (waiting.length > 0) {
      const next = waiting.shift();
      for (const entry of await this.list(next.path, callOptions(opts))) {
        if (left-- === 0) return;
        yield entry;
        if (entry.type === "directory" && next.depth < depth) waiting.push({ path: entry.path, depth: next.depth + 1 });
      }
    }
  }

  async stat(path, opts) {
    const owner = "files.stat";
    const found = await this.#calls.ask("files_stat", "GET", "/files/stat", { owner, opts, query: queryOf({ path: checkPath(path, `path of ${owner}`) }) });
    return { ...entryOf(found), accessed: time(found.accessed), created: time(found.created) };
  }

  async exists(path, opts) {
    return (await this.stat(path, opts)).exists === true;
  }

  async mkdir(path, opts) {
    const owner = "files.mkdir";
    return camelKeys(await this.#calls.ask("files_mkdir", "POST", "/files/mkdir", { owner, opts, json: { path: checkPath(path, `path of ${owner}`) } }));
  }

  async delete(path, opts) {
    const owner = "files.delete";
    return camelKeys(await this.#calls.ask("files_delete", "DELETE", "/files", { owner, opts, query: queryOf({ path: checkPath(path, `path of ${owner}`) }) }));
  }

  async move(source, destination, opts) {
    const owner = "files.move";
    const json = { source: checkPath(source, `source of ${owner}`), destination: checkPath(destination, `destination of ${owner}`) };
    return camelKeys(await this.#calls.ask("files_move", "POST", "/files/move", { owner, opts, json }));
  }

  async search(path, pattern, given) {
    const owner = "files.search";
    const opts = options(given, owner);
    const json = defined({
      path: checkPath(path, `path of ${owner}`),
      pattern: text(pattern, `pattern of ${owner}`),
      max_depth: optional(whole, opts.maxDepth, `Option maxDepth of ${owner}`, 0),
      max_results: optional(whole, opts.maxResults, `Option maxResults of ${owner}`, 1),
    });
    return camel(await this.#calls.ask("files_search", "POST", "/files/search", { owner, opts, json }));
  }

  async upload(path, data, opts) {
    const owner = "files.upload";
    checkPath(path, `path of ${owner}`);
    const bytes = await bytesOf(data, `data of ${owner}`);
    this.#checkUpload(path, bytes.length);
    if (bytes.length === 0) return this.#uploadNothing(path, opts);
    const json = { path, content_base64: toBase64(bytes) };
    return withSize(await this.#calls.ask("files_upload_stream", "POST", "/files/upload-stream", { owner, opts, json }));
  }

  async download(path, opts) {
    const owner = "files.download";
    const query = queryOf({ path: checkPath(path, `path of ${owner}`) });
    const { content_base64 } = await this.#calls.ask("files_download_stream", "GET", "/files/download-stream", { owner, opts, query });
    return fromBase64(String(content_base64 ?? ""));
  }

  /** Bytes that are no text become U+FFFD. */
  async readText(path, given) {
    const opts = options(given, "files.readText");
    const decoder = decoderOf(optional(text, opts.encoding, "Option encoding of files.readText") ?? "utf-8");
    return decoder.decode(await this.download(path, opts));
  }

  async archive(paths, given) {
    const owner = "files.archive";
    const opts = options(given, owner);
    const format = optional(oneOf, opts.format, `Option format of ${owner}`, ["tar.gz", "zip"]) ?? "tar.gz";
    const json = { paths: strings(paths, `paths of ${owner}`, 1), format };
    const answer = await this.#calls.ask("files_archive", "POST", "/files/archive", { owner, opts, json });
    const data = fromBase64(String(answer.content_base64 ?? ""));
    return { format: String(answer.format ?? format), size: data.length, data };
  }

  /** What changes below a directory, until the server's time for it is over. */
  watch(path, given) {
    const owner = "files.watch";
    const opts = options(given, owner);
    const timeoutMs = optional(milliseconds, opts.timeoutMs, `Option timeoutMs of ${owner}`);
    const query = queryOf({
      path: checkPath(path, `path of ${owner}`),
      recursive: flag(opts.recursive, `Option recursive of ${owner}`) ?? false,
      interval: seconds(optional(milliseconds, opts.intervalMs, `Option intervalMs of ${owner}`)),
      timeout: seconds(timeoutMs),
    });
    return changes(this.#calls, opts, owner, query, withReserve(timeoutMs ?? WATCH_MS));
  }

  /** The changes of so many milliseconds. */
  async watchFor(path, ms, opts) {
    const found = [];
    for await (const change of this.watch(path, { ...options(opts, "files.watchFor"), timeoutMs: milliseconds(ms, "ms of files.watchFor") })) found.push(change);
    return found;
  }

  /** Refuses what the server is known to refuse, before it is sent. */
  #checkUpload(path, size) {
    const endpoint = "files_upload_stream";
    const { capabilities } = this.#calls;
    const most = capabilities?.limit(endpoint, "maxBytes");
    if (most !== undefined && size > most) throw failure(PayloadTooLargeError, "payload_too_large", tooLarge(`endpoint ${endpoint}`, most), { code: "payload_too_large", endpoint, limit: most });
    const request = capabilities?.limit(endpoint, "maxRequestBytes");
    if (request !== undefined && Math.ceil(size / 3) * 4 + path.length + 64 > request) {
      throw failure(PayloadTooLargeError, "payload_too_large", tooLarge(`endpoint ${endpoint}`, request), { code: "payload_too_large", endpoint, limit: request });
    }
  }

  /** The server refuses to upload nothing. A program makes the empty file instead, where the policy lets this path be written. */
  async #uploadNothing(path, given) {
    const opts = callOptions(given);
    const owner = "files.upload";
    const endpoint = "files_upload_stream";
    // The server's idea of a relative path is not that of a program.
    const { path: absolute, type } = await this.stat(path, opts);
    const { allowed, code, reason } = await this.#calls.ask("capabilities_check", "POST", "/capabilities/check", { owner, opts, json: { endpoint, path: absolute, op: "write" } });
    if (allowed !== true) {
      const facts = { status: 403, code: code ?? undefined, endpoint };
      throw failure(code === "missing_scope" ? PolicyDeniedError : PathDeniedError, code ?? "permission_denied", `The empty file may not be written: ${reason ?? code}`, facts);
    }
    if (type === "directory") throw failure(PathDeniedError, "is_directory", "The path of the empty file is a directory", { endpoint });
    try {
      const { exitCode, stderr } = await this.#run(["sh", "-c", 'mkdir -p -- "$(dirname -- "$0")" && : > "$0"', absolute], opts);
      if (exitCode !== 0) throw new SandboxError(`The empty file could not be written: ${stderr.trim()}`, { code: "server_error" });
    } catch (cause) {
      if (!(cause instanceof PolicyDeniedError) && !(cause instanceof EndpointUnavailableError)) throw cause;
      throw new UnsupportedError("The server cannot upload an empty file, and its policy does not let a program make one. Use sandbox.files.write", { code: "empty_upload", cause });
    }
    return { path: absolute, size: 0 };
  }
}

async function* changes(calls, opts, owner, query, timeoutMs) {
  const clock = calls.clock(owner, { ...opts, requestTimeoutMs: undefined }, timeoutMs);
  for await (const { event, data } of once(calls, clock, "files_watch", "GET", "/files/watch", { query }, (found) => found.event === "end")) {
    if (event === "change") yield { type: data.type, path: data.path, isDir: data.is_dir === true };
  }
}

function decoderOf(encoding) {
  try {
    return new TextDecoder(encoding);
  } catch {
    throw wrong("Option encoding of files.readText must be the name of an encoding that this runtime can read");
  }
}

function entryOf(entry) {
  return { ...camelKeys(entry), modified: time(entry.modified) };
}

function join(folder, name) {
  return folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
}
