//! The one error of the pure core: plain data that the API layer turns into a JavaScript error class.
//!
//! Mapping tables live beside what they map: Connect codes in [`crate::protocol::connect`], HTTP statuses in
//! [`crate::protocol`]. This module only says which classes and stable codes exist.

use std::fmt;

/// Which JavaScript class an [`Error`] becomes. The names are those of the standard client without the suffix `Error`;
/// `Connection`, `Protocol`, `Unsupported` and `Internal` are ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sandbox,
    Timeout,
    InvalidArgument,
    NotEnoughSpace,
    NotFound,
    FileNotFound,
    SandboxNotFound,
    Volume,
    VolumeNotFound,
    VolumePathNotFound,
    Authentication,
    RateLimit,
    ServiceBusy,
    Template,
    /// The network failed: refused, reset, blocked by CORS, or cut before the end marker.
    Connection,
    /// The peer answered with something that is not the protocol.
    Protocol,
    /// This runtime cannot do what was asked.
    Unsupported,
    /// A bug of this package.
    Internal,
}

/// Every stable code, with what it means. A code never changes its meaning; new ones may be added.
pub mod code {
    /// An option, path or body is wrong; change it.
    pub const INVALID_ARGUMENT: &str = "invalid_argument";
    /// An access key was given to code in a page.
    pub const ACCESS_KEY_IN_PAGE: &str = "access_key_in_page";
    /// A key or token is missing or was refused.
    pub const UNAUTHENTICATED: &str = "unauthenticated";
    /// A token of a broker was forged, changed, or meant for another broker.
    pub const SESSION_INVALID: &str = "session_invalid";
    /// The time of a token of a broker is over.
    pub const SESSION_EXPIRED: &str = "session_expired";
    /// The credentials are fine, the operation is not allowed to them.
    pub const PERMISSION_DENIED: &str = "permission_denied";
    /// A process, watcher or route is not there.
    pub const NOT_FOUND: &str = "not_found";
    pub const FILE_NOT_FOUND: &str = "file_not_found";
    /// The control plane does not know the sandbox.
    pub const SANDBOX_NOT_FOUND: &str = "sandbox_not_found";
    /// The control plane does not know the volume.
    pub const VOLUME_NOT_FOUND: &str = "volume_not_found";
    pub const TEMPLATE_NOT_FOUND: &str = "template_not_found";
    pub const ALREADY_EXISTS: &str = "already_exists";
    /// The state of the sandbox does not allow the operation (409).
    pub const CONFLICT: &str = "conflict";
    pub const FAILED_PRECONDITION: &str = "failed_precondition";
    pub const ABORTED: &str = "aborted";
    pub const OUT_OF_RANGE: &str = "out_of_range";
    /// Too many requests, sandboxes or connections.
    pub const RATE_LIMITED: &str = "rate_limited";
    /// The control plane has no capacity at the moment (503).
    pub const SERVICE_BUSY: &str = "service_busy";
    /// A time limit that the server kept ran out. A command it limited was killed.
    pub const DEADLINE_EXCEEDED: &str = "deadline_exceeded";
    /// The server gave the call up.
    pub const CANCELED: &str = "canceled";
    /// The sandbox's address does not answer; it was killed, ended, or a gateway is in trouble.
    pub const UNAVAILABLE: &str = "unavailable";
    /// The traffic proxy says that there is no such running sandbox.
    pub const SANDBOX_GONE: &str = "sandbox_gone";
    /// The sandbox runs, but nothing listens on the port.
    pub const PORT_CLOSED: &str = "port_closed";
    /// The disk of the sandbox, or the volume, is full.
    pub const NOT_ENOUGH_SPACE: &str = "not_enough_space";
    /// The file ends before the range that was asked for.
    pub const RANGE_NOT_SATISFIABLE: &str = "range_not_satisfiable";
    /// The server does not know the operation.
    pub const UNIMPLEMENTED: &str = "unimplemented";
    /// The sandbox's daemon is too old for the feature.
    pub const UNSUPPORTED_BY_SANDBOX: &str = "unsupported_by_sandbox";
    /// The server failed.
    pub const SERVER_ERROR: &str = "server_error";
    pub const DATA_LOSS: &str = "data_loss";
    /// The server reported a failure without a usable code.
    pub const UNKNOWN: &str = "unknown";
    /// The peer answered with something that is not the protocol.
    pub const PROTOCOL_ERROR: &str = "protocol_error";
    /// A message is larger than the limit set on this side.
    pub const MESSAGE_TOO_LARGE: &str = "message_too_large";
    /// A stream stopped without its end marker.
    pub const STREAM_TRUNCATED: &str = "stream_truncated";
    /// No answer came: refused, reset, blocked by CORS, no such host.
    pub const CONNECTION_FAILED: &str = "connection_failed";
    /// The connection broke while an answer was being read.
    pub const CONNECTION_LOST: &str = "connection_lost";
    /// `requestTimeoutMs` ran out.
    pub const REQUEST_TIMEOUT: &str = "request_timeout";
    /// `streamIdleTimeoutMs` ran out.
    pub const IDLE_TIMEOUT: &str = "idle_timeout";
    /// `timeoutMs` of a command ran out and the sandbox did not report the end.
    pub const COMMAND_TIMEOUT: &str = "command_timeout";
    /// `timeoutMs` of a run of code ran out; the code was interrupted.
    pub const EXECUTION_TIMEOUT: &str = "execution_timeout";
    /// The caller left a command with `disconnect()`, or a run of code with `cancel()`.
    pub const DISCONNECTED: &str = "disconnected";
    /// The output that a reader of a durable command wants has been dropped already (`spoolBytes`).
    pub const SPOOL_OVERRUN: &str = "spool_overrun";
    /// A durable command and its spooler are gone without having said how they ended.
    pub const SPOOL_LOST: &str = "spool_lost";
    /// The sandbox could not spool the output of a durable command.
    pub const SPOOL_FAILED: &str = "spool_failed";
    /// The runtime lacks something that was needed.
    pub const UNSUPPORTED: &str = "unsupported";
    /// A bug of this package.
    pub const INTERNAL: &str = "internal";
}

/// What went wrong, as data. Never holds a credential, nor the query of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub kind: Kind,
    /// Stable, machine readable, snake case: what a program should compare. One of [`code`].
    pub code: &'static str,
    /// A sentence for people: what happened and what to do next.
    pub message: String,
    /// HTTP status of the answer, when there was one.
    pub status: Option<u16>,
    /// The server's request id, when the answer named one.
    pub request_id: Option<String>,
    /// Whether the same call may succeed later without being changed.
    pub retryable: bool,
    /// How long the server asked to wait before that, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

impl Error {
    pub fn new(kind: Kind, code: &'static str, message: impl Into<String>) -> Self {
        Error {
            kind,
            code,
            message: message.into(),
            status: None,
            request_id: None,
            retryable: false,
            retry_after_ms: None,
        }
    }

    /// A caller's mistake. `message` names the option and says what would be right.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Error::new(Kind::InvalidArgument, code::INVALID_ARGUMENT, message)
    }

    /// The peer did not speak the protocol.
    pub fn protocol(message: impl Into<String>) -> Self {
        Error::new(Kind::Protocol, code::PROTOCOL_ERROR, message)
    }

    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for Error {}
