// The input side of the terminal: entering, running and stopping commands.

import { announce, byId, el } from "./dom.js";
import { examples } from "./examples.js";
import { asksForAnother } from "./failure.js";
import { History } from "./history.js";
import { quoted } from "./source.js";
import { duration, unlessAborted } from "../../elements/base/waiting.js";

export class Runner {
  #session;
  #terminal;
  #code;
  #notice;
  #history = new History();
  #form = byId("run-form");
  #input = byId("command");
  #run = byId("run");
  #stop = byId("stop");
  /** Ends the running command; undefined when there is none. */
  #stopper;

  constructor({ session, terminal, code, notice }) {
    this.#session = session;
    this.#terminal = terminal;
    this.#code = code;
    this.#notice = notice;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run(this.#input.value);
    });
    this.#input.addEventListener("keydown", (event) => this.#walkHistory(event));
    this.#stop.addEventListener("click", () => this.stop());
    byId("examples").append(...examples.map(({ label, command }) => this.#chip(label, command)));
    this.#show();
  }

  stop() {
    this.#stopper?.abort(new DOMException("Stopped on the page", "AbortError"));
  }

  /** Runs a command line and shows what comes of it. Never rejects. */
  async run(command) {
    if (this.#stopper || command.trim() === "") return;
    const stopper = new AbortController();
    this.#stopper = stopper;
    this.#history.add(command);
    this.#input.value = "";
    this.#notice.clear();
    this.#show();
    const entry = this.#terminal.begin(command);
    const { signal } = stopper;
    let started;
    try {
      const sandbox = await unlessAborted(this.#session.ensure(), signal);
      const note = this.#code.call(source(command));
      started = performance.now();
      const result = await sandbox.commands.run(command, {
        onStdout: (text) => this.#terminal.write(entry, "stdout", text),
        onStderr: (text) => this.#terminal.write(entry, "stderr", text),
        signal,
      }).then(...outcome(note));
      this.#end(entry, "ok", `exit code ${result.exitCode}`, started);
    } catch (error) {
      await this.#fail(entry, error, signal, started);
    } finally {
      this.#stopper = undefined;
      this.#show();
    }
  }

  async #fail(entry, error, signal, started) {
    const ended = performance.now();
    if (signal.aborted && error === signal.reason) return this.#end(entry, "stopped", "stopped", started, ended);
    if (error?.name === "CommandExitError") {
      const how = error.signal ? `ended by ${error.signal}` : `exit code ${error.exitCode}`;
      return this.#end(entry, "failed", `${how}, a ${error.name}`, started, ended);
    }
    const shown = await this.#session.examine(error);
    this.#end(entry, "error", `no exit code: ${shown?.name ?? "Error"}`, started, ended);
    this.#notice.show(shown, this.#remedies(shown));
  }

  #remedies(error) {
    return asksForAnother(error) ? [{ label: "Start a new sandbox", run: () => this.#restart() }] : [];
  }

  async #restart() {
    try {
      await this.#session.start();
      this.#input.focus();
    } catch (error) {
      this.#notice.show(error, [{ label: "Try again", run: () => this.#restart() }]);
    }
  }

  #end(entry, state, text, started, ended = performance.now()) {
    const time = started === undefined ? "" : ` · ${duration(ended - started)}`;
    this.#terminal.end(entry, state, text + time);
    announce(`Command: ${text}`);
  }

  #show() {
    const running = this.#stopper !== undefined;
    const focused = document.activeElement;
    this.#run.hidden = running;
    this.#stop.hidden = !running;
    for (const chip of byId("examples").children) chip.disabled = running;
    // Who pressed a button that is now gone finds the one that took its place.
    if (focused === this.#run && running) this.#stop.focus();
    if (focused === this.#stop && !running) this.#input.focus();
  }

  #chip(label, command) {
    const run = () => {
      this.#input.focus();
      this.run(command);
    };
    return el("button", { type: "button", class: "chip", title: command, on: { click: run } }, label);
  }

  #walkHistory(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const found =
      event.key === "ArrowUp" ? this.#history.back(this.#input.value) : event.key === "ArrowDown" ? this.#history.forward() : undefined;
    if (found === undefined) return;
    event.preventDefault();
    this.#input.value = found;
    this.#input.setSelectionRange(found.length, found.length);
  }
}

function source(command) {
  return [
    `await sandbox.commands.run(${quoted(command)}, {`,
    "  onStdout: (text) => terminal.write(text),",
    "  onStderr: (text) => terminal.write(text),",
    "  signal: stopButton.signal,",
    "});",
  ].join("\n");
}

/** Handlers that pass an outcome on and note it beside the source. */
function outcome(note) {
  return [
    (result) => (note(`// exitCode: ${result.exitCode}`), result),
    (error) => {
      note(error?.name === "CommandExitError" ? `// throws CommandExitError, exitCode: ${error.exitCode}` : `// throws ${error?.name}`);
      throw error;
    },
  ];
}
