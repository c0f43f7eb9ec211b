//! Promises and background tasks in which a Rust panic stays one operation's failure.
//!
//! A panic in WebAssembly is a trap: it unwinds nothing and surfaces in the event loop, where it would end a Node process
//! and leave the promise pending for ever. Every future that this crate hands to the event loop is therefore polled
//! through a JavaScript `try`/`catch`. A trap becomes an `InternalError` of that operation alone; what the interrupted
//! frames owned is leaked, which is safe, and everything else goes on.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::{Failure, host};
use crate::error::{Error, Kind, code};

/// What an exported method resolves with, or fails with.
pub(crate) type Outcome = Result<JsValue, Failure>;

/// A future behind a pointer. Exported methods differ in their futures; everything around those is compiled once.
pub(crate) type Boxed = Pin<Box<dyn Future<Output = Outcome>>>;

/// A promise for `future`.
pub(crate) fn promise(future: impl Future<Output = Outcome> + 'static) -> Promise {
    boxed_promise(Box::pin(future))
}

fn boxed_promise(future: Boxed) -> Promise {
    let guarded = Guarded(Some(future));
    wasm_bindgen_futures::future_to_promise(async { guarded.await.map_err(Failure::into_js) })
}

/// Runs `future` in the background; `failed` is called if it fails.
pub(crate) fn spawn(
    future: impl Future<Output = Result<(), Failure>> + 'static,
    failed: impl FnOnce(Failure) + 'static,
) {
    spawn_boxed(Box::pin(async { future.await.map(|()| JsValue::UNDEFINED) }), Box::new(failed));
}

fn spawn_boxed(future: Boxed, failed: Box<dyn FnOnce(Failure)>) {
    let guarded = Guarded(Some(future));
    wasm_bindgen_futures::spawn_local(async {
        if let Err(failure) = guarded.await {
            failed(failure);
        }
    });
}

/// A future that turns a trap inside of its poll into a failure.
struct Guarded(Option<Boxed>);

impl Future for Guarded {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut polled = Poll::Pending;
        let thrown = {
            let Some(future) = self.0.as_mut() else { return Poll::Pending };
            host::guard(&mut || polled = future.as_mut().poll(context))
        };
        if !thrown.is_undefined() {
            // The future stopped in the middle of a poll. Dropping it would run destructors on half-moved values.
            std::mem::forget(self.0.take());
            return Poll::Ready(Err(internal_error(thrown)));
        }
        if polled.is_ready() {
            self.0.take();
        }
        polled
    }
}

/// What panics say would be a tenth of the published core, which is built without it: the trap's stack, as the error's cause,
/// has the place.
fn internal_error(thrown: JsValue) -> Failure {
    const MESSAGE: &str =
        "agent-sandbox-web has a bug, please report it with the version and the stack of this error's cause";
    Failure::with_cause(Error::new(Kind::Internal, code::INTERNAL, MESSAGE), thrown)
}
