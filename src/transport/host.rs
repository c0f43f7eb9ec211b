//! Bindings to the host: `js/host.js`, `js/errors.js`, `js/durable.js` and the two timer functions. No logic.

use js_sys::{Array, Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(module = "/js/host.js")]
extern "C" {
    /// Calls `f`; answers what it threw, or undefined.
    pub(crate) fn guard(f: &mut dyn FnMut()) -> JsValue;

    #[wasm_bindgen(js_name = inPage)]
    pub(crate) fn in_page() -> bool;

    pub(crate) fn environment(name: &str) -> Option<String>;

    #[wasm_bindgen(js_name = hasCacheOption)]
    pub(crate) fn has_cache_option() -> bool;

    /// Marks a promise (or anything else) as handled.
    pub(crate) fn ignore(promise: &JsValue);

    pub(crate) fn readable(pull: JsValue, cancel: JsValue) -> web_sys::ReadableStream;

    /// A `ReadableStream` being read.
    pub(crate) type ChunkReader;

    #[wasm_bindgen(js_name = chunkReader)]
    pub(crate) fn chunk_reader(stream: &web_sys::ReadableStream) -> ChunkReader;

    #[wasm_bindgen(method)]
    pub(crate) fn listen(this: &ChunkReader, tell: &Function);

    #[wasm_bindgen(method)]
    pub(crate) fn ask(this: &ChunkReader);

    #[wasm_bindgen(method)]
    pub(crate) fn cancel(this: &ChunkReader);

    #[wasm_bindgen(method)]
    pub(crate) fn drain(this: &ChunkReader, limit_ms: u32);

    #[wasm_bindgen(js_name = toText)]
    pub(crate) fn to_text(bytes: &[u8]) -> js_sys::JsString;

    #[wasm_bindgen(js_name = toBlob)]
    pub(crate) fn to_blob(data: &JsValue) -> Promise;

    /// None where the runtime cannot compress.
    pub(crate) fn gzipped(data: &JsValue, signal: &web_sys::AbortSignal) -> Option<web_sys::ReadableStream>;

    #[wasm_bindgen(js_name = toBytes)]
    pub(crate) fn to_bytes(data: &JsValue) -> Promise;

    pub(crate) fn whole(response: &web_sys::Response, format: &str) -> Promise;

    pub(crate) fn merge(chunks: &Array, format: &str, media_type: &str) -> JsValue;

    #[wasm_bindgen(js_name = dataKind)]
    pub(crate) fn data_kind(value: &JsValue) -> Option<String>;

    #[wasm_bindgen(js_name = bytesOf)]
    pub(crate) fn bytes_of(value: &JsValue) -> Uint8Array;

    #[wasm_bindgen(js_name = isSignal)]
    pub(crate) fn is_signal(value: &JsValue) -> bool;
}

#[wasm_bindgen(module = "/js/progress.js")]
extern "C" {
    pub(crate) fn reporter(callback: &Function, path: Option<&str>, fail: &JsValue) -> Function;

    #[wasm_bindgen(js_name = fetchReporting)]
    pub(crate) fn fetch_reporting(
        fetch: &Function,
        is_custom: bool,
        url: &JsValue,
        init: &JsValue,
        report: &Function,
    ) -> Promise;
}

#[wasm_bindgen(module = "/js/logger.js")]
extern "C" {
    #[wasm_bindgen(js_name = isLogger)]
    pub(crate) fn is_logger(value: &JsValue) -> bool;

    pub(crate) fn log(logger: &JsValue, facts: &JsValue);
}

#[wasm_bindgen(module = "/js/errors.js")]
extern "C" {
    #[wasm_bindgen(js_name = createError)]
    pub(crate) fn create_error(
        class: &str,
        code: &str,
        message: &str,
        status: Option<u16>,
        request_id: Option<&str>,
        retryable: bool,
        cause: &JsValue,
    ) -> JsValue;

    #[wasm_bindgen(js_name = createExitError)]
    pub(crate) fn create_exit_error(result: &JsValue) -> JsValue;
}

#[wasm_bindgen(module = "/js/durable.js")]
extern "C" {
    #[wasm_bindgen(js_name = newId)]
    pub(crate) fn new_id() -> String;

    #[wasm_bindgen(js_name = isId)]
    pub(crate) fn is_id(id: &str) -> bool;

    pub(crate) fn spooler(id: &str, bytes: f64, limit_ms: f64, keep_ms: f64) -> Vec<String>;

    pub(crate) fn reader(id: &str, own: &str, old: Option<&str>, stdout: f64, stderr: f64) -> Vec<String>;

    pub(crate) fn killer(id: &str, signal: u32) -> Vec<String>;

    pub(crate) fn remover(id: &str) -> Vec<String>;
}

#[wasm_bindgen]
extern "C" {
    /// Answers a number in pages and an object in Node: only good for [`clear_timeout`].
    #[wasm_bindgen(js_name = setTimeout)]
    pub(crate) fn set_timeout(callback: &Function, delay_ms: i32) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    pub(crate) fn clear_timeout(timer: &JsValue);
}
