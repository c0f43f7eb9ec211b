//! A sandbox server for one machine that speaks the Agent Sandbox (E2B-compatible) protocol: no account, no virtual
//! machine, no container engine.
//!
//! | module | what it is for | what it may touch |
//! |---|---|---|
//! | `cli` | the command line | the terminal |
//! | `server` | starting, logging, stopping | everything below |
//! | `listen` | connections from clients | sockets on loopback |
//! | `route` | which sandbox and port a request is for | nothing |
//! | `proxy` | requests to sandboxes and their answers | sandbox sockets |
//! | `debug_ports` | the fixed ports of clients in debug mode | the API and the proxy |
//! | `control` | the REST API | the registry |
//! | `sandbox` | process trees with a life time | the kernel |
//! | `envd` | the daemon inside a sandbox, in a process of its own | the sandbox |
//! | `volumes` | directories that sandboxes share, in a process of their own | nothing else |
//! | `interpreter` | the code interpreter inside a sandbox, in a process of its own | kernels |
//! | `protocol` | messages generated from `proto/` | nothing |
//!
//! One binary plays all parts: the server starts itself again as the first process of each sandbox.

mod cli;
mod control;
mod debug_ports;
mod envd;
#[cfg(fuzzing)]
pub mod fuzzing;
mod hangup;
mod interpreter;
mod listen;
mod proxy;
mod route;
mod sandbox;
mod server;
mod volumes;

pub use cli::main;

#[allow(warnings, clippy::all)]
mod protocol {
    include!(concat!(env!("OUT_DIR"), "/envd_protocol.rs"));
}
