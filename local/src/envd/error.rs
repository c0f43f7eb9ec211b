//! Errors of the plain HTTP endpoints, and operating-system errors as text.

use std::io;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use nix::errno::Errno;

/// `{"code": <status>, "message": …}`; RPC errors carry a string code instead and are `connectrpc`'s.
#[derive(Debug)]
pub(super) struct HttpError {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl HttpError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        HttpError { status, message: message.into() }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "code": self.status.as_u16(), "message": self.message });
        let mut response = Response::new(Body::from(format!("{body}\n")));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json; charset=utf-8"));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        response
    }
}

/// A plain text answer.
pub(super) fn text(status: StatusCode, body: impl Into<String>) -> Response {
    let mut response = Response::new(Body::from(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The error as the original daemon words it: lower case, and without the number.
pub(super) fn reason(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EXDEV) => "invalid cross-device link".into(),
        Some(errno) => {
            let text = errno.desc();
            let mut letters = text.chars();
            letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
        }
        // The standard library, not the system, refuses null bytes in paths and arguments, with words of its own.
        None if error.kind() == io::ErrorKind::InvalidInput => "invalid argument".into(),
        None => error.to_string(),
    }
}
