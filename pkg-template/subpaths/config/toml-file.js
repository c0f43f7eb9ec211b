// The text of a TOML file as a layer of settings. Of it only the tables `core`, `transport` and `providers.<id>` count.

import { InvalidArgumentError } from "#package";
import { parse } from "smol-toml";
import { asLayer } from "./layers.js";

export function toml(text, opts) {
  const { name = "config.toml" } = opts ?? {};
  if (typeof text !== "string") throw wrong("toml needs the text of the file as its first argument. Read the file first; bytes become text by new TextDecoder().decode(bytes)");
  if (typeof name !== "string" || name === "") throw wrong("Option name of toml must be a text that is not empty");
  let root;
  try {
    root = parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    // Its own message quotes the file, in which there may be a secret.
    throw wrong(`${name} is no TOML: see line ${error?.line ?? 1}, column ${error?.column ?? 1}`);
  }
  const tables = new Map();
  const add = (path, value) => {
    if (value === undefined) return;
    if (!isTable(value)) throw wrong(`${path} of ${name} must be a table, [${path}]`);
    tables.set(path, value);
  };
  const own = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);
  add("core", own(root, "core"));
  add("transport", own(root, "transport"));
  const providers = own(root, "providers");
  if (providers !== undefined && !isTable(providers)) throw wrong(`providers of ${name} must have tables, such as [providers.alicloud-express]`);
  for (const id of Object.keys(providers ?? {})) add(`providers.${id}`, providers[id]);
  return asLayer({ kind: "toml", name, tables });
}

function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}
