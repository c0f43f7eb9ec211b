// What is on its way to the sandbox or from it, with how far it is, and a way to call it off.

import { button, el } from "../base/dom.js";
import { bytes } from "../results/files.js";

export class Transfers {
  element = el("ul", { class: "transfers", part: "transfers", aria: { label: "Transfers" } });
  #running = new Set();

  /**
   * Runs a transfer with a row of its own. Answers undefined when it was called off.
   *
   * @param {string} label
   * @param {number} size In bytes.
   * @param {(opts: { signal: AbortSignal, onProgress(progress: { loaded: number, total?: number }): void }) => Promise<T>} work
   * @returns {Promise<T | undefined>}
   * @template T
   */
  async run(label, size, work) {
    const stopper = new AbortController();
    const bar = el("progress", { max: 1, value: 0, aria: { label } });
    const told = el("span", { class: "transfer-size" }, `0 of ${bytes(size)}`);
    const cancel = button("Cancel", () => stopper.abort(new DOMException("Called off by the reader", "AbortError")), { class: "button quiet" });
    const row = el("li", { class: "transfer" }, el("span", { class: "transfer-name" }, label), bar, told, cancel);
    this.element.append(row);
    this.#running.add(stopper);
    try {
      return await work({
        signal: stopper.signal,
        onProgress({ loaded, total = size }) {
          bar.value = total > 0 ? loaded / total : 1;
          told.textContent = `${bytes(loaded)} of ${bytes(total)}`;
        },
      });
    } catch (error) {
      if (stopper.signal.aborted && error === stopper.signal.reason) return undefined;
      throw error;
    } finally {
      this.#running.delete(stopper);
      row.remove();
    }
  }

  cancelAll() {
    for (const stopper of this.#running) stopper.abort(new DOMException("The element was removed", "AbortError"));
  }
}
