//! What every request passes before its handler: CORS, then the access token, then the user, then the route.
//!
//! The order is observable: an unauthenticated request for an unknown path is told 401, and a preflight is answered
//! before anybody asks for a token.

use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use connectrpc::{CompressionPolicy, ConnectError, ConnectRpcService, Limits};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use subtle::ConstantTimeEq;

use super::error::{HttpError, text};
use super::filesystem::FilesystemService;
use super::process::{ProcessService, terminal};
use super::state::{Caller, Envd};
use super::{files, init, metrics, rest};
use crate::protocol::filesystem::FilesystemExt;
use crate::protocol::process::ProcessExt;

const EXPOSED: &str =
    "Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, Location, Cache-Control, X-Content-Type-Options";
const PREFLIGHT_VARY: &str = "Origin, Access-Control-Request-Method, Access-Control-Request-Headers";
const ALLOWED_METHODS: [&str; 6] = ["HEAD", "GET", "POST", "PUT", "PATCH", "DELETE"];

/// The endpoints beside the two RPC services, with the methods they accept.
const ENDPOINTS: [(&str, &str); 6] = [
    ("/health", "GET"),
    ("/metrics", "GET"),
    ("/envs", "GET"),
    ("/files", "GET, POST"),
    ("/files/compose", "POST"),
    ("/init", "POST"),
];

/// Requests that do not need the access token in a header: they are harmless, or check it (or a signature) themselves.
const WITHOUT_TOKEN: [(Method, &str); 4] =
    [(Method::GET, "/health"), (Method::GET, "/files"), (Method::POST, "/files"), (Method::POST, "/init")];

/// The whole application.
pub(super) fn app(envd: Arc<Envd>) -> Result<Router> {
    let rpc = connectrpc::Router::new();
    let rpc = Arc::new(ProcessService::new(Arc::clone(&envd))).register(rpc);
    let rpc = Arc::new(FilesystemService::new(Arc::clone(&envd))).register(rpc);
    let methods: Arc<[String]> = rpc.methods().map(|method| format!("/{method}")).collect();
    let rpc = ConnectRpcService::new(rpc)
        .with_limits(Limits::unlimited())
        .with_compression_policy(CompressionPolicy::default().with_min_size(0));
    let mut app = Router::new()
        .route("/health", any(|| async { (StatusCode::NO_CONTENT, [(header::CACHE_CONTROL, "no-store")]) }))
        .route("/metrics", any(metrics::metrics))
        .route("/envs", any(init::envs))
        .route("/files", any(files::files))
        .route("/files/compose", any(files::compose::compose))
        .route("/init", any(init::init));
    for method in methods.iter() {
        app = app.route_service(method, rpc.clone());
    }
    Ok(app
        .fallback(|| async { not_found() })
        .layer(middleware::from_fn_with_state(methods, method_filter))
        .layer(middleware::from_fn_with_state(Arc::clone(&envd), user))
        .layer(middleware::from_fn_with_state(Arc::clone(&envd), token))
        .layer(middleware::from_fn(cors))
        .layer(middleware::from_fn(rest::read))
        .layer(middleware::from_fn_with_state(Arc::clone(&envd), terminal::intercept))
        .layer(DefaultBodyLimit::disable())
        .with_state(envd))
}

fn not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

async fn cors(request: Request, next: Next) -> Response {
    let origin = request.headers().contains_key(header::ORIGIN);
    let wanted = request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD).cloned();
    if let (&Method::OPTIONS, Some(method)) = (request.method(), wanted) {
        return preflight(origin, method, request.headers());
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::VARY).or_insert(HeaderValue::from_static("Origin"));
    if origin {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }
    response
}

fn preflight(origin: bool, method: HeaderValue, request: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static(PREFLIGHT_VARY));
    if origin && ALLOWED_METHODS.iter().any(|allowed| method == *allowed) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, method);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
        if let Some(list) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS).filter(|list| !list.is_empty()) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, list.clone());
        }
    }
    response
}

/// Whether `headers` carry exactly `token`, in time that does not depend on it.
pub(super) fn token_matches(headers: &HeaderMap, token: &str) -> bool {
    headers.get("x-access-token").is_some_and(|given| given.as_bytes().ct_eq(token.as_bytes()).into())
}

async fn token(State(envd): State<Arc<Envd>>, request: Request, next: Next) -> Response {
    let allowed = match &envd.settings().access_token {
        None => true,
        Some(token) => {
            WITHOUT_TOKEN.iter().any(|(method, path)| request.method() == method && request.uri().path() == *path)
                || token_matches(request.headers(), token)
        }
    };
    if allowed {
        return next.run(request).await;
    }
    HttpError::unauthorized("unauthorized access, please provide a valid access token or method signing if supported")
        .into_response()
}

async fn user(State(envd): State<Arc<Envd>>, mut request: Request, next: Next) -> Response {
    if let Some(name) = basic_user(request.headers()) {
        match envd.users.by_name(&name) {
            Some(user) => {
                request.extensions_mut().insert(Caller(user));
            }
            None => {
                let error = ConnectError::unauthenticated(format!("invalid username: '{name}'"));
                return error.into_http_response(request.headers()).map(Body::new);
            }
        }
    }
    next.run(request).await
}

/// The user name of `Authorization: Basic`; the password does not matter. Other schemes name nobody.
pub(super) fn basic_user(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(BASE64_STANDARD.decode(encoded.trim()).ok()?).ok()?;
    decoded.split_once(':').map(|(name, _)| name.to_owned())
}

/// Refuses methods that a known path does not have. Routers usually answer HEAD wherever they answer GET; this daemon
/// does not.
async fn method_filter(State(rpc): State<Arc<[String]>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let allowed = match ENDPOINTS.iter().find(|(endpoint, _)| *endpoint == path) {
        Some((_, allowed)) => allowed,
        None if rpc.iter().any(|method| method == path) => "POST",
        None => return next.run(request).await,
    };
    if !allowed.split(", ").any(|method| request.method() == method) {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)]).into_response();
    }
    if rpc.iter().any(|method| method == path) {
        if let Some(accepted) = unacceptable_type(path, request.headers()) {
            return (StatusCode::UNSUPPORTED_MEDIA_TYPE, [("accept-post", accepted)]).into_response();
        }
        if let Some(error) = malformed_call(request.headers()) {
            return error.into_http_response(request.headers()).map(Body::new);
        }
    }
    next.run(request).await
}

/// The methods whose requests or answers are streams of envelopes.
const STREAMING: [&str; 4] = [
    "/process.Process/Start",
    "/process.Process/Connect",
    "/process.Process/StreamInput",
    "/filesystem.Filesystem/WatchDir",
];

const UNARY_TYPES: &str = "application/grpc, application/grpc+json, application/grpc+json; charset=utf-8, \
    application/grpc+proto, application/grpc-web, application/grpc-web+json, application/grpc-web+json; charset=utf-8, \
    application/grpc-web+proto, application/json, application/json; charset=utf-8, application/proto";

const STREAM_TYPES: &str = "application/connect+json, application/connect+json; charset=utf-8, \
    application/connect+proto, application/grpc, application/grpc+json, application/grpc+json; charset=utf-8, \
    application/grpc+proto, application/grpc-web, application/grpc-web+json, \
    application/grpc-web+json; charset=utf-8, application/grpc-web+proto";

/// What `Accept-Post` says when the content type is none of this method's: a unary type on a stream is one, too.
fn unacceptable_type(path: &str, headers: &HeaderMap) -> Option<&'static str> {
    let accepted = if STREAMING.contains(&path) { STREAM_TYPES } else { UNARY_TYPES };
    let given = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let given = given.to_ascii_lowercase().replace(";charset", "; charset");
    (!accepted.split(", ").any(|kind| kind == given)).then_some(accepted)
}

/// Faults in an RPC's headers that the codec would pass over.
fn malformed_call(headers: &HeaderMap) -> Option<ConnectError> {
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    if let Some(version) = text("connect-protocol-version").filter(|version| version != "1") {
        let message = format!("Connect-Protocol-Version must be \"1\": got \"{version}\"");
        return Some(ConnectError::invalid_argument(message));
    }
    if let Some(timeout) = text("connect-timeout-ms") {
        if timeout.len() > 10 {
            return Some(ConnectError::invalid_argument(format!("parse timeout: \"{timeout}\" has >10 digits")));
        }
        if timeout.is_empty() || !timeout.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(ConnectError::invalid_argument(format!("parse timeout: \"{timeout}\" is not a number")));
        }
    }
    // On streams this header is about the envelopes, and ours is the other one.
    let streaming = text("content-type").is_some_and(|kind| kind.starts_with("application/connect+"));
    let compression = text(if streaming { "connect-content-encoding" } else { "content-encoding" });
    if let Some(compression) = compression.filter(|name| !matches!(name.as_str(), "" | "identity" | "gzip")) {
        let message = format!("unknown compression \"{compression}\": supported encodings are gzip");
        return Some(ConnectError::unimplemented(message));
    }
    None
}
