// The files panel: opening, listing and saving, and what goes wrong with it.

import { announce, byId } from "./dom.js";
import { bytes, Directory, nameOf, parentOf } from "./directory.js";
import { Document } from "./document.js";
import { Editor } from "./editor.js";
import { asksForAnother, DemoError } from "./failure.js";
import { ask } from "./question.js";
import { quoted } from "./source.js";

const FIRST_FILE = "/home/user/greet.sh";
const FIRST_TEXT = `# Save this file, then press
# “Run greet.sh” in the terminal.
name=\${1:-world}
for word in Hello from a file, "$name!"; do
  printf '%s ' "$word"
  sleep 0.2
done
echo
`;

export class Files {
  #session;
  #code;
  #notice;
  #directory = new Directory();
  #editor = new Editor();
  /** Ends what is being done; undefined when nothing is. */
  #current;
  #saving = false;

  constructor({ session, code, notice }) {
    this.#session = session;
    this.#code = code;
    this.#notice = notice;
    this.#editor.draft(FIRST_FILE, FIRST_TEXT);
    this.#editor.addEventListener("save", () => this.save());
    this.#directory.addEventListener("open", ({ detail: { path, isDirectory } }) => {
      if (isDirectory) this.list(path);
      else this.open(path);
    });
    byId("path-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.open(this.#editor.path);
    });
    byId("refresh").addEventListener("click", () => this.list(this.#directory.path));
    byId("files").addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "s" || event.altKey || event.shiftKey || event.ctrlKey === event.metaKey) return;
      // Also while nothing can be saved: the browser's own “save page” would only startle.
      event.preventDefault();
      if (!byId("save").disabled) this.save();
    });
    let shown;
    session.addEventListener("change", () => {
      if (session.state === shown) return;
      shown = session.state;
      byId("refresh").disabled = shown !== "ready";
      if (shown === "ready") this.#welcome();
      if (shown === "gone" || shown === "idle") this.#farewell();
    });
    byId("refresh").disabled = true;
  }

  /** Opens whatever is at `path`. */
  open(path) {
    if (path === "") return;
    return this.#attempt(async (sandbox, signal) => {
      const note = this.#code.call(`const info = await sandbox.files.getInfo(${quoted(path)});`);
      const info = await sandbox.files.getInfo(path, { signal });
      note(`// a ${info.type ?? "special file"}${info.type === "file" ? `, ${info.size} bytes` : ""}`);
      if (info.type === "dir") return this.#list(sandbox, info.path, signal);
      if (info.type !== "file") throw new DemoError("demo_not_a_file", `${info.path} is neither a file nor a directory.`);
      if (info.size > Document.maxSize) {
        const limit = bytes(Document.maxSize);
        throw new DemoError("demo_too_large", `${info.path} has ${bytes(info.size)}. This editor takes files up to ${limit}.`);
      }
      if (!(await this.#mayReplaceText())) return;
      this.#code.call(`const bytes = await sandbox.files.read(${quoted(info.path)}, { format: "bytes" });`);
      const contents = await sandbox.files.read(info.path, { format: "bytes", signal });
      this.#editor.load(info.path, contents);
      this.#directory.mark(info.path);
      announce(`Opened ${info.path}`);
      // The list goes along with the file, so that its neighbours can be seen.
      if (parentOf(info.path) !== this.#directory.path) await this.#list(sandbox, parentOf(info.path), signal);
    }, (error) => this.#remedies(error, path));
  }

  list(path) {
    return this.#attempt((sandbox, signal) => this.#list(sandbox, path, signal), (error) => this.#remedies(error));
  }

  /** Writes the text to the path in the path field. */
  save() {
    const { path } = this.#editor;
    if (path === "" || this.#editor.readOnly || this.#saving) return;
    this.#saving = true;
    return this.#attempt(async (sandbox, signal) => {
      if (path !== this.#editor.savedPath && !(await this.#mayOverwrite(sandbox, path, signal))) return;
      const { text, contents } = this.#editor;
      this.#code.call(`await sandbox.files.write(${quoted(path)}, ${quoted(contents)});`);
      const info = await sandbox.files.write(path, contents, { signal });
      this.#editor.path = info.path;
      this.#editor.saved(info.path, text);
      announce(`Saved ${info.path}`);
      await this.#list(sandbox, parentOf(info.path), signal);
      this.#directory.mark(info.path);
    }, (error) => this.#remedies(error)).finally(() => (this.#saving = false));
  }

  async #list(sandbox, path, signal) {
    const note = this.#code.call(`const entries = await sandbox.files.list(${quoted(path)});`);
    const entries = await sandbox.files.list(path, { signal });
    note(`// ${entries.length} ${entries.length === 1 ? "entry" : "entries"}`);
    this.#directory.show(path, entries);
    this.#directory.mark(this.#editor.savedPath);
  }

  /** Runs `action` in place of what was being done before, and shows its error. Never rejects. */
  async #attempt(action, remedies) {
    this.#current?.abort(new DOMException("Something else was asked for", "AbortError"));
    const current = new AbortController();
    this.#current = current;
    this.#notice.clear();
    this.#editor.busy = true;
    try {
      const sandbox = await this.#session.ensure();
      if (!this.#directory.loaded) await this.#list(sandbox, this.#directory.path, current.signal);
      await action(sandbox, current.signal);
    } catch (error) {
      if (current.signal.aborted) return;
      const shown = await this.#session.examine(error);
      this.#notice.show(shown, remedies(shown));
    } finally {
      if (this.#current === current) {
        this.#current = undefined;
        this.#editor.busy = false;
      }
    }
  }

  #remedies(error, path) {
    if (asksForAnother(error)) return [{ label: "Start a new sandbox", run: () => this.#restart() }];
    if (error?.code === "file_not_found" && path) return [{ label: "Create this file", run: () => this.#create(path) }];
    return [];
  }

  async #restart() {
    try {
      await this.#session.start();
    } catch (error) {
      this.#notice.show(error, [{ label: "Try again", run: () => this.#restart() }]);
    }
  }

  async #create(path) {
    if (!(await this.#mayReplaceText())) return;
    this.#editor.draft(path, "");
    this.#directory.mark(undefined);
    this.#editor.focus();
  }

  async #mayReplaceText() {
    if (!this.#editor.dirty) return true;
    const { savedPath } = this.#editor;
    const answer = await ask(`The text of ${savedPath ?? "a file"} in the editor is not saved.`, [
      { value: "keep", label: "Keep editing" },
      { value: "discard", label: "Discard it" },
    ]);
    if (answer !== "discard" && savedPath) this.#editor.path = savedPath;
    return answer === "discard";
  }

  async #mayOverwrite(sandbox, path, signal) {
    if (!(await this.#exists(sandbox, path, signal))) return true;
    const answer = await ask(`There is something at ${path} already.`, [
      { value: "keep", label: "Keep it" },
      { value: "overwrite", label: "Overwrite it" },
    ]);
    return answer === "overwrite";
  }

  /** `files.exists` would do, but its “no” is a 404, which browsers report in the console as if it were a fault. */
  async #exists(sandbox, path, signal) {
    try {
      const entries = await sandbox.files.list(parentOf(path), { signal });
      return entries.some(({ name }) => name === nameOf(path));
    } catch (error) {
      if (error?.code === "file_not_found") return false;
      throw error;
    }
  }

  #welcome() {
    // What waits for the sandbox already lists its files.
    if (!this.#current) this.#attempt(async () => {}, (error) => this.#remedies(error));
  }

  #farewell() {
    this.#directory.clear();
    this.#editor.forget();
  }
}
