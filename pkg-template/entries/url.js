// The WebAssembly as a file of its own, for bundlers that emit `new URL(…, import.meta.url)` assets. Wait for `init()` before
// using anything else: only a fetch can bring the file.

import { init as start } from "./instance.js";

export * from "./public.js";
export { default } from "./public.js";

export function init(source) {
  return start(source ?? new URL("./core.wasm", import.meta.url));
}
