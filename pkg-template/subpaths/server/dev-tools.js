// The group of developer tools, which the server's policy must enable: code in a fresh interpreter each time, and git.

import { defined, queryOf } from "./calls.js";
import { flag, milliseconds, optional, options, path as checkPath, text } from "./check.js";
import { camel, camelKeys } from "./json.js";
import { CODE_MS, wholeSeconds, withReserve } from "./times.js";

export class ServerDevTools {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  /** Runs code in an interpreter of its own, which keeps nothing. Times are rounded up to whole seconds. */
  async runCode(code, given) {
    const owner = "devTools.runCode";
    const opts = options(given, owner);
    const timeoutMs = optional(milliseconds, opts.timeoutMs, `Option timeoutMs of ${owner}`);
    const language = optional(text, opts.language, `Option language of ${owner}`) ?? "python";
    const json = defined({ code: text(code, `code of ${owner}`), language, timeout: wholeSeconds(timeoutMs) });
    const { _security_note, truncated, ...rest } = await this.#calls.ask("code_run", "POST", "/code/run", { owner, opts, json, timeoutMs: withReserve(timeoutMs ?? CODE_MS) });
    return { ...camelKeys(rest), truncated: truncated === true };
  }

  async gitStatus(path = ".", opts = undefined) {
    const owner = "devTools.gitStatus";
    return camel(await this.#calls.ask("git_status", "GET", "/git/status", { owner, opts, query: queryOf({ path: checkPath(path, `path of ${owner}`) }) }));
  }

  async gitDiff(path = ".", given = undefined) {
    const owner = "devTools.gitDiff";
    const opts = options(given, owner);
    const query = queryOf({
      path: checkPath(path, `path of ${owner}`),
      staged: flag(opts.staged, `Option staged of ${owner}`) ?? false,
      file: optional(checkPath, opts.file, `Option file of ${owner}`),
    });
    return camel(await this.#calls.ask("git_diff", "GET", "/git/diff", { owner, opts, query }));
  }
}
