//! envd's plain HTTP routes: `/files` for contents, `/health`.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::http::{Head, Method, Request};
use super::message::{StringMap, set};
use super::proxy::read_proxy_error;
use super::rpc::Endpoint;
use super::text::{body_excerpt, excerpt};
use super::url::Query;
use crate::error::{Error, Kind, code};

/// What an upload wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub name: String,
    pub path: String,
    /// `None` for what is neither.
    pub kind: Option<WrittenKind>,
    pub metadata: StringMap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrittenKind {
    File,
    Dir,
}

/// `GET /files`. The body of a 2xx answer is the file; any other is a [`failure`].
///
/// # Errors
/// `invalid_argument` when `path` is empty.
pub fn download(endpoint: &Endpoint, path: &str, user: Option<&str>) -> Result<Request, Error> {
    Ok(endpoint.request(Method::Get, &route(endpoint, path, user)?))
}

/// `POST /files` with the raw content as body, which the caller adds ([`Request::body`] is `None`); one that compresses it
/// also sets `content-encoding: gzip`. Needs [`Feature::RawUpload`](super::version::Feature::RawUpload). Metadata becomes
/// `X-Metadata-<key>` headers.
///
/// # Errors
/// `invalid_argument` when `path` is empty or `metadata` is refused by [`check_metadata`].
pub fn upload(endpoint: &Endpoint, path: &str, user: Option<&str>, metadata: &StringMap) -> Result<Request, Error> {
    check_metadata(metadata)?;
    let mut request = endpoint.request(Method::Post, &route(endpoint, path, user)?);
    request.headers.set("content-type", "application/octet-stream");
    for (key, value) in metadata {
        request.headers.set(format!("x-metadata-{key}"), value.as_str());
    }
    Ok(request)
}

/// `POST /files` as a form, for daemons without raw uploads: one file per request, because a form with several takes each
/// target from a file name that cannot hold every character.
///
/// # Errors
/// As [`upload`].
pub fn upload_form(
    endpoint: &Endpoint,
    path: &str,
    user: Option<&str>,
    metadata: &StringMap,
    data: &[u8],
) -> Result<Request, Error> {
    let mut request = upload(endpoint, path, user, metadata)?;
    let boundary = boundary_for(data);
    let mut body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\n\
         Content-Type: application/octet-stream\r\n\r\n",
        escape_filename(path)
    )
    .into_bytes();
    body.extend_from_slice(data);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    request.headers.set("content-type", format!("multipart/form-data; boundary={boundary}"));
    request.body = Some(body);
    Ok(request)
}

/// The path and query of a file.
fn route(endpoint: &Endpoint, path: &str, user: Option<&str>) -> Result<String, Error> {
    if path.is_empty() {
        return Err(Error::invalid_argument("path is empty. Name a file; relative paths start at the user's home."));
    }
    let mut query = Query::form();
    query.push("path", path);
    query.push_some("username", endpoint.effective_user(user));
    Ok(format!("/files{}", query.as_str()))
}

/// A boundary that does not occur in `data`: its own hash, which nobody can arrange for.
fn boundary_for(data: &[u8]) -> String {
    let mut boundary = String::from("form-");
    for byte in &Sha256::digest(data)[..16] {
        boundary.push_str(&format!("{byte:02x}"));
    }
    boundary
}

/// Only a hint for the daemon, which takes the target from the query. Control characters would end the header line.
fn escape_filename(path: &str) -> String {
    let mut escaped = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            '"' => escaped.push_str("%22"),
            '\\' => escaped.push_str("\\\\"),
            c if c.is_ascii_control() => escaped.push_str(&format!("%{:02X}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Checks file metadata: keys are HTTP tokens, values printable ASCII.
///
/// # Errors
/// `invalid_argument` that names the key.
pub fn check_metadata(metadata: &StringMap) -> Result<(), Error> {
    for (key, value) in metadata {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if key.is_empty() || !key.bytes().all(token) {
            return Err(Error::invalid_argument(format!(
                "The metadata key {} is not usable: keys consist of ASCII letters, digits and !#$%&'*+-.^_`|~.",
                Value::from(excerpt(key, 100))
            )));
        }
        if !value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)) {
            return Err(Error::invalid_argument(format!(
                "The value of the metadata key \"{key}\" is not usable: values consist of printable ASCII characters. \
                 Encode others, for instance as base64."
            )));
        }
    }
    Ok(())
}

/// Reads the answer of an upload. The daemon labels it `text/plain`, so the content decides.
///
/// # Errors
/// [`failure`] for any status but 2xx; `protocol_error` for a body that is not an array with at least one entry.
pub fn read_written(head: &Head, body: &[u8]) -> Result<Vec<Written>, Error> {
    if !head.is_success() {
        return Err(failure(head, body));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Array(entries)) if !entries.is_empty() => Ok(entries.iter().map(read_entry).collect()),
        _ => Err(head.unexpected(body)),
    }
}

fn read_entry(entry: &Value) -> Written {
    let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let kind = match entry.get("type").and_then(Value::as_str) {
        Some("file") => Some(WrittenKind::File),
        Some("dir") => Some(WrittenKind::Dir),
        _ => None,
    };
    let mut metadata = StringMap::new();
    for (key, value) in entry.get("metadata").and_then(Value::as_object).into_iter().flatten() {
        set(&mut metadata, key.clone(), value.as_str().unwrap_or("").to_owned());
    }
    Written { name: text("name"), path: text("path"), kind, metadata }
}

/// `GET /health`. It needs no token, so none is sent: without headers of its own the request needs no preflight in a page,
/// and a preflight is what a sandbox that is gone cannot answer.
pub fn health(endpoint: &Endpoint) -> Request {
    Endpoint { access_token: None, traffic_token: None, ..endpoint.clone() }.request(Method::Get, "/health")
}

/// Whether the sandbox runs: any 2xx is true, 502 is false.
///
/// # Errors
/// The error of every other status, as [`failure`] has it, but that 404 is not about a file.
pub fn read_health(head: &Head, body: &[u8]) -> Result<bool, Error> {
    match head.status {
        200..300 => Ok(true),
        502 => Ok(false),
        _ => Err(plain_failure(head, body, (Kind::NotFound, code::NOT_FOUND))),
    }
}

/// The error of an answer of `/files` whose status is not 2xx. 400 → `InvalidArgument`, 401 → `Authentication`, 404 →
/// `FileNotFound`, 416 → `InvalidArgument`, 429 → `RateLimit`, 502 → `Timeout`, 507 → `NotEnoughSpace`, others → `Sandbox`.
pub fn failure(head: &Head, body: &[u8]) -> Error {
    plain_failure(head, body, (Kind::FileNotFound, code::FILE_NOT_FOUND))
}

fn plain_failure(head: &Head, body: &[u8], missing: (Kind, &'static str)) -> Error {
    if head.is_redirect() {
        return head.unexpected(body);
    }
    if let Some(proxy) = read_proxy_error(head.status, body) {
        return head.describe(proxy.to_error(Kind::Timeout));
    }
    let answer: Option<Value> = serde_json::from_slice(body).ok().filter(Value::is_object);
    let words = match answer.as_ref().and_then(|answer| answer.get("message")?.as_str()) {
        Some(message) => excerpt(message, 300),
        None => body_excerpt(body),
    };
    let ((kind, name), transient, advice) = match head.status {
        400 => ((Kind::InvalidArgument, code::INVALID_ARGUMENT), false, "Correct the path, user or metadata it names."),
        401 => (
            (Kind::Authentication, code::UNAUTHENTICATED),
            false,
            "Check the sandbox's access token and that the user exists in the sandbox.",
        ),
        403 => ((Kind::Sandbox, code::PERMISSION_DENIED), false, "Use credentials that allow it."),
        // The daemon explains a missing file in JSON; anything else says that this is not a daemon.
        404 if answer.is_some() => (missing, false, "Check the path; relative paths start at the user's home."),
        404 => ((Kind::Sandbox, code::UNIMPLEMENTED), false, "Check the sandbox URL or domain."),
        409 => ((Kind::Sandbox, code::CONFLICT), true, "Try again in a moment."),
        416 => (
            (Kind::InvalidArgument, code::RANGE_NOT_SATISFIABLE),
            false,
            "The file ends before range.start: ask for its size with getInfo.",
        ),
        429 => ((Kind::RateLimit, code::RATE_LIMITED), true, "Wait before trying again, or send less at once."),
        502 => (
            (Kind::Timeout, code::UNAVAILABLE),
            true,
            "The sandbox may have reached its timeout or been killed: ask for its state, and create it with a longer \
             timeout or call setTimeout if it ended too early.",
        ),
        503 | 504 => ((Kind::Sandbox, code::UNAVAILABLE), true, "Try again in a moment."),
        507 => ((Kind::NotEnoughSpace, code::NOT_ENOUGH_SPACE), false, "Free space in the sandbox, then try again."),
        _ => ((Kind::Sandbox, code::SERVER_ERROR), false, "Read the server's words for the cause."),
    };
    let words = if words.is_empty() { "the server gave no reason" } else { &words };
    let mut error = Error::new(kind, name, format!("{}: {words}. {advice}", head.status));
    error.retryable = transient;
    head.describe(error)
}
