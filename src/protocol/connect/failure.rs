//! Failures of remote calls: how they are read and which [`Error`] they become.

use serde_json::Value;

use super::Code;
use crate::error::{Error, Kind, code};
use crate::protocol::http::Head;
use crate::protocol::proxy::{ProxyError, read_proxy_error};
use crate::protocol::text::{body_excerpt, excerpt};

/// What a call was about; the same code means different things to different callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// A unary call about a process, or a process stream that has already begun.
    Process,
    /// The opening of a process stream (`Start`, `Connect`), before its first event.
    ProcessStart,
    /// Any call about files and directories: "not found" is a missing file.
    Filesystem,
}

/// A failure as the peer reported it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcError {
    pub code: Code,
    /// The server's words, cut to 300 characters; may be empty.
    pub message: String,
    /// HTTP status of the answer; `None` when the failure came at the end of a stream.
    pub status: Option<u16>,
    /// What the traffic proxy said, when it was the proxy that answered instead of the sandbox.
    pub proxy: Option<ProxyError>,
}

impl RpcError {
    /// The error callers see. Classes: `invalid_argument` → `InvalidArgument`; `unauthenticated` → `Authentication`;
    /// `not_found` → `NotFound` or, for files, `FileNotFound`; `resource_exhausted` → `RateLimit`; `unavailable`,
    /// `canceled` and `deadline_exceeded` → `Timeout`; everything else → `Sandbox`.
    ///
    /// Only a call that was refused before it began is marked retryable: one that failed half-way may have had its
    /// effect.
    pub fn into_error(self, context: Context) -> Error {
        if let Some(proxy) = &self.proxy {
            let gone = if context == Context::ProcessStart { Kind::SandboxNotFound } else { Kind::Timeout };
            return proxy.to_error(gone);
        }
        let (kind, name, transient, advice) = self.class(context);
        let mut text = String::new();
        if kind == Kind::Sandbox {
            text.push_str(self.code.as_str());
            text.push_str(": ");
        }
        text.push_str(if self.message.is_empty() { "the server gave no reason" } else { &self.message });
        if let Some(status) = self.status {
            text.push_str(&format!(" (HTTP {status})"));
        }
        text.push_str(". ");
        text.push_str(advice);
        let mut error = Error::new(kind, name, text);
        error.status = self.status;
        error.retryable = transient && self.status.is_some_and(|status| status != 413);
        error
    }

    /// Class, stable code, whether the condition passes by itself, and what to do next.
    fn class(&self, context: Context) -> (Kind, &'static str, bool, &'static str) {
        match self.code {
            Code::InvalidArgument => {
                (Kind::InvalidArgument, code::INVALID_ARGUMENT, false, "Correct the argument that it names.")
            }
            Code::Unauthenticated => (
                Kind::Authentication,
                code::UNAUTHENTICATED,
                false,
                "Check the sandbox's access token and that the user exists in the sandbox.",
            ),
            Code::PermissionDenied => (
                Kind::Sandbox,
                code::PERMISSION_DENIED,
                false,
                "Use credentials that allow it, or another user inside the sandbox.",
            ),
            Code::NotFound if context == Context::Filesystem => {
                (Kind::FileNotFound, code::FILE_NOT_FOUND, false, "Check the path; relative paths start at the home.")
            }
            Code::NotFound => {
                (Kind::NotFound, code::NOT_FOUND, false, "It may have ended already; list what is running.")
            }
            Code::AlreadyExists => (Kind::Sandbox, code::ALREADY_EXISTS, false, "Use another name, or what exists."),
            Code::ResourceExhausted => {
                (Kind::RateLimit, code::RATE_LIMITED, true, "Wait before trying again, or send less at once.")
            }
            Code::FailedPrecondition => {
                (Kind::Sandbox, code::FAILED_PRECONDITION, false, "Bring the sandbox into the state that it asks for.")
            }
            Code::Aborted => (Kind::Sandbox, code::ABORTED, true, "Try again."),
            Code::OutOfRange => (Kind::Sandbox, code::OUT_OF_RANGE, false, "Correct the value that it names."),
            Code::Unimplemented => (
                Kind::Sandbox,
                code::UNIMPLEMENTED,
                false,
                "The sandbox's daemon does not know the operation: rebuild its template, or check the sandbox URL.",
            ),
            Code::Unavailable => (
                Kind::Timeout,
                code::UNAVAILABLE,
                true,
                "The sandbox may have reached its timeout or been killed: ask for its state, and create it with a longer \
                 timeout or call setTimeout if it ended too early.",
            ),
            Code::Canceled => (
                Kind::Timeout,
                code::CANCELED,
                true,
                "The call was given up on the way, usually by a time limit: set a larger requestTimeoutMs.",
            ),
            Code::DeadlineExceeded => (
                Kind::Timeout,
                code::DEADLINE_EXCEEDED,
                false,
                "The time limit of the command or watch ran out (a command is then killed): set a larger timeoutMs, or 0 \
                 for none.",
            ),
            Code::Internal => {
                (Kind::Sandbox, code::SERVER_ERROR, false, "The sandbox's daemon failed; read its words for the cause.")
            }
            Code::DataLoss => (Kind::Sandbox, code::DATA_LOSS, false, "Read the data again from its source."),
            Code::Unknown => (Kind::Sandbox, code::UNKNOWN, false, "Read the server's words for the cause."),
        }
    }
}

/// Reads the payload of an end frame. An empty payload counts as `{}`.
///
/// # Errors
/// `protocol_error` when the payload is not a JSON object.
pub fn end_of_stream(payload: &[u8]) -> Result<Option<RpcError>, Error> {
    if payload.is_empty() {
        return Ok(None);
    }
    let Ok(Value::Object(trailer)) = serde_json::from_slice(payload) else {
        return Err(Error::protocol(format!(
            "The stream's end marker is not JSON ({}). Check proxies and gateways between this client and the sandbox.",
            body_excerpt(payload)
        )));
    };
    Ok(trailer.get("error").filter(|error| !error.is_null()).map(|error| RpcError {
        code: named_code(error).unwrap_or(Code::Unknown),
        message: message_of(error),
        status: None,
        proxy: None,
    }))
}

/// Reads the body of an answer that is not a success.
///
/// A JSON body's `code` may be a name or an HTTP status; without a usable one the status of the answer decides. A body
/// that is not JSON becomes the message, cut to 300 characters.
///
/// A 404 without a code means that the route is unknown, not that a file or process is missing: the services always name
/// the code, and whoever takes "not found" for an answer must not be misled by a gateway.
pub fn read_unary_error(head: &Head, body: &[u8]) -> RpcError {
    let answer = serde_json::from_slice::<Value>(body).ok().filter(Value::is_object);
    let by_status = if head.status == 404 { Code::Unimplemented } else { Code::from_status(head.status) };
    RpcError {
        code: answer.as_ref().and_then(named_code).unwrap_or(by_status),
        message: answer.as_ref().map_or_else(|| body_excerpt(body), message_of),
        status: Some(head.status),
        proxy: read_proxy_error(head.status, body),
    }
}

/// The code an error object names, as a Connect name or as an HTTP status.
fn named_code(error: &Value) -> Option<Code> {
    match error.get("code")? {
        Value::String(name) => Code::from_name(name),
        Value::Number(number) => {
            let code = Code::from_status(number.as_u64()?.try_into().ok()?);
            (code != Code::Unknown).then_some(code)
        }
        _ => None,
    }
}

fn message_of(error: &Value) -> String {
    excerpt(error.get("message").and_then(Value::as_str).unwrap_or(""), 300)
}
