//! Which request a remote call becomes, and whether what came back is an answer to it.

use super::connect::{Context, encode_envelope, read_unary_error};
use super::http::{Head, Method, Request};
use super::json::encode_base64;
use super::message::Encoding;
use super::secret::Secret;
use crate::error::Error;

/// Seconds of silence after which a stream's server sends a keepalive message.
const KEEPALIVE_S: &str = "50";

/// The protocol allows ten digits; that many milliseconds are 115 days.
const MAX_TIMEOUT_MS: u64 = 9_999_999_999;

/// A method of envd's services: its path, and which headers it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rpc {
    /// `/package.Service/Method`.
    pub path: &'static str,
    /// Whether the operating system user matters to it (`Authorization: Basic`).
    pub takes_user: bool,
    /// What its failures are about.
    pub context: Context,
}

/// Header routing: the sandbox and port a shared host forwards to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    pub sandbox_id: String,
    pub port: u16,
}

/// Where one port of one sandbox is reached, and with which credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Without a slash at the end. A path is kept: method paths are appended to it.
    pub base_url: String,
    /// Sent as `X-Access-Token`.
    pub access_token: Option<Secret>,
    /// Sent as `E2B-Traffic-Access-Token`: needed for other ports than envd's when public traffic is off.
    pub traffic_token: Option<Secret>,
    /// Sent as `E2b-Sandbox-Id` and `E2b-Sandbox-Port`, only where the host is shared by many sandboxes.
    pub routing: Option<Routing>,
    /// The user to name when the caller names none; daemons before 0.4.0 need one (see
    /// [`Version::default_user`](super::version::Version::default_user)).
    pub default_user: Option<&'static str>,
}

impl Endpoint {
    /// A unary call with `message` as its body. `user` is ignored by methods that do not take one; an empty user sends no
    /// header.
    pub fn unary(&self, rpc: &Rpc, user: Option<&str>, message: Vec<u8>, encoding: Encoding) -> Request {
        self.call(rpc, user, encoding.unary_type(), message)
    }

    /// A server-streaming call; `message` is put into its envelope here.
    ///
    /// `timeout_ms` limits the whole stream on the server (for `Start`: kills the process). `None` and 0 mean no limit and
    /// send no header, because the daemon takes a sent 0 as "expire at once". Every stream asks for a keepalive message
    /// each 50 s of silence, so that proxies do not cut it.
    pub fn streaming(
        &self,
        rpc: &Rpc,
        user: Option<&str>,
        message: &[u8],
        encoding: Encoding,
        timeout_ms: Option<u64>,
    ) -> Request {
        let mut request = self.call(rpc, user, encoding.stream_type(), encode_envelope(message));
        if let Some(timeout) = timeout_ms.filter(|timeout| *timeout > 0) {
            request.headers.set("connect-timeout-ms", timeout.min(MAX_TIMEOUT_MS).to_string());
        }
        request.headers.set("keepalive-ping-interval", KEEPALIVE_S);
        request
    }

    fn call(&self, rpc: &Rpc, user: Option<&str>, content_type: &'static str, body: Vec<u8>) -> Request {
        let mut request = self.request(Method::Post, rpc.path);
        request.headers.set("content-type", content_type);
        request.headers.set("connect-protocol-version", "1");
        if let Some(user) = self.effective_user(user).filter(|_| rpc.takes_user) {
            let credentials = encode_base64(format!("{user}:").as_bytes());
            request.headers.set("authorization", format!("Basic {credentials}"));
        }
        request.body = Some(body);
        request
    }

    /// A request to `path_and_query` of this port with the headers that every request to it carries: as few as possible,
    /// for each is something that a browser must ask permission for.
    pub fn request(&self, method: Method, path_and_query: &str) -> Request {
        let mut request = Request::new(method, format!("{}{path_and_query}", self.base_url));
        if let Some(token) = &self.access_token {
            request.headers.set("x-access-token", token.expose());
        }
        if let Some(token) = &self.traffic_token {
            request.headers.set("e2b-traffic-access-token", token.expose());
        }
        if let Some(routing) = &self.routing {
            request.headers.set("e2b-sandbox-id", routing.sandbox_id.as_str());
            request.headers.set("e2b-sandbox-port", routing.port.to_string());
        }
        request
    }

    /// The user a call names: the caller's, else the one an old daemon must be told. An empty one is no user.
    pub fn effective_user<'a>(&self, user: Option<&'a str>) -> Option<&'a str> {
        user.or(self.default_user).filter(|user| !user.is_empty())
    }
}

/// Whether `head` announces the answer message of a unary call: any 2xx with the media type of `encoding`.
pub fn is_unary_answer(head: &Head, encoding: Encoding) -> bool {
    head.is_success() && head.has_media_type(encoding.unary_type())
}

/// Whether `head` announces the frames of a streaming call: 200 with the media type of `encoding`.
pub fn is_stream_answer(head: &Head, encoding: Encoding) -> bool {
    head.status == 200 && head.has_media_type(encoding.stream_type())
}

/// Whether the server refused the encoding before doing anything (415), so that the call can be repeated in the other.
pub fn refuses_encoding(head: &Head) -> bool {
    head.status == 415
}

/// The error of an answer that [`is_unary_answer`] or [`is_stream_answer`] did not accept: the server's own error, or a
/// `protocol_error` for a redirect, a refused encoding, or a success of another media type, such as a login page. The end
/// of `body` may be missing when it is long.
pub fn failure(head: &Head, body: &[u8], context: Context) -> Error {
    if head.is_success() || head.is_redirect() {
        return head.unexpected(body);
    }
    head.describe(if refuses_encoding(head) {
        Error::protocol("The server does not take messages in this encoding (HTTP 415). Set encoding to \"auto\".")
    } else {
        read_unary_error(head, body).into_error(context)
    })
}
