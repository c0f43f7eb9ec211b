// Builds templates: asks for a build, uploads what it copies, and follows it to its end.

import { options as read, text, texts, whole } from "./arguments.js";
import { _exchange } from "./core_bg.js";
import { BuildError, FileUploadError, TemplateError } from "./errors.js";
import { ask, route, translate } from "./exchange.js";
import { invalid } from "./options.js";
import { LogEntry, LogEntryEnd, LogEntryStart, readEntry } from "./template-log.js";

/** How many log entries a status answer has at most. */
const PAGE = 100;

/** Pauses between questions, in ms: short while there is news, longer and longer while there is none. */
const FIRST_PAUSE = 200;
const LONGEST_PAUSE = 2_000;

/** How long the upload of an archive may take unless the caller says otherwise, in ms. */
const UPLOAD_TIMEOUT = 3_600_000;

const DEFAULT_CPUS = 2;
const DEFAULT_MEMORY = 1024;

/** What a caller wants to build: `(template, name, options)` or `(template, { alias, … })`, checked. */
function wish(name, given, owner) {
  const options = read(typeof name === "string" ? given : name, owner);
  const wanted = typeof name === "string" ? name : options.alias;
  if (typeof wanted !== "string" || wanted === "") {
    throw new TemplateError(`${owner} needs a name for the template, such as "my-template" or "my-template:v1"`, {
      code: "invalid_argument",
    });
  }
  if (options.onBuildLogs !== undefined && typeof options.onBuildLogs !== "function") {
    throw invalid(`Option onBuildLogs of ${owner} must be a function`);
  }
  return {
    name: wanted,
    tags: options.tags === undefined ? [] : texts(options.tags, `Option tags of ${owner}`),
    cpuCount: whole(options.cpuCount ?? DEFAULT_CPUS, `Option cpuCount of ${owner}`, 1),
    memoryMB: whole(options.memoryMB ?? DEFAULT_MEMORY, `Option memoryMB of ${owner}`, 1),
    minFreeDiskMb: options.minFreeDiskMb === undefined ? undefined : whole(options.minFreeDiskMb, `Option minFreeDiskMb of ${owner}`, 0),
    skipCache: options.skipCache === true,
    log: options.onBuildLogs ?? (() => {}),
    options,
  };
}

export async function build(plan, name, options) {
  const wanted = wish(name, options, "Template.build");
  const { log, options: asking } = wanted;
  log(new LogEntryStart(new Date(), "Build started"));
  try {
    const info = await start(plan, wanted);
    log(new LogEntry(new Date(), "info", "Waiting for logs..."));
    for await (const status of follow(asking, info, 0)) {
      for (const entry of status.logEntries) log(entry);
      if (status.status === "error") throw failed(status);
    }
    return info;
  } finally {
    log(new LogEntryEnd(new Date(), "Build finished"));
  }
}

export async function buildInBackground(plan, name, options) {
  return start(plan, wish(name, options, "Template.buildInBackground"));
}

/** Everything up to the moment at which the server builds by itself. */
async function start(plan, wanted) {
  const { options, name, tags, cpuCount, memoryMB, minFreeDiskMb } = wanted;
  const info = (message) => wanted.log(new LogEntry(new Date(), "info", message));
  // Before any request: a source that is missing must not leave a build behind that never starts.
  const body = await describe(plan, true);
  if (wanted.skipCache) body.force = true;
  info(`Requesting build for template: ${name}`);
  const asked = { name, tags: tags.length > 0 ? tags : undefined, cpuCount, memoryMB, minFreeDiskMb };
  const made = await as(BuildError, ask("POST", "/v3/templates", options, { json: asked }));
  const { templateID: templateId, buildID: buildId } = made ?? {};
  if (typeof templateId !== "string" || typeof buildId !== "string") {
    throw new BuildError("The server's answer names no template and no build. Check apiUrl and domain", { code: "protocol_error" });
  }
  info(`Template created with ID: ${templateId}, Build ID: ${buildId}`);
  await upload(plan, body, templateId, options, info);
  info("All file uploads completed");
  info("Starting building...");
  await as(BuildError, ask("POST", route("v2", "templates", templateId, "builds", buildId), options, { json: body }));
  return { alias: name, name, tags: Array.isArray(made.tags) ? made.tags : tags, templateId, buildId };
}

async function upload(plan, body, templateId, options, info) {
  const done = new Set();
  for (const [index, { type, args, filesHash, forceUpload }] of body.steps.entries()) {
    if (type !== "COPY" || done.has(filesHash)) continue;
    done.add(filesHash);
    const link = await as(FileUploadError, ask("GET", route("templates", templateId, "files", filesHash), options));
    if (typeof link?.url === "string" && (forceUpload || link.present === false)) {
      const archive = await plan.files.archive(args[0], plan.steps[index].gzip);
      const patient = { ...options, requestTimeoutMs: options.requestTimeoutMs ?? UPLOAD_TIMEOUT };
      await as(FileUploadError, _exchange("PUT", link.url, "store", { body: archive }, patient));
      info(`Uploaded '${args[0]}'`);
    } else {
      info(`Skipping upload of '${args[0]}', already cached`);
    }
  }
}

/** The body that starts a build. */
export async function describe(plan, withHashes) {
  const steps = [];
  for (const { type, args, force, forceUpload } of plan.steps) {
    const step = { type, args, force };
    if (type === "COPY" && withHashes) step.filesHash = await plan.files.hash(args[0], args[1]);
    if (forceUpload) step.forceUpload = true;
    steps.push(step);
  }
  const { startCmd, readyCmd } = plan;
  return { steps, force: plan.force, ...plan.base, startCmd, readyCmd };
}

export function getBuildStatus(build, options) {
  const { logsOffset, asking } = following(build, options, "Template.getBuildStatus");
  return askStatus(asking, build, logsOffset);
}

export function streamBuildStatus(build, options) {
  const { logsOffset, asking } = following(build, options, "Template.streamBuildStatus");
  return follow(asking, build, logsOffset);
}

export function streamBuildLogs(build, options) {
  const { logsOffset, asking } = following(build, options, "Template.streamBuildLogs");
  return logs(asking, build, logsOffset);
}

async function* logs(options, build, logsOffset) {
  for await (const status of follow(options, build, logsOffset)) {
    yield* status.logEntries;
    if (status.status === "error") throw failed(status);
  }
}

function following(build, given, owner) {
  const options = read(given, owner);
  text(build?.templateId, `templateId of ${owner}`);
  text(build?.buildId, `buildId of ${owner}`);
  const logsOffset = whole(options.logsOffset ?? 0, `Option logsOffset of ${owner}`, 0);
  return { logsOffset, asking: options };
}

/**
 * The answers that say something new: further log entries, or another status. The server cannot be made to wait for news, so
 * it is asked again and again, but only when the reader asks for more.
 */
async function* follow(options, build, logsOffset) {
  let offset = logsOffset;
  let before;
  let wait = FIRST_PAUSE;
  for (;;) {
    const answer = await askStatus(options, build, offset);
    const count = answer.logEntries.length;
    const over = answer.status === "ready" || answer.status === "error";
    offset += count;
    if (count > 0 || answer.status !== before) {
      wait = FIRST_PAUSE;
      before = answer.status;
      // The status is kept back until all entries before it have been told.
      yield over && count > 0 ? { ...answer, status: "building", reason: undefined } : answer;
      if (over && count > 0) before = undefined;
    }
    if (over && count === 0) return;
    if (over || count >= PAGE) continue;
    await pause(wait, options.signal ?? undefined);
    wait = Math.min(wait * 1.5, LONGEST_PAUSE);
  }
}

async function askStatus(options, { templateId, buildId }, logsOffset) {
  const status = route("templates", templateId, "builds", buildId, "status");
  const answer = await as(BuildError, ask("GET", status, options, { query: { logsOffset, limit: PAGE } }));
  if (typeof answer?.status !== "string") {
    throw new BuildError("The server's answer has no build status. Check apiUrl and domain", { code: "protocol_error" });
  }
  const entries = (list) => (Array.isArray(list) ? list.map(readEntry) : []);
  const { logs, reason } = answer;
  return {
    buildID: answer.buildID ?? buildId,
    templateID: answer.templateID ?? templateId,
    status: answer.status,
    logEntries: entries(answer.logEntries),
    logs: Array.isArray(logs) ? logs : [],
    reason: reason ? { message: String(reason.message ?? ""), step: reason.step, logEntries: entries(reason.logEntries) } : undefined,
  };
}

function failed({ reason }) {
  const step = reason?.step === undefined ? "" : ` at step ${reason.step}`;
  const message = `The build failed${step}: ${reason?.message || "the server gave no reason"}`;
  return new BuildError(message, { code: "build_failed", step: reason?.step, logEntries: reason?.logEntries });
}

export async function aliasExists(alias, options) {
  const name = route("templates", "aliases", text(alias, "alias of Template.exists"));
  try {
    await ask("GET", name, options);
    return true;
  } catch (error) {
    // It exists, and belongs to somebody else.
    if (error?.status === 403) return true;
    if (error?.status === 404) return false;
    throw translate(TemplateError, error);
  }
}

export async function assignTags(targetName, tags, options) {
  const body = { target: text(targetName, "targetName of Template.assignTags"), tags: texts(tags, "tags of Template.assignTags") };
  const answer = await as(TemplateError, ask("POST", "/templates/tags", options, { json: body }));
  return { buildId: answer?.buildID, tags: answer?.tags ?? [] };
}

export async function removeTags(name, tags, options) {
  const body = { name: text(name, "name of Template.removeTags"), tags: texts(tags, "tags of Template.removeTags") };
  await as(TemplateError, ask("DELETE", "/templates/tags", options, { json: body }));
}

export async function getTags(templateId, options) {
  const tags = route("templates", text(templateId, "templateId of Template.getTags"), "tags");
  const answer = await as(TemplateError, ask("GET", tags, options));
  const list = Array.isArray(answer) ? answer : [];
  return list.map(({ tag, buildID, createdAt }) => ({ tag, buildId: buildID, createdAt: new Date(createdAt) }));
}

/** Lets the server's refusals be errors of `type`. */
async function as(type, request) {
  try {
    return await request;
  } catch (error) {
    throw translate(type, error);
  }
}

function pause(ms, signal) {
  return new Promise((resolve, reject) => {
    const end = (settle) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      settle();
    };
    const abort = () => end(() => reject(signal.reason));
    const timer = setTimeout(() => end(resolve), ms);
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
  });
}
