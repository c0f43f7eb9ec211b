// Command lines as a shell would read them, without being one: words, quotes and backslashes. Pure.

import { invalid } from "./errors.js";

const OPERATORS = new Set("();<>|&");

/**
 * The program and its arguments. A text is split into words as a POSIX shell does, and nothing in it is expanded; one with an
 * operator outside of quotes is given to `sh -c`. A list is taken as it is.
 */
export function commandOf(cmd, shell, owner) {
  if (Array.isArray(cmd)) {
    if (cmd.length === 0 || !cmd.every((word) => typeof word === "string") || cmd[0] === "") {
      throw invalid(`cmd of ${owner} must be a text, or a list of texts that begins with the program`);
    }
    if (shell) throw invalid(`Option shell of ${owner} needs a command line, and cmd is a list of words`);
    return { cmd: cmd[0], args: cmd.slice(1) };
  }
  if (typeof cmd !== "string" || cmd.trim() === "") throw invalid(`cmd of ${owner} must be a text that is not empty, or a list of texts`);
  const { words, hasOperator } = split(cmd, owner);
  if (shell || hasOperator) return { cmd: "sh", args: ["-c", cmd] };
  return { cmd: words[0] ?? "", args: words.slice(1) };
}

/** The words of a line, and whether an operator stands between them. What follows an unquoted `#` is not looked through for operators. */
export function split(line, owner = "commands.run") {
  const words = [];
  let word;
  let quote;
  let isComment = false;
  let hasOperator = false;
  for (let at = 0; at < line.length; at += 1) {
    const char = line[at];
    if (quote === "'") {
      if (char === "'") quote = undefined;
      else word += char;
    } else if (char === "\\" && (quote === undefined || '"\\'.includes(line[at + 1] ?? " "))) {
      at += 1;
      if (at === line.length) throw invalid(`cmd of ${owner} ends with a backslash that nothing follows`);
      word = (word ?? "") + line[at];
    } else if (quote === '"') {
      if (char === '"') quote = undefined;
      else word += char;
    } else if (char === "'" || char === '"') {
      quote = char;
      word ??= "";
    } else if (" \t\r\n".includes(char)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      if (char === "#") isComment = true;
      if (OPERATORS.has(char) && !isComment) hasOperator = true;
      word = (word ?? "") + char;
    }
  }
  if (quote !== undefined) throw invalid(`cmd of ${owner} has a quote that is not closed`);
  if (word !== undefined) words.push(word);
  return { words, hasOperator };
}
