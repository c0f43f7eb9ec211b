// The same requests, whose answers are taken and dropped: what no client can do without.

import { start } from "./requests.js";
import { execute, open as openPlain } from "./plain.js";

export async function open(target) {
  const { upload, download } = await openPlain(target);
  return {
    drains: true,
    events: async (command) => drain(await start(target, command)),
    code: async (code) => drain(await execute(target, code)),
    run: async (command) => drain(await start(target, command)),
    upload,
    download,
  };
}

async function drain(response) {
  const reader = response.body.getReader();
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
  }
  const expected = response.headers.get("content-length");
  if (expected !== null && bytes !== Number(expected)) throw new Error(`${bytes} bytes of ${expected} arrived`);
  return bytes;
}
