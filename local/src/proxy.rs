//! Traffic to sandboxes: finds the sandbox, relays the request, and answers as production's edge does when there is
//! nobody to relay to.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Version, header};
use hyper::body::{Frame, SizeHint};
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use rand::Rng;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::envd::CONNECTED;
use crate::hangup::Undeterred;
use crate::route::ENVD_PORT;
use crate::sandbox::lifecycle::{State, StateError};
use crate::sandbox::registry::{Registry, Sandbox};

/// How often a port that nobody listens on is tried: servers that are just starting get their chance.
const ATTEMPTS: u32 = 5;
const PAUSE: std::ops::RangeInclusive<u64> = 100..=400;

/// Calls of envd that are the control plane's alone.
const RESERVED: [&str; 7] = ["/init", "/freeze", "/unfreeze", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"];

/// The daemon's WebSocket to a shell, whose clients can send no header.
pub(crate) const TERMINAL: &str = "/terminal";

const TRAFFIC_TOKEN: &str = "e2b-traffic-access-token";
const ACCESS_TOKEN: &str = "x-access-token";

/// A sandbox that traffic woke runs at least this long.
const SHORTEST_WAKING: Duration = Duration::from_secs(300);

/// How long a request waits for a sandbox that is being paused or resumed.
const TRANSITION_LIMIT: Duration = Duration::from_secs(60);

/// Headers that belong to one connection.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRANSFER_ENCODING,
];

/// Relays `request` to `port` of the sandbox `id`.
pub(crate) async fn forward(registry: &Registry, id: &str, port: u16, request: Request) -> Response {
    let browser = looks_like_navigation(request.headers());
    match try_forward(registry, id, port, request).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(id, port, browser),
    }
}

enum Refusal {
    NotFound,
    Transitioning,
    ResumeRefused,
    PortClosed,
    TrafficTokenMissing,
    TrafficTokenInvalid,
    Reserved {
        path: String,
    },
    /// The client's fault: its body is no HTTP, or was cut off.
    BrokenBody,
}

async fn try_forward(registry: &Registry, id: &str, port: u16, mut request: Request) -> Result<Response, Refusal> {
    let sandbox = registry.get(id).ok_or(Refusal::NotFound)?;
    wake(&sandbox, port, credential_of(&request, port)).await?;
    if port == ENVD_PORT {
        let path = clean(request.uri().path());
        if RESERVED.contains(&path.as_str()) {
            return Err(Refusal::Reserved { path });
        }
    } else if let Some(token) = sandbox.traffic_token() {
        let given = request.headers().get(TRAFFIC_TOKEN).ok_or(Refusal::TrafficTokenMissing)?;
        if !bool::from(given.as_bytes().ct_eq(token.as_bytes())) {
            return Err(Refusal::TrafficTokenInvalid);
        }
    }
    let upgrade = upgrade_of(request.headers());
    let ours = upgrade.is_some().then(|| hyper::upgrade::on(&mut request));
    prepare(&mut request, upgrade.as_ref(), sandbox.masked_host(port));

    let broken = sandbox.connections();
    let exchange = async {
        let mut upstream = connect(&sandbox, port).await?;
        // The upstream may have gone away between the two: to the client that is the same.
        upstream.send_request(request).await.map_err(|error| match error.is_user() {
            true => Refusal::BrokenBody,
            false => gone(registry, id),
        })
    };
    let mut response = broken.run_until_cancelled(exchange).await.ok_or(Refusal::NotFound)??;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        if let Some(ours) = ours {
            let theirs = hyper::upgrade::on(&mut response);
            tokio::spawn(async move { broken.run_until_cancelled(tunnel(ours, theirs)).await });
            return Ok(response.map(Body::new));
        }
    } else {
        strip(response.headers_mut());
    }
    Ok(response.map(|body| Body::new(Breakable { body, broken: Box::pin(broken.cancelled_owned()) })))
}

/// Sends `request` over `stream`, without what belonged to its old connection.
pub(crate) async fn relay(stream: UnixStream, mut request: Request) -> hyper::Result<Response> {
    prepare(&mut request, None, None);
    let (mut upstream, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(Undeterred::new(stream))).await?;
    // Its errors reach the request.
    tokio::spawn(async move { connection.await.ok() });
    let mut response = upstream.send_request(request).await?;
    strip(response.headers_mut());
    Ok(response.map(Body::new))
}

/// Lets traffic wake a sandbox that wants that, when the request has the credentials that its service will ask for.
async fn wake(sandbox: &Arc<Sandbox>, port: u16, given: Option<Vec<u8>>) -> Result<(), Refusal> {
    let state = match sandbox.state() {
        State::Running | State::Snapshotting => return Ok(()),
        _ => tokio::time::timeout(TRANSITION_LIMIT, sandbox.settled())
            .await
            .map_err(|_| Refusal::Transitioning)?
            .map_err(|_| Refusal::NotFound)?,
    };
    let State::Paused { memory, .. } = state else { return Ok(()) };
    if !(sandbox.spec.auto_resume && memory) {
        return Err(Refusal::NotFound);
    }
    let token = if port == ENVD_PORT { sandbox.envd_token.as_deref() } else { sandbox.traffic_token() };
    let fits = |token: &str| given.is_some_and(|given| given.ct_eq(token.as_bytes()).into());
    if !token.is_none_or(fits) {
        return Err(Refusal::ResumeRefused);
    }
    match sandbox.connect(sandbox.spec.timeout.max(SHORTEST_WAKING)).await {
        Ok(_) => Ok(()),
        Err(StateError::Gone) => Err(Refusal::NotFound),
        Err(error) => {
            tracing::error!(sandbox = sandbox.id, "traffic could not wake it: {error:?}");
            Err(Refusal::Transitioning)
        }
    }
}

/// What a request has to show to a port's service: a header, or for the terminal a part of the query.
fn credential_of(request: &Request, port: u16) -> Option<Vec<u8>> {
    let name = if port == ENVD_PORT { ACCESS_TOKEN } else { TRAFFIC_TOKEN };
    if let Some(value) = request.headers().get(name) {
        return Some(value.as_bytes().to_owned());
    }
    if port != ENVD_PORT || request.uri().path() != TERMINAL {
        return None;
    }
    let mut query = form_urlencoded::parse(request.uri().query()?.as_bytes());
    query.find(|(name, _)| name == "token").map(|(_, token)| token.into_owned().into_bytes())
}

/// A body that breaks off, with an error, when the sandbox is paused.
struct Breakable {
    body: hyper::body::Incoming,
    broken: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl HttpBody for Breakable {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.broken.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err("the sandbox was paused".into())));
        }
        Pin::new(&mut self.body).poll_frame(context).map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn gone(registry: &Registry, id: &str) -> Refusal {
    if registry.get(id).is_some() { Refusal::PortClosed } else { Refusal::NotFound }
}

/// A connection to `port`, of which one request is made.
async fn connect(sandbox: &Arc<Sandbox>, port: u16) -> Result<SendRequest<Body>, Refusal> {
    let stream = if port == ENVD_PORT {
        UnixStream::connect(sandbox.http_socket()).await.map_err(|_| Refusal::NotFound)?
    } else {
        let mut attempt = 1;
        loop {
            match dial(sandbox, port).await {
                Ok(Some(stream)) => break stream,
                Ok(None) if attempt < ATTEMPTS => {
                    attempt += 1;
                    let pause = rand::rng().random_range(PAUSE);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                Ok(None) => return Err(Refusal::PortClosed),
                Err(_) => return Err(Refusal::NotFound),
            }
        }
    };
    let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(Undeterred::new(stream)))
        .await
        .map_err(|_| Refusal::PortClosed)?;
    // Its errors reach the request.
    tokio::spawn(async move { connection.with_upgrades().await.ok() });
    Ok(sender)
}

/// Asks the sandbox for a connection to one of its ports; `None` when nothing listens.
async fn dial(sandbox: &Sandbox, port: u16) -> std::io::Result<Option<UnixStream>> {
    let mut stream = UnixStream::connect(sandbox.ports_socket()).await?;
    stream.write_u16(port).await?;
    Ok((stream.read_u8().await? == CONNECTED).then_some(stream))
}

/// The protocol a request wants to switch to.
pub(crate) fn upgrade_of(headers: &HeaderMap) -> Option<HeaderValue> {
    let connection = headers.get(header::CONNECTION)?.to_str().ok()?;
    let wanted = connection.split(',').any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
    wanted.then(|| headers.get(header::UPGRADE).cloned()).flatten()
}

fn strip(headers: &mut HeaderMap) {
    for name in &HOP_BY_HOP {
        headers.remove(name);
    }
}

/// Makes the request fit for another connection: path only, HTTP/1.1, no header of the old one.
fn prepare(request: &mut Request, upgrade: Option<&HeaderValue>, host: Option<String>) {
    *request.version_mut() = Version::HTTP_11;
    if let Some(path) = request.uri().path_and_query().cloned() {
        *request.uri_mut() = path.into();
    }
    let headers = request.headers_mut();
    strip(headers);
    headers.remove(header::UPGRADE);
    if let Some(protocol) = upgrade {
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, protocol.clone());
    }
    if let Some(host) = host.and_then(|host| HeaderValue::from_str(&host).ok()) {
        headers.insert(header::HOST, host);
    }
}

async fn tunnel(ours: hyper::upgrade::OnUpgrade, theirs: hyper::upgrade::OnUpgrade) {
    if let (Ok(ours), Ok(theirs)) = tokio::join!(ours, theirs) {
        // Either side may hang up at any time.
        let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(ours), &mut TokioIo::new(theirs)).await;
    }
}

/// The path as a router behind us would see it: no empty, `.` or `..` segments.
fn clean(path: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let mut segments = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    format!("/{}", segments.join("/"))
}

/// Whether a person is looking: a browser's page load, not a script's request.
fn looks_like_navigation(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_ascii_lowercase();
    let agent = text("user-agent");
    let browser = ["mozilla", "chrome", "safari", "firefox", "edge", "opera"].iter().any(|name| agent.contains(name));
    let scripted = ["cors", "no-cors", "same-origin", "websocket"].contains(&text("sec-fetch-mode").as_str())
        || text("accept").contains("application/json")
        || headers.contains_key("x-requested-with");
    browser && !scripted
}

impl Refusal {
    fn into_response(self, id: &str, port: u16, browser: bool) -> Response {
        let (status, body) = self.body(id, port);
        let mut response = if browser {
            let message = body["message"].as_str().unwrap_or("");
            let page = format!(
                "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{status}</title>\
                 <body><h1>{message}</h1><p>Sandbox <code>{id}</code>, port <code>{port}</code></p></body></html>"
            );
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
        } else {
            ([(header::CONTENT_TYPE, "application/json; charset=utf-8")], body.to_string()).into_response()
        };
        *response.status_mut() = status;
        if status == StatusCode::BAD_GATEWAY {
            // As the hosted edge does, so that a page can tell a sandbox that is gone from a network that is.
            response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
        response
    }

    fn body(&self, id: &str, port: u16) -> (StatusCode, Value) {
        match self {
            Refusal::NotFound => (
                StatusCode::BAD_GATEWAY,
                json!({ "sandboxId": id, "message": "The sandbox was not found", "code": 502 }),
            ),
            Refusal::Transitioning => (
                StatusCode::CONFLICT,
                json!({
                    "sandboxId": id,
                    "message": "The sandbox is still transitioning. Try again in a moment.",
                    "code": 409,
                }),
            ),
            Refusal::ResumeRefused => (
                StatusCode::FORBIDDEN,
                json!({
                    "sandboxId": id,
                    "message": "This sandbox can't be resumed with the credentials provided. \
                                Check your access token and try again.",
                    "code": 403,
                }),
            ),
            Refusal::PortClosed => (
                StatusCode::BAD_GATEWAY,
                json!({
                    "sandboxId": id,
                    "message": "The sandbox is running but port is not open",
                    "port": port,
                    "code": 502,
                }),
            ),
            Refusal::TrafficTokenMissing => (
                StatusCode::FORBIDDEN,
                json!({
                    "sandboxId": id,
                    "message": format!(
                        "Sandbox is secured with traffic access token. Token header '{TRAFFIC_TOKEN}' is missing"
                    ),
                    "code": 403,
                }),
            ),
            Refusal::TrafficTokenInvalid => (
                StatusCode::FORBIDDEN,
                json!({
                    "sandboxId": id,
                    "message": format!(
                        "Sandbox is secured with traffic access token. \
                         Provided token in header '{TRAFFIC_TOKEN}' is invalid"
                    ),
                    "code": 403,
                }),
            ),
            Refusal::BrokenBody => (
                StatusCode::BAD_REQUEST,
                json!({
                    "sandboxId": id,
                    "message": "The body of the request is malformed, or was cut off",
                    "code": 400,
                }),
            ),
            Refusal::Reserved { path } => (
                StatusCode::NOT_FOUND,
                json!({
                    "message": "This endpoint is reserved for the E2B control plane and is not reachable through \
                                the sandbox URL",
                    "path": path,
                    "code": 404,
                }),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_before_they_are_compared() {
        for (path, expected) in [
            ("/init", "/init"),
            ("//init", "/init"),
            ("/init/", "/init"),
            ("/a/../init", "/init"),
            ("/./init", "/init"),
            ("/%69nit", "/init"),
            ("/../../init", "/init"),
            ("/initial", "/initial"),
            ("/", "/"),
        ] {
            assert_eq!(clean(path), expected);
        }
    }

    #[test]
    fn pages_are_for_people() {
        for (headers, expected) in [
            (&[("user-agent", "Mozilla/5.0")][..], true),
            (&[("user-agent", "Mozilla/5.0"), ("sec-fetch-mode", "navigate")], true),
            (&[("user-agent", "Mozilla/5.0"), ("sec-fetch-mode", "cors")], false),
            (&[("user-agent", "Mozilla/5.0"), ("accept", "application/json")], false),
            (&[("user-agent", "curl/8")], false),
            (&[], false),
        ] {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            assert_eq!(looks_like_navigation(&map), expected, "{headers:?}");
        }
    }
}
