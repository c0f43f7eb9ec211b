// Carries out the steps of a check. A step either makes a request, or has to do with one that was left open:
//
// | key                          | what it does                                                                       |
// |------------------------------|------------------------------------------------------------------------------------|
// | http = "GET /path"           | a plain request                                                                    |
// | call = "Filesystem/Stat"     | a unary RPC with the message `json`                                                |
// | stream = "Process/Start"     | a streaming RPC with the message `json`, or with each of `messages`                |
// | run = "script"               | `Process/Start` of the script in /bin/sh; `with` is added to the message           |
// | upload = "/path"             | writes the file with the content `text`                                            |
// | download = "/path"           | reads the file                                                                     |
// | code = "print(1)"            | a run of the interpreter in the check's context; `with` is added to the message    |
// | of = "name"                  | looks at the exchange that an earlier step left open `as` that name                |
// | close = "name"               | drops its connection                                                               |
// | wait = 1.5                   | seconds of doing nothing                                                           |
//
// Further keys of a request:
//
// | key                          | what it does                                                                       |
// |------------------------------|------------------------------------------------------------------------------------|
// | to                           | `envd`, `api`, `interpreter`, `proxy` or a port of the sandbox; what the section is about if absent |
// | sandbox                      | the id of the sandbox, if it is not the check's own                                |
// | query, headers               | tables; a header may have a list of values                                         |
// | user, token, key             | a Linux user; `true` or an envd token; an API key, or `false` for none             |
// | json, text, hex, form        | the body: JSON, text, bytes as hex digits, the parts of a form                     |
// | size                         | makes the body that long by repeating it                                           |
// | gzip                         | compresses the body and says so                                                    |
// | as                           | does not wait for the end; later steps reach it by this name                       |
// | times                        | that many requests at once; `<n>` counts them                                      |
// | until                        | asks again until the answer is as expected, for so many seconds                    |
// | patience                     | seconds to wait for the answer, 60 if absent                                       |
// | page                         | the request is made by a script of a page of another origin                        |
// | keep                         | leaves the connection open for the next request that says so                       |
// | save                         | a table of names and paths in the answer: `<name>` stands for the value from then on |
//
// Everything else is an expectation, see answer.mjs and match.mjs.

import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { Answer } from "./answer.mjs";
import { envelope } from "./connect.mjs";
import { Exchange, form } from "./http.mjs";
import { show } from "./match.mjs";

const REQUESTS = ["http", "call", "stream", "run", "upload", "download", "code", "of"];
const ACTIONS = ["close", "wait"];
const OPTIONS = `to sandbox query headers user token key json messages text hex form size gzip with as times until patience
  page keep save`.split(/\s+/u);
const EXPECTATIONS = `status head body size_is answer inflated frames end compressed kinds pid exit stdout stderr pty hex_is
  largest changes lines keepalives took cut blocked reused error refused fails`.split(/\s+/u);

/** Keys of a step that are spelled like an option: what they expect has another name. */
const RENAMED = { size_is: "size", hex_is: "hex" };

const PATIENCE = 60;
const SERVICES = { Filesystem: "filesystem.Filesystem", Process: "process.Process" };

/** What is wrong with a step as a piece of a table, if anything. */
export function fault(step) {
  const verbs = Object.keys(step).filter((key) => REQUESTS.includes(key) || ACTIONS.includes(key));
  if (verbs.length !== 1) return `a step needs exactly one verb, this one has ${show(verbs)}`;
  const unknown = Object.keys(step).find((key) => ![...verbs, ...OPTIONS, ...EXPECTATIONS].includes(key));
  if (unknown !== undefined) return `unknown key "${unknown}" in ${show(step)}`;
  const expects = Object.keys(step).some((key) => EXPECTATIONS.includes(key));
  if (ACTIONS.includes(verbs[0]) || expects || step.as !== undefined) return undefined;
  return `${show(step)} expects nothing`;
}

/** Runs steps one after the other. Throws a `Difference` at the first answer that is not as expected. */
export class Steps {
  #place;
  #variables;
  #open = new Map();
  #agent;

  /** `place` says where requests go (see servers.mjs), `variables` what `<name>` stands for. */
  constructor(place, variables) {
    this.#place = place;
    this.#variables = variables;
  }

  async run(steps) {
    for (const [index, step] of steps.entries()) {
      try {
        await this.#step(step);
      } catch (error) {
        throw error instanceof Difference ? error.at(index + 1) : error;
      }
    }
  }

  /** Drops what is still open. */
  close() {
    for (const { exchange } of this.#open.values()) exchange.close();
    this.#agent?.destroy();
  }

  async #step(raw) {
    if (raw.wait !== undefined) return sleep(raw.wait * 1000);
    if (raw.close !== undefined) return this.#named(raw.close).exchange.close();
    if (raw.of !== undefined) return this.#look(this.#filled(raw));
    if (raw.until !== undefined) return this.#repeat(raw);
    const copies = Array.from({ length: raw.times ?? 1 }, (_, index) => this.#filled(raw, { n: index + 1 }));
    await Promise.all(copies.map((step) => this.#request(step)));
  }

  async #repeat(raw) {
    const end = performance.now() + raw.until * 1000;
    for (;;) {
      try {
        return await this.#request(this.#filled(raw));
      } catch (error) {
        if (!(error instanceof Difference) || performance.now() > end) throw error;
      }
      await sleep(50);
    }
  }

  async #request(step) {
    const exchange = await this.#send(step);
    const answer = new Answer(exchange);
    if (step.as !== undefined) {
      this.#open.set(step.as, { exchange, answer });
      // A process has begun, or a directory is watched, when the first message has come.
      const begun = () => (exchange.streaming ? answer.get("frames").length > 0 : exchange.status !== undefined);
      if (exchange.streaming || exchange.executing) await exchange.until(begun, PATIENCE * 1000);
    } else {
      await exchange.until(() => false, (step.patience ?? PATIENCE) * 1000);
      if (!exchange.done) {
        exchange.close();
        throw new Difference(exchange, ["the answer does not end"]);
      }
    }
    if (exchange.status === 201) this.#place.note(exchange.body.toString());
    this.#judge(step, exchange, answer);
  }

  /** Waits until an open exchange is as expected. */
  async #look(step) {
    const { exchange, answer } = this.#named(step.of);
    const expected = expectations(step);
    await exchange.until(() => answer.compare(expected).length === 0, (step.patience ?? PATIENCE) * 1000);
    this.#judge(step, exchange, answer);
  }

  #judge(step, exchange, answer) {
    const differences = answer.compare(expectations(step));
    if (differences.length > 0) throw new Difference(exchange, differences);
    for (const [name, path] of Object.entries(step.save ?? {})) this.#variables[name] = answer.get(path);
  }

  #named(name) {
    const found = this.#open.get(name);
    if (found === undefined) throw new Error(`no step left an exchange open as "${name}"`);
    return found;
  }

  async #send(step) {
    const plain = spelledOut(step, this.#variables);
    const { to, method, path, streaming, executing } = plain;
    const { target, headers } = this.#place.route(to, plain.sandbox ?? this.#variables.id);
    const { body, headers: described } = content(plain);
    const query = new URLSearchParams(plain.query).toString().replaceAll("+", "%20");
    const request = {
      method,
      path: query === "" ? path : `${path}?${query}`,
      headers: present({ ...headers, ...described, ...identity(plain, this.#variables), ...plain.headers }),
      body,
    };
    if (plain.keep) this.#agent ??= this.#place.agent(target);
    const exchange = plain.page
      ? await this.#place.page(target, request)
      : new Exchange(target, request, plain.keep ? this.#agent : false);
    exchange.sent = `${request.method} ${request.path} ${show(plain.json ?? plain.messages ?? plain.text ?? "")}`;
    return Object.assign(exchange, { streaming, executing });
  }

  /** The step with every `<name>` of a known variable replaced. */
  #filled(step, more = {}) {
    const variables = { ...this.#variables, ...more };
    const fill = (value) => {
      if (typeof value === "string") {
        const whole = /^<([\w-]+)>$/u.exec(value)?.[1];
        if (whole !== undefined && whole in variables) return variables[whole];
        return value.replace(/<([\w-]+)>/gu, (text, name) => (name in variables ? variables[name] : text));
      }
      if (Array.isArray(value)) return value.map(fill);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [fill(key), fill(inner)]));
    };
    return Object.fromEntries(Object.entries(step).map(([key, value]) => [key, key === "save" ? value : fill(value)]));
  }
}

/** What came is not what the table says. */
export class Difference extends Error {
  constructor(exchange, differences) {
    super(differences.join("\n"));
    this.sent = exchange.sent;
    this.differences = differences;
    const { failed, status } = exchange;
    const body = show(exchange.body.toString(), 600);
    this.got = failed === undefined ? `${status} ${body}` : `${status ?? "no answer"}: ${failed.message} ${body}`;
  }

  at(step) {
    this.step ??= step;
    return this;
  }

  /** What was sent, what was expected, what came. Tokens of a server that is somebody's stay out of it. */
  toString() {
    const lines = [`sent      ${this.sent}`, ...this.differences.map((line) => `differs   ${line}`), `received  ${this.got}`];
    return `step ${this.step}\n${lines.join("\n").replace(/(token\\?"\s*:\s*\\?"|token: .* got ")[^"\\]+/giu, "$1…")}`;
  }
}

function expectations(step) {
  const chosen = Object.entries(step).filter(([key]) => EXPECTATIONS.includes(key));
  return Object.fromEntries(chosen.map(([key, value]) => [RENAMED[key] ?? key, value]));
}

/** The request of a step as method, path and body, whatever its verb. */
function spelledOut(step, variables) {
  if (step.http !== undefined) {
    const [method, path] = step.http.split(" ");
    const [bare, query = ""] = path.split("?");
    return { ...step, method, path: bare, query: { ...Object.fromEntries(new URLSearchParams(query)), ...step.query } };
  }
  if (step.call !== undefined) {
    return rpc(step.call, { headers: {}, ...step, json: step.json ?? {}, kind: "application/json" });
  }
  if (step.stream !== undefined) return rpc(step.stream, stream(step));
  if (step.run !== undefined) {
    const { process, ...rest } = step.with ?? {};
    const json = { process: { cmd: "/bin/sh", args: ["-c", step.run], ...process }, ...rest };
    return rpc("Process/Start", stream({ ...step, json }));
  }
  if (step.code !== undefined) {
    const json = { code: step.code, context_id: variables.context, ...step.with };
    return { to: "interpreter", ...step, method: "POST", path: "/execute", json, executing: true };
  }
  const path = step.upload ?? step.download;
  const request = { to: "envd", ...step, path: "/files", query: { path, ...step.query } };
  if (step.download !== undefined) return { ...request, method: "GET" };
  return { ...request, method: "POST", text: step.text ?? "", kind: "application/octet-stream" };
}

function rpc(name, step) {
  const [service, method] = name.split("/");
  return { to: "envd", ...step, method: "POST", path: `/${SERVICES[service]}/${method}` };
}

function stream(step) {
  const messages = step.messages ?? [step.json ?? {}];
  return { ...step, messages, streaming: true, kind: "application/connect+json" };
}

/** The body and the headers that describe it. */
function content({ json, messages, text, hex, form: parts, size, gzip, kind }) {
  const unpacked = () => {
    if (messages !== undefined) return { body: Buffer.concat(messages.map((one) => envelope(JSON.stringify(one)))), type: kind };
    if (parts !== undefined) return form(parts);
    if (text !== undefined) return { body: Buffer.from(String(text)), type: kind };
    if (hex !== undefined) return { body: Buffer.from(hex, "hex"), type: kind };
    if (json !== undefined) return { body: Buffer.from(JSON.stringify(json)), type: kind ?? "application/json" };
    return {};
  };
  let { body, type } = unpacked();
  if (size !== undefined) body = Buffer.alloc(size, body);
  const headers = { "Content-Type": type };
  if (gzip) {
    body = gzipSync(body);
    headers["Content-Encoding"] = "gzip";
  }
  return { body, headers };
}

/** The headers that say who asks. */
function identity({ user, token, key }, { token: installed }) {
  const headers = {};
  if (user !== undefined) headers.Authorization = `Basic ${Buffer.from(user.includes(":") ? user : `${user}:`).toString("base64")}`;
  if (token) headers["X-Access-Token"] = token === true ? installed : token;
  if (key !== undefined) headers["X-API-Key"] = key || undefined;
  return headers;
}

/** A header that is set to false, or to nothing, is not sent. */
function present(headers) {
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined && value !== false));
}
