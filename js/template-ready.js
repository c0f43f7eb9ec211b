// How a template's start command is known to be ready: shell commands that are repeated until they succeed.

import { text, whole } from "./arguments.js";


/** Bare when the shell takes the word as it is, otherwise in single quotes. */
export function quote(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`;
}

export class ReadyCmd {
  #command;

  constructor(command) {
    this.#command = text(command, "The command of ReadyCmd");
  }

  getCmd() {
    return this.#command;
  }
}

export function waitForPort(port) {
  return new ReadyCmd(`[ -n "$(ss -Htuln sport = :${whole(port, "port of waitForPort", 1)})" ]`);
}

export function waitForURL(url, statusCode = 200) {
  const address = quote(text(url, "url of waitForURL"));
  const status = whole(statusCode, "statusCode of waitForURL", 100);
  return new ReadyCmd(`curl -s -o /dev/null -w "%{http_code}" ${address} | grep -q "${status}"`);
}

export function waitForProcess(processName) {
  return new ReadyCmd(`pgrep ${quote(text(processName, "processName of waitForProcess"))} > /dev/null`);
}

export function waitForFile(filename) {
  return new ReadyCmd(`[ -f ${quote(text(filename, "filename of waitForFile"))} ]`);
}

export function waitForTimeout(timeoutMs) {
  // `sleep` without fractions is what every system has.
  return new ReadyCmd(`sleep ${Math.max(1, Math.floor(whole(timeoutMs, "timeoutMs of waitForTimeout", 0) / 1000))}`);
}
