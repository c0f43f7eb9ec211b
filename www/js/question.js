// A question that must be answered before anything goes on.

import { byId, el } from "./dom.js";

/**
 * Asks, and answers the `value` of the chosen answer, or undefined when the visitor pressed Escape.
 *
 * @param {string} text
 * @param {Array<{ value: string, label: string }>} answers The first is the one to be taken.
 */
export function ask(text, answers) {
  const dialog = byId("question");
  byId("question-text").textContent = text;
  const buttons = answers.map(({ value, label }, i) =>
    el("button", { type: "button", class: i === 0 ? "button primary" : "button", on: { click: () => dialog.close(value) } }, label),
  );
  byId("question-answers").replaceChildren(...buttons);
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue || undefined), { once: true });
  });
}
