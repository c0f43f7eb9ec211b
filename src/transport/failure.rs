//! What an operation of the transport or the API can end with, and how that becomes the value a promise rejects with.

use wasm_bindgen::JsValue;

use super::host;
use crate::error::{Error, Kind};

/// Why an operation did not succeed.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// Becomes an instance of the class that belongs to the error's kind.
    Error { error: Error, cause: JsValue },
    /// Rejects with exactly this value: a signal's own reason, or what a caller's callback threw.
    Thrown(JsValue),
}

impl Failure {
    pub(crate) fn with_cause(error: Error, cause: JsValue) -> Self {
        Failure::Error { error, cause }
    }

    /// The error data, unless the caller's own value is being passed through.
    pub(crate) fn error(&self) -> Option<&Error> {
        match self {
            Failure::Error { error, .. } => Some(error),
            Failure::Thrown(_) => None,
        }
    }

    /// Whether this is our error with the stable code `code`.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.error().is_some_and(|error| error.code == code)
    }

    /// The value to reject with.
    pub(crate) fn into_js(self) -> JsValue {
        match self {
            Failure::Thrown(value) => value,
            Failure::Error { error, cause } => host::create_error(
                class_name(error.kind),
                error.code,
                &error.message,
                error.status,
                error.request_id.as_deref(),
                error.retryable,
                &cause,
            ),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Error { error, cause: JsValue::UNDEFINED }
    }
}

/// The name of the class in `js/errors.js`.
fn class_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Sandbox => "SandboxError",
        Kind::Timeout => "TimeoutError",
        Kind::InvalidArgument => "InvalidArgumentError",
        Kind::NotEnoughSpace => "NotEnoughSpaceError",
        Kind::NotFound => "NotFoundError",
        Kind::FileNotFound => "FileNotFoundError",
        Kind::SandboxNotFound => "SandboxNotFoundError",
        Kind::Volume => "VolumeError",
        Kind::VolumeNotFound => "VolumeNotFoundError",
        Kind::VolumePathNotFound => "VolumePathNotFoundError",
        Kind::Authentication => "AuthenticationError",
        Kind::RateLimit => "RateLimitError",
        Kind::ServiceBusy => "ServiceBusyError",
        Kind::Template => "TemplateError",
        Kind::Connection => "ConnectionError",
        Kind::Protocol => "ProtocolError",
        Kind::Unsupported => "UnsupportedError",
        Kind::Internal => "InternalError",
    }
}
