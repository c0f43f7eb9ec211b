// The commands entered before, walked with Up and Down as in a shell.

const LIMIT = 100;

export class History {
  #entries = [];
  #at = 0;
  /** What was being typed when the walk began. */
  #draft = "";

  add(command) {
    if (this.#entries.at(-1) !== command) this.#entries.push(command);
    if (this.#entries.length > LIMIT) this.#entries.shift();
    this.#at = this.#entries.length;
    this.#draft = "";
  }

  /** The entry before, or undefined at the oldest. `current` is what the field holds. */
  back(current) {
    if (this.#at === 0) return undefined;
    if (this.#at === this.#entries.length) this.#draft = current;
    this.#at -= 1;
    return this.#entries[this.#at];
  }

  /** The entry after, and finally what was being typed; undefined beyond. */
  forward() {
    if (this.#at === this.#entries.length) return undefined;
    this.#at += 1;
    return this.#entries[this.#at] ?? this.#draft;
  }
}
