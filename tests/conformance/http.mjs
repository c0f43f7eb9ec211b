// One exchange over HTTP/1.1, with every header as the table has it, and readable while it is still going on.

import http from "node:http";
import https from "node:https";

/**
 * A request under way, and what has arrived of its answer.
 *
 * `target` is where to connect: `{ socketPath }`, or `{ protocol, host, port }`; `headers` may hold lists for names that are
 * sent several times. Failures of the connection are kept in `failed`: whether they are expected is for others to say.
 */
export class Exchange {
  status;
  headers = {};
  failed;
  done = false;
  reused = false;
  #chunks = [];
  #size = 0;
  #joined;
  #started = performance.now();
  #ended;
  #request;
  #waiting = new Set();

  constructor(target, { method, path, headers, body }, agent = false) {
    this.sent = `${method} ${path}`;
    const library = target.protocol === "https:" ? https : http;
    // Node leaves it out of methods that usually have no body.
    const length = body === undefined ? {} : { "Content-Length": body.length };
    const options = { ...target, method, path, headers: { ...headers, ...length }, agent, setHost: !("Host" in headers) };
    try {
      this.#request = library.request(options);
    } catch (error) {
      this.#end(error);
      return;
    }
    this.#request.on("response", (response) => this.#read(response));
    this.#request.on("error", (error) => this.#end(error));
    this.#request.end(body);
  }

  #read(response) {
    this.status = response.statusCode;
    this.headers = response.headers;
    this.reused = this.#request.reusedSocket;
    this.#tell();
    response.on("data", (chunk) => {
      this.#chunks.push(chunk);
      this.#size += chunk.length;
      this.#joined = undefined;
      this.#tell();
    });
    response.on("end", () => this.#end());
    response.on("error", (error) => this.#end(error));
  }

  #end(error) {
    if (this.done) return;
    this.failed = error;
    this.done = true;
    this.#ended = performance.now();
    this.#tell();
  }

  #tell() {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  /** The body so far. */
  get body() {
    return (this.#joined ??= Buffer.concat(this.#chunks, this.#size));
  }

  /** Milliseconds from the request to the end of the answer, or to now. */
  get took() {
    return (this.#ended ?? performance.now()) - this.#started;
  }

  /** Resolves when something happened, or after `limit` ms. */
  next(limit) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limit);
      this.#waiting.add(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Waits until `condition` holds or the answer is over, at most `limit` ms. */
  async until(condition, limit) {
    const end = performance.now() + limit;
    while (!this.done && !condition() && performance.now() < end) await this.next(Math.max(1, end - performance.now()));
  }

  /** Drops the connection, whatever is under way. */
  close() {
    this.#request?.destroy();
  }
}

/** The parts of a form as a body with its content type. */
export function form(parts) {
  const boundary = "----conformance-5f2b9c";
  const heads = parts.map(({ name = "file", filename }) => {
    const file = filename === undefined ? "" : `; filename="${filename}"\r\nContent-Type: application/octet-stream`;
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
  });
  const pieces = parts.flatMap(({ text = "" }, index) => [heads[index], text, "\r\n"]);
  const body = Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece)));
  return { body, type: `multipart/form-data; boundary=${boundary}` };
}
