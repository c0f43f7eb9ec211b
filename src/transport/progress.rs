//! Tells callers how far the transfer of a file is.

use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::{Failure, Scope, host};

/// A function of `(loaded, total)`, in bytes, that tells `callback`. It never throws: what `callback` throws ends `scope`.
/// `path` is told too, where one call transfers several files.
pub(crate) fn reporter(callback: &Function, path: Option<&str>, scope: &Scope) -> Function {
    let scope = scope.clone();
    let fail = Closure::<dyn FnMut(JsValue)>::new(move |reason| scope.end(Failure::Thrown(reason)));
    host::reporter(callback, path, &fail.into_js_value())
}
