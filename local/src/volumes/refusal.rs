//! The error body of the content API, whose `code` is a string: `{"code": "path_not_found", "message": …}`.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use nix::errno::Errno;

/// An answer other than success.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    code: &'static str,
    message: String,
}

impl Refusal {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Refusal { status, code, message: message.into() }
    }

    pub(crate) fn unauthorized() -> Self {
        let text = "the volume's token is missing or wrong: send it as 'Authorization: Bearer <token>'";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", text)
    }

    pub(crate) fn no_volume(id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "volume_not_found", format!("volume '{id}' not found"))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_argument", message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
    }

    pub(super) fn no_path(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "path_not_found", format!("path '{path}' not found"))
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    pub(super) fn exists(path: &str) -> Self {
        Self::new(StatusCode::CONFLICT, "already_exists", format!("path '{path}' already exists"))
    }

    /// Why the kernel did not do something at `path`.
    pub(super) fn of(error: Errno, path: &str) -> Self {
        let reason = error.desc();
        match error {
            Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE => Self::no_path(path),
            Errno::EEXIST => Self::exists(path),
            Errno::ENOSPC | Errno::EDQUOT | Errno::EFBIG => {
                let text = format!("there is not enough space for '{path}': a volume is kept in memory");
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "not_enough_space", text)
            }
            Errno::EACCES | Errno::EPERM => {
                Self::new(StatusCode::FORBIDDEN, "permission_denied", format!("path '{path}': {reason}"))
            }
            Errno::ELOOP | Errno::ENAMETOOLONG | Errno::EINVAL | Errno::EXDEV => {
                Self::invalid(format!("path '{path}': {reason}"))
            }
            _ => Self::internal(format!("path '{path}': {reason}")),
        }
    }

    /// The same for a failure of the standard library.
    pub(super) fn of_io(error: &std::io::Error, path: &str) -> Self {
        match error.raw_os_error() {
            Some(number) => Self::of(Errno::from_raw(number), path),
            None => Self::internal(format!("path '{path}': {error}")),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "code": self.code, "message": self.message }).to_string();
        (self.status, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], body).into_response()
    }
}
