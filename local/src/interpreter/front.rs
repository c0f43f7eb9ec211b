//! The HTTP side: endpoints, cross-origin rules, errors.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::StreamExt;
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::contexts::{ContextError, Contexts};
use super::languages;
use super::request::{CreateContext, Execute, Invalid};

const METHODS: &str = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";

/// More code than this is refused.
const LONGEST_BODY: usize = 64 * 1024 * 1024;

/// How many lines may wait for a slow reader.
const WAITING_LINES: usize = 16;

pub(super) async fn serve(State(contexts): State<Arc<Contexts>>, request: Request) -> Response {
    let wanted = request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD).cloned();
    let origin = request.headers().get(header::ORIGIN).cloned();
    let with_cookie = request.headers().contains_key(header::COOKIE);
    if let (&Method::OPTIONS, Some(_), Some(method)) = (request.method(), &origin, wanted) {
        return preflight(&method, request.headers());
    }
    let mut response = answer(&contexts, request).await;
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        if with_cookie {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::VARY, HeaderValue::from_static("Origin"));
        } else {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
    }
    response
}

fn preflight(method: &HeaderValue, request: &HeaderMap) -> Response {
    let allowed = METHODS.split(", ").any(|allowed| method == allowed);
    let mut response =
        if allowed { text(StatusCode::OK, "OK") } else { text(StatusCode::BAD_REQUEST, "Disallowed CORS method") };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    if let Some(list) = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, list.clone());
    }
    response
}

async fn answer(contexts: &Arc<Contexts>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let segments: Vec<_> = path.split('/').skip(1).map(decoded).collect();
    let segments: Vec<_> = segments.iter().map(String::as_str).collect();
    let method = request.method().clone();
    match (&segments[..], method.as_str()) {
        (["health"], "GET") => Json("OK").into_response(),
        (["execute"], "POST") => execute(contexts, request).await.unwrap_or_else(Refusal::into_response),
        (["contexts"], "GET") => Json(contexts.list()).into_response(),
        (["contexts"], "POST") => create(contexts, request).await.unwrap_or_else(Refusal::into_response),
        (["contexts", id], "DELETE") => null(contexts.delete(id).await),
        (["contexts", id, "restart"], "POST") => restart(contexts, id).await,
        (["health"], _) => wrong_method("GET"),
        (["execute" | "contexts"] | ["contexts", _, "restart"], _) => wrong_method("POST"),
        (["contexts", _], _) => wrong_method("DELETE"),
        _ => (StatusCode::NOT_FOUND, Json(json!({ "detail": "Not Found" }))).into_response(),
    }
}

fn decoded(segment: &str) -> String {
    percent_encoding::percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

fn wrong_method(allowed: &'static str) -> Response {
    let detail = Json(json!({ "detail": "Method Not Allowed" }));
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, allowed)], detail).into_response()
}

fn text(status: StatusCode, body: impl Into<Body>) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body.into()).into_response()
}

fn null(outcome: Result<(), ContextError>) -> Response {
    match outcome {
        Ok(()) => Json(Value::Null).into_response(),
        Err(error) => Refusal::from(error).into_response(),
    }
}

async fn restart(contexts: &Contexts, id: &str) -> Response {
    let context = match contexts.get(id).await {
        Ok(context) => context,
        Err(error) => return Refusal::from(error).into_response(),
    };
    match context.restart().await {
        Ok(()) => null(Ok(())),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("Failed to restart context {id}")),
    }
}

async fn create(contexts: &Contexts, request: Request) -> Result<Response, Refusal> {
    let (content_type, body) = read(request).await?;
    let CreateContext { language, cwd } = CreateContext::parse(content_type.as_deref(), &body)?;
    let language = language.unwrap_or_else(|| languages::DEFAULT.into());
    Ok(Json(contexts.create(&language, cwd).await?).into_response())
}

async fn execute(contexts: &Contexts, request: Request) -> Result<Response, Refusal> {
    let (content_type, body) = read(request).await?;
    let Execute { code, context_id, language, variables } = Execute::parse(content_type.as_deref(), &body)?;
    let context = match (context_id, language) {
        (Some(_), Some(_)) => return Err(Refusal::Ambiguous),
        (Some(id), None) => contexts.get(&id).await?,
        (None, language) => contexts.default(language.as_deref().unwrap_or(languages::DEFAULT)).await?,
    };
    let (lines, answer) = mpsc::channel::<Bytes>(WAITING_LINES);
    // Not part of the answer: when that is dropped, the run has to be interrupted first.
    tokio::spawn(context.run(code, variables, lines));
    let answer = futures::stream::unfold(answer, async |mut answer| Some((answer.recv().await?, answer)));
    Ok(Body::from_stream(answer.map(Ok::<_, Infallible>)).into_response())
}

async fn read(request: Request) -> Result<(Option<String>, Bytes), Refusal> {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    let content_type = content_type.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
    let body = to_bytes(request.into_body(), LONGEST_BODY).await.map_err(|_| Refusal::TooLong)?;
    Ok((content_type, body))
}

/// Why a request is not carried out.
enum Refusal {
    Invalid(Invalid),
    Context(ContextError),
    Ambiguous,
    TooLong,
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Self {
        Refusal::Invalid(invalid)
    }
}

impl From<ContextError> for Refusal {
    fn from(error: ContextError) -> Self {
        Refusal::Context(error)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Invalid(Invalid(detail)) => {
                (StatusCode::UNPROCESSABLE_ENTITY, Json(json!({ "detail": detail }))).into_response()
            }
            Refusal::Context(error) => {
                let (status, body) = error.answer();
                text(status, body)
            }
            Refusal::Ambiguous => text(StatusCode::BAD_REQUEST, "Only one of context_id or language can be provided"),
            Refusal::TooLong => text(StatusCode::PAYLOAD_TOO_LARGE, "The request is too long"),
        }
    }
}
