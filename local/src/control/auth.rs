//! Who may use the API: the holder of the server's key, sent as `X-API-Key` or as a bearer token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use subtle::ConstantTimeEq;

use super::Api;
use super::error::ApiError;

const POINTER: &str = "Invalid API key, please visit https://e2b.dev/docs/api-key for more information.";

pub(super) async fn require_key(State(api): State<Arc<Api>>, request: Request, next: Next) -> Response {
    match check(request.headers(), &api.api_key) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn check(headers: &HeaderMap, key: &str) -> Result<(), ApiError> {
    let bearer = || headers.get(header::AUTHORIZATION)?.as_bytes().strip_prefix(b"Bearer ");
    let given = headers
        .get("x-api-key")
        .map(|value| value.as_bytes())
        .or_else(bearer)
        .ok_or_else(|| ApiError::unauthorized("authorization header is missing"))?;
    if given.ct_eq(key.as_bytes()).into() {
        return Ok(());
    }
    Err(ApiError::unauthorized(match given.strip_prefix(b"e2b_") {
        None => "authorization header is malformed".to_owned(),
        Some(hex) if hex.is_empty() || hex.len() % 2 != 0 || !hex.iter().all(u8::is_ascii_hexdigit) => {
            format!("{POINTER}\nInvalid API key format")
        }
        Some(_) => format!("{POINTER}\nCannot get the team for the given API key"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wrong_key_is_told_what_is_wrong() {
        let key = format!("e2b_{}", "0a".repeat(20));
        let header = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            headers
        };
        assert!(check(&header("x-api-key", &key), &key).is_ok());
        assert!(check(&header("authorization", &format!("Bearer {key}")), &key).is_ok());
        for (headers, message) in [
            (HeaderMap::new(), "authorization header is missing"),
            (header("authorization", "Basic x"), "authorization header is missing"),
            (header("x-api-key", "abc"), "authorization header is malformed"),
            (header("x-api-key", "e2b_xyz"), "Invalid API key format"),
            (header("x-api-key", &format!("e2b_{}", "0".repeat(40))), "Cannot get the team for the given API key"),
        ] {
            let error = check(&headers, &key).unwrap_err();
            assert!(format!("{error:?}").contains(message), "{error:?} lacks {message:?}");
            assert!(format!("{error:?}").contains("401"), "{error:?}");
        }
    }
}
