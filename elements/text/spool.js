// All the text that one cell printed, kept where it costs the page little: as Blobs, which browsers put on disk when they grow.

/** How much text stays at hand to be shown in full, in characters. */
const SHOWABLE = 5_000_000;

/** How much is kept for the download, in characters. */
const KEPT = 256 * 1024 * 1024;

/** Pieces are gathered into Blobs of about that many characters. */
const PIECE = 1024 * 1024;

export class Spool {
  /** How many characters were printed. */
  length = 0;
  #blobs = [];
  #pending = [];
  #pendingLength = 0;
  /** `{ stream, text }`, as long as everything may still be shown. */
  #segments = [];

  write(stream, text) {
    this.length += text.length;
    if (this.length <= SHOWABLE) this.#segments.push({ stream, text });
    else this.#segments = undefined;
    if (this.length > KEPT) return;
    this.#pending.push(text);
    this.#pendingLength += text.length;
    if (this.#pendingLength >= PIECE) this.#flush();
  }

  /** What was printed, stream by stream; undefined when it is too long to be shown. */
  get segments() {
    return this.#segments;
  }

  /** Whether the download has everything. */
  get isComplete() {
    return this.length <= KEPT;
  }

  /** Everything that was printed, as it came: colours are still escape sequences. */
  toBlob() {
    this.#flush();
    return new Blob(this.#blobs, { type: "text/plain;charset=utf-8" });
  }

  #flush() {
    if (this.#pendingLength > 0) this.#blobs.push(new Blob(this.#pending));
    this.#pending = [];
    this.#pendingLength = 0;
  }
}
