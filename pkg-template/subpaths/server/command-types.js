// TypeScript for named commands, made from what `GET /commands` answers. Text in, text out. Whatever the server says becomes a
// name in quotes or a comment that cannot be left, never code.

import { isObject, kind, optional, options, stringMap, text, wrong } from "./check.js";

const TYPES = { string: "string", integer: "number", float: "number", boolean: "boolean", string_array: "string[]" };

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

export function generateCommandTypes(commands, given) {
  const owner = "generateCommandTypes";
  if (!Array.isArray(commands) || !commands.every(isObject)) throw wrong(`commands of ${owner} must be what commands.list() answers, not ${kind(commands)}`);
  const opts = options(given, owner);
  const name = optional(text, opts.name, `Option name of ${owner}`) ?? "Commands";
  if (!IDENTIFIER.test(name)) throw wrong(`Option name of ${owner} must be a name that an interface can have`);
  const results = optional(stringMap, opts.results, `Option results of ${owner}`) ?? {};
  const lines = ["// Made from the list of commands of a server. Do not edit: make it again.", "", `export interface ${name} {`];
  for (const command of commands) lines.push(...methodOf(command, Object.hasOwn(results, command.name) ? results[command.name] : "unknown"));
  lines.push("}", "");
  return lines.join("\n");
}

function methodOf({ name, description = "", args = [] }, result) {
  if (encodeURIComponent(name) !== name || name === "then" || name === "") return [`    // The command ${comment(JSON.stringify(name))} has a name that cannot be called.`];
  const isOptional = args.every(({ required }) => !required);
  const lines = documented(description, "    ");
  if (args.length === 0) return [...lines, `    ${quoted(name)}(args?: Record<string, never>): ${result};`];
  lines.push(`    ${quoted(name)}(args${isOptional ? "?" : ""}: {`);
  for (const one of args) {
    const known = one.default === undefined || one.default === null ? "" : `Default: ${one.default}`;
    lines.push(...documented([one.description ?? "", known, one.type === "integer" ? "A whole number." : ""].filter(Boolean).join(" "), "        "));
    // What the server does not know it takes as text.
    lines.push(`        ${quoted(one.name)}${one.required ? "" : "?"}: ${Object.hasOwn(TYPES, one.type) ? TYPES[one.type] : "unknown"}${one.required ? "" : " | undefined"};`);
  }
  lines.push(`    }): ${result};`);
  return lines;
}

function documented(words, indent) {
  const line = comment(words);
  return line === "" ? [] : [`${indent}/** ${line} */`];
}

/** Text that stays inside of a comment of one line. */
function comment(words) {
  return String(words).replace(/[\s\u2028\u2029]+/g, " ").replaceAll("*/", "* /").trim();
}

function quoted(name) {
  return IDENTIFIER.test(name) ? name : JSON.stringify(name).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
