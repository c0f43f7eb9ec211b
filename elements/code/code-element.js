// <sandbox-code>: a cell of code that runs in the session's sandbox, with what it came to below.

import { SandboxElement, SessionLink } from "../base/element.js";
import { button, el } from "../base/dom.js";
import { ADVICE, ElementError, mayBeGone, saysGone } from "../base/failure.js";
import { Notice } from "../base/notice.js";
import { duration, unlessAborted } from "../base/waiting.js";
import { Output } from "./output.js";
import { SourceView, dedent } from "./source-view.js";
import resultStyles from "../results/results.css";
import lookStyles from "../text/looks.css";
import textStyles from "../text/text.css";
import editorStyles from "./editor.css";
import styles from "./code.css";

const NAMES = { python: "Python", javascript: "JavaScript", typescript: "TypeScript", bash: "Bash", r: "R", java: "Java" };

/** The context that a cell has to itself: a name that no page can give. */
let cells = 0;

export class SandboxCode extends SandboxElement {
  static observedAttributes = ["language", "readonly", "label", "session"];

  /** `idle`, `waiting` (for the sandbox), `running`, `ok`, `failed` (the code did), `stopped` or `error` (it could not be run). */
  #state = "idle";
  #link = new SessionLink(this, () => this.#follow());
  #own = `\0cell ${(cells += 1)}`;
  #source;
  #output = new Output();
  #notice;
  #frame;
  #run = button("Run", () => this.run(), { class: "button primary run" });
  #stop = button("Stop", () => this.stop(), { class: "button danger run", hidden: true });
  #count = el("span", { class: "count", part: "count" });
  #language = el("span", { class: "language" });
  #result = el("span", { class: "outcome", part: "status" });
  #live = el("span", { class: "visually-hidden", role: "status" });
  #reset = button("Reset", () => this.#resetCode(), { class: "button quiet", hidden: true });
  #clear = button("Clear", () => this.clear(), { class: "button quiet", hidden: true });
  /** Ends the run; undefined when there is none. */
  #stopper;
  #observer;
  #clock;
  #started;

  constructor() {
    super(lookStyles, textStyles, resultStyles, editorStyles, styles);
    this.#source = new SourceView({
      initial: () => dedent(this.textContent),
      onChange: () => (this.#reset.hidden = !this.#source.isChanged),
      onRun: () => this.run(),
    });
    const place = el("div");
    this.#notice = new Notice(place, ADVICE);
    const tools = el("span", { class: "tools" }, this.#clear, this.#reset, this.#language, this.#count);
    const bar = el("div", { class: "bar", part: "bar" }, this.#run, this.#stop, this.#result, tools);
    this.#frame = el("div", { class: "frame cell", part: "cell", role: "group" }, this.#source.element, bar, place, this.#output.element, this.#live);
    this.root.append(this.#frame);
    this.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.#stopper) this.stop();
    });
    this.#become("idle", "");
  }

  /** The text of the cell. */
  get code() {
    return this.#source.value;
  }

  set code(text) {
    this.#source.value = String(text);
    this.#reset.hidden = !this.#source.isChanged;
  }

  /** The language of the code; `python` unless the attribute says otherwise. */
  get language() {
    return this.getAttribute("language") || "python";
  }

  set language(name) {
    this.setAttribute("language", name);
  }

  get state() {
    return this.#state;
  }

  connectedCallback() {
    this.upgrade("code", "language");
    this.#configure();
    this.#link.connect();
    this.#observer = this.whenSeen(() => this.#source.load(this.root));
  }

  disconnectedCallback() {
    this.#observer?.disconnect();
    this.#link.disconnect();
    this.stop();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now) return;
    if (name === "session") this.isConnected && this.#link.connect();
    else this.#configure();
  }

  /** Runs the code. Resolves to the state that it ended with, and never rejects; resolves at once when it runs already. */
  async run() {
    if (this.#stopper) return this.#state;
    const stopper = new AbortController();
    this.#stopper = stopper;
    this.#notice.clear();
    this.#output.clear();
    this.#count.textContent = "";
    this.#become("waiting", "Waiting for the sandbox…");
    this.emit("sandboxrunstart", {});
    try {
      await this.#execute(stopper.signal);
    } catch (error) {
      await this.#fail(error, stopper.signal);
    } finally {
      this.#stopper = undefined;
      this.#show();
    }
    this.emit("sandboxrunend", { state: this.#state });
    return this.#state;
  }

  /** Interrupts the code. Variables are kept. */
  stop() {
    this.#stopper?.abort(new DOMException("Stopped by the reader", "AbortError"));
  }

  /** Takes the output away. */
  clear() {
    this.#output.clear();
    this.#notice.clear();
    this.#count.textContent = "";
    if (!this.#stopper) this.#become("idle", "");
  }

  async #execute(signal) {
    const { session } = this.#link;
    if (!session) {
      throw new ElementError("no_session", "This cell stands in no <sandbox-session>: put it into one, or name one with its session attribute.");
    }
    const { code, language } = this;
    const sandbox = await unlessAborted(session.ensure(), signal);
    const context = await unlessAborted(session.context(this.#contextName(), language), signal);
    this.#started = performance.now();
    this.#become("running", "Running…");
    this.#tick();
    const timeout = Number(this.getAttribute("timeout") ?? NaN);
    const execution = await sandbox.runCode(code, {
      ...(context === undefined ? { language } : { context }),
      ...(Number.isFinite(timeout) && timeout >= 0 && { timeoutMs: timeout }),
      collect: false,
      onStdout: ({ line }) => this.#output.write("stdout", line),
      onStderr: ({ line }) => this.#output.write("stderr", line),
      onResult: (result) => this.#output.result(result),
      signal,
    });
    this.#output.finish();
    if (execution.executionCount !== undefined) this.#count.textContent = `[${execution.executionCount}]`;
    if (execution.error) this.#output.failure(execution.error);
    this.#end(execution.error ? "failed" : "ok", execution.error ? `Failed: ${execution.error.name || "error"}` : "Done");
  }

  async #fail(error, signal) {
    this.#output.finish();
    if (signal.aborted && error === signal.reason) return this.#end("stopped", "Stopped");
    const ended = performance.now();
    const { session } = this.#link;
    const shown = (await session?.examine(error)) ?? error;
    this.#end("error", "Could not be run to its end", ended);
    const again = { label: "Run again", run: () => this.run() };
    const anew = { label: "Start a new sandbox", run: () => session.restart().catch(() => {}) };
    this.#notice.show(shown, saysGone(shown) ? [anew] : mayBeGone(shown) && session.state !== "idle" ? [again, anew] : [again]);
    return undefined;
  }

  /** Cells of one name share variables; `own` is for this cell alone, and without a name it is the language's default context. */
  #contextName() {
    const name = this.getAttribute("context") || undefined;
    return name === "own" ? this.#own : name;
  }

  #end(state, text, ended = performance.now()) {
    const time = this.#started === undefined ? "" : ` · ${duration(ended - this.#started)}`;
    this.#started = undefined;
    this.#become(state, text + time);
  }

  /** How long the code has been running, from the second on. */
  #tick() {
    clearInterval(this.#clock);
    this.#clock = setInterval(() => {
      if (this.#state !== "running") return clearInterval(this.#clock);
      const spent = Math.floor((performance.now() - this.#started) / 1000);
      this.#result.lastChild.textContent = `Running… ${spent} s`;
    }, 1000);
  }

  #become(state, text) {
    this.#state = state;
    this.#frame.dataset.state = state;
    this.#result.dataset.state = state;
    this.#result.replaceChildren(el("span", { class: "dot", aria: { hidden: "true" } }), el("span", {}, text));
    this.#result.hidden = text === "";
    // Screen readers hear of the beginning and the end, not of every second.
    this.#live.textContent = text;
    this.#output.element.setAttribute("aria-busy", String(state === "running"));
    if (this.isConnected) this.setAttribute("state", state);
    this.#show();
  }

  #show() {
    const isRunning = this.#stopper !== undefined;
    const focused = this.root.activeElement;
    this.#run.hidden = isRunning;
    this.#stop.hidden = !isRunning;
    this.#clear.hidden = isRunning || this.#output.isEmpty;
    // Who pressed a button that is now gone finds the one that took its place.
    if (focused === this.#run && isRunning) this.#stop.focus();
    if (focused === this.#stop && !isRunning) this.#run.focus();
  }

  /** A new sandbox counts from one again, and what was wrong with the one before is over. */
  #follow() {
    if (this.#link.session?.state !== "starting" || this.#stopper) return;
    this.#count.textContent = "";
    this.#notice.clear();
  }

  #configure() {
    const name = NAMES[this.language] ?? this.language;
    const label = this.getAttribute("label") || `${name} code`;
    this.#language.textContent = name;
    this.#frame.setAttribute("aria-label", label);
    this.#run.setAttribute("aria-label", `Run ${label}`);
    this.#stop.setAttribute("aria-label", `Stop ${label}`);
    this.#source.configure({ language: this.language, isReadOnly: this.hasAttribute("readonly"), label });
  }

  #resetCode() {
    this.#source.reset();
    this.#reset.hidden = true;
    this.#run.focus();
  }
}
