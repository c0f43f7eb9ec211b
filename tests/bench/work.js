// What is asked of the stub, as words that travel inside of commands, code and paths, and what has to come back. Runs
// everywhere: the stub, the contestants and pages import it.

/** The most that one block of repeated output holds, in bytes. */
const BLOCK = 1024 * 1024;

/** `count` events or lines of `size` bytes, as a word for the stub. */
export const word = (count, size) => `bench:${count}x${size}`;

/** The count and the size that a text asks for, or undefined. */
export function asked(text) {
  const found = /bench:(\d+)x(\d+)/.exec(text);
  return found ? { count: Number(found[1]), size: Number(found[2]) } : undefined;
}

/** Event number `index`: a line of exactly `size` bytes that says which it is. */
export const line = (index, size) => `${String(index).padEnd(size - 1, ".")}\n`;

/** How many events are made before they repeat: a divisor of `count`. */
export function blockOf(count, size) {
  let block = Math.max(1, Math.min(count, Math.floor(BLOCK / size)));
  while (count % block !== 0) block -= 1;
  return block;
}

/** All that `count` events of `size` bytes say, as one text. */
export function outputOf(count, size) {
  const block = blockOf(count, size);
  return Array.from({ length: block }, (_, index) => line(index, size)).join("").repeat(count / block);
}
