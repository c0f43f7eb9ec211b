// Terminal sessions over REST: made, listed, resized and ended here. Their content goes over a WebSocket, which is not part of
// this entry; `url` says where.

import { segment } from "./address.js";
import { defined } from "./calls.js";
import { optional, options, stringMap, text, whole } from "./check.js";
import { camelKeys, time } from "./json.js";

/** The largest number of columns and rows. */
const LARGEST = 1000;

export class ServerTerminals {
  #calls;

  constructor(calls) {
    this.#calls = calls;
  }

  async create(given) {
    const owner = "terminal.create";
    const opts = options(given, owner);
    const json = {
      shell: optional(text, opts.shell, `Option shell of ${owner}`) ?? "/bin/bash",
      // The server does not check these, and fails for large ones.
      cols: optional(whole, opts.cols, `Option cols of ${owner}`, 1, LARGEST) ?? 80,
      rows: optional(whole, opts.rows, `Option rows of ${owner}`, 1, LARGEST) ?? 24,
      ...defined({ env: optional(stringMap, opts.env, `Option env of ${owner}`) }),
    };
    // The address that the server answers is wrong for everybody but itself.
    const { ws_url, ...session } = await this.#calls.ask("pty_create_session", "POST", "/pty/sessions", { owner, opts, json });
    return camelKeys(session);
  }

  async list(opts) {
    const { sessions } = await this.#calls.ask("pty_list_sessions", "GET", "/pty/sessions", { owner: "terminal.list", opts });
    return (sessions ?? []).map(sessionOf);
  }

  async get(id, opts) {
    return sessionOf(await this.#calls.ask("pty_detail", "GET", pathOf(id, "terminal.get"), { owner: "terminal.get", opts }));
  }

  async resize(id, cols, rows, opts) {
    const owner = "terminal.resize";
    const json = { cols: whole(cols, `cols of ${owner}`, 1, LARGEST), rows: whole(rows, `rows of ${owner}`, 1, LARGEST) };
    return sessionOf(await this.#calls.ask("pty_resize", "POST", `${pathOf(id, owner)}/resize`, { owner, opts, json }));
  }

  /** Ends a session. Takes some three seconds, because interactive shells ignore the signal that is tried first. */
  async delete(id, opts) {
    const owner = "terminal.delete";
    await this.#calls.ask("pty_delete_session", "DELETE", pathOf(id, owner), { owner, opts });
  }

  /** Where the WebSocket of a session is. Without a token: that is added by whoever connects. */
  url(id) {
    return this.#calls.reach.terminalUrl([["session_id", segment(id, "id of terminal.url")]]);
  }
}

function pathOf(id, owner) {
  return `/pty/sessions/${segment(id, `id of ${owner}`)}`;
}

function sessionOf({ created_at, ...rest }) {
  return { ...camelKeys(rest), createdAt: time(created_at) };
}
