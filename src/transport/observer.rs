//! Tells the caller's hooks about every request: what kind it was, how it ended, how long it took. Never a query, an id or a
//! credential.

use js_sys::{Date, Function, Object, Reflect};
use wasm_bindgen::prelude::*;

use super::{Failure, host};
use crate::protocol::http::Request;
use crate::protocol::url;

/// The options `onRequest`, `onResponse` and `logger`.
#[derive(Clone, Default)]
pub(crate) struct Observer {
    pub(crate) on_request: Option<Function>,
    pub(crate) on_response: Option<Function>,
    pub(crate) logger: Option<JsValue>,
}

/// One request under way.
pub(crate) struct Observed {
    facts: Object,
    started: f64,
    observer: Observer,
}

impl Observer {
    /// Tells `onRequest`. None when nobody wants to know how it goes on.
    pub(crate) fn begin(&self, request: &Request) -> Option<Observed> {
        if self.on_request.is_none() && self.on_response.is_none() && self.logger.is_none() {
            return None;
        }
        let facts = Object::new();
        set(&facts, "method", &request.method.as_str().into());
        set(&facts, "route", &url::route(&request.url).into());
        set(&facts, "attempt", &request.attempt.into());
        if let Some(callback) = &self.on_request {
            tell(callback, &Object::assign(&Object::new(), &facts));
        }
        if let Some(logger) = &self.logger {
            host::log(logger, &facts);
        }
        Some(Observed { facts, started: Date::now(), observer: self.clone() })
    }
}

impl Observed {
    /// Tells how the request ended: with a status, or with a failure before one.
    pub(crate) fn end(self, outcome: Result<u16, &Failure>) {
        set(&self.facts, "durationMs", &(Date::now() - self.started).into());
        match outcome {
            Ok(status) => set(&self.facts, "status", &status.into()),
            Err(failure) => set(&self.facts, "error", &failure.clone().into_js()),
        }
        if let Some(logger) = &self.observer.logger {
            host::log(logger, &self.facts);
        }
        if let Some(callback) = &self.observer.on_response {
            tell(callback, &self.facts);
        }
    }
}

/// What a hook throws is dropped: watching must not change what is watched.
fn tell(callback: &Function, facts: &Object) {
    let _ = callback.call1(&JsValue::UNDEFINED, facts);
}

fn set(object: &Object, key: &str, value: &JsValue) {
    // Setting a property of a plain object cannot fail.
    let _ = Reflect::set(object, &JsValue::from_str(key), value);
}
