//! What the modules in `js/` are built on and nobody else calls: signatures, resolved settings, addresses.

use serde::Serialize;
use wasm_bindgen::prelude::*;

use super::connection::ConnectionOpts;
use super::options::Options;
use super::sandbox::Sandbox;
use super::types::{self, StringRecord};
use crate::error::Error;
use crate::protocol::secret::Secret;
use crate::protocol::signature::{self, Operation};
use crate::transport::Failure;

#[wasm_bindgen]
impl Sandbox {
    /// The URL of the MCP gateway.
    #[wasm_bindgen(js_name = getMcpUrl)]
    pub fn mcp_url(&self) -> String {
        self.state.address.mcp_url()
    }
}

/// The signature of a file URL. `expiration` is in Unix seconds.
#[wasm_bindgen(js_name = _sign, skip_typescript)]
pub fn sign(path: &str, writes: bool, user: Option<String>, token: String, expiration: Option<f64>) -> String {
    let operation = if writes { Operation::Write } else { Operation::Read };
    let expiration = expiration.map(|seconds| seconds as i64);
    signature::sign(path, operation, user.as_deref(), &Secret::new(token), expiration)
}

/// What connection options and the environment come to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Settings {
    debug: bool,
    domain: String,
    api_url: String,
    sandbox_url: Option<String>,
    request_timeout_ms: u64,
    validate_api_key: bool,
    api_key: Option<String>,
    headers: StringRecord,
}

#[wasm_bindgen(js_name = _settings, skip_typescript)]
pub fn settings(opts: JsValue) -> Result<JsValue, JsValue> {
    let settings = || -> Result<Settings, Error> {
        let config = ConnectionOpts::read(&Options::new(opts, "ConnectionConfig")?)?.resolve()?;
        Ok(Settings {
            debug: config.debug,
            domain: config.domain,
            api_url: config.api_url,
            sandbox_url: config.sandbox_url,
            request_timeout_ms: config.request_timeout_ms.unwrap_or(0),
            validate_api_key: config.validate_api_key,
            api_key: config.api_key.map(|key| key.expose().to_owned()),
            headers: StringRecord(config.headers),
        })
    };
    settings().map(|settings| types::to_js(&settings)).map_err(|error| Failure::from(error).into_js())
}
