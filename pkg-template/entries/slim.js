// Brings no WebAssembly along: wait for `init(source)` before using anything else.

export * from "./public.js";
export { default } from "./public.js";
