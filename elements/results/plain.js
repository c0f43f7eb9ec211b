// A result as text.

import { button, el, save } from "../base/dom.js";
import { lineElement } from "../text/lines.js";
import { Transcript } from "../text/transcript.js";

/** How much of a text is shown. */
const LIMITS = { lines: 1_000, characters: 200_000 };

export function plain(result) {
  const text = result.text ?? String(result);
  const transcript = new Transcript(LIMITS);
  transcript.write("stdout", text);
  const label = { label: "Text result" };
  const lines = el("div", { class: "text", part: "text", tabIndex: 0, role: "group", aria: label }, ...transcript.lines.map(lineElement));
  if (transcript.droppedLines === 0) return lines;
  const download = button("Download", () => save(new Blob([text], { type: "text/plain;charset=utf-8" }), "result.txt"), { class: "button quiet" });
  const note = `${transcript.droppedLines.toLocaleString("en")} earlier lines not shown.`;
  return el("div", {}, el("p", { class: "omitted" }, el("span", {}, note), download), lines);
}
