// <sandbox-files>: the files of the session's sandbox. Shows the tree, and what is done with the selected entry.

import { SandboxElement, SessionLink } from "../base/element.js";
import { button, el, save } from "../base/dom.js";
import { ADVICE, ElementError, saysGone } from "../base/failure.js";
import { Notice } from "../base/notice.js";
import { FileEditor } from "./file-editor.js";
import { nameOf, parentOf, within } from "./paths.js";
import { Transfers } from "./transfers.js";
import { Tree } from "./tree.js";
import editorStyles from "../code/editor.css";
import styles from "./files.css";

/** The buttons of what is done less often. */
const QUIET = { class: "button quiet" };

export class SandboxFiles extends SandboxElement {
  static observedAttributes = ["path", "hidden-files", "label", "session"];

  #link = new SessionLink(this, () => this.#follow());
  #frame;
  #notice;
  #tree;
  #transfers = new Transfers();
  #editor;
  #empty = el("div", { class: "empty" });
  #emptyText = el("p");
  #show = button("Show the files", () => this.refresh(), { class: "button primary" });
  #question = el("form", { class: "question", hidden: true });
  #input = el("input", { type: "file", multiple: true, hidden: true });
  #selection;
  #live = el("span", { class: "visually-hidden", role: "status" });
  /** The sandbox whose files are shown, and its watch. */
  #sandbox;
  #watch;
  /** Directories to be read again, gathered for a moment: programs change many files at once. */
  #stale = new Set();
  #timer;

  constructor() {
    super(editorStyles, styles);
    const place = el("div");
    this.#notice = new Notice(place, ADVICE);
    this.#tree = new Tree({
      list: (path) => this.#list(path),
      onOpen: (entry) => this.#open(entry),
      onSelect: (entry) => this.#select(entry),
      onKey: (key, entry) => this.#key(key, entry),
      onError: (error) => this.#report(error),
    });
    this.#editor = new FileEditor({ onError: (error) => this.#report(error), onSaved: (name) => this.#say(`Saved ${name}`) });
    this.#input.addEventListener("change", () => {
      this.upload([...this.#input.files], this.#directory());
      this.#input.value = "";
    });
    const actions = el("span", { class: "actions" }, button("Upload", () => this.#input.click(), { class: "button quiet" }), button("New folder", () => this.#askFolder(), { class: "button quiet" }), button("Refresh", () => this.refresh(), { class: "button quiet" }));
    this.#selection = el("div", { class: "selection", hidden: true, role: "toolbar", aria: { label: "Selected entry" } });
    this.#empty.append(this.#emptyText, this.#show);
    const bar = el("div", { class: "bar", part: "bar" }, el("strong", { class: "title" }, "Files"), actions);
    this.#frame = el("div", { class: "frame files", part: "files", role: "group" }, bar, place, this.#question, this.#transfers.element, el("div", { class: "body" }, this.#tree.element, this.#empty), this.#selection, this.#editor.element, this.#input, this.#live);
    this.root.append(this.#frame);
    this.#acceptDrops();
    this.#showEmpty();
  }

  get path() {
    return this.getAttribute("path") || "/home/user";
  }

  set path(path) {
    this.setAttribute("path", path);
  }

  connectedCallback() {
    this.upgrade("path");
    this.#frame.setAttribute("aria-label", this.getAttribute("label") || "Files");
    this.#link.connect();
  }

  disconnectedCallback() {
    this.#link.disconnect();
    this.#forget();
    this.#transfers.cancelAll();
  }

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.isConnected) return;
    if (name === "session") this.#link.connect();
    else if (name === "label") this.#frame.setAttribute("aria-label", now || "Files");
    else if (this.#sandbox) this.#load(this.#sandbox);
  }

  /** Reads the tree anew; starts the sandbox if there is none. Never rejects: what goes wrong is shown. */
  async refresh() {
    this.#notice.clear();
    try {
      const sandbox = await this.#required().ensure();
      if (sandbox === this.#sandbox) await this.#tree.refresh();
      else await this.#load(sandbox);
    } catch (error) {
      await this.#report(error);
    }
  }

  /** Uploads files into a directory. Never rejects: what goes wrong is shown. */
  async upload(files, directory = this.path) {
    this.#notice.clear();
    try {
      const sandbox = await this.#required().ensure();
      for (const file of files) {
        const path = within(directory, file.name);
        const written = await this.#transfers.run(`Uploading ${file.name}`, file.size, (opts) => sandbox.files.write(path, file, { ...opts, requestTimeoutMs: 0 }));
        // A daemon keeps what had arrived of an upload that was called off.
        if (!written) await sandbox.files.remove(path);
        this.#say(written ? `Uploaded ${file.name}` : `Called off ${file.name}`);
        await this.#tree.refresh(directory);
      }
    } catch (error) {
      await this.#report(error);
    }
  }

  #required() {
    const { session } = this.#link;
    if (session) return session;
    throw new ElementError("no_session", "These files stand in no <sandbox-session>: put them into one, or name one with their session attribute.");
  }

  #follow() {
    const { session } = this.#link;
    const sandbox = session?.state === "ready" ? session.sandbox : undefined;
    if (sandbox && sandbox !== this.#sandbox) this.#load(sandbox);
    else if (this.#sandbox && session?.state !== "lost" && !sandbox) this.#forget();
    else if (sandbox) this.#startWatch(sandbox);
    this.#showEmpty();
  }

  async #load(sandbox) {
    this.#forget();
    this.#sandbox = sandbox;
    this.#editor.sandbox = sandbox;
    this.#showEmpty();
    await this.#tree.load(this.path);
    await this.#startWatch(sandbox);
  }

  #forget() {
    this.#sandbox = undefined;
    this.#watch?.stop().catch(() => {});
    this.#watch = undefined;
    clearTimeout(this.#timer);
    this.#stale.clear();
    this.#tree.clear();
    this.#editor.close();
    this.#select(undefined);
  }

  async #list(path) {
    const entries = await this.#sandbox.files.list(path);
    return this.hasAttribute("hidden-files") ? entries : entries.filter(({ name }) => !name.startsWith("."));
  }

  /** Listens to changes. Where that does not work there is still the button. */
  async #startWatch(sandbox) {
    if (this.#watch) return;
    const root = this.path;
    try {
      const watch = await sandbox.files.watchDir(root, ({ name }) => this.#changed(parentOf(within(root, name))), {
        recursive: true,
        onExit: () => {
          if (this.#watch === watch) this.#watch = undefined;
        },
      });
      if (this.#sandbox === sandbox) this.#watch = watch;
      else await watch.stop();
    } catch (error) {
      await this.#link.session?.examine(error);
    }
  }

  #changed(directory) {
    this.#stale.add(directory);
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      const stale = [...this.#stale];
      this.#stale.clear();
      for (const path of stale) this.#tree.refresh(path);
    }, 150);
  }

  /** The directory that things go to: the selected one, or that of the selected file. */
  #directory() {
    const selected = this.#tree.selected;
    if (!selected) return this.path;
    return selected.type === "dir" ? selected.path : parentOf(selected.path);
  }

  async #open(entry) {
    if (entry.type === "file") await this.#editor.open(entry);
  }

  #select(entry) {
    this.#selection.hidden = !entry;
    if (!entry) return;
    const isFile = entry.type === "file";
    const [edit, download] = isFile ? [button("Edit", () => this.#editor.open(entry), QUIET), button("Download", () => this.#download(entry), QUIET)] : [];
    const change = [button("Rename", () => this.#askName(entry), QUIET), button("Delete", () => this.#askDelete(entry), QUIET)];
    const actions = el("span", { class: "actions" }, edit, download, ...change);
    this.#selection.replaceChildren(el("span", { class: "selected-name" }, entry.name), actions);
  }

  #key(key, entry) {
    if (key === "F2") this.#askName(entry);
    if (key === "Delete") this.#askDelete(entry);
  }

  async #download({ path, name, size }) {
    try {
      const blob = await this.#transfers.run(`Downloading ${name}`, size, (opts) => this.#sandbox.files.read(path, { format: "blob", ...opts, requestTimeoutMs: 0 }));
      if (blob) save(blob, name);
    } catch (error) {
      await this.#report(error);
    }
  }

  #askName(entry) {
    this.#ask(`Rename ${entry.name}`, entry.name, "Rename", async (name) => {
      const to = within(parentOf(entry.path), name);
      if (to !== entry.path) await this.#sandbox.files.rename(entry.path, to);
      await this.#tree.refresh(parentOf(entry.path));
      this.#tree.select(to);
    });
  }

  #askFolder() {
    if (!this.#sandbox) return this.refresh();
    const directory = this.#directory();
    this.#ask(`New folder in ${nameOf(directory)}`, "", "Create", async (name) => {
      await this.#sandbox.files.makeDir(within(directory, name));
      await this.#tree.refresh(directory);
      this.#tree.select(within(directory, name));
    });
    return undefined;
  }

  #askDelete(entry) {
    const what = entry.type === "dir" ? `Delete the folder ${entry.name} and all in it?` : `Delete ${entry.name}?`;
    this.#ask(what, undefined, "Delete", async () => {
      await this.#sandbox.files.remove(entry.path);
      this.#editor.closeIf(entry.path);
      await this.#tree.refresh(parentOf(entry.path));
      this.#say(`Deleted ${entry.name}`);
    });
  }

  /** Asks above the tree: for a name where there is a value, or only for consent. */
  #ask(text, value, verb, act) {
    const field = value === undefined ? undefined : el("input", { class: "name", type: "text", value, spellcheck: false, autocapitalize: "off", aria: { label: text } });
    const yes = el("button", { type: "submit", class: value === undefined ? "button danger" : "button primary" }, verb);
    const done = () => {
      this.#question.hidden = true;
      this.#question.replaceChildren();
      this.#tree.focus();
    };
    this.#question.replaceChildren(el("span", {}, text), ...(field ? [field] : []), yes, button("Cancel", done));
    this.#question.hidden = false;
    this.#question.onkeydown = (event) => {
      if (event.key === "Escape") done();
    };
    this.#question.onsubmit = async (event) => {
      event.preventDefault();
      const name = field?.value.trim();
      if (field && (name === "" || name.includes("/"))) return field.focus();
      done();
      try {
        await act(name);
      } catch (error) {
        await this.#report(error);
      }
      return undefined;
    };
    (field ?? yes).focus();
    field?.select();
  }

  #acceptDrops() {
    const isFiles = (event) => event.dataTransfer?.types.includes("Files");
    this.#frame.addEventListener("dragover", (event) => {
      if (!isFiles(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      this.#frame.classList.add("dropping");
    });
    this.#frame.addEventListener("dragleave", (event) => {
      if (!this.#frame.contains(event.relatedTarget)) this.#frame.classList.remove("dropping");
    });
    this.#frame.addEventListener("drop", (event) => {
      if (!isFiles(event)) return;
      event.preventDefault();
      this.#frame.classList.remove("dropping");
      this.upload([...event.dataTransfer.files], this.#tree.directoryAt(event.composedPath()) ?? this.path);
    });
  }

  async #report(error) {
    const { session } = this.#link;
    const shown = (await session?.examine(error)) ?? error;
    const anew = { label: "Start a new sandbox", run: () => session.restart().catch(() => {}) };
    this.#notice.show(shown, saysGone(shown) ? [anew] : []);
  }

  #say(text) {
    this.#live.textContent = text;
  }

  #showEmpty() {
    const state = this.#link.session?.state ?? "idle";
    const texts = {
      idle: "The files of the sandbox show here once it has started. Drop files to upload them.",
      starting: "The sandbox is starting…",
      ended: "The sandbox has ended, and its files with it.",
    };
    this.#empty.hidden = this.#sandbox !== undefined;
    this.#emptyText.textContent = texts[state] ?? "Reading…";
    this.#show.hidden = state !== "idle";
    this.#tree.element.hidden = this.#sandbox === undefined;
  }
}
