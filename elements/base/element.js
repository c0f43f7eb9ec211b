// What all elements have in common: a shadow root with their styles, a theme, and the session they belong to.

import base from "./base.css";
import tokens from "./tokens.css";
import { sheets } from "./sheets.js";

/** Where there is no DOM the classes exist all the same, so that a page rendered on a server can import the module. */
const Host = globalThis.HTMLElement ?? class {};

export class SandboxElement extends Host {
  /** @type {ShadowRoot} */
  root;

  /** @param {string[]} styles */
  constructor(...styles) {
    super();
    this.root = this.attachShadow({ mode: "open" });
    this.root.adoptedStyleSheets = sheets(tokens, base, ...styles);
  }

  /** Takes over properties that were set before the element was defined: they hide those of the class. */
  upgrade(...names) {
    for (const name of names) {
      if (!Object.hasOwn(this, name)) continue;
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
  }

  /** Runs `work` when the element is first seen, so that a long page loads what it needs for what is read. */
  whenSeen(work) {
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        work();
      },
      { rootMargin: "200px" },
    );
    observer.observe(this);
    return observer;
  }

  emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }
}

/** Follows the session of an element: the one named by its `session` attribute, or the nearest around it. */
export class SessionLink {
  #element;
  #onChange;
  #session;

  constructor(element, onChange) {
    this.#element = element;
    this.#onChange = () => onChange(this.#session);
  }

  /** The session; undefined when there is none. */
  get session() {
    return this.#session;
  }

  connect() {
    this.disconnect();
    const id = this.#element.getAttribute("session");
    this.#session = id ? find(this.#element, id) : around(this.#element);
    this.#session?.addEventListener("sandboxstatechange", this.#onChange);
    this.#onChange();
  }

  disconnect() {
    this.#session?.removeEventListener("sandboxstatechange", this.#onChange);
    this.#session = undefined;
  }
}

const TAG = "sandbox-session";

function around(element) {
  for (let at = element; at; at = at.getRootNode().host) {
    const found = at.closest(TAG);
    if (found) return found;
  }
  return undefined;
}

function find(element, id) {
  const found = element.getRootNode().getElementById?.(id) ?? document.getElementById(id);
  return found?.localName === TAG ? found : undefined;
}
