// Server-sent events out of the pieces of a body. Pure; memory is bounded by the longest event.

/** The longest event that is accepted, in characters. */
const MOST = 16 << 20;

/**
 * `{ event, data }` for each event of `chunks`, an async iterable of bytes. `tooLong` makes the error of an event beyond the bound.
 * What is cut off by the end of the body is dropped, as the format says: whoever reads must wait for its own end marker.
 */
export async function* events(chunks, tooLong) {
  const decoder = new TextDecoder();
  // A line in pieces: joined once, however many there are.
  let begun = [];
  let event = "";
  let data = [];
  let size = 0;
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    size += text.length;
    if (size > MOST) throw tooLong();
    const lines = text.split("\n");
    begun.push(lines[0]);
    if (lines.length === 1) continue;
    lines[0] = begun.join("");
    begun = [lines.pop()];
    for (const ended of lines) {
      const line = ended.replace(/\r$/, "");
      if (line === "") {
        if (data.length > 0) yield { event: event || "message", data: data.join("\n") };
        [event, data] = ["", []];
        continue;
      }
      const at = line.indexOf(":");
      const field = at < 0 ? line : line.slice(0, at);
      const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
      if (field === "event") event = value.trim();
      if (field === "data") data.push(value);
    }
    size = begun[0].length + data.reduce((sum, { length }) => sum + length, 0);
  }
}
