//! Answers of the control plane. The status decides first; bodies are read leniently afterwards.

use serde_json::Value;

use crate::error::{Error, Kind, code};
use crate::protocol::http::Head;
use crate::protocol::secret::Secret;
use crate::protocol::text::{body_excerpt, excerpt};

/// The answer to create and connect. Only `sandbox_id` is required of the server; a missing version is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxRecord {
    pub sandbox_id: String,
    pub envd_version: String,
    /// `None` when the sandbox is not secured.
    pub envd_access_token: Option<Secret>,
    /// Only when public traffic is off.
    pub traffic_access_token: Option<Secret>,
    /// `None` when the configured domain applies.
    pub domain: Option<String>,
}

/// What a request is about, and so what is missing when the server knows of none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// 404 → `sandbox_not_found`.
    Sandbox,
    /// 404 → `template_not_found`.
    Template,
    /// A list. 404 → `not_found`, because the server does not know the route.
    Route,
    /// 404 → `not_found`.
    Other,
}

impl Subject {
    /// The subject of that name; [`Subject::Other`] for any other.
    pub fn named(name: &str) -> Subject {
        match name {
            "sandbox" => Subject::Sandbox,
            "template" => Subject::Template,
            "route" => Subject::Route,
            _ => Subject::Other,
        }
    }

    /// Nothing for a success, else the error that belongs to the status.
    pub fn check(self, head: &Head, body: &[u8]) -> Result<(), Error> {
        if head.is_success() { Ok(()) } else { Err(failure(head, body, self.missing())) }
    }

    fn missing(self) -> Missing {
        match self {
            Subject::Sandbox => (
                Kind::SandboxNotFound,
                code::SANDBOX_NOT_FOUND,
                "It was killed, reached its timeout, or belongs to another account; create a new one.",
            ),
            Subject::Template => {
                (Kind::NotFound, code::TEMPLATE_NOT_FOUND, "Check the template's name, tag and owner.")
            }
            Subject::Route => (Kind::NotFound, code::NOT_FOUND, "Check apiUrl: the server does not know this route."),
            Subject::Other => {
                (Kind::NotFound, code::NOT_FOUND, "Check its name, its id, and that it belongs to this account.")
            }
        }
    }
}

/// Checks the answer to a request that is built outside of this crate, whose content is its caller's to read.
pub fn read_other(head: &Head, body: &[u8]) -> Result<(), Error> {
    Subject::Other.check(head, body)
}

/// Checks the answer of a file store to an upload. Such stores have their own forms of errors.
pub fn read_uploaded(head: &Head, body: &[u8]) -> Result<(), Error> {
    if head.is_success() {
        return Ok(());
    }
    let words = body_excerpt(body);
    let words = if words.is_empty() { "no reason" } else { &words };
    let message = format!("The file store refused the upload with HTTP {} and {words}", head.status);
    let mut error = Error::new(Kind::Sandbox, code::SERVER_ERROR, message);
    error.retryable = head.status >= 500 || head.status == 429;
    Err(head.describe(error))
}

/// What a status means to a call, most of all 404: class, code, and what to do next.
pub(in crate::protocol) type Missing = (Kind, &'static str, &'static str);
fn failure(head: &Head, body: &[u8], missing: Missing) -> Error {
    let meaning = match head.status {
        400 => (Kind::InvalidArgument, code::INVALID_ARGUMENT, "Correct the option that it names."),
        401 => (Kind::Authentication, code::UNAUTHENTICATED, "Check the API key, and that it belongs to this domain."),
        403 => (Kind::Sandbox, code::PERMISSION_DENIED, "Use a key of the account that owns it."),
        404 => missing,
        409 => (Kind::Sandbox, code::CONFLICT, "Wait until the sandbox has changed its state, then try again."),
        429 => (Kind::RateLimit, code::RATE_LIMITED, "Wait before trying again, or end sandboxes that are not needed."),
        503 => (Kind::ServiceBusy, code::SERVICE_BUSY, "The platform has no capacity at the moment; try again later."),
        502 | 504 => (Kind::Sandbox, code::UNAVAILABLE, "The control plane does not answer; try again later."),
        _ => (Kind::Sandbox, code::SERVER_ERROR, "Read the server's words for the cause."),
    };
    worded(head, body, meaning)
}

/// The error of an answer with the status of `head`: what it means, in the server's own words.
pub(in crate::protocol) fn worded(head: &Head, body: &[u8], (kind, name, advice): Missing) -> Error {
    if head.is_redirect() {
        return head.unexpected(body);
    }
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let words = match answer.as_ref().and_then(|answer| answer.get("message")?.as_str()) {
        Some(message) => excerpt(message, 300),
        None => body_excerpt(body),
    };
    let words = if words.is_empty() { "the server gave no reason" } else { &words };
    let mut error = Error::new(kind, name, format!("{}: {words}. {advice}", head.status));
    error.retryable = matches!(head.status, 409 | 429 | 502 | 503 | 504);
    head.describe(error)
}
