// What an answer is compared by: every expectation of a step is a key of this view.
//
// | key                                  | what it is                                                                      |
// |--------------------------------------|---------------------------------------------------------------------------------|
// | status, head, body, size             | of the HTTP answer; names of headers in lower case; `size` in bytes             |
// | answer                               | the body as JSON                                                                |
// | inflated                             | the body as text after gunzip                                                   |
// | frames, end, compressed              | messages of a Connect stream, its last one, whether any was compressed          |
// | kinds                                | the events of a process in order, as `start`, `stdout`, …, `keepalive`, `end`   |
// | pid, exit, stdout, stderr, pty       | what the events say together; `exit` is the end event                           |
// | hex, largest                         | standard output as hex digits; the bytes of the largest data event              |
// | changes                              | the events of a watched directory: `CREATE name`, with an entry `CREATE name /path` |
// | lines, keepalives                    | lines of the interpreter's answer, output joined; `keepalives` of any stream    |
// | took                                 | milliseconds until the answer was over                                          |
// | cut                                  | whether the answer ended before it should have, or never came                   |
// | blocked                              | whether the browser kept the answer from the page                               |
// | reused                               | whether it came over the connection of an earlier exchange                      |
//
// Three expectations stand for several: `error = "code: text"` for an error of an RPC, `refused = [status, "text"]` for one
// of the daemon's HTTP endpoints, `fails = [status, "text"]` for one of the control plane.

import { gunzipSync } from "node:zlib";
import { eventOf, messages, STATUS, summary } from "./connect.mjs";
import { compare } from "./match.mjs";

export class Answer {
  #exchange;
  #parsed = { length: -1 };

  constructor(exchange) {
    this.#exchange = exchange;
  }

  /** The differences from what `expected`, a table with keys of the view, says. */
  compare(expected) {
    return Object.entries(this.#spelledOut(expected)).flatMap(([key, value]) => {
      try {
        return compare(value, this.get(key), key);
      } catch (error) {
        return [`${key}: unreadable, ${error.message}`];
      }
    });
  }

  #spelledOut({ error, refused, fails, ...expected }) {
    if (error !== undefined) {
      const [, code, text] = /^(\w+)(?:: (.*))?$/u.exec(error);
      const problem = { code, message: `~ ${text ?? ""}` };
      if (this.#exchange.streaming) Object.assign(expected, { status: 200, end: { error: problem } });
      else Object.assign(expected, { status: STATUS[code], answer: problem });
    }
    if (refused !== undefined) {
      const head = { "content-type": "application/json; charset=utf-8", "x-content-type-options": "nosniff" };
      Object.assign(expected, plainError(refused), { head: { ...head, ...expected.head } });
    }
    if (fails !== undefined) {
      const head = { "content-type": "^application/json(; charset=utf-8)?$" };
      Object.assign(expected, plainError(fails), { head: { ...head, ...expected.head } });
    }
    return expected;
  }

  /** One value of the view, by its key or a path of keys and indices such as `answer.entries.0.name`. */
  get(path) {
    const [key, ...rest] = path.split(".");
    return rest.reduce((value, name) => value?.[name], this.#key(key));
  }

  #key(key) {
    const exchange = this.#exchange;
    switch (key) {
      case "status":
      case "took":
      case "reused":
        return exchange[key];
      case "head":
        return exchange.headers;
      case "body":
        return exchange.body.toString();
      case "size":
        return exchange.body.length;
      case "answer":
        return JSON.parse(exchange.body.toString() || "null") ?? undefined;
      case "inflated":
        return gunzipSync(exchange.body).toString();
      case "cut":
        return exchange.done && (exchange.failed !== undefined || !this.#ended());
      case "blocked":
        return exchange.failed !== undefined && exchange.status === undefined;
      case "keepalives":
        return this.#stream.keepalives;
      default:
        return this.#stream[key];
    }
  }

  #ended() {
    const { kind, end, lines } = this.#stream;
    return kind === "frames" ? end !== undefined : kind !== "lines" || lines.at(-1)?.type === "end_of_execution";
  }

  /** The stream so far, read again only when more has come. */
  get #stream() {
    const { body, streaming, executing } = this.#exchange;
    if (this.#parsed.length === body.length) return this.#parsed;
    let parsed = {};
    if (streaming) {
      const found = messages(body);
      const sum = summary(found.frames);
      const keepalives = found.frames.filter((frame) => eventOf(frame).keepalive !== undefined).length;
      parsed = { kind: "frames", ...found, ...sum, keepalives };
    } else if (executing) {
      parsed = { kind: "lines", ...lines(body.toString()) };
    }
    this.#parsed = { ...parsed, length: body.length };
    return this.#parsed;
  }
}

function plainError([status, text]) {
  return { status, answer: { code: status, message: `~ ${text}` } };
}

/** Complete lines of JSON; output that follows output of the same kind is joined, because its pieces are arbitrary. */
function lines(text) {
  const found = { lines: [], keepalives: 0 };
  for (const line of text.split("\n").slice(0, -1)) {
    const message = JSON.parse(line);
    const last = found.lines.at(-1);
    if (message.type === "keepalive") found.keepalives += 1;
    else if (["stdout", "stderr"].includes(message.type) && last?.type === message.type) last.text += message.text;
    else found.lines.push(message);
  }
  return found;
}
