// The files that a template may copy from, in place of a directory on a disk: which of them a source means, their hash, and
// the archive that is uploaded.

import { Sha256 } from "./core_bg.js";
import { TemplateError } from "./errors.js";
import { bytesOf, dataKind } from "./host.js";
import { invalid } from "./options.js";
import { tar } from "./template-tar.js";

const FILE = 0o100000;
const DIR = 0o040000;

/** How much of a Blob is in memory at a time while it is hashed. */
const SLICE = 1 << 20;

export class TemplateFiles {
  /** Path to `{ kind, mode, size, data }`, directories above files included. */
  #nodes = new Map();
  #ignored;

  constructor(files, ignorePatterns) {
    const patterns = [...ignorePatterns];
    for (const [name, value] of Object.entries(files)) {
      const path = relative(name, (problem) => invalid(`The path ${JSON.stringify(name)} of option files ${problem}`));
      const node = fileNode(name, value);
      if (path === "" || this.#nodes.get(path)?.kind === "dir") throw clash(name);
      this.#nodes.set(path, node);
      for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
        const parent = path.slice(0, at);
        if (this.#nodes.get(parent)?.kind === "file") throw clash(name);
        this.#nodes.set(parent, { kind: "dir", mode: 0o755, size: 0 });
      }
      if (path === ".dockerignore" && typeof rawData(value) === "string") patterns.push(...ignoreLines(rawData(value)));
    }
    this.#ignored = patterns.map((pattern) => glob(pattern.replace(/^\.?\//, "").replace(/\/$/, "")));
  }

  /** What `source` means, sorted by path: a file, a directory with all below it, or whatever fits a pattern. */
  match(source) {
    const wanted = relative(source, () => outside(source));
    const fits = wanted === "" ? () => true : glob(wanted);
    const chosen = [...this.#nodes].filter(([path]) => ancestry(path).some(fits) && !ancestry(path).some((p) => this.#ignores(p)));
    if (chosen.length === 0) {
      throw new TemplateError(
        `No file matches ${JSON.stringify(source)}. Give the files to copy as Template({ files: { path: data } })`,
        { code: "template_file_missing" },
      );
    }
    return chosen.map(([path, node]) => ({ path, ...node })).sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #ignores(path) {
    return this.#ignored.some((fits) => fits(path));
  }

  /** The name under which the server keeps the archive of a COPY step, in hexadecimal. */
  async hash(source, dest) {
    const digest = new Sha256();
    const encoder = new TextEncoder();
    const add = (text) => digest.update(encoder.encode(text));
    add(`COPY ${source} ${dest}`);
    for (const { path, kind, mode, size, data } of this.match(source)) {
      add(`${path}${mode | (kind === "dir" ? DIR : FILE)}${size}`);
      for (let at = 0; at < size; at += SLICE) {
        digest.update(new Uint8Array(await data.slice(at, at + SLICE).arrayBuffer()));
      }
    }
    return digest.hex();
  }

  /** The archive for `source`, compressed where the runtime can and `gzip` is not false. */
  async archive(source, gzip) {
    const plain = tar(this.match(source));
    if (gzip === false || typeof CompressionStream === "undefined") return plain;
    return new Response(plain.stream().pipeThrough(new CompressionStream("gzip"))).blob();
  }
}

/** Throws a `TemplateError` for a source that does not lie among the files. */
export function checkSource(source) {
  relative(source, () => outside(source));
}

function outside(source) {
  const message = `The source ${JSON.stringify(source)} of copy must be relative and lie among the template's files`;
  return new TemplateError(message, { code: "invalid_argument" });
}

/** `path` without `.` and doubled slashes; "" is the top. `fail` makes the error for paths that lead elsewhere. */
function relative(path, fail) {
  if (path.startsWith("/") || path.includes("\0")) throw fail("must be relative");
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) throw fail("leads out of the template's files");
  }
  return parts.join("/");
}

/** `a/b/c` as `a`, `a/b`, `a/b/c`. */
function ancestry(path) {
  const all = [path];
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) all.push(path.slice(0, at));
  return all;
}

function clash(name) {
  return invalid(`The path ${JSON.stringify(name)} of option files is both a file and a directory`);
}

/** A node from data, or from `{ data, mode }`. */
function fileNode(name, value) {
  const data = rawData(value);
  const wrapped = data !== value;
  const kind = dataKind(data);
  if (kind === undefined || kind === "stream") {
    throw invalid(`The content of ${JSON.stringify(name)} of option files must be a string, bytes or a Blob, or { data, mode }`);
  }
  const mode = (wrapped ? value.mode : undefined) ?? 0o644;
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) {
    throw invalid(`The mode of ${JSON.stringify(name)} of option files must be permission bits such as 0o755`);
  }
  // A Blob of text or bytes is a copy: what the caller does with its buffer later does not matter.
  const blob = kind === "blob" ? data : new Blob([kind === "string" ? data : bytesOf(data)]);
  return { kind: "file", mode, size: blob.size, data: blob };
}

function rawData(value) {
  return typeof value === "object" && value !== null && dataKind(value) === undefined && "data" in value ? value.data : value;
}

function ignoreLines(text) {
  return text.split("\n").map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
}

/** Whether a path fits a pattern of `*`, `**`, `?` and `[…]`. Names that begin with a dot are like all others. */
function glob(pattern) {
  const source = pattern.replace(/\*\*\/|\/\*\*$|\*\*|\*|\?|\[!?[^\]/]+\]|[\\^$.+(){}|[\]]/g, (token) => {
    if (token === "**/") return "(?:.*/)?";
    if (token === "/**") return "/.+";
    if (token === "**") return ".*";
    if (token === "*") return "[^/]*";
    if (token === "?") return "[^/]";
    if (token.length > 1) return `[${token.slice(1, -1).replace(/^!/, "^").replaceAll("\\", "\\\\")}]`;
    return `\\${token}`;
  });
  const expression = new RegExp(`^${source}$`, "s");
  return (path) => expression.test(path);
}
