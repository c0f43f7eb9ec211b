// The text of a `.env` file as variables, each with its line. No variable is put into another one (`$NAME` stays as it is), and
// no command is run.
//
//   NAME=value # comment        ends at the comment, which needs white space before it; trimmed
//   NAME='as it is'             may go over several lines; so may NAME=`as it is`
//   NAME="a\nb"                 \n \r \t \f \b \v \\ \" \' \$ are what they are in a shell's or C's text; may go over several lines
//   export NAME=value

import { InvalidArgumentError } from "#package";
import { asLayer } from "./layers.js";

const NAME = /[A-Za-z_][\w.-]*/y;
const ESCAPES = { n: "\n", r: "\r", t: "\t", f: "\f", b: "\b", v: "\v" };

export function envFile(text, opts) {
  const { name = ".env", e2b = false } = opts ?? {};
  if (typeof text !== "string") throw wrong("envFile needs the text of the file as its first argument. Read the file first; bytes become text by new TextDecoder().decode(bytes)");
  if (typeof name !== "string" || name === "") throw wrong("Option name of envFile must be a text that is not empty");
  if (typeof e2b !== "boolean") throw wrong("Option e2b of envFile must be a boolean");
  const variables = parse(text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n"), name);
  const values = Object.fromEntries([...variables].map(([variable, { value }]) => [variable, value]));
  return asLayer({ kind: "envFile", name, e2b, variables, values });
}

/** `Map` of name to `{ value, line }`. Of several lines for one name the last one counts. */
function parse(text, file) {
  const variables = new Map();
  let at = 0;
  let line = 1;
  const fail = (what, where = line) => wrong(`Line ${where} of ${file} ${what}`);
  const skip = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  };
  while (at < text.length) {
    skip(/[ \t]*/y);
    const isComment = text[at] === "#";
    if (isComment || text[at] === "\n" || at === text.length) {
      skip(/[^\n]*\n?/y);
      line += 1;
      continue;
    }
    const exported = skip(/export[ \t]+/y) !== "";
    const name = skip(NAME);
    skip(/[ \t]*/y);
    if (name === "") throw fail("does not begin with the name of a variable: write NAME=value, or # before a comment");
    if (text[at] !== "=") {
      // A shell allows `export NAME`, which sets nothing.
      if (!exported || skip(/[^\n]*/y).trim() !== "") throw fail("has no = after the name of a variable: write NAME=value, or # before a comment");
      skip(/\n/y);
      line += 1;
      continue;
    }
    at += 1;
    skip(/[ \t]*/y);
    const first = line;
    let value;
    const quote = text[at];
    if (quote === '"' || quote === "'" || quote === "`") {
      const end = closing(text, at + 1, quote);
      if (end === -1) throw fail(`begins a text with ${quote} for ${name} that never ends`);
      const raw = text.slice(at + 1, end);
      value = quote === '"' ? raw.replace(/\\([\s\S])/g, (all, letter) => ESCAPES[letter] ?? (/[\\"'$`]/.test(letter) ? letter : all)) : raw;
      line += raw.split("\n").length - 1;
      at = end + 1;
      if (skip(/[^\n]*/y).replace(/^[ \t]*(#.*)?$/, "") !== "") throw fail(`has something behind the closing ${quote} of ${name}: only a comment may follow`);
    } else {
      value = skip(/[^\n]*/y).replace(/(^|[ \t])#.*$/, "").trim();
    }
    skip(/\n/y);
    line += 1;
    variables.set(name, { value, line: first });
  }
  return variables;
}

/** Where the text that began before `from` ends. Only double quotes know escapes. */
function closing(text, from, quote) {
  if (quote !== '"') return text.indexOf(quote, from);
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at += 1;
    else if (text[at] === quote) return at;
  }
  return -1;
}

function wrong(message) {
  return new InvalidArgumentError(message, { code: "invalid_argument" });
}
