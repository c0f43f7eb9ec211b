// Writes tar archives (ustar, with pax records for long names), as a Blob of the given parts: nothing is copied.

const BLOCK = 512;

const encoder = () => new TextEncoder();

/**
 * The archive of `nodes`: `{ path, kind: "file" | "dir", mode, size, data }` with permission bits in `mode` and a Blob in
 * `data`. All times are 0, so that the same files are the same archive.
 */
export function tar(nodes) {
  const parts = [];
  for (const { path, kind, mode, size, data } of nodes) {
    const name = encoder().encode(kind === "dir" ? `${path}/` : path);
    if (name.length > 100) {
      const record = paxRecord("path", name);
      parts.push(header(encoder().encode("pax"), "x", 0o644, record.length), record, padding(record.length));
    }
    parts.push(header(name.subarray(0, 100), kind === "dir" ? "5" : "0", mode, size));
    if (kind === "file") parts.push(data, padding(size));
  }
  // Two empty blocks end an archive.
  parts.push(new Uint8Array(2 * BLOCK));
  return new Blob(parts);
}

function padding(size) {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}

function header(name, type, mode, size) {
  const block = new Uint8Array(BLOCK);
  const text = (at, value) => block.set(encoder().encode(value), at);
  const octal = (at, length, value) => text(at, value.toString(8).padStart(length - 1, "0"));
  block.set(name);
  octal(100, 8, mode);
  octal(108, 8, 0);
  octal(116, 8, 0);
  octal(124, 12, size);
  octal(136, 12, 0);
  // The checksum is computed as if its own field were spaces.
  text(148, "        ");
  text(156, type);
  text(257, "ustar\u000000");
  const sum = block.reduce((total, byte) => total + byte, 0);
  text(148, `${sum.toString(8).padStart(6, "0")}\u0000 `);
  return block;
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key, value) {
  const head = encoder().encode(` ${key}=`);
  const rest = head.length + value.length + 1;
  let length = rest;
  while (length !== rest + String(length).length) length = rest + String(length).length;
  const record = new Uint8Array(length);
  record.set(encoder().encode(String(length)));
  record.set(head, length - rest);
  record.set(value, length - rest + head.length);
  record[length - 1] = 10;
  return record;
}
