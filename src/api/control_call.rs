//! The way of `js/control.js` to the control plane: requests about sandboxes, and sandboxes out of their answers. Which request a
//! call becomes is said there.
//!
//! Not part of the public API: nothing here reaches the type declarations.

use std::rc::Rc;

use js_sys::{Array, JSON, Promise, Reflect};
use wasm_bindgen::prelude::*;

use super::connection::{Client, ConnectionOpts};
use super::control;
use super::options::Options;
use super::renewal::Tokens;
use super::sandbox::{Sandbox, into_js};
use super::state::{State, begin};
use crate::error::Error;
use crate::protocol::control::{SandboxRecord, Subject};
use crate::protocol::http::{Head, Method, Request};
use crate::protocol::secret::Secret;
use crate::protocol::version::{Feature, Version};
use crate::transport::{Failure, Payload, task};

/// The options of one call, and the requests that it consists of. Each request has the request clock and the caller's signal.
#[wasm_bindgen(skip_typescript)]
pub struct ControlCall {
    shared: Rc<(Client, ConnectionOpts)>,
}

#[wasm_bindgen]
impl ControlCall {
    /// Of a static method: everything comes from the arguments. Throws an `InvalidArgumentError` for a wrong option; options
    /// that are not a connection's are not looked at. `owner` names the method in errors.
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new(opts: JsValue, owner: &str) -> Result<ControlCall, JsValue> {
        ControlCall::read(opts, owner, Client::new)
    }

    /// Whether no control plane is asked at all.
    #[wasm_bindgen(getter, js_name = isDebug, skip_typescript)]
    pub fn is_debug(&self) -> bool {
        self.shared.0.config.debug
    }

    /// Sends a request. `path` is percent-encoded, with its query; `body` is JSON.
    ///
    /// Resolves to `[status, content, next token]`. `content` is what the answer holds when `shape` asks for it: `"json"`,
    /// `"list"`, or the name of a text that the object must have; `""` does not look at the body. An answer of the status
    /// `expected` is no failure, and has no content. Any other status of 300 or more rejects with the error that belongs to it;
    /// `subject` says what a 404 means.
    #[wasm_bindgen(js_name = _request, skip_typescript)]
    pub fn request(
        &self,
        method: String,
        path: String,
        body: Option<String>,
        subject: String,
        shape: String,
        expected: Option<u16>,
    ) -> Promise {
        let shared = self.shared.clone();
        task::promise(async move {
            let (client, connection) = &*shared;
            let call = begin(client, connection)?;
            let method = Method::parse(&method).ok_or_else(|| Error::invalid_argument("This method is not in use"))?;
            let mut request = Request::new(method, format!("{}{path}", client.config.api_url));
            request.body = body.map(String::into_bytes);
            let request = client.config.control_plane().authorize(request)?;
            let response = control::open(client, &call, request, &Payload::Request).await?;
            let (head, body) = (response.head, response.body.read_all(&call.scope).await?);
            let status = JsValue::from(head.status);
            if Some(head.status) == expected {
                return Ok(Array::of1(&status).into());
            }
            Subject::named(&subject).check(&head, &body)?;
            let content = content(&head, &body, &shape)?;
            let next_token = head.headers.get("x-next-token").filter(|token| !token.is_empty());
            Ok(Array::of3(&status, &content, &next_token.map_or(JsValue::UNDEFINED, JsValue::from_str)).into())
        })
    }

    /// The sandbox that an answer of the server describes. A new one is refused when its daemon is too old.
    #[wasm_bindgen(js_name = _sandbox, skip_typescript)]
    pub fn sandbox(&self, record: &JsValue, is_new: bool) -> Result<JsValue, JsValue> {
        let sandbox = || -> Result<JsValue, Error> {
            let record = read_record(record)?;
            if is_new {
                Version::parse(&record.envd_version).require(Feature::Supported)?;
            }
            Ok(into_js(State::new(self.shared.0.with(ConnectionOpts::default())?, record, None)?))
        };
        sandbox().map_err(|error| Failure::from(error).into_js())
    }
}

impl ControlCall {
    fn read(
        opts: JsValue,
        owner: &str,
        client: impl FnOnce(ConnectionOpts) -> Result<Client, Error>,
    ) -> Result<ControlCall, JsValue> {
        let connection = Options::new(opts, owner).and_then(|options| ConnectionOpts::read(&options));
        let call = connection.and_then(|connection| Ok((client(connection.clone())?, connection)));
        call.map(|shared| ControlCall { shared: Rc::new(shared) }).map_err(|error| Failure::from(error).into_js())
    }
}

#[wasm_bindgen]
impl Sandbox {
    /// A call about this sandbox: the options are those of the sandbox, with the call's own on top.
    #[wasm_bindgen(js_name = _call, skip_typescript)]
    pub fn call(&self, opts: JsValue, owner: &str) -> Result<ControlCall, JsValue> {
        ControlCall::read(opts, owner, |connection| self.state.client.with(connection))
    }

    /// Uses the tokens of the server's answer to a connect from now on.
    #[wasm_bindgen(js_name = _renew, skip_typescript)]
    pub fn renew(&self, record: &JsValue) -> Result<(), JsValue> {
        let record = read_record(record).map_err(|error| Failure::from(error).into_js())?;
        self.state.envd.set_tokens(Tokens::of(record));
        Ok(())
    }

    /// Throws when the sandbox is too old to be measured.
    #[wasm_bindgen(js_name = _requireMetrics, skip_typescript)]
    pub fn require_metrics(&self) -> Result<(), JsValue> {
        self.state.envd.version.require(Feature::Metrics).map_err(|error| Failure::from(error).into_js())
    }
}

fn content(head: &Head, body: &[u8], shape: &str) -> Result<JsValue, Error> {
    if shape.is_empty() {
        return Ok(JsValue::UNDEFINED);
    }
    let content = JSON::parse(&String::from_utf8_lossy(body)).ok();
    let fits = |content: &JsValue| match shape {
        "json" => true,
        "list" => Array::is_array(content),
        name => text(content, name).is_some(),
    };
    content.filter(fits).ok_or_else(|| head.unexpected(body))
}

/// A member that is a string and not empty.
fn text(object: &JsValue, name: &str) -> Option<String> {
    Reflect::get(object, &name.into()).ok()?.as_string().filter(|text| !text.is_empty())
}

fn read_record(record: &JsValue) -> Result<SandboxRecord, Error> {
    let text = |name| text(record, name);
    let sandbox_id =
        text("sandboxID").ok_or_else(|| Error::protocol("The server described a sandbox without an id."))?;
    Ok(SandboxRecord {
        sandbox_id,
        envd_version: text("envdVersion").unwrap_or_default(),
        envd_access_token: text("envdAccessToken").map(Secret::new),
        traffic_access_token: text("trafficAccessToken").map(Secret::new),
        domain: text("domain"),
    })
}
