// <sandbox-terminal>: a shell of the session's sandbox. What programs write waits until the terminal has drawn what came before.

import { SandboxElement, SessionLink } from "../base/element.js";
import { button, el } from "../base/dom.js";
import { ADVICE, ElementError, saysGone } from "../base/failure.js";
import { Notice } from "../base/notice.js";
import { callShell, socketShell } from "./shells.js";
import styles from "./terminal.css";

const SAYS = {
  idle: "Not open",
  connecting: "Opening…",
  ready: "Connected",
  lost: "Connection lost. Trying again…",
  ended: "The shell has ended",
};

export class SandboxTerminal extends SandboxElement {
  static observedAttributes = ["label", "session"];

  #link = new SessionLink(this, () => this.#follow());
  #state = "idle";
  #bar = el("div", { class: "bar", part: "bar" });
  #title = el("span", { class: "state", role: "status" });
  #screen = el("div", { class: "screen", part: "screen" });
  #empty = el("div", { class: "empty" });
  #notice;
  #open = button("Open a terminal", () => this.open(), { class: "button primary" });
  #again = button("Open another", () => this.open());
  #close = button("Close", () => this.close(), { class: "button quiet" });
  #frame;
  /** The terminal on the page, kept from shell to shell. */
  #view;
  /** The shell, as `shells.js` says. */
  #shell;
  #handle;
  #socket;
  #opening;
  /** What was typed and is not sent yet; sent piece by piece, in order. */
  #typed = "";
  #sending = false;

  constructor() {
    super(styles);
    const place = el("div");
    this.#notice = new Notice(place, ADVICE);
    this.#empty.append(el("p", {}, "A shell in the sandbox of this page."), this.#open);
    this.#bar.append(this.#title, el("span", { class: "actions" }, this.#again, this.#close));
    this.#frame = el("div", { class: "frame terminal", part: "terminal", role: "group" }, this.#bar, place, el("div", { class: "place" }, this.#screen, this.#empty));
    this.root.append(this.#frame);
    this.#become("idle");
  }

  get state() {
    return this.#state;
  }

  /** Where a bridge is, in place of the session's sandbox. */
  get socket() {
    return this.#socket ?? this.getAttribute("socket") ?? undefined;
  }

  set socket(target) {
    this.#socket = target;
  }

  connectedCallback() {
    this.#label();
    this.#link.connect();
    if (this.hasAttribute("autostart")) this.whenSeen(() => this.#state === "idle" && this.open());
  }

  disconnectedCallback() {
    this.#link.disconnect();
    this.close();
  }

  attributeChangedCallback(name) {
    if (name === "session") this.isConnected && this.#link.connect();
    else this.#label();
  }

  /** Opens a shell. Never rejects: what goes wrong is shown. */
  async open() {
    this.#opening ??= this.#start().finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  /** Ends the shell. */
  async close() {
    const shell = this.#shell;
    this.#shell = undefined;
    this.#handle = undefined;
    if (!shell) return;
    this.#become("ended");
    await shell.end().catch(() => {});
  }

  async #start() {
    const { session } = this.#link;
    this.#notice.clear();
    await this.close();
    this.#become("connecting");
    try {
      const { socket } = this;
      if (!session && !socket) throw new ElementError("no_session", "This terminal stands in no <sandbox-session>: put it into one, or name one with its session attribute.");
      const [{ terminalView }, sandbox] = await Promise.all([import("./xterm.js"), socket ? undefined : session.ensure()]);
      this.#view ??= terminalView(this.#screen, this.root, { onInput: (data) => this.#type(data), onResize: (size) => this.#resize(size), label: this.#name() });
      this.#empty.hidden = true;
      this.#view.reset();
      this.#view.fit();
      const shell = await this.#begin(sandbox, socket);
      if (!this.isConnected) return void shell.end().catch(() => {});
      this.#shell = shell;
      this.#attached(shell.handle);
      this.#view.focus();
    } catch (error) {
      this.#become(this.#view ? "ended" : "idle");
      await this.#report(error);
    }
  }

  #begin(sandbox, socket) {
    const look = { size: this.#view.size, cwd: this.getAttribute("cwd") || undefined, user: this.getAttribute("user") || undefined };
    const onData = (bytes) => this.#view.write(bytes);
    if (!socket && this.getAttribute("transport") !== "websocket") return callShell(sandbox, look, onData);
    return socketShell(socket ?? sandbox, sandbox, look, onData, (state, error) => {
      // What comes before the shell is there, and its end, are told by promises.
      if (!this.#handle || (state !== "lost" && state !== "ready")) return;
      if (this.#state !== state) this.#become(state);
      if (state === "lost" && sandbox) this.#link.session?.examine(error).catch(() => {});
    });
  }

  /** Listens to the end of a connection to the shell. */
  #attached(handle) {
    const shell = this.#shell;
    this.#handle = handle;
    this.#typed = "";
    this.#become("ready");
    handle.wait().then(
      () => this.#shell === shell && this.#ended(),
      (error) => this.#shell === shell && (shell.connect ? this.#lost(shell, error) : this.#failed(error)),
    );
  }

  #ended() {
    // A WebSocket would look for its shell.
    if (this.#shell && !this.#shell.connect) this.#shell.end();
    this.#shell = undefined;
    this.#handle = undefined;
    this.#become("ended");
  }

  #failed(error) {
    this.#ended();
    return error?.name === "NotFoundError" ? undefined : this.#report(error);
  }

  /** The shell goes on in the sandbox: it is listened to again once the sandbox answers. */
  async #lost(shell, error) {
    this.#handle = undefined;
    this.#become("lost");
    const { session } = this.#link;
    try {
      await session?.examine(error);
      for (let attempt = 0; this.#shell === shell; attempt++) {
        await session?.ensure();
        try {
          const handle = await shell.connect();
          if (this.#shell !== shell) return void handle.leave();
          this.#attached(handle);
          // The screen shows what was there before; a program that draws it draws it anew when its size changes.
          const { cols, rows } = this.#view.size;
          await shell.resize({ cols, rows: Math.max(2, rows - 1) });
          await shell.resize({ cols, rows });
          return undefined;
        } catch (failure) {
          if (failure?.name === "NotFoundError" || saysGone(failure)) throw failure;
          await session?.examine(failure);
          await new Promise((resolve) => setTimeout(resolve, Math.min(8_000, 500 * 2 ** attempt)));
        }
      }
    } catch (failure) {
      if (this.#shell === shell) await this.#failed(failure);
    }
    return undefined;
  }

  async #report(error) {
    const { session } = this.#link;
    const shown = (await session?.examine(error)) ?? error;
    const again = { label: "Try again", run: () => this.open() };
    const anew = { label: "Start a new sandbox", run: () => session.restart().then(() => this.open(), () => {}) };
    this.#notice.show(shown, saysGone(shown) ? [anew] : [again]);
  }

  #type(data) {
    if (!this.#handle) return;
    this.#typed += data;
    this.#send();
  }

  async #send() {
    if (this.#sending) return;
    this.#sending = true;
    while (this.#typed !== "" && this.#handle) {
      const data = this.#typed;
      this.#typed = "";
      // What was typed into a lost terminal is lost. A connection that is only open in name shows here first.
      await this.#handle.send(data).catch((error) => this.#link.session?.examine(error));
    }
    this.#sending = false;
  }

  #resize(size) {
    const shell = this.#shell;
    if (shell && this.#handle) shell.resize(size).catch(() => {});
  }

  /** The shell ends with its sandbox. */
  #follow() {
    const { session } = this.#link;
    const isOver = session?.state === "ended" || session?.state === "starting";
    if (isOver && this.#shell?.sandbox && this.#shell.sandbox !== session.sandbox) this.#ended();
  }

  #name() {
    return this.getAttribute("label") || "Terminal";
  }

  #label() {
    this.#frame.setAttribute("aria-label", this.#name());
  }

  #become(state) {
    this.#state = state;
    this.#title.dataset.state = state;
    this.#title.replaceChildren(el("span", { class: "dot", aria: { hidden: "true" } }), el("span", {}, SAYS[state]));
    this.#open.disabled = state === "connecting";
    this.#again.hidden = state !== "ended";
    this.#close.hidden = state !== "ready" && state !== "lost";
    this.#frame.dataset.state = state;
    if (this.isConnected) this.setAttribute("state", state);
  }
}
