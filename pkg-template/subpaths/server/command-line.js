// A command as the server takes it: one line, which it splits into words as a POSIX shell would and runs without a shell.

import { flag, kind, wrong } from "./check.js";

/** The line for a command that is given as a line or as words. With `shell`, a shell reads the line. */
export function lineOf(command, opts, owner) {
  const isShell = flag(opts.shell, `Option shell of ${owner}`) ?? false;
  if (Array.isArray(command)) {
    if (isShell) throw wrong(`Option shell of ${owner} is for a command in one string: an array is run as the words that it has`);
    if (command.length === 0 || !command.every((word) => typeof word === "string") || command[0] === "") {
      throw wrong(`command of ${owner} must be a string, or an array of strings whose first names a program`);
    }
    return checked(command.map(quote).join(" "), owner);
  }
  if (typeof command !== "string") throw wrong(`command of ${owner} must be a string or an array of strings, not ${kind(command)}`);
  // The server fails for these with errors that do not say why.
  if (command.trim() === "") throw wrong(`command of ${owner} must not be blank`);
  if (isShell) return checked(`sh -c ${quote(command)}`, owner);
  if (!isBalanced(command)) throw wrong(`command of ${owner} has a quote that is not closed, or ends with a backslash. Give the words as an array`);
  return checked(command, owner);
}

function checked(line, owner) {
  if (line.includes("\0")) throw wrong(`command of ${owner} must not contain a NUL character`);
  return line;
}

/** One word in single quotes, in which nothing has a meaning. */
function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

/** Whether all quotes of a line are closed. */
function isBalanced(line) {
  return /^(?:[^'"\\]|\\[^]|'[^']*'|"(?:[^"\\]|\\[^])*")*$/.test(line);
}
