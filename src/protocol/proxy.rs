//! What the traffic proxy in front of the sandboxes answers when a sandbox or a port is not there.

use serde_json::Value;

use super::text::excerpt;
use crate::error::{Error, Kind, code};

/// A 502 of the proxy, `{"sandboxId", "message", "code", "port"?}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyError {
    pub sandbox_id: String,
    /// The port nothing listens on. Without one the sandbox itself is unknown: killed, expired, or paused without
    /// automatic resume.
    pub port: Option<u16>,
    /// The proxy's words, cut to 300 characters.
    pub message: String,
}

impl ProxyError {
    /// The error callers see: `port_closed`, or `sandbox_gone` of class `gone`.
    pub fn to_error(&self, gone: Kind) -> Error {
        let id = &self.sandbox_id;
        let error = match self.port {
            Some(port) => Error::new(
                Kind::Connection,
                code::PORT_CLOSED,
                format!(
                    "The sandbox {id} runs, but nothing listens on its port {port} (HTTP 502). Start the server there, on \
                     all interfaces, and try again."
                ),
            )
            .retryable(),
            None => Error::new(
                gone,
                code::SANDBOX_GONE,
                format!(
                    "The sandbox {id} is not running (HTTP 502): it was killed, reached its timeout, or is paused. Connect \
                     to it by its id to resume it, or create a new one, with a longer timeout if it ended too early."
                ),
            ),
        };
        error.with_status(502)
    }
}

/// Recognises the proxy's own answer; `None` for any other answer, such as the 502 page of a gateway.
pub fn read_proxy_error(status: u16, body: &[u8]) -> Option<ProxyError> {
    if status != 502 {
        return None;
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let sandbox_id = body.get("sandboxId")?.as_str()?.to_owned();
    let port = body.get("port").and_then(Value::as_u64).and_then(|port| port.try_into().ok());
    let message = excerpt(body.get("message").and_then(Value::as_str).unwrap_or(""), 300);
    Some(ProxyError { sandbox_id, port, message })
}
