// The tree of entries, used with the keyboard as trees are: arrows, Home, End, Enter.

import { el } from "../base/dom.js";
import { bytes } from "../results/files.js";
import { parentOf } from "./paths.js";

/** How many entries of one directory are shown. */
const MOST = 1_000;

export class Tree {
  element = el("ul", { class: "tree", part: "tree", role: "tree", tabIndex: -1, aria: { label: "Files" } });
  #options;
  #root;
  /** What was read of each directory that is open. */
  #open = new Map();
  #rows = [];
  #selected;
  /** How often each directory was asked for: an answer that was overtaken is not shown. */
  #asked = new Map();

  /** @param {{ list(path: string): Promise<object[]>, onOpen(entry), onSelect(entry), onKey(key, entry), onError(error) }} options */
  constructor(options) {
    this.#options = options;
    this.element.addEventListener("keydown", (event) => this.#keydown(event));
  }

  /** The entry that is selected. */
  get selected() {
    return this.#rows.find(({ entry }) => entry.path === this.#selected)?.entry;
  }

  async load(path) {
    this.clear();
    this.#root = path;
    this.#open.set(path, []);
    await this.refresh(path);
  }

  clear() {
    this.#root = undefined;
    this.#open.clear();
    this.#selected = undefined;
    this.#render();
  }

  /** Reads a directory anew if it is open, or all that are. */
  async refresh(path) {
    const paths = path === undefined ? [...this.#open.keys()] : [path].filter((one) => this.#open.has(one));
    await Promise.all(paths.map((one) => this.#read(one)));
  }

  select(path) {
    this.#selected = path;
    this.#render();
    this.#options.onSelect(this.selected);
  }

  focus() {
    (this.element.querySelector("[tabindex='0']") ?? this.element).focus();
  }

  /** The directory of the row on an event's way, if it is on one. */
  directoryAt(way) {
    const row = this.#rows.find(({ element }) => way.includes(element));
    return row && (row.entry.type === "dir" ? row.entry.path : parentOf(row.entry.path));
  }

  async #read(path) {
    const turn = (this.#asked.get(path) ?? 0) + 1;
    this.#asked.set(path, turn);
    const root = this.#root;
    try {
      const entries = await this.#options.list(path);
      if (this.#root !== root || !this.#open.has(path) || this.#asked.get(path) !== turn) return;
      this.#open.set(path, entries.sort((a, b) => (b.type === "dir") - (a.type === "dir") || a.name.localeCompare(b.name)));
      this.#render();
    } catch (error) {
      if (this.#root !== root) return;
      // A directory that was removed is gone from that above it.
      if (path !== root && error?.name === "FileNotFoundError") {
        this.#open.delete(path);
        this.#render();
      } else this.#options.onError(error);
    }
  }

  async #toggle(entry) {
    if (this.#open.delete(entry.path)) return this.#render();
    this.#open.set(entry.path, []);
    this.#render();
    return this.#read(entry.path);
  }

  #render() {
    const hadFocus = this.element.contains(this.element.getRootNode().activeElement);
    this.#rows = [];
    const items = [];
    const add = (path, level) => {
      const entries = this.#open.get(path) ?? [];
      for (const entry of entries.slice(0, MOST)) {
        const element = this.#row(entry, level);
        this.#rows.push({ entry, element, level });
        items.push(element);
        if (this.#open.has(entry.path)) add(entry.path, level + 1);
      }
      if (entries.length > MOST) items.push(el("li", { class: "note", role: "none" }, `and ${(entries.length - MOST).toLocaleString("en")} more`));
    };
    if (this.#root !== undefined) add(this.#root, 1);
    if (items.length === 0 && this.#root !== undefined) items.push(el("li", { class: "note", role: "none" }, "Nothing in here yet. Drop files to upload them."));
    // A tree without items is none to a screen reader.
    this.element.setAttribute("role", this.#rows.length > 0 ? "tree" : "list");
    for (const note of items) if (note.classList.contains("note")) note.setAttribute("role", this.#rows.length > 0 ? "none" : "listitem");
    this.element.replaceChildren(...items);
    const current = this.#rows.find(({ entry }) => entry.path === this.#selected) ?? this.#rows[0];
    if (current) current.element.tabIndex = 0;
    if (this.#selected !== undefined && !this.selected) {
      this.#selected = undefined;
      this.#options.onSelect(undefined);
    }
    if (hadFocus) this.focus();
  }

  #row(entry, level) {
    const isDirectory = entry.type === "dir";
    const isOpen = this.#open.has(entry.path);
    const element = el(
      "li",
      { class: "row", role: "treeitem", tabIndex: -1, title: entry.symlinkTarget ? `${entry.path} → ${entry.symlinkTarget}` : entry.path, data: { type: entry.type ?? "other" }, aria: { level: String(level), selected: String(entry.path === this.#selected), ...(isDirectory && { expanded: String(isOpen) }) } },
      ...Array.from({ length: level - 1 }, () => el("span", { class: "indent", aria: { hidden: "true" } })),
      el("span", { class: "twist", aria: { hidden: "true" } }, isDirectory ? (isOpen ? "▾" : "▸") : ""),
      el("span", { class: "row-name" }, isDirectory ? `${entry.name}/` : entry.name),
      isDirectory || entry.size === undefined ? undefined : el("span", { class: "row-size" }, bytes(entry.size)),
    );
    element.addEventListener("click", () => {
      this.select(entry.path);
      this.focus();
      if (isDirectory) this.#toggle(entry);
    });
    element.addEventListener("dblclick", () => this.#options.onOpen(entry));
    return element;
  }

  #keydown(event) {
    const at = this.#rows.findIndex(({ element }) => element === event.target);
    if (at === -1 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { entry, level } = this.#rows[at];
    const isDirectory = entry.type === "dir";
    const isOpen = this.#open.has(entry.path);
    const move = (to) => {
      const row = this.#rows[Math.max(0, Math.min(this.#rows.length - 1, to))];
      this.select(row.entry.path);
      this.focus();
    };
    const keys = {
      ArrowDown: () => move(at + 1),
      ArrowUp: () => move(at - 1),
      Home: () => move(0),
      End: () => move(this.#rows.length - 1),
      ArrowRight: () => isDirectory && (isOpen ? move(at + 1) : this.#toggle(entry)),
      ArrowLeft: () => (isDirectory && isOpen ? this.#toggle(entry) : move(this.#rows.findLastIndex((row, i) => i < at && row.level < level))),
      Enter: () => (isDirectory ? this.#toggle(entry) : this.#options.onOpen(entry)),
      F2: () => this.#options.onKey("F2", entry),
      Delete: () => this.#options.onKey("Delete", entry),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }
}
