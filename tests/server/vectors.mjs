// The client against recordings of the real server: what each call sends, and what it makes of the answer. No server is needed.
// Differences stand in `tests/vectors/known-differences.json`, each with its reason.

import { assert, equal } from "../e2e/assert.js";
import { callOf, defaultsOf } from "./vector-calls.mjs";
import { eventsOf, known, load, samePlain, stub } from "./replay.mjs";

/** Recordings of the server's own interface: exchanges without a client. */
const EXCHANGES = [
  ["server-core", "vectors"],
  ["server-commands", "vectors"],
  ["server-files", "vectors"],
  ["server-process", "vectors"],
  ["server-system", "vectors"],
  ["server-terminal-rest", "vectors"],
  ["server-devtools", "vectors"],
  ["server-browser", "vectors"],
  ["server-agents", "vectors"],
];

/** Lists within a list: `vectors.token` and so on. */
const NESTED = [
  ["server-auth-policy", "vectors", (recorded) => Object.entries(recorded.vectors).flatMap(([part, list]) => list.map((one) => ({ ...one, id: `${part}/${one.id}` })))],
  ["server-browser", "with_browser_runtime", (recorded) => recorded.with_browser_runtime.vectors],
];

const PATH_CODES = ["path_not_allowed", "path_denied", "read_only", "symlink_denied", "extension_not_allowed", "file_exists"];

/** The class that a refusal must become. */
function errorFor(status, body, { isCommand }) {
  const { type, code } = typeof body?.error === "object" ? { code: body.error.code } : (body ?? {});
  if (status === 401 || code === "ambiguous_credentials") return "AuthenticationError";
  if (PATH_CODES.includes(code)) return "PathDeniedError";
  if (status === 403) return "PolicyDeniedError";
  if (code === "endpoint_disabled") return "EndpointUnavailableError";
  if (type === "FileNotFoundError" && status === 404) return "FileNotFoundError";
  if (status === 413) return "PayloadTooLargeError";
  if (status === 429) return "RateLimitError";
  if (type === "TimeoutError") return "TimeoutError";
  if (isCommand) return { 400: "CommandArgumentError", 404: "CommandNotFoundError", 500: "CommandExecutionError" }[status];
  if (status === 404) return "NotFoundError";
  if (status === 400) return "InvalidArgumentError";
  return status === 503 || status === 501 ? "UnsupportedError" : "ServerError";
}

/** What a stream of events must become: the events, or the class of the error. */
function streamFor(path, text) {
  const events = eventsOf(text);
  if (path === "/files/watch") return { answer: events.filter(({ event }) => event === "change").map(({ data }) => data) };
  if (path !== "/shell/stream") {
    const isResponse = path.startsWith("/v1/responses");
    return { answer: events.map(({ event, data, id }) => ({ event, data, id: isResponse ? String(data.sequence_number) : id })) };
  }
  const problem = events.find(({ event }) => event === "error")?.data.error;
  if (problem !== undefined) return { error: { timeout: "TimeoutError", output_limit: "PayloadTooLargeError" }[problem] ?? "ServerError" };
  return { answer: events.map(({ event, data }) => (event === "exit" ? { type: event, exit_code: data.exit_code } : { type: event, data: data.data })) };
}

function describe(error) {
  return `${error.message}${error.cause ? `: ${error.cause.stack}` : ""}`;
}

async function outcomeOf(promise) {
  try {
    return { answer: await promise };
  } catch (error) {
    return { error };
  }
}

/** Whether the request that was sent is the one that was recorded, but for defaults of the server that the client writes out. */
function checkRequest(asked, { method, target, body_json, headers = {} }, what) {
  const [path, search = ""] = target.split(/\?(.*)/s);
  equal([asked.method, asked.path], [method, path], `${what}: the request`);
  const defaults = defaultsOf(path);
  const pairs = [...new URLSearchParams(search)];
  for (const [key, value] of asked.query) {
    // Numbers may be written in several ways.
    const fits = (wanted) => wanted === value || (wanted !== undefined && Number(wanted) === Number(value));
    const at = pairs.findIndex(([name, wanted]) => name === key && fits(wanted));
    if (at >= 0) pairs.splice(at, 1);
    else assert(fits(defaults[key]), `${what}: the query has ${key}=${value}`);
  }
  equal(pairs, [], `${what}: parameters that were not sent`);
  if (body_json !== undefined) {
    const { ...sent } = asked.json;
    // What the recorded request does not have is what the server assumes.
    for (const [key, value] of Object.entries(defaults)) if (!Object.hasOwn(body_json, key) && JSON.stringify(sent[key]) === JSON.stringify(value)) delete sent[key];
    samePlain(sent, body_json, `${what}: the body`);
  }
  for (const [name, value] of Object.entries(headers)) equal(asked.headers[name.toLowerCase()], value, `${what}: header ${name}`);
}

/** Replays one exchange; answers what differs, or undefined. */
async function replay(sdk, { request, response }, what) {
  const { fetch, asked } = stub([response]);
  const { headers = {}, method, target } = request;
  const found = callOf(request);
  const client = new sdk.ServerClient("http://server.test", { fetch, headers: found ? headers : {} });
  if (found === undefined) {
    const body = request.body_json === undefined ? request.body_text : JSON.stringify(request.body_json);
    const { answer, error } = await outcomeOf(client.fetch(target, { method, headers, body: body === "" ? undefined : body }));
    if (response.status === 0) return equal([error?.name, error?.code], ["ConnectionError", "outcome_unknown"], what);
    equal(answer?.status, response.status, `${what}: the status`);
    if (response.body_json !== undefined) samePlain(await answer.json(), response.body_json, `${what}: the answer`);
    return checkRequest(asked[0], { ...request, body_json: undefined }, what);
  }
  const { answer, error } = await outcomeOf(found.run(client));
  if (asked.length === 0) {
    // Refused here, which the server does too.
    equal([error?.name, response.status >= 400], ["InvalidArgumentError", true], `${what}: refused without being sent (${error?.message})`);
    return undefined;
  }
  equal(asked.length, 1, `${what}: requests`);
  checkRequest(asked[0], request, what);
  const isStream = (response.headers ?? []).some(([name, value]) => /^content-type$/i.test(name) && value.includes("event-stream"));
  const path = target.split("?")[0];
  const isCommand = /^\/commands\/./.test(path) && method === "POST";
  const wanted = isStream ? streamFor(path, response.body_text) : response.status >= 400 ? { error: errorFor(response.status, response.body_json, { isCommand }) } : {};
  if (wanted.error !== undefined) {
    equal(error?.name, wanted.error, `${what}: the error (${error?.message ?? JSON.stringify(answer)})`);
    if (!isStream) checkFacts(error, response, what);
    return undefined;
  }
  if (error) throw new Error(`${what}: failed`, { cause: error });
  const theirs = isStream ? wanted.answer : response.body_json !== undefined ? found.answer(response.body_json) : special(response);
  if (path.startsWith("/v1/") && !isStream && response.body_json !== undefined) equal(JSON.stringify(answer), JSON.stringify(theirs), `${what}: the answer, untouched`);
  else samePlain(answer, theirs, `${what}: the answer`);
  return undefined;
}

/** Answers that are no JSON: with bare `NaN`, without anything, or raw. */
function special({ status, body_text, body_base64 }) {
  if (status === 202) return {};
  if (body_base64 !== undefined) return Uint8Array.from(atob(body_base64), (one) => one.charCodeAt(0));
  return JSON.parse(body_text.replace(/\bNaN\b/g, '"NaN"')).result;
}

function checkFacts(error, { status, body_json }, what) {
  const body = body_json ?? {};
  const inner = typeof body.error === "object" ? body.error : body;
  const wanted = { status, type: inner.type, code: inner.code, scope: body.scope, rule: body.rule, limit: body.limit, param: inner.param };
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined && value !== null) equal(error.server?.[name], value, `${what}: ${name} of the error`);
  if (body.endpoint !== undefined) equal(error.server.endpoint, body.endpoint, `${what}: endpoint of the error`);
  if (body.retry_after !== undefined) equal(error.server.retryAfterMs, body.retry_after * 1000, `${what}: retryAfterMs of the error`);
  equal(error.status, status, `${what}: status of the error`);
}

async function replayList(sdk, file, list, cases) {
  const differences = known(file, list);
  const problems = [];
  let count = 0;
  for (const one of cases) {
    const name = one.id;
    const outcome = differences.get(name);
    differences.delete(name);
    if (outcome === "not covered") continue;
    const problem = await replay(sdk, one, `${file}, ${list}, ${name}`).then(
      () => undefined,
      (error) => error,
    );
    if (outcome === undefined && problem !== undefined) problems.push(describe(problem));
    if (outcome === "differs" && problem === undefined) problems.push(`${file}, ${list}, ${name}: listed as a difference, but the same`);
    count += 1;
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
  equal([...differences.keys()], [], `${file}, ${list}: differences of cases that do not exist`);
  assert(count > 0, `${file}, ${list}: nothing was replayed`);
}

/** What the recorded client's errors are here. */
const CLASSES = {
  ServerAuthError: "AuthenticationError",
  ServerAPIError: undefined,
  PolicyDeniedError: "PolicyDeniedError",
  FilePolicyDeniedError: "PathDeniedError",
  EndpointNotAvailableError: "EndpointUnavailableError",
  PayloadTooLargeError: "PayloadTooLargeError",
  CommandArgumentError: "CommandArgumentError",
  CommandExecutionError: "CommandExecutionError",
  FileNotFoundError_: "FileNotFoundError",
  CommandTimeoutError: "TimeoutError",
  RateLimitedError: "RateLimitError",
  ValueError: "InvalidArgumentError",
};

/** The calls of the recorded client, by the name of the case: `(client, facts of the case)`. */
const CALLS = {
  health: (c) => c.health(),
  anon_commands: (c) => c.withToken(undefined).commands.list(),
  bad_token: (c) => c.withToken("zz").commands.list(),
  gateway_header_token: (c, { make }) => make({ headers: { "X-Access-Token": "gw" } }).commands.list(),
  prefix_and_query_binding: (c, { make }) => make({ headers: { "X-Access-Token": "gw" } }, "/proxy?sig=a%2Bb").files.stat("/x"),
  ro_missing_scope: (c) => c.withToken("ro").process.shell("ls"),
  discover: (c) => c.discover(),
  precheck_disabled: (c) => c.system.setEnv({ A: "1" }),
  precheck_upload_too_large: (c) => c.files.upload("/base/x", "x".repeat(65)),
  disabled_endpoint: (c) => c.system.setEnv({ A: "1" }),
  upload_too_large_server: (c, { json }) => c.files.upload(json.path, atob(json.content_base64)),
  check_path: (c, { json }) => c.check("files_search", { path: json.path, op: "read" }),
  check_ok: (c, { json }) => c.check("files_list", { path: json.path }),
  check_unknown: (c) => c.check("nope"),
  commands_list: (c) => c.commands.list(),
  commands_run: (c) => c.commands.run("greet", { name: "Bob", times: 2, tags: ["a", "b"] }),
  commands_run_obj: (c) => c.commands.typed().obj(),
  commands_run_missing_arg: (c) => c.commands.run("greet"),
  commands_run_bad_type: (c) => c.commands.run("greet", { name: "x", times: "y" }),
  commands_run_unexpected: (c) => c.commands.run("greet", { name: "x", zz: 1 }),
  commands_run_404: (c) => c.commands.run("nope/x"),
  commands_run_boom: (c) => c.commands.run("boom"),
  files_mkdir: (c, { json }) => c.files.mkdir(json.path),
  files_upload: (c, { json }) => c.files.upload(json.path, "héllo"),
  files_upload_empty: (c, { json }) => c.files.upload(json.path, ""),
  files_download: (c, { query }) => c.files.download(query.path).then((bytes) => ({ hex: Buffer.from(bytes).toString("hex") })),
  files_download_404: (c, { query }) => c.files.download(query.path),
  files_list: (c, { query }) => c.files.list(query.path, { recursive: true, maxEntries: 5 }),
  files_stat: (c, { query }) => c.files.stat(query.path),
  files_stat_missing: (c, { query }) => c.files.stat(query.path),
  files_outside: (c) => c.files.stat("/etc/passwd"),
  files_search: (c, { json }) => c.files.search(json.path, "*.txt", { maxDepth: 3, maxResults: 2 }),
  files_archive: (c, { json }) => c.files.archive(json.paths, { format: "zip" }),
  files_move: (c, { json }) => c.files.move(json.source, json.destination),
  files_watch: (c, { query }) => all(c.files.watch(query.path, { intervalMs: 100, timeoutMs: 1200 })),
  files_delete: (c, { query }) => c.files.delete(query.path),
  shell: (c, { json }) => c.process.shell("echo hi", { cwd: json.cwd, env: { A: "1" }, timeoutMs: 5000 }),
  shell_nonzero: (c) => c.process.shell("ls /nonexistent"),
  shell_timeout: (c) => c.process.shell("sleep 5", { timeoutMs: 300 }),
  shell_stream: (c) => all(c.process.stream('printf "a\\nb\\n"')),
  run_stream_timeout: (c) => c.process.run("sleep 5", { timeoutMs: 300 }),
  process_start: (c) => c.process.start("cat", { captureOutput: true, stdin: true }).then(({ pid, command }) => ({ pid, command, state: "running" })),
  process_list: (c) => c.process.list(),
  process_stdin: (c, { pid }) => c.process.sendStdin(pid, "hé\n"),
  process_stdin_bytes: (c, { pid }) => c.process.sendStdin(pid, new Uint8Array([0, 255])),
  process_output: (c, { pid }) => c.process.output(pid, { since: 0, waitMs: 500 }),
  process_close_stdin: (c, { pid }) => c.process.closeStdin(pid),
  process_get: (c, { pid }) => c.process.get(pid),
  process_signal: (c, { pid }) => c.process.signal(pid, 15),
  process_signal_bad: (c, { pid }) => c.process.signal(pid, 1),
  process_get_404: (c) => c.process.get(999_999),
  system_info: (c) => c.system.info(),
  system_metrics: (c) => c.system.metrics(),
  system_metrics_rate_limited: (c) => c.system.metrics(),
  env: (c) => c.system.env(["LANG", "ABX_PTY_PORT"]),
  ports: (c) => c.system.ports(),
  code_run: (c) => c.devTools.runCode("print(1)", { timeoutMs: 5000 }),
  code_run_timeout: (c) => c.devTools.runCode("import time;time.sleep(5)", { timeoutMs: 1000 }),
  code_run_badlang: (c) => c.devTools.runCode("x", { language: "ruby" }),
  git_status: (c, { query }) => c.devTools.gitStatus(query.path),
  browser_disabled: (c) => c.browser.navigate("https://example.com"),
  pty_create: (c) => c.terminal.create({ shell: "/bin/sh", cols: 80, rows: 24, env: { A: "b", PS1: "$ " } }),
  pty_list: (c) => c.terminal.list(),
  pty_get: (c, { id }) => c.terminal.get(id),
  pty_resize: (c, { id }) => c.terminal.resize(id, 100, 30),
  pty_resize_bad: (c, { id }) => c.terminal.resize(id, 0, 30),
  pty_get_404: (c) => c.terminal.get("zz"),
  pty_create_badshell: (c) => c.terminal.create({ shell: "/bin/fish" }),
  pty_delete: (c, { id }) => c.terminal.delete(id),
  pty_delete_404: (c, { id }) => c.terminal.delete(id),
};

async function all(events) {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
}

/** Streams were recorded without their content: it is made from the result. */
const STREAMS = {
  files_watch: ({ result }) => `event: ready\ndata: {}\n\n${result.map(({ type, path, is_dir }) => `event: change\ndata: ${JSON.stringify({ type, path, is_dir })}\n\n`).join("")}event: end\ndata: {"reason": "timeout"}\n\n`,
  shell_stream: ({ result }) => result.map(({ event, data, exit_code }) => `event: ${event}\ndata: ${JSON.stringify(event === "exit" ? { exit_code } : { data })}\n\n`).join(""),
  run_stream_timeout: () => 'event: error\ndata: {"error": "timeout"}\n\nevent: exit\ndata: {"exit_code": -9}\n\n',
};

/** Results of the recorded client in the form that ours have. */
const RESULTS = {
  shell_stream: (result) => result.map(({ event, data, exit_code }) => (event === "exit" ? { type: event, exit_code } : { type: event, data })),
  files_watch: (result) => result.map(({ type, path, is_dir }) => ({ type, path, is_dir })),
  files_archive: ({ format }) => ({ format, size: 4, data: [80, 75, 5, 6] }),
  discover: undefined,
};

/** A case of the recorded client. */
async function replayClient(sdk, one, capabilities) {
  const { name, exchanges } = one;
  const call = CALLS[name];
  assert(call !== undefined, `${name}: no call is written for it`);
  const responses = exchanges.map(({ response }) => ({ body_text: STREAMS[name]?.(one), ...response }));
  const { fetch, asked } = stub(name.startsWith("precheck_") ? [capabilities] : responses);
  const make = (opts, path = "") => new sdk.ServerClient(`http://server.test${path}`, { fetch, token: "adm", ...opts });
  const client = make({});
  if (name.startsWith("precheck_")) {
    await client.discover();
    asked.length = 0;
  }
  const [exchange = {}] = exchanges;
  const url = new URL(exchange.target ?? "/", "http://server.test");
  const facts = { make, json: exchange.json, query: Object.fromEntries(url.searchParams), pid: Number(/^\/process\/(\d+)/.exec(url.pathname)?.[1]), id: /^\/pty\/sessions\/(\w+)/.exec(url.pathname)?.[1] };
  const { answer, error } = await outcomeOf(call(client, facts));
  equal(asked.map(({ method, path }) => `${method} ${path}`), exchanges.map(({ method, target }) => `${method} ${target.split("?")[0]}`), `${name}: requests`);
  for (const [index, sent] of asked.entries()) {
    const { target, headers, json } = exchanges[index];
    samePlain(sent.query, [...new URL(target, "http://server.test").searchParams], `${name}: the query`);
    samePlain(sent.json, json, `${name}: the body`);
    // The token goes into one header: the other one is for whatever guards the port.
    const wanted = headers.filter(([header, value]) => header !== "x-access-token" || value === "gw");
    for (const [header, value] of wanted) equal(sent.headers[header], value, `${name}: header ${header}`);
    equal(Object.keys(sent.headers).sort(), wanted.map(([header]) => header).sort(), `${name}: headers`);
  }
  if (one.error === undefined) {
    if (error) throw new Error(`${name}: failed`, { cause: error });
    if (one.result !== undefined && name !== "discover") samePlain(answer ?? null, (RESULTS[name] ?? ((result) => result))(one.result), `${name}: the result`);
    if (name === "discover") checkDiscovery(answer, one.result);
    return;
  }
  assert(error !== undefined, `${name}: no error`);
  const { class: wanted, status_code, error_type, error_code, endpoint, rule, scope, limit, retry_after } = one.error;
  if (CLASSES[wanted] !== undefined) equal(error.name, CLASSES[wanted], `${name}: the class of the error`);
  else assert(error instanceof sdk.SandboxError, `${name}: the class of the error`);
  const expected = { status: status_code, type: error_type, code: error_code, endpoint, rule, scope, limit, retryAfterMs: retry_after && retry_after * 1000 };
  // A check before sending has no type, and says the status that the server would.
  for (const [fact, value] of Object.entries(expected)) if (value !== undefined && value !== "" && value !== 0) equal(error.server?.[fact], value, `${name}: ${fact} of the error`);
}

function checkDiscovery(answer, { identity, scopes, groups }) {
  equal([answer.identity.id, answer.identity.scopes], [identity, scopes], "discover: who asks");
  equal(answer.groups, groups, "discover: groups");
  equal([answer.can("health"), answer.can("browser_navigate"), answer.denial("browser_navigate"), answer.denial("nothing")], [true, false, "endpoint_disabled", "unknown_endpoint"], "discover: questions");
}

export const cases = [
  {
    name: "vectors: every case of the recorded client",
    async run({ sdk }) {
      const recorded = load("server-client");
      const differences = known("server-client", "cases");
      const problems = [];
      const capabilities = recorded.cases.find(({ name }) => name === "discover").exchanges[0].response;
      for (const one of recorded.cases) {
        const outcome = differences.get(one.name);
        differences.delete(one.name);
        const problem = await replayClient(sdk, one, capabilities).then(
          () => undefined,
          (error) => error,
        );
        if (outcome === undefined && problem !== undefined) problems.push(describe(problem));
        if (outcome !== undefined && problem === undefined) problems.push(`server-client, ${one.name}: listed as a difference, but the same`);
      }
      if (problems.length > 0) throw new Error(problems.join("\n"));
      equal([...differences.keys()], [], "differences of cases that do not exist");
    },
  },
  {
    name: "vectors: what probes of the server found is what the client expects",
    async run({ sdk }) {
      const probe = load("server-client").http_probe;
      const [status, body] = probe.duplicate_query;
      for (const [answered, content] of [[status, body], [probe.chunked_request[0], probe.chunked_request[1]]]) {
        const { fetch } = stub([{ status: answered, body_json: content }]);
        const { error } = await outcomeOf(new sdk.ServerClient("http://server.test", { fetch }).request("GET", "/files/list?path=a&path=b"));
        equal([error.name, error.code, error.server.endpoint], ["InvalidArgumentError", content.code, content.endpoint]);
      }
      const { fetch } = stub([{ status: probe.options_status, body_text: "<!DOCTYPE html>" }]);
      equal((await new sdk.ServerClient("http://server.test", { fetch }).fetch("/health", { method: "OPTIONS" })).status, 501);
    },
  },
  ...EXCHANGES.map(([file, list]) => ({
    name: `vectors: ${file}, ${list}`,
    run: ({ sdk }) => replayList(sdk, file, list, load(file)[list]),
  })),
  ...NESTED.map(([file, list, casesOf]) => ({
    name: `vectors: ${file}, ${list}`,
    run: ({ sdk }) => replayList(sdk, file, list, casesOf(load(file))),
  })),
];

