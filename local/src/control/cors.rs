//! The API's CORS: any origin, and a *fixed* list of request headers, so that what would fail in production fails here.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

const METHODS: &str = "GET,POST,PUT,PATCH,DELETE,HEAD,OPTIONS";
const REQUEST_HEADERS: &str = "Origin,Content-Length,Content-Type,User-Agent,Authorization,X-API-Key,X-Team-ID,browser,\
    lang,lang_version,machine,os,package_version,processor,publisher,release,sdk_runtime,system";
const EXPOSED: &str = "X-Next-Token,X-Total-Running,RateLimit-Limit,RateLimit-Remaining,RateLimit-Reset,Retry-After";
const MAX_AGE: &str = "43200";

/// Answers every OPTIONS request of another origin, whatever its path, and opens all other answers to it.
pub(super) async fn cors(request: Request, next: Next) -> Response {
    if !foreign(request.headers()) {
        return next.run(request).await;
    }
    let preflight = request.method() == Method::OPTIONS;
    let mut response = if preflight { StatusCode::NO_CONTENT.into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    if preflight {
        set(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        set(header::ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS);
        set(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    } else {
        set(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// Whether the request comes from a page of another origin than the API's own.
fn foreign(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()) else { return false };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("");
    !["http://", "https://"].iter().any(|scheme| origin.strip_prefix(scheme) == Some(host))
}
