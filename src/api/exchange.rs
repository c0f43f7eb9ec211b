//! Requests of the parts of the package that are written in JavaScript: what they are about is said there, how they are sent
//! here, with everything that calls have in common: credentials, the clock, the signal, the hooks, repetitions and errors.
//!
//! Not part of the public API: nothing here reaches the type declarations.

use js_sys::{Array, Promise, Uint8Array};
use wasm_bindgen::prelude::*;

use super::connection::{Client, ConnectionOpts};
use super::control;
use super::download;
use super::options::Options;
use super::state::begin;
use super::upload::Data;
use crate::error::{Error, Kind, code};
use crate::protocol::control::{read_other, read_uploaded};
use crate::protocol::http::{Head, Method, Request};
use crate::protocol::volume;
use crate::transport::{Failure, Payload, host, task};

/// What a request is about, which decides about its address, its credentials, and what refusals mean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Anything of the account.
    Account,
    /// The same, but every answer is one, whatever its status.
    Raw,
    /// A volume, or all of them.
    Volume,
    /// What is in a volume: a call of the content API, with a token of its own.
    Content,
    /// A file store: the route is an address that a server named for it, which is asked without any credentials.
    Store,
}

/// Sends one request and resolves to `[body, status, headers]`, with the body as `parts.format` says: `"text"` (also when it is
/// absent), `"bytes"`, `"blob"` or `"stream"`. Rejects with the error that belongs to a status other than 2xx.
///
/// `route` is path and query, percent-encoded. `parts` are all optional: `body` is whatever can be written to a file, of the
/// media type `type`; `token`, `url` and `domain` are those of a volume's content; with `anonymous` a request needs no key.
/// `opts` are the caller's [`ConnectionOpts`], and `streamIdleTimeoutMs`; what else they have is not looked at.
#[wasm_bindgen(js_name = _exchange, skip_typescript)]
pub fn exchange(method: String, route: String, subject: String, parts: JsValue, opts: JsValue) -> Promise {
    task::promise(async move {
        let subject = match subject.as_str() {
            "raw" => Subject::Raw,
            "volume" => Subject::Volume,
            "content" => Subject::Content,
            "store" => Subject::Store,
            _ => Subject::Account,
        };
        let options = Options::new(opts, "the call")?;
        let connection = ConnectionOpts::read(&options)?;
        let client = Client::new(connection.clone())?;
        let parts = Options::new(parts, "the request")?;
        let mut request = request(&client, &method, route, subject, &parts)?;
        if let Some(media_type) = parts.string("type")? {
            request.headers.set("content-type", media_type);
        }

        let call = begin(&client, &connection)?;
        let payload = match parts.get("body") {
            // A signature covers the body, which must be here for it.
            Some(body) if request.authorizes_late && body.is_string() => {
                request.body = body.as_string().map(String::into_bytes);
                Payload::Request
            }
            Some(body) => Data::new(body, "volume.writeFile")?.payload(&call.scope).await?,
            None => Payload::Request,
        };
        let answer = control::open(&client, &call, request, &payload).await?;
        let head = answer.head;
        let is_answer = head.is_success() || subject == Subject::Raw;
        let format = parts.string("format")?.unwrap_or_else(|| "text".to_owned());
        let body = if is_answer && format == "stream" {
            let idle_ms = options.whole("streamIdleTimeoutMs", 0)?;
            let idle_ms = idle_ms.or(client.config.request_timeout_ms).unwrap_or(0);
            download::stream_of(answer.body, call.scope.clone(), idle_ms)
        } else {
            let chunks = answer.body.chunks(&call.scope).await?;
            if !is_answer {
                let body: Uint8Array = host::merge(&chunks, "bytes", "").unchecked_into();
                return Err(refusal(&head, &body.to_vec(), subject).into());
            }
            host::merge(&chunks, &format, head.headers.get("content-type").unwrap_or_default())
        };
        let pairs = head.headers.iter().map(|(name, value)| Array::of2(&name.into(), &value.into()));
        Ok(Array::of3(&body, &head.status.into(), &pairs.collect::<Array>()).into())
    })
}

fn request(
    client: &Client,
    method: &str,
    route: String,
    subject: Subject,
    parts: &Options,
) -> Result<Request, Failure> {
    let method = Method::parse(method).ok_or_else(|| Error::invalid_argument("This method is not in use"))?;
    let config = &client.config;
    let bearer = match subject {
        Subject::Store => return Ok(Request::new(method, route)),
        Subject::Content => {
            let Some(token) = parts.string("token")?.filter(|token| !token.is_empty()) else {
                let message = "The volume has no token. Connect to it with Volume.connect, or pass the option token";
                return Err(Error::new(Kind::Authentication, code::UNAUTHENTICATED, message).into());
            };
            Some(token)
        }
        _ if config.api_key.is_none() && parts.boolean("anonymous")? == Some(true) => None,
        _ => {
            let request = Request::new(method, format!("{}{route}", config.api_url));
            return Ok(config.control_plane().authorize(request)?);
        }
    };
    let base = match bearer {
        Some(_) => config.volume_content(parts.string("url")?, parts.string("domain")?)?,
        None => config.api_url.clone(),
    };
    let mut request = Request::new(method, base + &route);
    for (name, value) in &config.headers {
        request.headers.set(name.to_ascii_lowercase(), value.as_str());
    }
    if let Some(token) = bearer {
        request.headers.set("authorization", format!("Bearer {token}"));
    }
    Ok(request)
}

/// What an answer means that is not a success.
fn refusal(head: &Head, body: &[u8], subject: Subject) -> Error {
    let read = match subject {
        Subject::Volume => return volume::failure(head, body, volume::Subject::Volume),
        Subject::Content => return volume::failure(head, body, volume::Subject::Path),
        Subject::Store => read_uploaded(head, body),
        Subject::Account | Subject::Raw => read_other(head, body),
    };
    read.err().unwrap_or_else(|| head.unexpected(body))
}
