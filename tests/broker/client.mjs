// A visitor of the brokers, as a page would be one.

import { equal } from "../e2e/assert.js";

let visitors = 0;

export class Visitor {
  constructor(ctx, broker, { name = `visitor-${process.pid}-${visitors++}`, scopes } = {}) {
    Object.assign(this, { ctx, broker, name, scopes });
  }

  /** The same visitor at another broker. */
  at(broker) {
    return Object.assign(new Visitor(this.ctx, broker, this), { session: this.session });
  }

  /** A request to the broker, from an allowed origin, with the session if there is one. */
  fetch(path, { headers, ...init } = {}) {
    const own = { origin: "https://app.example", "x-visitor": this.name };
    if (this.scopes) own["x-visitor-scopes"] = this.scopes;
    if (this.session) own["x-sandbox-session"] = this.session;
    const all = Object.fromEntries(Object.entries({ ...own, ...headers }).filter(([, value]) => value !== undefined));
    return fetch(`${this.ctx.url}/${this.broker}${path}`, { redirect: "manual", ...init, headers: all });
  }

  post(path, body = {}, headers = {}) {
    return this.fetch(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  }

  /** An action that must succeed: its answer. */
  async ask(action, body) {
    const answer = await this.post(action === "" ? "" : `/${action}`, body);
    const text = await answer.text();
    equal([answer.status, answer.status === 200 ? "" : text], [200, ""], `answer to ${action || "open"}`);
    return JSON.parse(text);
  }

  /** Opens a session and keeps it. */
  async open(body) {
    const token = await this.ask("", body);
    this.session = token.session;
    return token;
  }

  /** An action that must be refused so; answers the response. */
  async refused(path, [status, code], init) {
    const answer = await (init ? this.fetch(path, init) : this.post(path));
    const { error } = await answer.json();
    equal([answer.status, error?.code], [status, code], `refusal of ${path}`);
    equal(typeof error.message === "string" && error.message !== "", true, "a message");
    return answer;
  }

  /** All sandboxes of the visitor that live. */
  async sandboxes() {
    const { Sandbox } = this.ctx.sdk;
    const found = [];
    for await (const one of Sandbox.list({ ...this.ctx.connection, query: { metadata: { "broker-visitor": Sandbox._visitorKey(this.name) } } })) found.push(one);
    return found;
  }
}

/** Runs `body` with a visitor of a broker, whose sandboxes end with it. */
export function visiting(broker, body, options) {
  return async (ctx) => {
    const visitor = new Visitor(ctx, broker, options);
    try {
      await body(visitor, ctx);
    } finally {
      for (const { sandboxId } of await visitor.sandboxes()) await ctx.sdk.Sandbox.kill(sandboxId, ctx.connection);
    }
  };
}
