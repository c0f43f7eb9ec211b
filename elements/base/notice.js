// The panel that shows an error: its class, its code, what happened, what to do.

import { el } from "./dom.js";
import { describe } from "./failure.js";

/** A place where errors are shown, one at a time. */
export class Notice {
  #place;
  #advice;

  /** `advice` says what to do about an error, by its code. */
  constructor(place, advice) {
    this.#place = place;
    this.#advice = advice;
  }

  /**
   * @param {unknown} error
   * @param {Array<{ label: string, run(): void }>} actions The first is the one to be taken.
   */
  show(error, actions = []) {
    const { name, code, message, advice, details } = describe(error, this.#advice);
    const title = el("strong", { class: "notice-name" }, name);
    const head = el("p", { class: "notice-head" }, title, code && el("code", { class: "notice-code" }, code));
    const buttons = actions.map(({ label, run }, i) =>
      el("button", { type: "button", class: i === 0 ? "button primary" : "button", on: { click: () => (this.clear(), run()) } }, label),
    );
    buttons.push(el("button", { type: "button", class: "button quiet", on: { click: () => this.clear() } }, "Dismiss"));
    const panel = el(
      "div",
      { class: "notice", role: "alert" },
      head,
      el("p", { class: "notice-message" }, message),
      advice && el("p", { class: "notice-advice" }, el("strong", {}, "What to do: "), advice),
      details.length > 0 ? detailList(details) : undefined,
      el("div", { class: "notice-actions" }, ...buttons),
    );
    this.#place.replaceChildren(panel);
  }

  clear() {
    this.#place.replaceChildren();
  }
}

function detailList(details) {
  const rows = details.flatMap(([term, value]) => [el("dt", {}, term), el("dd", {}, String(value))]);
  return el("details", { class: "notice-details" }, el("summary", {}, "Details"), el("dl", {}, ...rows));
}
