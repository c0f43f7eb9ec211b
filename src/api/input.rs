//! What is sent to a running process: signals, input, the size of its terminal.

use super::call::Call;
use super::envd::Envd;
use super::options::{Options, required_whole};
use crate::error::{Error, code};
use crate::protocol::process::{self, Input, PtySize, Selector, Signal};
use crate::protocol::version::Feature;
use crate::transport::Failure;

/// Sends a signal; false when there is no such process.
pub(super) async fn signal(envd: &Envd, process: Selector, signal: Signal, call: &Call) -> Result<bool, Failure> {
    let message = process::SendSignalRequest { process, signal };
    match envd.unary(call, &process::SEND_SIGNAL, None, &|encoding| message.encode(encoding)).await {
        Ok(_) => Ok(true),
        Err(failure) if failure.has_code(code::NOT_FOUND) => Ok(false),
        Err(failure) => Err(failure),
    }
}

/// Writes to standard input or a terminal.
pub(super) async fn send(envd: &Envd, process: Selector, input: Input<'_>, call: &Call) -> Result<(), Failure> {
    let message = process::SendInputRequest { process, input };
    envd.unary(call, &process::SEND_INPUT, None, &|encoding| message.encode(encoding)).await?;
    Ok(())
}

/// Ends standard input.
pub(super) async fn close_stdin(envd: &Envd, process: Selector, call: &Call) -> Result<(), Failure> {
    envd.version.require(Feature::CloseStdin)?;
    let message = process::CloseStdinRequest { process };
    envd.unary(call, &process::CLOSE_STDIN, None, &|encoding| message.encode(encoding)).await?;
    Ok(())
}

/// Changes the size of a terminal.
pub(super) async fn resize(envd: &Envd, process: Selector, size: PtySize, call: &Call) -> Result<(), Failure> {
    let message = process::UpdateRequest { process, pty: Some(size) };
    envd.unary(call, &process::UPDATE, None, &|encoding| message.encode(encoding)).await?;
    Ok(())
}

/// The option `signal` of the kill methods. An `AbortSignal` there is the usual option of every call.
pub(super) fn read_signal(options: &Options) -> Result<Signal, Error> {
    match options.string("killSignal")?.as_deref() {
        None | Some("SIGKILL") => Ok(Signal::Kill),
        Some("SIGTERM") => Ok(Signal::Term),
        Some(_) => Err(Error::invalid_argument(r#"Option killSignal must be "SIGKILL" or "SIGTERM""#)),
    }
}

/// A process by its pid, or by its tag as `{ tag }`.
pub(super) fn read_selector(value: &wasm_bindgen::JsValue, owner: &'static str) -> Result<Selector, Error> {
    if value.is_object() {
        let tag = Options::new(value.clone(), owner)?.string("tag")?;
        return tag.map(Selector::Tag).ok_or_else(|| {
            Error::invalid_argument(format!("The process of {owner} must be a pid or {{ tag }} with a string"))
        });
    }
    required_whole(value, "pid", owner, u32::MAX).map(Selector::Pid)
}
