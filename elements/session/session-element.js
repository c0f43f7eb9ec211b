// <sandbox-session>: gives the elements inside of it one sandbox, and shows how it is.

import { SandboxElement } from "../base/element.js";
import { button, el } from "../base/dom.js";
import { ADVICE, ElementError } from "../base/failure.js";
import { Notice } from "../base/notice.js";
import { Session } from "./session.js";
import { fromEndpoint, fromSandbox } from "./sources.js";
import styles from "./session.css";

const SAYS = {
  idle: ["No sandbox yet", "It starts with the first run."],
  starting: ["Starting…", "This takes a moment."],
  ready: ["Ready", "The cells on this page share it."],
  lost: ["Connection lost", "Trying to reach the sandbox again."],
  ended: ["Ended", "Its files and variables are gone."],
};

export class SandboxSession extends SandboxElement {
  static observedAttributes = ["endpoint", "name", "credentials"];

  #session;
  #given;
  #bar = el("div", { class: "bar", part: "bar" });
  #state;
  #title = el("strong", { part: "state" });
  #hint = el("span", { class: "hint" });
  #restart = button("Restart", () => this.#begin(), { class: "button quiet" });
  #end = button("End", () => this.end().catch(() => {}), { class: "button quiet" });
  #retry = button("Try now", () => this.#session?.retry());
  #notice;
  #onPageHide = () => this.#close();
  /** Whether the start that is under way was asked for in the bar. */
  #isAsked = false;
  /** Set while the element is moved within the page, which disconnects it for a moment. */
  #closing;

  constructor() {
    super(styles);
    const state = el("span", { class: "state", role: "status" }, el("span", { class: "dot", aria: { hidden: "true" } }), this.#title, this.#hint);
    const actions = el("span", { class: "actions" }, this.#retry, this.#restart, this.#end);
    const place = el("div");
    this.#notice = new Notice(place, ADVICE);
    this.#bar.append(state, actions);
    this.root.append(el("div", { class: "frame head", part: "head" }, this.#bar, place), el("slot"));
    this.#state = state;
    this.#show();
  }

  /** `idle`, `starting`, `ready`, `lost` or `ended`. */
  get state() {
    return this.#session?.state ?? "idle";
  }

  /** Why there is no sandbox; undefined when nothing is wrong. */
  get error() {
    return this.#session?.error;
  }

  get endpoint() {
    return this.getAttribute("endpoint") ?? "";
  }

  set endpoint(url) {
    this.setAttribute("endpoint", url);
  }

  /** The sandbox, while there is one. Set it, or a function that makes one, in place of `endpoint`. */
  get sandbox() {
    return this.#session?.sandbox;
  }

  set sandbox(given) {
    this.#retire();
    this.#given = given ?? undefined;
    this.#renew();
  }

  /** The sandbox, started if there was none yet. */
  async ensure() {
    return this.#required().ensure();
  }

  /** A new sandbox in place of the one there was. */
  async restart() {
    return this.#required().start();
  }

  /** Ends the sandbox. */
  async end() {
    await this.#session?.end();
  }

  /** @internal What the elements inside use: see `Session`. */
  async context(name, language) {
    return this.#required().context(name, language);
  }

  /** @internal */
  async examine(error) {
    return (await this.#session?.examine(error)) ?? error;
  }

  connectedCallback() {
    clearTimeout(this.#closing);
    this.upgrade("endpoint", "sandbox");
    if (!this.#session) this.#renew();
    addEventListener("pagehide", this.#onPageHide);
  }

  disconnectedCallback() {
    removeEventListener("pagehide", this.#onPageHide);
    this.#closing = setTimeout(() => this.#close());
  }

  attributeChangedCallback(name, before, now) {
    if (before !== now && this.isConnected) this.#renew();
  }

  /** Ends the sandbox or leaves it, as `on-disconnect` says. */
  #close() {
    const session = this.#session;
    if (!session) return;
    // Only the sandboxes of a function of the page end with it by themselves: it has made them. That of a broker is the visitor's,
    // in other tabs and after a reload as well.
    const otherwise = typeof this.#given === "function" ? "kill" : "leave";
    if ((this.getAttribute("on-disconnect") ?? otherwise) === "leave") session.leave();
    else session.end().catch(() => {});
    if (!this.isConnected) this.#session = undefined;
  }

  /** Parts with where sandboxes came from so far. */
  #retire() {
    this.#close();
    this.#session = undefined;
  }

  #renew() {
    this.#retire();
    const source = this.#source;
    this.#session = source ? new Session(source) : undefined;
    const session = this.#session;
    session?.addEventListener("change", () => {
      if (this.#session !== session) return;
      this.#show();
      this.emit("sandboxstatechange", { state: this.state });
    });
    this.#show();
    this.emit("sandboxstatechange", { state: this.state });
  }

  /** A start that was asked for here. What an element inside asked for is shown there when it fails. */
  #begin() {
    this.#isAsked = true;
    this.restart()
      .catch(() => {})
      .finally(() => (this.#isAsked = false));
  }

  get #source() {
    if (this.#given) return fromSandbox(this.#given);
    if (!this.endpoint) return undefined;
    const [slot, credentials] = ["name", "credentials"].map((name) => this.getAttribute(name) || undefined);
    return fromEndpoint({ endpoint: this.endpoint, slot, credentials });
  }

  #required() {
    if (this.#session) return this.#session;
    throw new ElementError("no_endpoint", "This <sandbox-session> has neither an endpoint nor a sandbox: set one of them.");
  }

  #show() {
    const { state, error } = this;
    const [title, hint] = SAYS[state];
    this.#bar.dataset.state = state;
    this.#state.dataset.state = state;
    this.#title.textContent = title;
    this.#hint.textContent = hint;
    const focused = this.root.activeElement;
    this.#retry.hidden = state !== "lost";
    this.#end.hidden = state !== "ready" && state !== "lost";
    this.#restart.hidden = state === "idle" || state === "starting";
    this.#restart.textContent = state === "ended" ? "Start a new sandbox" : "Restart";
    this.#restart.className = state === "ended" ? "button primary" : "button quiet";
    // Who pressed a button that is now gone stays in the bar.
    if (focused?.hidden) [this.#restart, this.#end, this.#retry].find((one) => !one.hidden)?.focus();
    if (state === "idle" && error && this.#isAsked) this.#notice.show(error, [{ label: "Try again", run: () => this.#begin() }]);
    else this.#notice.clear();
    // For style sheets of the page.
    if (this.isConnected) this.setAttribute("state", state);
  }
}
