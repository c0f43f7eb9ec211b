// Vercel's edge runtime, which compiles WebAssembly only at deployment.

import core from "./core.wasm?module";
import { provide } from "./instance.js";

provide(() => core);

export * from "./public.js";
export { default } from "./public.js";
