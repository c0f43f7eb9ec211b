//! `Sandbox.attach` and `toToken`: access to one sandbox without an API key.

use js_sys::{Date, Function, Promise};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::connection::{Client, ConnectionOpts};
use super::options::Options;
use super::renewal::{Renewal, read_token};
use super::sandbox::{Sandbox, into_js};
use super::state::State;
use super::types;
use crate::protocol::url::{is_loopback, split_port};
use crate::transport::task;

/// Options of `Sandbox.attach`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SandboxAttachOpts {
    /// Called when the token is about to end or was refused: answers the next one, usually from the page's own back end.
    /// Calls that need it at the same time share one call.
    #[tsify(optional, type = "() => SandboxToken | Promise<SandboxToken>")]
    pub refresh: Option<Function>,
    #[serde(flatten)]
    pub connection: ConnectionOpts,
}

/// What `toToken` answers: a `SandboxToken`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    sandbox_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    envd_version: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    envd_access_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic_access_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
}

#[wasm_bindgen]
impl Sandbox {
    /// Of a token. `js/endpoint.d.ts` declares it, beside the form for a broker.
    #[wasm_bindgen(skip_typescript)]
    pub fn attach(token: JsValue, opts: JsValue) -> Promise {
        task::promise(async move {
            let access = read_token(token, "Sandbox.attach")?;
            let options = Options::new(opts, "Sandbox.attach")?;
            let mut connection = ConnectionOpts::read(&options)?;
            connection.sandbox_url = connection.sandbox_url.or(access.url);
            // A server on this machine has no TLS; elsewhere there is no other way.
            let local = access.record.domain.as_deref().filter(|domain| is_loopback(split_port(domain).0));
            if let Some(domain) = local
                && connection.api_url.is_none()
            {
                connection.api_url = Some(format!("http://{domain}"));
            }
            let refresh = options.function("refresh")?;
            let renewal = refresh.map(|callback| Renewal::new(callback, access.expires_at));
            Ok(into_js(State::new(Client::new(connection)?, access.record, renewal)?))
        })
    }

    /// The access that this object has, to be handed to somebody else: see `Sandbox.attach`. Holds no API key. Whoever has it
    /// can do anything inside of the sandbox until the sandbox ends.
    #[wasm_bindgen(js_name = toToken, unchecked_return_type = "SandboxToken")]
    pub fn to_token(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "{ expiresAt?: string | Date }")] opts: JsValue,
    ) -> Result<JsValue, JsValue> {
        let options =
            Options::new(opts, "toToken").map_err(|error| crate::transport::Failure::from(error).into_js())?;
        let state = &self.state;
        let url = state.client.config.sandbox_url.clone();
        let expose = |token: &crate::protocol::secret::Secret| token.expose().to_owned();
        Ok(types::to_js(&Token {
            sandbox_id: state.sandbox_id.clone(),
            domain: url.is_none().then(|| state.address.domain().to_owned()),
            url,
            envd_version: state.envd_version.clone(),
            envd_access_token: state.envd.endpoint().access_token.as_ref().map(expose),
            traffic_access_token: state.envd.traffic_token().as_ref().map(expose),
            expires_at: options.get("expiresAt").map(|time| String::from(Date::new(&time).to_iso_string())),
        }))
    }
}
