//! Runs requests on the host: the only place that knows `fetch`, timers and `AbortSignal` (wasm only).
//!
//! Two waists: [`fetch::Fetch`], the `fetch`-shaped function that a caller may inject, and [`scope::Scope`], which ends an
//! operation early. Everything above is written against those two.

pub(crate) mod body;
pub(crate) mod channel;
pub(crate) mod failure;
pub(crate) mod fetch;
pub(crate) mod host;
pub(crate) mod observer;
pub(crate) mod progress;
pub(crate) mod scope;
pub(crate) mod slot;
pub(crate) mod task;
pub(crate) mod timer;

#[cfg(test)]
mod tests;

pub(crate) use body::Body;
pub(crate) use channel::Channel;
pub(crate) use failure::Failure;
pub(crate) use fetch::{Fetch, Payload, Response};
pub(crate) use observer::Observer;
pub(crate) use scope::{Clock, Scope};
pub(crate) use slot::Slot;
