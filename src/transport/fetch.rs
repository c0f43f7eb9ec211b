//! Sends requests: the one place that builds what `fetch` is called with, and that names what can go wrong before a status.

use js_sys::{Function, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::{Body, Failure, Observer, Scope, host};
use crate::error::{Error, Kind, code};
use crate::protocol::http::{Head, Headers, Request};
use crate::protocol::url::split_scheme;

/// The `fetch`-shaped function that every request goes through: the caller's, or the host's.
#[derive(Clone)]
pub(crate) struct Fetch {
    /// None: the host's.
    custom: Option<Function>,
    observer: Observer,
}

/// A body that only the host can hold, used instead of [`Request::body`].
pub(crate) enum Payload {
    /// What the request itself carries.
    Request,
    /// A string, view, buffer or Blob.
    Value(JsValue),
    /// A `ReadableStream`, sent as it is produced.
    Stream(JsValue),
    /// Any of them, with a function that is told how many bytes have been sent, and of how many (see [`super::progress`]).
    Reported(Box<Payload>, Function),
}

impl Payload {
    /// Whether sending it uses it up.
    pub(crate) fn is_stream(&self) -> bool {
        match self {
            Payload::Stream(_) => true,
            Payload::Reported(payload, _) => payload.is_stream(),
            Payload::Request | Payload::Value(_) => false,
        }
    }
}

/// An answer whose head has arrived.
pub(crate) struct Response {
    pub(crate) head: Head,
    pub(crate) body: Body,
}

/// The response headers that are looked at. Asking by name keeps answers cheap, and CORS hides most others anyway.
const READ_HEADERS: [&str; 8] = [
    "content-type",
    "content-length",
    "content-encoding",
    "content-range",
    "retry-after",
    "x-next-token",
    "x-request-id",
    "x-envd-version",
];

impl Fetch {
    pub(crate) fn new(custom: Option<Function>, observer: Observer) -> Self {
        Fetch { custom, observer }
    }

    /// Sends `request` and waits for the head of the answer. Redirects are refused: no server of this protocol sends one,
    /// and following it would carry credentials to another host.
    pub(crate) async fn send(&self, request: Request, payload: &Payload, scope: &Scope) -> Result<Response, Failure> {
        let observed = self.observer.begin(&request);
        let result = self.exchange(request, payload, scope).await;
        if let Some(observed) = observed {
            observed.end(result.as_ref().map(|response| response.head.status));
        }
        result
    }

    async fn exchange(&self, request: Request, payload: &Payload, scope: &Scope) -> Result<Response, Failure> {
        let init = init(&request, payload, scope);
        let function = match &self.custom {
            Some(function) => function.clone(),
            None => global_fetch()?,
        };
        let origin = origin(&request.url);
        let url = JsValue::from_str(&request.url);
        let called = match payload {
            Payload::Reported(_, report) => {
                Ok(host::fetch_reporting(&function, self.custom.is_some(), &url, &init, report).into())
            }
            _ => function.call2(&JsValue::UNDEFINED, &url, &init),
        };
        let promise = called.map_err(|cause| unreachable_host(origin, cause))?;
        let answer = scope.run(JsFuture::from(Promise::resolve(&promise))).await?;
        let response: web_sys::Response = answer.map_err(|cause| unreachable_host(origin, cause))?.unchecked_into();
        let body = match &self.custom {
            Some(_) => Body::new(response.body()),
            None => Body::of_host(Clone::clone(&response)),
        };
        let status = response.status();
        let opaque = Reflect::get(&response, &"type".into()).is_ok_and(|kind| kind == "opaqueredirect");
        if opaque || (300..400).contains(&status) {
            return Err(redirected(origin, status).into());
        }
        let mut headers = Headers::default();
        for name in READ_HEADERS {
            if let Ok(Some(value)) = response.headers().get(name) {
                headers.set(name, value);
            }
        }
        Ok(Response { head: Head { status, headers }, body })
    }

    /// Sends `request` and reads the whole answer.
    pub(crate) async fn call(
        &self,
        request: Request,
        payload: &Payload,
        scope: &Scope,
    ) -> Result<(Head, Vec<u8>), Failure> {
        let response = self.send(request, payload, scope).await?;
        let body = response.body.read_all(scope).await?;
        Ok((response.head, body))
    }
}

/// The second argument of `fetch`.
fn init(request: &Request, payload: &Payload, scope: &Scope) -> Object {
    let headers = Object::new();
    for (name, value) in request.headers.iter() {
        set(&headers, name, &JsValue::from_str(value));
    }
    let init = Object::new();
    set(&init, "method", &JsValue::from_str(request.method.as_str()));
    set(&init, "headers", &headers);
    set(&init, "signal", &scope.signal());
    set(&init, "redirect", &JsValue::from_str("manual"));
    if host::has_cache_option() {
        // The daemon sends Last-Modified without Cache-Control, so a browser would otherwise serve old file contents.
        set(&init, "cache", &JsValue::from_str("no-store"));
    }
    set_body(&init, request, payload);
    init
}

fn set_body(init: &Object, request: &Request, payload: &Payload) {
    match (payload, &request.body) {
        (Payload::Value(value), _) => set(init, "body", value),
        (Payload::Stream(stream), _) => {
            set(init, "body", stream);
            set(init, "duplex", &JsValue::from_str("half"));
        }
        (Payload::Request, Some(bytes)) => set(init, "body", &Uint8Array::from(bytes.as_slice())),
        (Payload::Request, None) => {}
        (Payload::Reported(payload, _), _) => set_body(init, request, payload),
    }
}

fn set(object: &Object, key: &str, value: &JsValue) {
    // Setting a property of a fresh plain object cannot fail.
    let _ = Reflect::set(object, &JsValue::from_str(key), value);
}

fn global_fetch() -> Result<Function, Failure> {
    let function = Reflect::get(&js_sys::global(), &"fetch".into()).ok().and_then(|f| f.dyn_into::<Function>().ok());
    function.ok_or_else(|| {
        let message = "This runtime has no fetch. Pass one as the option fetch";
        Error::new(Kind::Unsupported, code::UNSUPPORTED, message).into()
    })
}

/// Scheme, host and port: what may be named in an error, since paths and queries can hold secrets.
pub(crate) fn origin(url: &str) -> &str {
    let start = split_scheme(url).map_or(0, |(_, rest)| url.len() - rest.len());
    let end = url[start..].find(['/', '?', '#']).map_or(url.len(), |index| start + index);
    &url[..end]
}

fn unreachable_host(origin: &str, cause: JsValue) -> Failure {
    let message = format!(
        "The request to {origin} failed before an answer could be read. Likely causes: the server is not running or not \
         reachable, the address is wrong, the page may not call it (CORS, mixed content, Content-Security-Policy), or the \
         connection was cut. The cause has what the runtime said"
    );
    Failure::with_cause(Error::new(Kind::Connection, code::CONNECTION_FAILED, message).retryable(), cause)
}

fn redirected(origin: &str, status: u16) -> Error {
    let message =
        format!("{origin} answered with a redirect, which is never followed. Check apiUrl, domain and sandboxUrl");
    let error = Error::protocol(message);
    if status == 0 { error } else { error.with_status(status) }
}
