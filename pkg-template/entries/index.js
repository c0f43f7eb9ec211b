// The default entry: runs everywhere that compiles WebAssembly at run time. Needs no other file.

import { provide } from "./instance.js";
import { unpack } from "./unpack.js";

provide(unpack);

export * from "./public.js";
export { default } from "./public.js";
