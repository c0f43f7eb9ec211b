// What a careful program without any client does: `fetch`, and a loop that decodes what comes.

import { LAST, failure, headersOf, start } from "./requests.js";

export async function open(target) {
  return {
    async events(command, { onStdout, keep = true }) {
      const decoder = new TextDecoder();
      let text = "";
      await read(await start(target, command), async (bytes) => {
        const piece = decoder.decode(bytes, { stream: true });
        if (keep) text += piece;
        await onStdout?.(piece);
      });
      return text;
    },
    async code(code, { onStdout }) {
      const lines = [];
      await readLines(await execute(target, code), async (event) => {
        if (event.type !== "stdout") return;
        lines.push(event.text);
        await onStdout?.(event.text);
      });
      return lines;
    },
    run: async (command) => read(await start(target, command), () => {}),
    async upload(path, data) {
      const init = { method: "POST", headers: headersOf(target, "application/octet-stream"), body: data, duplex: "half" };
      const response = await fetch(`${target.url}/files?path=${encodeURIComponent(path)}`, init);
      if (!response.ok) throw await failure(response);
      return (await response.json())[0];
    },
    async download(path, format) {
      const response = await fetch(`${target.url}/files?path=${encodeURIComponent(path)}`, { headers: headersOf(target) });
      if (!response.ok) throw await failure(response);
      if (format === "stream") return response.body;
      return format === "text" ? response.text() : new Uint8Array(await response.arrayBuffer());
    },
  };
}

export async function execute(target, code) {
  const init = { method: "POST", headers: headersOf(target, "application/json"), body: JSON.stringify({ code }) };
  const response = await fetch(`${target.url}/execute`, init);
  if (!response.ok) throw await failure(response);
  return response;
}

/** Reads envelopes of binary process events, and answers the exit code. */
async function read(response, onStdout) {
  let rest = new Uint8Array(0);
  let exitCode;
  for await (const chunk of chunks(response)) {
    let bytes = chunk;
    if (rest.length > 0) {
      bytes = new Uint8Array(rest.length + chunk.length);
      bytes.set(rest);
      bytes.set(chunk, rest.length);
    }
    let at = 0;
    while (bytes.length - at >= 5) {
      const end = at + 5 + ((bytes[at + 1] << 24) | (bytes[at + 2] << 16) | (bytes[at + 3] << 8) | bytes[at + 4]);
      if (bytes.length < end) break;
      if (bytes[at] & LAST) {
        if (exitCode === undefined) throw new Error("the stream ended without an exit code");
        return exitCode;
      }
      // StartResponse.event, then ProcessEvent: 1 is start, 2 data, 3 end.
      const event = content(bytes, at + 5);
      const kind = bytes[event.start] >>> 3;
      if (kind === 2) {
        const data = content(bytes, event.start);
        const output = content(bytes, data.start);
        await onStdout(bytes.subarray(output.start, output.end));
      } else if (kind === 3) {
        const status = content(bytes, event.start);
        exitCode = bytes[status.start] === 8 ? bytes[status.start + 1] >>> 1 : 0;
      }
      at = end;
    }
    rest = bytes.subarray(at);
  }
  throw new Error("the stream was cut off");
}

/** Where the content of the length-delimited field at `at` is. */
function content(bytes, at) {
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[++at];
    length |= (byte & 0x7f) << shift;
    if (byte < 0x80) return { start: at + 1, end: at + 1 + length };
  }
}

/** Reads JSON lines. A line is put together once, when it is complete. */
async function readLines(response, onEvent) {
  const decoder = new TextDecoder();
  let pieces = [];
  for await (const chunk of chunks(response)) {
    const lines = decoder.decode(chunk, { stream: true }).split("\n");
    for (let index = 0; index < lines.length - 1; index += 1) {
      pieces.push(lines[index]);
      const line = pieces.join("");
      pieces = [];
      if (line) await onEvent(JSON.parse(line));
    }
    pieces.push(lines.at(-1));
  }
}

/** Not `for await` over the body itself: not every browser knows that. */
async function* chunks(response) {
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
