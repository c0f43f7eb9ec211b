//! `process.Process`: starting, watching and feeding processes.
//!
//! A stream of `Start` or `Connect` is: one [`ProcessEvent::Start`]; any number of `Data` and `Keepalive`; one `End`; the
//! end frame.

mod event;
mod request;

pub use event::{EndEvent, ProcessEvent, ProcessInfo, Stream, binary_output, decode_list};
pub use request::{
    CloseStdinRequest, ConnectRequest, Input, ListRequest, PtySize, Selector, SendInputRequest, SendSignalRequest,
    Signal, StartRequest, UpdateRequest,
};

use super::connect::Context;
use super::rpc::Rpc;

/// Server stream: [`StartRequest`] → [`ProcessEvent`]s.
pub const START: Rpc = Rpc { path: "/process.Process/Start", takes_user: true, context: Context::ProcessStart };
/// Server stream: [`ConnectRequest`] → [`ProcessEvent`]s from now on; nothing is replayed.
pub const CONNECT: Rpc = Rpc { path: "/process.Process/Connect", takes_user: false, context: Context::ProcessStart };
/// Unary: [`ListRequest`] → [`decode_list`].
pub const LIST: Rpc = unary("/process.Process/List");
/// Unary: [`UpdateRequest`] → an empty message.
pub const UPDATE: Rpc = unary("/process.Process/Update");
/// Unary: [`SendInputRequest`] → an empty message. Never repeated by itself: input would arrive twice.
pub const SEND_INPUT: Rpc = unary("/process.Process/SendInput");
/// Unary: [`SendSignalRequest`] → an empty message.
pub const SEND_SIGNAL: Rpc = unary("/process.Process/SendSignal");
/// Unary: [`CloseStdinRequest`] → an empty message.
pub const CLOSE_STDIN: Rpc = unary("/process.Process/CloseStdin");

const fn unary(path: &'static str) -> Rpc {
    Rpc { path, takes_user: false, context: Context::Process }
}
