//! What the tests share: a server of their own, and HTTP spelled out byte by byte so that nothing is hidden by a client.

#![allow(dead_code, reason = "every test binary uses its own part")]

pub(crate) mod http;
pub(crate) mod kernels;
pub(crate) mod sandbox;
pub(crate) mod server;
