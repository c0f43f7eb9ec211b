//! JSON request bodies, with the API's words for what is wrong with them.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, Request};
use http::StatusCode;
use serde::de::DeserializeOwned;

use super::error::ApiError;

/// Bodies may be this long.
const LIMIT: usize = 16 * 1024 * 1024;

/// A body that takes longer to arrive is not waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A JSON body, whatever its content type. An absent one is `null`.
pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request<Body>, _state: &S) -> Result<Self, ApiError> {
        let body = tokio::time::timeout(PATIENCE, to_bytes(request.into_body(), LIMIT))
            .await
            .map_err(|_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body of the request did not arrive in time"))?
            .map_err(|_| ApiError::bad_request("Error when parsing request: the body is too long or was cut off"))?;
        let body = if body.is_empty() { b"null" } else { &body[..] };
        serde_json::from_slice(body).map(JsonBody).map_err(|error| {
            if error.is_data() {
                ApiError::validation(error)
            } else {
                ApiError::bad_request(format!("Error when parsing request: {error}"))
            }
        })
    }
}
