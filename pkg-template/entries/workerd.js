// Cloudflare Workers and other hosts of workerd, which compile WebAssembly only at deployment.

import core from "./core.wasm";
import { provide } from "./instance.js";

provide(() => core);

export * from "./public.js";
export { default } from "./public.js";
