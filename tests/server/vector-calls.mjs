// Which call of the client a recorded request is. Where the client's methods cannot say a thing (other content types, other
// methods, what is no JSON), it is a plain request through the client.

const BYTES = (text) => Uint8Array.from(atob(text ?? ""), (one) => one.charCodeAt(0));
const ms = (seconds) => (seconds === undefined ? undefined : Number(seconds) * 1000);
const flag = (text) => (text === undefined ? undefined : text === "true");
const number = (text) => (text === undefined || Number.isNaN(Number(text)) ? text : Number(text));
const command = ({ cwd, env, timeout, ...rest }) => ({ cwd, env, timeoutMs: ms(timeout), ...rest });
const all = async (events) => {
  const found = [];
  for await (const event of events) found.push(event);
  return found;
};

/** `[method, pattern of the path, (client, { body, query, parts }) => call]`, and what the call answers of a body. */
const CALLS = [
  ["GET", /^\/health$/, (c) => c.health(), ({ status }) => status === "ok"],
  ["GET", /^\/capabilities$/, (c) => c.discover().then(({ document }) => document)],
  ["POST", /^\/capabilities\/check$/, (c, { body: { endpoint, ...opts } }) => c.check(endpoint, opts)],
  ["GET", /^\/commands$/, (c) => c.commands.list(), ({ commands }) => commands],
  ["POST", /^\/commands\/([^/]+)$/, (c, { body, parts }) => c.commands.run(decodeURIComponent(parts[0]), body), ({ result }) => result],
  ["GET", /^\/files\/list$/, (c, { query: { path, recursive, max_entries } }) => c.files.list(path, { recursive: flag(recursive), maxEntries: number(max_entries) }), ({ entries }, { query }) => entries.map((entry) => (query.recursive ? entry : { ...entry, path: `${query.path}/${entry.name}` }))],
  ["GET", /^\/files\/stat$/, (c, { query }) => c.files.stat(query.path)],
  ["POST", /^\/files\/mkdir$/, (c, { body }) => c.files.mkdir(body.path)],
  ["DELETE", /^\/files$/, (c, { query }) => c.files.delete(query.path)],
  ["POST", /^\/files\/move$/, (c, { body }) => c.files.move(body.source, body.destination)],
  ["POST", /^\/files\/search$/, (c, { body }) => c.files.search(body.path, body.pattern, { maxDepth: body.max_depth, maxResults: body.max_results })],
  ["POST", /^\/files\/upload-stream$/, (c, { body }) => c.files.upload(body.path, BYTES(body.content_base64))],
  ["GET", /^\/files\/download-stream$/, (c, { query }) => c.files.download(query.path), ({ content_base64 }) => BYTES(content_base64)],
  ["POST", /^\/files\/archive$/, (c, { body }) => c.files.archive(body.paths, { format: body.format }), ({ content_base64, format }) => ({ format, size: BYTES(content_base64).length, data: BYTES(content_base64) })],
  ["GET", /^\/files\/watch$/, (c, { query: { path, recursive, interval, timeout } }) => all(c.files.watch(path, { recursive: flag(recursive), intervalMs: ms(interval), timeoutMs: ms(timeout) }))],
  ["POST", /^\/shell$/, (c, { body }) => c.process.shell(body.command, command(body)), (body) => ({ truncated: false, ...body })],
  ["POST", /^\/shell\/stream$/, (c, { body }) => all(c.process.stream(body.command, command(body)))],
  ["POST", /^\/process\/start$/, (c, { body: { capture_output, ...body } }) => c.process.start(body.command, { ...command(body), captureOutput: capture_output }).then(({ pid, command: line }) => ({ pid, command: line }))],
  ["GET", /^\/process\/list$/, (c) => c.process.list(), ({ processes }) => processes],
  ["GET", /^\/process\/([^/]+)$/, (c, { parts }) => c.process.get(number(parts[0]))],
  ["GET", /^\/process\/([^/]+)\/output$/, (c, { parts, query }) => c.process.output(number(parts[0]), { since: number(query.since), waitMs: ms(query.wait) })],
  ["POST", /^\/process\/([^/]+)\/stdin$/, (c, { parts, body: { data, data_base64, eof } }) => c.process.sendStdin(number(parts[0]), data_base64 === undefined ? data : BYTES(data_base64), { eof })],
  ["POST", /^\/process\/([^/]+)\/signal$/, (c, { parts, body }) => c.process.signal(number(parts[0]), body.signal === undefined ? null : number(body.signal))],
  ["POST", /^\/pty\/sessions$/, (c, { body }) => c.terminal.create(body)],
  ["GET", /^\/pty\/sessions$/, (c) => c.terminal.list(), ({ sessions }) => sessions],
  ["GET", /^\/pty\/sessions\/([^/]+)$/, (c, { parts }) => c.terminal.get(parts[0])],
  ["POST", /^\/pty\/sessions\/([^/]+)\/resize$/, (c, { parts, body }) => c.terminal.resize(parts[0], body.cols, body.rows)],
  ["DELETE", /^\/pty\/sessions\/([^/]+)$/, (c, { parts }) => c.terminal.delete(parts[0]), () => undefined],
  ["GET", /^\/system\/info$/, (c) => c.system.info()],
  ["GET", /^\/system\/metrics$/, (c) => c.system.metrics()],
  ["GET", /^\/env$/, (c, { query }) => c.system.env(query.filter?.split(",")), ({ variables }) => variables],
  ["POST", /^\/env$/, (c, { body }) => c.system.setEnv(body.vars ?? {}), ({ updated }) => updated],
  ["GET", /^\/ports$/, (c) => c.system.ports(), ({ listening }) => listening],
  ["GET", /^\/packages$/, (c, { query }) => c.system.packages(query.manager), ({ packages }) => packages],
  ["POST", /^\/code\/run$/, (c, { body: { code, language, timeout } }) => c.devTools.runCode(code, { language, timeoutMs: ms(timeout) }), (body) => ({ truncated: false, ...body })],
  ["GET", /^\/git\/status$/, (c, { query }) => c.devTools.gitStatus(query.path)],
  ["GET", /^\/git\/diff$/, (c, { query }) => c.devTools.gitDiff(query.path, { staged: flag(query.staged), file: query.file })],
  ["POST", /^\/browser\/navigate$/, (c, { body }) => c.browser.navigate(body.url)],
  ["POST", /^\/browser\/screenshot$/, (c) => c.browser.screenshot()],
  ["GET", /^\/browser\/content$/, (c) => c.browser.content()],
  ["POST", /^\/browser\/click$/, (c, { body }) => c.browser.click(body.selector)],
  ["POST", /^\/browser\/type$/, (c, { body }) => c.browser.type(body.selector, body.text)],
  ["POST", /^\/browser\/evaluate$/, (c, { body }) => c.browser.evaluate(body.script)],
  ["POST", /^\/browser\/pdf$/, (c) => c.browser.pdf()],
  ["GET", /^\/browser\/console$/, (c) => c.browser.console(), ({ logs }) => logs],
  ...agents(),
];

/** Those of the agents: the body or query of most is an object that passes as it is. */
function agents() {
  const send = (get) => (c, { parts, body, key }) => get(c.agents)(...parts, body, { idempotencyKey: key });
  const read = (get) => (c, { parts, query }) => get(c.agents)(...parts, query);
  const id = "([^/]+)";
  const at = (path) => new RegExp(`^${path.replaceAll("*", id)}$`);
  return [
    ["GET", at("/v1/agents/runtimes"), read((a) => a.runtimes.list)],
    ["GET", at("/v1/models"), read((a) => a.models.list)],
    ["GET", at("/v1/models/*"), read((a) => a.models.get)],
    ["DELETE", at("/v1/models/*"), read((a) => a.models.delete)],
    ["POST", at("/v1/responses/input_tokens"), send((a) => a.responses.inputTokens)],
    ["POST", at("/v1/responses/compact"), send((a) => a.responses.compact)],
    ["POST", at("/v1/responses"), (c, { body: { stream, ...body } }) => (stream ? all(c.agents.responses.stream(body)) : c.agents.responses.create(body))],
    ["GET", at("/v1/responses/*"), (c, { parts, query: { stream, starting_after } }) => (stream ? all(c.agents.responses.replay(parts[0], { startingAfter: number(starting_after) })) : c.agents.responses.get(parts[0]))],
    ["DELETE", at("/v1/responses/*"), read((a) => a.responses.delete)],
    ["POST", at("/v1/responses/*/cancel"), send((a) => a.responses.cancel)],
    ["GET", at("/v1/responses/*/input_items"), read((a) => a.responses.inputItems)],
    ["POST", at("/v1/agents/environments/templates"), send((a) => a.environments.templates.create)],
    ["POST", at("/v1/agents/environments"), send((a) => a.environments.create)],
    ["GET", at("/v1/agents/environments/*"), read((a) => a.environments.get)],
    ["POST", at("/v1/agents/environments/*/files"), send((a) => a.environments.files.create)],
    ["GET", at("/v1/agents/environments/*/files"), read((a) => a.environments.files.list)],
    ["GET", at("/v1/agents/environments/*/connect"), read((a) => a.environments.connect)],
    ["POST", at("/v1/agents/sessions"), send((a) => a.sessions.create)],
    ["GET", at("/v1/agents/sessions"), read((a) => a.sessions.list)],
    ["GET", at("/v1/agents/sessions/*"), read((a) => a.sessions.get)],
    ["POST", at("/v1/agents/sessions/*"), send((a) => a.sessions.update)],
    ["DELETE", at("/v1/agents/sessions/*"), read((a) => a.sessions.delete)],
    ["POST", at("/v1/agents/sessions/*/events"), send((a) => a.sessions.send)],
    ["GET", at("/v1/agents/sessions/*/events"), (c, { parts, query }) => all(c.agents.sessions.events(parts[0], { after: query.after }))],
    ["GET", at("/v1/agents/sessions/*/items"), read((a) => a.sessions.items)],
    ["GET", at("/v1/agents/sessions/*/turns"), read((a) => a.sessions.turns.list)],
    ["GET", at("/v1/agents/sessions/*/turns/*/items"), read((a) => a.sessions.turns.items)],
    ["GET", at("/v1/agents/sessions/*/artifacts"), read((a) => a.sessions.artifacts.list)],
    ["GET", at("/v1/agents/sessions/*/artifacts/*/content"), (c, { parts }) => c.agents.sessions.artifacts.content(...parts)],
    ["GET", at("/v1/agents/sessions/*/traces"), read((a) => a.sessions.traces)],
    ["GET", at("/v1/agents/sessions/*/subagents"), read((a) => a.sessions.subagents.list)],
    ["POST", at("/v1/agents"), send((a) => a.definitions.create)],
    ["GET", at("/v1/agents"), read((a) => a.definitions.list)],
    ["GET", at("/v1/agents/*"), read((a) => a.definitions.get)],
    ["POST", at("/v1/agents/*"), send((a) => a.definitions.update)],
    ["POST", at("/v1/files"), send((a) => a.files.create)],
    ["POST", at("/v1/vaults"), send((a) => a.vaults.create)],
    ["GET", at("/v1/vaults"), (c, { query }) => c.agents.vaults.list({ metadata: { team: query["metadata[team]"] } })],
    ["POST", at("/v1/vaults/*/credentials"), send((a) => a.vaults.credentials.create)],
    ["POST", at("/v1/webhook_endpoints"), send((a) => a.webhooks.create)],
    ["GET", at("/v1/webhook_endpoints/*"), read((a) => a.webhooks.get)],
    ["DELETE", at("/v1/webhook_endpoints/*"), read((a) => a.webhooks.delete)],
    ["GET", at("/v1/webhook_event_types"), read((a) => a.webhooks.eventTypes)],
  ];
}

/** What the client sends although the recorded request does not: the server's own defaults, written out. */
const DEFAULTS = {
  "/env": { vars: {} },
  "/files/list": { recursive: "false" },
  "/files/watch": { recursive: "false" },
  "/process/*/output": { since: "0", wait: "0" },
  "/pty/sessions": { shell: "/bin/bash", cols: 80, rows: 24 },
  "/packages": { manager: "pip" },
  "/code/run": { language: "python" },
  "/git/status": { path: "." },
  "/git/diff": { path: ".", staged: "false" },
  "/files/archive": { format: "tar.gz" },
  "/browser/navigate": { wait_until: "networkidle" },
  "/browser/screenshot": { full_page: true, format: "png" },
  "/browser/content": { type: "html" },
  "/browser/pdf": { format: "A4", landscape: false },
};

export function defaultsOf(path) {
  return DEFAULTS[path.replace(/\/\d+(?=\/|$)/, "/*")] ?? {};
}

/** The call for a recorded request: `{ run(client), answer(body) }`; undefined when no method of the client makes it. */
export function callOf({ method, target, headers = {}, ...request }) {
  const [path, search = ""] = target.split(/\?(.*)/s);
  const pairs = [...new URLSearchParams(search)];
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const isPlain = names.every((name) => ["authorization", "accept", "idempotency-key"].includes(name));
  const isObject = request.body_json === undefined ? request.body_text === undefined : typeof request.body_json === "object" && !Array.isArray(request.body_json);
  const found = CALLS.find(([wanted, pattern]) => wanted === method && pattern.test(path));
  if (!found || !isPlain || !isObject || (method === "POST" && request.body_json === undefined)) return undefined;
  // Methods have no place for what these have in their query or body.
  if ((path === "/health" || path === "/commands") && search !== "") return undefined;
  if (new Set(pairs.map(([name]) => name)).size < pairs.length || pairs.some(([name, value]) => name === "recursive" && !["true", "false"].includes(value))) return undefined;
  const { content_base64: content, data_base64: data } = request.body_json ?? {};
  if (![content, data].every(isBase64)) return undefined;
  const [, pattern, call, answer = (body) => body] = found;
  const given = { body: request.body_json, query: Object.fromEntries(pairs), parts: pattern.exec(path).slice(1), key: headers["Idempotency-Key"] };
  return { run: async (client) => call(client, given), answer: (body) => answer(body, given) };
}

function isBase64(text) {
  try {
    return text === undefined || btoa(atob(text)) === text;
  } catch {
    return false;
  }
}
