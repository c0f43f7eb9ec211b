//! The Agent Sandbox SDK for pages, workers and edge runtimes.
//!
//! | module | what it is for | what it may touch |
//! |---|---|---|
//! | [`error`] | the one error type of the pure core | nothing |
//! | [`config`] | options and environment in, addresses and credentials out | nothing |
//! | [`protocol`] | requests out, answers in: envd, control plane, signatures | nothing |
//! | `transport` | runs requests: `fetch`, timers, `AbortSignal` (wasm only) | the host |
//! | `api` | the exported classes (wasm only) | the transport |
//!
//! The pure modules compile for the host and for wasm without a `cfg`; they never see a `JsValue`, a socket, a clock or
//! randomness. `ARCHITECTURE.md` has the map and the invariants.

pub mod config;
pub mod error;
pub mod protocol;

#[cfg(target_arch = "wasm32")]
pub mod api;
#[cfg(target_arch = "wasm32")]
mod transport;
