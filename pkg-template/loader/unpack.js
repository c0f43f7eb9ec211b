// The inlined core: deflate first and base64 second, so that a compressed transfer of the file is no larger than the
// compressed .wasm alone.

import { loadInflate } from "./inflate.js";
import { compressed, size } from "./core.inline.js";

export function unpack() {
  const text = atob(compressed);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < bytes.length; index += 1) bytes[index] = text.charCodeAt(index);
  const inflateHere = inflateOfHost();
  if (inflateHere) return inflateHere(bytes);
  return loadInflate().inflateSync(bytes, { out: new Uint8Array(size) });
}

/** Some runtimes lend their own inflate to whoever asks. It takes a tenth of the time, which is most of what starting costs. */
function inflateOfHost() {
  try {
    return globalThis.process?.getBuiltinModule?.("zlib")?.inflateRawSync;
  } catch {
    return undefined;
  }
}
