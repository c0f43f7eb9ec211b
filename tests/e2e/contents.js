// What files hold in the cases about them, whatever they are files of: a sandbox or a volume.

import { assert, equal } from "./assert.js";

/** Everything that a stream has, as bytes. */
export async function drain(stream) {
  const parts = [];
  for (const reader = stream.getReader(); ; ) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(value);
  }
}

const DATA = new Uint8Array([0, 1, 128, 255, 10]);

/** The same five bytes as every kind of data that can be written. Each call makes another stream. */
function kinds() {
  const stream = new ReadableStream({
    start(controller) {
      controller.enqueue(DATA.slice(0, 2));
      controller.enqueue(DATA.slice(2));
      controller.close();
    },
  });
  const view = new Uint8Array([9, ...DATA, 9]).subarray(1, 6);
  return { view, buffer: DATA.slice().buffer, blob: new Blob([DATA]), stream };
}

/** Writes every kind of data and reads it in every format. `write(name, data)` answers the size that was written. */
export async function everyKindAndFormat(write, read) {
  for (const [kind, value] of Object.entries(kinds())) {
    equal(await write(kind, value), DATA.length, `size of ${kind}`);
    equal(await read(kind, { format: "bytes" }), DATA, kind);
  }
  const blob = await read("view", { format: "blob" });
  assert(blob instanceof Blob && blob.size === DATA.length, "a Blob of 5 bytes");
  equal(await drain(await read("view", { format: "stream" })), DATA, "stream");
  equal(await read("view"), "\0\u0001\uFFFD\uFFFD\n", "text with invalid bytes");
}

/** Writes nothing, in several kinds, and reads it in every format. */
export async function emptyInEveryFormat(write, read) {
  for (const empty of ["", new Uint8Array(), new Blob([])]) {
    equal(await write("empty", empty), 0, "size");
    equal(await read("empty"), "");
    equal(await read("empty", { format: "bytes" }), new Uint8Array());
    equal((await read("empty", { format: "blob" })).size, 0);
    equal(await drain(await read("empty", { format: "stream" })), new Uint8Array());
  }
}
