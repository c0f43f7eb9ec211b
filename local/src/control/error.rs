//! The API's error body: `{"code": <status>, "message": …}`.

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::{Value, json};

/// An answer other than success.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    /// A stable name for programs, where the API has one.
    error_code: Option<&'static str>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        ApiError { status, message: message.into(), error_code: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The request does not match the API's description.
    pub(super) fn validation(message: impl std::fmt::Display) -> Self {
        Self::bad_request(format!("validation error: {message}"))
    }

    pub(super) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, message)
    }

    pub(super) fn no_sandbox(id: &str) -> Self {
        let text = format!("Sandbox \"{id}\" doesn't exist or you don't have access to it");
        Self::new(StatusCode::NOT_FOUND, text)
    }

    pub(super) fn text(&self) -> &str {
        &self.message
    }

    pub(super) fn body(&self) -> Value {
        let mut body = json!({ "code": self.status.as_u16(), "message": self.message });
        if let Some(code) = self.error_code {
            body["error_code"] = code.into();
        }
        body
    }

    #[must_use]
    pub(super) fn with_code(mut self, code: &'static str) -> Self {
        self.error_code = Some(code);
        self
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = self.body().to_string();
        (self.status, [(header::CONTENT_TYPE, "application/json; charset=utf-8")], body).into_response()
    }
}
