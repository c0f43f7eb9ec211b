// Dockerfiles, read into the steps of a template and written from them.

import { TemplateError } from "./errors.js";

/** How long a start command from a Dockerfile gets before it counts as ready: a Dockerfile cannot say. */
const READY = "sleep 20";

function wrong(message) {
  return new TemplateError(message, { code: "invalid_dockerfile" });
}

/** Calls the builder's methods for what a Dockerfile says. What has no counterpart (EXPOSE, LABEL, VOLUME …) is skipped. */
export function readDockerfile(content, builder) {
  const all = instructions(content);
  const images = all.filter(({ name }) => name === "FROM");
  if (images.length !== 1) {
    throw wrong(`A Dockerfile must have one FROM instruction, this one has ${images.length}. Stages are not supported`);
  }
  const [image] = words(images[0].rest).filter((word) => !word.startsWith("--"));
  if (image === undefined) throw wrong("The FROM instruction names no image");
  builder.fromImage(image);
  builder.setUser("root");
  builder.setWorkdir("/");
  let start;
  const seen = new Set();
  for (const { name, rest } of all) {
    seen.add(name);
    if (name === "RUN") builder.runCmd(command(rest));
    else if (name === "COPY" || name === "ADD") copy(name, rest, builder);
    else if (name === "WORKDIR") builder.setWorkdir(unquote(rest));
    else if (name === "USER") builder.setUser(unquote(rest));
    else if (name === "ENV" || name === "ARG") variables(name, rest, builder);
    else if (name === "CMD" || name === "ENTRYPOINT") start = list(rest)?.join(" ") ?? rest;
  }
  if (!seen.has("USER")) builder.setUser("user");
  if (!seen.has("WORKDIR")) builder.setWorkdir("/home/user");
  if (start) builder.setStartCmd(start, READY);
}

/** The text of a Dockerfile that does what a plan does; files to copy are named as they are in the plan. */
export function writeDockerfile({ base, steps, startCmd }) {
  if (base.fromImage === undefined) {
    throw new TemplateError("A template that is based on another template cannot be written as a Dockerfile", {
      code: "invalid_argument",
    });
  }
  const lines = [`FROM ${base.fromImage}`];
  for (const { type, args } of steps) {
    if (type === "ENV") {
      const pairs = [];
      for (let at = 0; at < args.length; at += 2) pairs.push(`${args[at]}=${args[at + 1]}`);
      lines.push(`ENV ${pairs.join(" ")}`);
    } else {
      lines.push(`${type} ${args.slice(0, type === "COPY" ? 2 : 1).join(" ")}`);
    }
  }
  if (startCmd !== undefined) lines.push(`ENTRYPOINT ${startCmd}`);
  return `${lines.join("\n")}\n`;
}

/** The instructions with their names in upper case, comments and line breaks taken out. */
function instructions(content) {
  const found = [];
  let open = "";
  for (const line of content.split(/\r?\n/)) {
    const bare = line.trim();
    // Comments and empty lines may stand between the lines of an instruction.
    if (bare.startsWith("#") || bare === "") continue;
    const goesOn = /\\\s*$/.test(line);
    open += goesOn ? line.replace(/\\\s*$/, "") : line;
    if (!goesOn) {
      found.push(open.trim());
      open = "";
    }
  }
  if (open.trim() !== "") found.push(open.trim());
  return found.map((line) => {
    const [, name, rest] = /^(\S+)\s*(.*)$/s.exec(line);
    if (/<<-?\s*["']?\w/.test(rest) && /^(run|copy|add)$/i.test(name)) {
      throw wrong("Here-documents (<<) are not supported in a Dockerfile. Use runCmd, or give the text as a file");
    }
    return { name: name.toUpperCase(), rest: rest.trim() };
  });
}

/** A command of RUN as the shell takes it. */
function command(rest) {
  let text = rest;
  for (let flag; (flag = /^--(\S+)\s+/.exec(text)) !== null; text = text.slice(flag[0].length)) {
    // A cache makes a build faster and nothing else. What other flags ask for would be missing.
    if (!/^mount=(?=.*\btype=cache\b)/.test(flag[1])) throw wrong(`RUN --${flag[1].split("=")[0]} is not supported in a Dockerfile`);
  }
  return list(text)?.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(" ") ?? text;
}

function copy(name, rest, builder) {
  const flags = [];
  let text = rest;
  for (let flag; (flag = /^--(\S+)\s+/.exec(text)) !== null; text = text.slice(flag[0].length)) flags.push(flag[1]);
  if (flags.some((flag) => flag.startsWith("from="))) throw wrong(`${name} --from is not supported: stages are not`);
  const user = flags.find((flag) => flag.startsWith("chown="))?.slice("chown=".length);
  const paths = list(text) ?? words(text);
  if (paths.length < 2) throw wrong(`${name} needs a source and a destination`);
  builder.copy(paths.slice(0, -1), paths.at(-1), { user });
}

function variables(name, rest, builder) {
  const all = words(rest);
  const isOld = name === "ENV" && !all[0]?.includes("=");
  const pairs = isOld ? [[all[0], unquote(rest.slice(all[0]?.length ?? 0).trim())]] : all.map(pair);
  if (pairs.length > 0) builder.setEnvs(Object.fromEntries(pairs));
}

function pair(word) {
  const at = word.indexOf("=");
  return at < 0 ? [word, ""] : [word.slice(0, at), word.slice(at + 1)];
}

/** A JSON list of texts, or undefined. */
function list(text) {
  if (!text.startsWith("[")) return undefined;
  try {
    const value = JSON.parse(text);
    return Array.isArray(value) && value.every((word) => typeof word === "string") ? value : undefined;
  } catch {
    // Then it is for the shell, where a bracket is a command like any other.
    return undefined;
  }
}

/** Words as a shell would split them, without their quotes. */
function words(text) {
  const found = text.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/gs) ?? [];
  return found.map((word) => word.replace(/"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/gs, (_, double, single, escaped) => double?.replace(/\\(.)/gs, "$1") ?? single ?? escaped));
}

function unquote(text) {
  return /^(["']).*\1$/s.test(text) ? text.slice(1, -1) : text;
}
