// Volumes: which request each call becomes, and what its answer says.

import { JSON_TYPE, ask, defined, parsed, unexpected } from "./exchange.js";
import { _exchange } from "./core_bg.js";
import { InvalidArgumentError } from "./errors.js";

/** What is at a path of a volume. */
export const VolumeFileType = Object.freeze({ UNKNOWN: "unknown", FILE: "file", DIRECTORY: "directory", SYMLINK: "symlink" });

/** How long the transfer of a file may take unless the caller says otherwise, in ms. */
const FILE_TIMEOUT_MS = 3_600_000;

/** The static methods, and which of the arguments has their options. */
export const STATICS = { create: 1, connect: 1, getInfo: 1, list: 0, destroy: 1 };

export class Volume {
  #domain;
  #connection;

  constructor({ volumeId, name, token, domain }, opts) {
    this.volumeId = volumeId;
    this.name = name;
    // Not enumerable, so that printing or serializing a volume does not show it.
    Object.defineProperty(this, "token", { value: token });
    this.#domain = domain;
    // A signal belongs to one call, and headers to the control plane.
    const { signal, headers, apiHeaders, ...connection } = opts ?? {};
    this.#connection = connection;
  }

  static async create(name, opts) {
    const json = { name: text(name, "name", "Volume.create") };
    return new this(access(await manage("POST", "/volumes", opts, json)), opts);
  }

  static async connect(volumeId, opts) {
    return new this(await Volume.getInfo(volumeId, opts), opts);
  }

  static async getInfo(volumeId, opts) {
    return access(await manage("GET", `/volumes/${id(volumeId, "Volume.getInfo")}`, opts));
  }

  static async list(opts) {
    return array(await manage("GET", "/volumes", opts)).map(info);
  }

  static async destroy(volumeId, opts) {
    const route = `/volumes/${id(volumeId, "Volume.destroy")}`;
    return unlessMissing("volume_not_found", () => manage("DELETE", route, opts));
  }

  async list(path, opts) {
    const depth = whole(opts?.depth, "depth", "volume.list", 1);
    return array(parsed(await this.#send("GET", "dir", path, opts, { query: { depth } }))).map(entry);
  }

  async makeDir(path, opts) {
    return entry(parsed(await this.#send("POST", "dir", path, opts, { query: writing(opts) })));
  }

  async getInfo(path, opts) {
    return entry(parsed(await this.#send("GET", "path", path, opts)));
  }

  async exists(path, opts) {
    return unlessMissing("file_not_found", () => this.getInfo(path, opts));
  }

  async updateMetadata(path, metadata, opts) {
    const body = JSON.stringify(attributes(metadata));
    return entry(parsed(await this.#send("PATCH", "path", path, opts, { type: JSON_TYPE, body })));
  }

  async remove(path, opts) {
    await this.#send("DELETE", "path", path, opts);
  }

  async readFile(path, opts) {
    const format = opts?.format ?? "text";
    if (!["text", "bytes", "blob", "stream"].includes(format)) {
      throw wrong(`Option format of volume.readFile must be "text", "bytes", "blob" or "stream"`);
    }
    return this.#send("GET", "file", path, opts, { format, timeoutMs: FILE_TIMEOUT_MS });
  }

  async writeFile(path, data, opts) {
    if (data === undefined || data === null) throw wrong("data of volume.writeFile is missing");
    const call = { query: writing(opts), type: "application/octet-stream", body: data, timeoutMs: FILE_TIMEOUT_MS };
    return entry(parsed(await this.#send("PUT", "file", path, opts, call)));
  }

  /** One request about a path. What belongs to a call precedes what the volume was opened with. */
  async #send(method, what, path, opts, { query = {}, type, body, format = "text", timeoutMs } = {}) {
    if (opts !== undefined && opts !== null && typeof opts !== "object") throw wrong("The options of a volume must be an object");
    const pairs = defined({ path: text(path, "path", `a volume's ${what}`), ...query });
    const route = `/volumecontent/${encodeURIComponent(this.volumeId)}/${what}?${new URLSearchParams(pairs)}`;
    // In the options of a call, address and domain are those of the content API.
    const { apiUrl, domain, token, ...own } = opts ?? {};
    for (const [name, value] of Object.entries(defined({ apiUrl, domain, token }))) {
      if (typeof value !== "string") throw wrong(`Option ${name} of a volume must be a string`);
    }
    const content = { token: token ?? this.token, url: apiUrl ?? (domain ? `https://api.${domain}` : undefined), domain: this.#domain };
    const merged = { requestTimeoutMs: timeoutMs, ...defined(this.#connection), ...defined(own) };
    const [answer] = await _exchange(method, route, "content", { ...content, type, body, format }, merged);
    return answer;
  }
}

/** One request of the control plane. */
function manage(method, route, opts, json) {
  return ask(method, route, opts, { json, subject: "volume" });
}

/** True when `call` succeeds, false when it fails with `code`. */
async function unlessMissing(code, call) {
  try {
    await call();
    return true;
  } catch (error) {
    if (error?.code === code) return false;
    throw error;
  }
}

// What callers give, checked by name.

function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}

function text(value, name, owner) {
  if (typeof value === "string" && value !== "") return value;
  throw wrong(`${name} of ${owner} must be a string that is not empty`);
}

/** An id as a segment of a path, which dots alone would leave. */
function id(value, owner) {
  if (/^\.*$/.test(text(value, "volumeId", owner))) throw wrong(`volumeId of ${owner} must be the id of a volume`);
  return encodeURIComponent(value);
}

function whole(value, name, owner, least = 0) {
  if (value === undefined || value === null) return undefined;
  if (Number.isInteger(value) && value >= least && value < 2 ** 32) return value;
  throw wrong(`Option ${name} of ${owner} must be a whole number from ${least} on`);
}

function attributes(opts) {
  const given = {};
  for (const name of ["uid", "gid", "mode"]) given[name] = whole(opts?.[name], name, "a volume's entry");
  return given;
}

function writing(opts) {
  const force = opts?.force ?? undefined;
  if (!["boolean", "undefined"].includes(typeof force)) throw wrong("Option force of a volume's entry must be a boolean");
  return { ...attributes(opts), force };
}

// What servers answer, read leniently.

function array(answer) {
  if (Array.isArray(answer)) return answer;
  throw unexpected();
}

function info(answer) {
  if (typeof answer?.volumeID !== "string") throw unexpected();
  return { volumeId: answer.volumeID, name: answer.name };
}

function access(answer) {
  const { volumeId, name } = info(answer);
  if (typeof answer.token !== "string") throw unexpected();
  return answer.domain ? { volumeId, name, token: answer.token, domain: answer.domain } : { volumeId, name, token: answer.token };
}

function entry(answer) {
  if (typeof answer?.path !== "string") throw unexpected();
  const { atime, mtime, ctime, ...rest } = answer;
  return { ...rest, atime: date(atime), mtime: date(mtime), ctime: date(ctime) };
}

/** A time without a zone is in UTC. */
function date(value) {
  return new Date(/[zZ]|[+-]\d\d:?\d\d$/.test(value) ? value : `${value}Z`);
}
