// Connect streams: envelopes of one flag byte, four bytes of length and a payload.

import { gunzipSync } from "node:zlib";

const COMPRESSED = 1;
const END = 2;

/** An unary error's HTTP status. */
export const STATUS = {
  canceled: 499,
  unknown: 500,
  invalid_argument: 400,
  deadline_exceeded: 504,
  not_found: 404,
  already_exists: 409,
  permission_denied: 403,
  resource_exhausted: 429,
  failed_precondition: 400,
  aborted: 409,
  out_of_range: 400,
  unimplemented: 501,
  internal: 500,
  unavailable: 503,
  data_loss: 500,
  unauthenticated: 401,
};

export function envelope(payload) {
  const bytes = Buffer.from(payload);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** The complete messages of a body, the last of them as `end`, and whether a frame was compressed. */
export function messages(body) {
  const found = { frames: [], end: undefined, compressed: false };
  for (let at = 0; at + 5 <= body.length; ) {
    const flags = body[at];
    const next = at + 5 + body.readUInt32BE(at + 1);
    if (next > body.length) break;
    let payload = body.subarray(at + 5, next);
    if (flags & COMPRESSED) {
      payload = gunzipSync(payload);
      found.compressed = true;
    }
    const message = JSON.parse(payload.toString());
    if (flags & END) found.end = message;
    else found.frames.push(message);
    at = next;
  }
  return found;
}

/** The event of a message: processes wrap theirs, watched directories do not. */
export const eventOf = (frame) => frame.event ?? frame;

/** What the events of a process, or of a watched directory, come to. */
export function summary(frames) {
  const output = { stdout: [], stderr: [], pty: [] };
  const sum = { kinds: [], changes: [], largest: 0 };
  for (const frame of frames) {
    const event = eventOf(frame);
    const [kind] = Object.keys(event);
    if (kind === "filesystem") {
      const { type = "", name, entry } = event.filesystem;
      const change = `${type.replace("EVENT_TYPE_", "")} ${name}`;
      sum.changes.push(entry === undefined ? change : `${change} ${entry.path}`);
      continue;
    }
    const [stream] = kind === "data" ? Object.keys(event.data) : [kind];
    // Output arrives in as many pieces as it likes.
    if (kind !== "data" || sum.kinds.at(-1) !== stream) sum.kinds.push(stream);
    if (kind === "data") {
      const bytes = Buffer.from(event.data[stream], "base64");
      output[stream].push(bytes);
      sum.largest = Math.max(sum.largest, bytes.length);
    }
    if (kind === "start") sum.pid = event.start.pid;
    if (kind === "end") sum.exit = event.end;
  }
  for (const [stream, pieces] of Object.entries(output)) sum[stream] = Buffer.concat(pieces).toString();
  sum.hex = Buffer.concat(output.stdout).toString("hex");
  return sum;
}
