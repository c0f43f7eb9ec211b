//! The pure core against recorded traffic, a second implementation of protobuf, random and hostile input.
//!
//! `tests/vectors/*.json` are recordings; `tests/vectors/known-differences.json` lists, with a reason each, the cases in
//! which this client differs on purpose or which it does not cover.

#![cfg(not(target_arch = "wasm32"))]

mod access_keys;
mod broker_tokens;
mod codec;
mod config;
mod control;
mod coverage;
mod driver;
mod envd_http;
mod envd_rpc;
mod failures;
mod hostile;
mod interpreter;
mod interpreter_recorded;
mod live;
mod properties;
mod replay;
mod schema;
mod signatures;
mod volume;
