//! HTTP as data: what the transport is asked to send, and the head of what came back.
//!
//! Nothing here performs I/O. Header names are lower case; a URL is absolute and already percent-encoded.

use std::borrow::Cow;
use std::fmt;

use super::text::body_excerpt;
use crate::error::Error;

/// A request method this client uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    /// The method of that name; `None` for one that this client does not use.
    pub fn parse(name: &str) -> Option<Self> {
        [Method::Get, Method::Post, Method::Put, Method::Patch, Method::Delete].into_iter().find(|m| m.as_str() == name)
    }

    /// The method's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        }
    }
}

/// Header fields in sending order; a later one of the same name replaces an earlier one.
///
/// The `Debug` form shows names only: values may be credentials.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(Cow<'static, str>, String)>);

impl Headers {
    /// Sets `name` (compared without case) to `value`, replacing what was there.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let name = name.into();
        let value = value.into();
        match self.0.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(&name)) {
            Some(slot) => *slot = (name, value),
            None => self.0.push((name, value)),
        }
    }

    /// The value of `name`, compared without case.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }

    /// All fields in sending order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_ref(), v.as_str()))
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(|(name, _)| name)).finish()
    }
}

/// One request, complete but for a body that only the host can hold (a `Blob` or a stream), which the transport adds.
///
/// The `Debug` form leaves out the query, which may hold a signature, and the body.
#[derive(Clone, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// Absolute URL, percent-encoded. May carry a signature: never log its query.
    pub url: String,
    pub headers: Headers,
    pub body: Option<Vec<u8>>,
    /// 1 for the first sending of this request, one more for each repetition.
    pub attempt: u32,
    /// Whether credentials are to be added when it is sent, each time anew.
    pub authorizes_late: bool,
}

impl Request {
    pub fn new(method: Method, url: impl Into<String>) -> Self {
        Request { method, url: url.into(), headers: Headers::default(), body: None, attempt: 1, authorizes_late: false }
    }

    /// A request with a JSON body.
    pub fn json(method: Method, url: impl Into<String>, body: &serde_json::Value) -> Self {
        let mut request = Request::new(method, url);
        request.headers.set("content-type", "application/json");
        request.body = Some(body.to_string().into_bytes());
        request
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split('?').next().unwrap_or("");
        write!(f, "{} {} {:?}", self.method.as_str(), url, self.headers)
    }
}

/// Status and header fields of an answer, as far as the client needs and CORS lets it read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    pub status: u16,
    pub headers: Headers,
}

impl Head {
    /// Whether the status is 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Whether the status is 3xx. Redirects are never followed: credentials would go to an address nobody chose.
    pub fn is_redirect(&self) -> bool {
        (300..400).contains(&self.status)
    }

    /// The error of a success that is not what was asked for, or of a redirect.
    pub fn unexpected(&self, body: &[u8]) -> Error {
        let status = self.status;
        if self.is_redirect() {
            return self.describe(Error::protocol(format!(
                "The server redirects this address (HTTP {status}), and redirects are not followed. Correct the URL or \
                 domain."
            )));
        }
        // JSON of a success may hold tokens; a page in its place tells where the request really went.
        let shown = match body.trim_ascii_start().first() {
            None => String::from("an empty body"),
            Some(b'{' | b'[') => String::from("JSON of another shape"),
            Some(_) => body_excerpt(body),
        };
        self.describe(Error::protocol(format!(
            "The server answered HTTP {status} with something that is not the protocol ({shown}). Check the URL or domain, \
             and whether a login page or gateway stands in between."
        )))
    }

    /// The server's id for the request, under any of the names in use. Pages see it only where CORS exposes it.
    pub fn request_id(&self) -> Option<String> {
        ["x-request-id", "x-trace-id", "x-fc-request-id", "traceparent"]
            .iter()
            .find_map(|name| self.headers.get(name))
            .map(str::to_owned)
    }

    /// `Retry-After` in milliseconds; only the form in seconds is understood, for a date needs a clock.
    pub fn retry_after_ms(&self) -> Option<u64> {
        let seconds: u64 = self.headers.get("retry-after")?.trim().parse().ok()?;
        seconds.checked_mul(1000)
    }

    /// Adds what the head knows to an error about its answer.
    pub fn describe(&self, mut error: Error) -> Error {
        error.status = Some(self.status);
        error.request_id = self.request_id();
        error.retry_after_ms = self.retry_after_ms();
        error
    }

    /// Whether the media type is `expected`, whatever its parameters.
    pub fn has_media_type(&self, expected: &str) -> bool {
        let value = self.headers.get("content-type").unwrap_or("");
        value.split(';').next().unwrap_or("").trim().eq_ignore_ascii_case(expected)
    }
}
