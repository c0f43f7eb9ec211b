// Who may do what. A session is a signed token; who holds it must also be the visitor it was made for, which the back end's own
// `authorize` says anew for every request.

import { Sandbox } from "#package";
import { Refusal, isResponse } from "./http.js";

/** The header that carries a session. Requests of the package itself carry it where they carry the token of a sandbox. */
const HEADERS = ["x-sandbox-session", "x-access-token"];

/** Ports of the daemon and of the code interpreter, which have scopes of their own. */
const RESERVED_PORTS = [49983, 49999];

/** Whether a value is a scope. */
export function isScope(scope) {
  if (["run", "files:read", "files:write", "lifecycle"].includes(scope)) return true;
  const port = /^port:([1-9]\d{0,4})$/.exec(scope)?.[1];
  return port !== undefined && port <= 65_535 && !RESERVED_PORTS.includes(Number(port));
}

/** Whether some scopes permit what one is needed for. Who runs commands reads and writes files by them. */
function permits(scopes, needed) {
  return scopes.includes(needed) || (needed.startsWith("files:") && scopes.includes("run"));
}

export class Sessions {
  constructor(options) {
    this.options = options;
  }

  /**
   * Asks the back end who it is. Answers `{ key, scopes, sandbox, token }`: what stands for the visitor, the visitor's
   * scopes, further options of a new sandbox, and the session that came along, not yet looked at.
   */
  async begin(request) {
    const { authorize, scopes } = this.options;
    let answer;
    try {
      answer = await authorize(request);
    } catch (cause) {
      // A Response is an answer of the back end's own.
      if (isResponse(cause)) throw cause;
      throw new Refusal(500, "broker_failed", "The broker could not tell who you are. Its log says why", { cause });
    }
    if (isResponse(answer)) throw answer;
    if (!answer) throw new Refusal(401, "unauthenticated", "You are not known here. Log in first");
    const visitor = typeof answer === "string" ? { visitor: answer } : answer;
    if (typeof visitor.visitor !== "string" || visitor.visitor === "") throw misused("must answer a visitor that is a text and not empty");
    const own = visitor.scopes ?? scopes;
    if (!Array.isArray(own) || !own.every(isScope)) throw misused("answered scopes of which one does not exist");
    const token = HEADERS.map((name) => request.headers.get(name)).find((value) => value !== null);
    return { key: Sandbox._visitorKey(visitor.visitor), scopes: own, sandbox: visitor.sandbox ?? {}, token };
  }

  /** What the visitor's session says: `{ sandboxId, scopes, expiresAt }`. Refused unless it has `scope`, when one is given. */
  read({ key, token, scopes: present }, scope) {
    const { secrets, name, now, clockSkewMs } = this.options;
    if (!token) throw new Refusal(401, "session_missing", "There is no session. Open one, and send it as X-Sandbox-Session");
    const [sandboxId, owner, list, expiresAt] = Sandbox._readToken(secrets, token, name, now(), clockSkewMs);
    if (owner !== key) throw new Refusal(403, "session_of_another", "The session is one of another visitor");
    const scopes = list === "" ? [] : list.split(" ");
    // What the back end does not grant any more is gone at once, and not when the session ends.
    if (scope !== undefined && !(permits(scopes, scope) && permits(present, scope))) {
      throw new Refusal(403, "scope_missing", `The session does not have the scope ${scope}`);
    }
    return { sandboxId, scopes, expiresAt };
  }

  /** A token for one terminal of a sandbox, which is no session: its audience is another one, that no broker can have as its name. */
  issueTerminal({ key }, sandboxId) {
    const { secrets, name, now, terminalTokenMs } = this.options;
    const expiresAt = now() + terminalTokenMs;
    return { token: Sandbox._issueToken(secrets[0], `${name} terminal`, sandboxId, key, "run", now(), expiresAt), expiresAt };
  }

  /** What such a token says, once: storage that brokers share knows which were taken. Refused with 401 otherwise. */
  async takeTerminal(token) {
    const { secrets, name, now, clockSkewMs, storage } = this.options;
    let claims;
    try {
      claims = Sandbox._readToken(secrets, token ?? "", `${name} terminal`, now(), clockSkewMs);
    } catch {
      throw new Refusal(401, "session_invalid", "The terminal's token is not valid, or not any more");
    }
    const [sandboxId, visitor, , expiresAt] = claims;
    const mac = token.slice(token.lastIndexOf(".") + 1);
    let isTaken;
    const take = (stored) => {
      const taken = Object.fromEntries(Object.entries(stored ?? {}).filter(([, until]) => until > now()));
      isTaken = Object.hasOwn(taken, mac);
      return { ...taken, [mac]: expiresAt + clockSkewMs };
    };
    await storage.update(`${name}:${visitor}:terminals`, take, Math.max(1000, expiresAt + clockSkewMs - now()));
    if (isTaken) throw new Refusal(401, "session_invalid", "The terminal's token was used already");
    return { sandboxId };
  }

  /** The scopes that a page asks for, which are some of the visitor's; all of them when it asks for none. */
  choose({ scopes }, wanted = scopes) {
    if (!Array.isArray(wanted) || !wanted.every(isScope)) throw new Refusal(400, "invalid_argument", "scopes must be a list of scopes");
    const missing = wanted.find((scope) => !scopes.includes(scope));
    if (missing !== undefined) throw new Refusal(403, "scope_missing", `You may not have the scope ${missing}`);
    return [...new Set(wanted)];
  }

  /**
   * What a page gets: everything `Sandbox.attach` needs, and a new session. Who may run commands may do everything inside of
   * the sandbox, and gets its own token, unless everything is to go through the broker. Others get their session in its
   * place, and the broker's address in place of the sandbox's.
   */
  describe({ key }, sandbox, scopes, endpoint, endAt) {
    const { secrets, name, now, sessionMs, direct } = this.options;
    const sessionEnd = now() + sessionMs;
    const session = Sandbox._issueToken(secrets[0], name, sandbox.sandboxId, key, scopes.join(" "), now(), sessionEnd);
    const access = sandbox.toToken();
    const reached =
      direct && scopes.includes("run")
        ? access
        : { sandboxId: access.sandboxId, url: `${endpoint}/sandbox`, envdVersion: access.envdVersion, envdAccessToken: session, proxied: true };
    return { ...reached, expiresAt: new Date(Math.min(sessionEnd, endAt)).toISOString(), session, scopes };
  }
}

function misused(what) {
  const cause = new TypeError(`authorize of createSandboxBroker ${what}`);
  return new Refusal(500, "broker_failed", "The broker could not tell who you are. Its log says why", { cause });
}
