// The framing of server-sent events, without a stream: text in, events out. Work is linear in the text, whatever its chunks, and
// no event may be larger than the limit.

import { ProtocolError } from "#package";

export class SseParser {
  /** The pieces of a line that has not ended. They are joined once, when it has. */
  #pieces = [];
  #pending = 0;
  #data = [];
  #size = 0;
  #event = "";
  #afterReturn = false;
  #begun = false;

  /** The id of the last event, and what the server wants reconnecting to wait, in ms. */
  lastId = "";
  retryMs = undefined;

  constructor(limit) {
    this.limit = limit;
  }

  /** The events that are complete with `text`, each `{ event, data, id }`. */
  feed(text) {
    const events = [];
    if (!this.#begun && text !== "") {
      this.#begun = true;
      if (text.startsWith("\ufeff")) text = text.slice(1);
    }
    // A line feed after a carriage return that ended the chunk before belongs to it.
    if (this.#afterReturn && text !== "") {
      if (text[0] === "\n") text = text.slice(1);
      this.#afterReturn = false;
    }
    const ends = /\r\n|\n|\r/g;
    let begin = 0;
    for (let found = ends.exec(text); found !== null; found = ends.exec(text)) {
      this.#pieces.push(text.slice(begin, found.index));
      const event = this.#line(this.#pieces.length === 1 ? this.#pieces[0] : this.#pieces.join(""));
      this.#pieces = [];
      this.#pending = 0;
      if (event !== undefined) events.push(event);
      begin = found.index + found[0].length;
      if (found[0] === "\r" && begin === text.length) this.#afterReturn = true;
    }
    if (begin < text.length) {
      this.#pieces.push(text.slice(begin));
      this.#pending += text.length - begin;
    }
    if (this.#pending + this.#size > this.limit) throw this.#tooLarge();
    return events;
  }

  /** Whether the text so far ends in the middle of an event. */
  get isInside() {
    return this.#pending > 0 || this.#data.length > 0;
  }

  #line(line) {
    if (line === "") return this.#dispatch();
    if (line[0] === ":") return undefined;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value[0] === " ") value = value.slice(1);
    if (field === "event") this.#event = value.trim();
    else if (field === "id" && !value.includes("\0")) this.lastId = value;
    else if (field === "retry" && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    else if (field === "data") {
      this.#size += value.length + 1;
      if (this.#size > this.limit) throw this.#tooLarge();
      this.#data.push(value);
    }
    return undefined;
  }

  #dispatch() {
    const event = { event: this.#event || "message", data: this.#data.join("\n"), id: this.lastId };
    const isEmpty = this.#data.length === 0;
    this.#data = [];
    this.#size = 0;
    this.#event = "";
    return isEmpty ? undefined : event;
  }

  #tooLarge() {
    return new ProtocolError(`An event of the server is larger than ${this.limit} characters. Raise maxEventSize if it may be`, { code: "event_too_large" });
  }
}
