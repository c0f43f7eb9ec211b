//! What a refusal of the interpreter, or of the proxy in front of it, means.

use serde_json::Value;

use crate::error::{Error, Kind, code};
use crate::protocol::http::Head;
use crate::protocol::proxy::read_proxy_error;
use crate::protocol::text::{body_excerpt, excerpt};

/// The error of an answer whose status is not 2xx. 400 and 422 → `InvalidArgument`, 401 → `Authentication`, 404 →
/// `NotFound`, 429 → `RateLimit`, 502 → `Timeout` (or `Connection` when only the port is closed), others → `Sandbox`.
pub fn failure(head: &Head, body: &[u8]) -> Error {
    if head.is_redirect() {
        return head.unexpected(body);
    }
    if let Some(proxy) = read_proxy_error(head.status, body) {
        let mut error = head.describe(proxy.to_error(Kind::Timeout));
        if error.code == code::PORT_CLOSED {
            // The usual cause, and one that waiting does not mend.
            error.message = format!(
                "The sandbox {} runs, but has no code interpreter on its port {} (HTTP 502). Create it from the template \
                 code-interpreter-v1, or one built on it; right after a start, try again.",
                proxy.sandbox_id,
                proxy.port.unwrap_or_default()
            );
        }
        return error;
    }
    let words = words(body);
    let ((kind, name), transient, advice) = match head.status {
        400 | 422 => (
            (Kind::InvalidArgument, code::INVALID_ARGUMENT),
            false,
            "Correct the code, context, language or envs it names.",
        ),
        401 => ((Kind::Authentication, code::UNAUTHENTICATED), false, "Check the sandbox's access token."),
        403 => (
            (Kind::Sandbox, code::PERMISSION_DENIED),
            false,
            "Check the sandbox's traffic access token, or allow public traffic.",
        ),
        404 => (
            (Kind::NotFound, code::NOT_FOUND),
            false,
            "Create a context with createCodeContext: it may have been removed, or belong to another sandbox.",
        ),
        429 => ((Kind::RateLimit, code::RATE_LIMITED), true, "Wait before trying again."),
        502 => (
            (Kind::Timeout, code::UNAVAILABLE),
            true,
            "The sandbox may have reached its timeout or been killed: ask for its state, and create it with a longer \
             timeout or call setTimeout if it ended too early.",
        ),
        503 | 504 => ((Kind::Sandbox, code::UNAVAILABLE), true, "Try again in a moment."),
        _ => (
            (Kind::Sandbox, code::SERVER_ERROR),
            false,
            "Read the server's words for the cause, such as a language that the template has no kernel for.",
        ),
    };
    let words = if words.is_empty() { "the server gave no reason" } else { &words };
    let mut error = Error::new(kind, name, format!("{}: {words}. {advice}", head.status));
    error.retryable = transient;
    head.describe(error)
}

/// The server's words: plain text, `{"detail": …}` of its framework, `{"message": …}` of a proxy.
fn words(body: &[u8]) -> String {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let member = |name| answer.as_ref().and_then(|answer| answer.get(name));
    match (member("detail"), member("message")) {
        (Some(Value::String(text)), _) | (None, Some(Value::String(text))) => excerpt(text, 300),
        (Some(Value::Array(problems)), _) => {
            let problems: Vec<String> = problems.iter().take(5).map(problem).collect();
            excerpt(&problems.join("; "), 300)
        }
        _ => body_excerpt(body),
    }
}

/// One entry of a validation report: `body.code: Field required`. Never its `input`, which is the caller's own.
fn problem(entry: &Value) -> String {
    let path: Vec<String> = entry["loc"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned))
        .collect();
    format!("{}: {}", path.join("."), entry["msg"].as_str().unwrap_or("wrong"))
}
