// The elements of the page.

export { el } from "../../elements/base/dom.js";

/** The element of the page with that id. */
export function byId(id) {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element #${id}`);
  return element;
}

/** Tells users of screen readers what happened, once, without moving them. */
export function announce(text) {
  byId("announcer").textContent = text;
}
