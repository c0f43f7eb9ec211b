// The README's table of methods, made from the declarations of the built package. Without an argument it compares and fails
// when they differ; with `--write` it puts the table into the README. `cargo xtask test --only types` compares.

import { readFileSync, writeFileSync } from "node:fs";

const DECLARATIONS = new URL("../node_modules/agent-sandbox-web/dist/index.d.ts", import.meta.url);
const README = new URL("../README.md", import.meta.url);
const [BEGIN, END] = ["<!-- methods -->\n", "<!-- end of methods -->"];

const types = parse(readFileSync(DECLARATIONS, "utf8"));
const readme = readFileSync(README, "utf8");
const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)];
if (begin < 0 || end < begin) fail("README.md has no place for the table of methods");
const changed = readme.slice(0, begin + BEGIN.length) + table(types) + readme.slice(end);
if (process.argv.includes("--write")) writeFileSync(README, changed);
else if (changed !== readme) fail("README.md has another table of methods than the declarations: run `node xtask/methods.mjs --write`");

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** The members of every class, with what interfaces and namespaces of the same name add, and what those extend: `{ statics, methods, parts }`. */
function parse(text) {
  const classes = new Map();
  const added = new Map();
  let current;
  for (const line of text.split("\n")) {
    const head = /^export (?:declare )?(?:abstract )?(class|interface|namespace) (\w+)(?: extends ([\w, ]+))?/.exec(line);
    if (head) {
      const [, kind, name, extended] = head;
      const place = kind === "class" ? classes : added;
      if (!place.has(name)) place.set(name, { statics: new Set(), methods: new Set(), parts: new Map(), error: / extends \w*Error\b/.test(line) });
      current = place.get(name);
      if (kind === "interface" && extended) current.extended = extended.trim().split(", ");
      continue;
    }
    if (line.startsWith("}")) current = undefined;
    if (!current) continue;
    const method = /^ {2,4}(static |function )?(\w+)(?:<.*?>)?\(/.exec(line);
    const property = /^ {2,4}readonly (\w+): (\w+);$/.exec(line);
    if (method && !["constructor", "toString"].includes(method[2])) (method[1] ? current.statics : current.methods).add(method[2]);
    if (property) current.parts.set(property[1], property[2]);
  }
  for (const [name, { statics, methods, parts, extended = [] }] of added) {
    const target = classes.get(name);
    statics.forEach((one) => target?.statics.add(one));
    methods.forEach((one) => target?.methods.add(one));
    parts.forEach((type, property) => target?.parts.set(property, type));
    for (const base of extended) added.get(base)?.methods.forEach((one) => target?.methods.add(one));
  }
  return classes;
}

function table(classes) {
  const parts = new Map([...classes.get("Sandbox").parts].map(([property, type]) => [type, `sandbox.${property}`]));
  const order = ["Sandbox", ...parts.keys(), ...[...classes.keys()].sort()];
  const list = (names) => [...names].sort().map((name) => `\`${name}\``).join(" ");
  const rows = [];
  for (const name of new Set(order)) {
    const type = classes.get(name);
    if (!type || type.error) continue;
    if (type.statics.size > 0) rows.push([`\`${name}\`, static`, list(type.statics)]);
    if (type.methods.size > 0) rows.push([parts.has(name) ? `\`${parts.get(name)}\`` : `\`${name}\``, list(type.methods)]);
  }
  return `| of | methods |\n|---|---|\n${rows.map((row) => `| ${row.join(" | ")} |\n`).join("")}`;
}
