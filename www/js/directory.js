// The list of a directory's entries.

import { byId, el } from "./dom.js";

/** How many entries are shown; nobody reads more as a list. */
const MAX_ENTRIES = 500;

export class Directory extends EventTarget {
  path = "/home/user";
  /** Whether the list is that of the sandbox there is. */
  loaded = false;
  #list = byId("entries");
  #name = byId("directory");
  #current;

  constructor() {
    super();
    this.#message("Start a sandbox to see its files.");
  }

  show(path, entries) {
    this.path = path;
    this.loaded = true;
    this.#name.textContent = path;
    const sorted = [...entries].sort((a, b) => (b.type === "dir") - (a.type === "dir"));
    const items = sorted.slice(0, MAX_ENTRIES).map((entry) => this.#item(entry));
    if (path !== "/") items.unshift(this.#item({ name: "..", path: parentOf(path), type: "dir" }));
    if (entries.length === 0) items.push(el("li", { class: "list-note" }, "Nothing in here yet."));
    if (entries.length > MAX_ENTRIES) items.push(el("li", { class: "list-note" }, `and ${entries.length - MAX_ENTRIES} more`));
    const hadFocus = this.#list.contains(document.activeElement);
    this.#list.replaceChildren(...items);
    if (hadFocus) this.#list.querySelector("button")?.focus();
    this.mark(this.#current);
  }

  /** Marks the entry of the file that is open. */
  mark(path) {
    this.#current = path;
    for (const button of this.#list.querySelectorAll("button")) {
      if (button.dataset.path === path) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  clear() {
    if (!this.loaded) return;
    this.path = "/home/user";
    this.loaded = false;
    this.#current = undefined;
    this.#message("The sandbox has ended, and its files with it.");
  }

  #message(text) {
    this.#name.textContent = this.path;
    this.#list.replaceChildren(el("li", { class: "list-note" }, text));
  }

  #item({ name, path, type, size, symlinkTarget }) {
    const isDirectory = type === "dir";
    const what = name === ".." ? "Parent directory" : isDirectory ? "Directory" : "File";
    const open = () => this.dispatchEvent(new CustomEvent("open", { detail: { path, isDirectory } }));
    const button = el(
      "button",
      {
        type: "button",
        class: "list-entry",
        data: { path, type: type ?? "other" },
        title: symlinkTarget ? `${path} → ${symlinkTarget}` : path,
        on: { click: open },
      },
      el("span", { class: "visually-hidden" }, `${what} `),
      el("span", { class: "list-name" }, isDirectory && name !== ".." ? `${name}/` : name),
      isDirectory || size === undefined ? undefined : el("span", { class: "list-size" }, bytes(size)),
    );
    return el("li", {}, button);
  }
}

/** The directory that holds `path`. Paths that do not start with a slash are below the home directory. */
export function parentOf(path) {
  const slash = path.lastIndexOf("/");
  if (slash === -1) return ".";
  return path.slice(0, slash) || "/";
}

/** The last part of `path`. */
export function nameOf(path) {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A number of bytes, as people say it. */

export function bytes(size) {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}
