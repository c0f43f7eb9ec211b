//! Unary calls of envd: a method says what to send and how the answer is read. The waiting in between is compiled once, in place
//! of one state machine for each of them.

use std::rc::Rc;

use js_sys::Promise;

use super::call::Call;
use super::envd::Envd;
use crate::protocol::message::Encoding;
use crate::protocol::rpc::Rpc;
use crate::transport::{Failure, task};

/// A call that can be sent.
pub(super) struct Unary {
    pub(super) call: Call,
    pub(super) rpc: Rpc,
    pub(super) user: Option<String>,
    pub(super) message: Message,
}

/// Writes the message in either encoding: which one the sandbox takes is only known when it has answered.
pub(super) type Message = Box<dyn Fn(Encoding) -> Vec<u8>>;

/// The answer's message and its encoding, or why there is none.
pub(super) type Answer = Result<(Vec<u8>, Encoding), Failure>;

/// A promise for what `read` makes of the answer to the call that `prepare` answers.
pub(super) fn promise(
    envd: Rc<Envd>,
    prepare: impl FnOnce(&Envd) -> Result<Unary, Failure> + 'static,
    read: impl FnOnce(Answer) -> task::Outcome + 'static,
) -> Promise {
    boxed_promise(envd, Box::new(prepare), Box::new(read))
}

type Prepare = Box<dyn FnOnce(&Envd) -> Result<Unary, Failure>>;
type Read = Box<dyn FnOnce(Answer) -> task::Outcome>;

fn boxed_promise(envd: Rc<Envd>, prepare: Prepare, read: Read) -> Promise {
    task::promise(async move {
        let Unary { call, rpc, user, message } = prepare(&envd)?;
        read(envd.unary(&call, &rpc, user.as_deref(), &*message).await)
    })
}
