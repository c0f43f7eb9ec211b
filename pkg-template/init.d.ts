/**
 * What {@link init} accepts: where the bytes of `agent-sandbox-web/core.wasm` come from, or the bytes or the
 * `WebAssembly.Module` themselves. A module is any `object` here, because the global types of Node have no `WebAssembly`.
 */
export type InitSource = string | URL | Response | ArrayBuffer | ArrayBufferView | object;

/**
 * Starts the WebAssembly core ahead of its first use. Calling it is optional with the default entry: everything starts by
 * itself. It compiles off the main thread where the engine can, and lets you bring the bytes yourself.
 *
 * Calls with the same source, or none, share one start. A failed start is forgotten, so a later call tries again.
 *
 * @param source Defaults to the bytes that the entry brings along; `agent-sandbox-web/slim` brings none. When it is a promise
 * that rejects, so does `init`, with the same reason.
 * @throws {@link InvalidArgumentError} with code `already_initialized` when the core was started from another source,
 * `wasm_invalid` when the bytes are not those of this version, `not_initialized` when the entry needs a source.
 * @throws {@link ConnectionError} with code `wasm_fetch_failed` when the address does not give the file.
 * @throws {@link UnsupportedError} with code `wasm_blocked` when a Content Security Policy lacks `'wasm-unsafe-eval'` or the
 * runtime compiles no WebAssembly, `wasm_missing` when it has none.
 */
export function init(source?: InitSource | Promise<InitSource>): Promise<void>;
