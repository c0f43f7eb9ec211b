//! What the broker of `agent-sandbox-web/edge` needs of the core: its tokens, and where the ports of a sandbox are.
//!
//! Not part of the public API: nothing here reaches the type declarations. It stands on `Sandbox` because that is what an
//! entry on top of the main one can see.

use js_sys::Array;
use wasm_bindgen::prelude::*;

use super::sandbox::Sandbox;
use crate::protocol::broker_token::{self, Claims, Expected};
use crate::protocol::secret::Secret;
use crate::transport::Failure;

#[wasm_bindgen]
impl Sandbox {
    /// A token of the broker `audience`. Times are in milliseconds since the epoch.
    #[wasm_bindgen(js_name = _issueToken, skip_typescript)]
    pub fn issue_token(
        secret: String,
        audience: String,
        sandbox_id: String,
        visitor: String,
        scopes: String,
        issued_at: f64,
        expires_at: f64,
    ) -> Result<String, JsValue> {
        let (issued_at, expires_at) = (issued_at as u64, expires_at as u64);
        let claims = Claims { audience, sandbox_id, visitor, scopes, issued_at, expires_at };
        broker_token::issue(&Secret::new(secret), &claims).map_err(|error| Failure::from(error).into_js())
    }

    /// `[sandbox id, visitor, scopes, expiry]` of a token that one of `secrets` has signed.
    #[wasm_bindgen(js_name = _readToken, skip_typescript)]
    pub fn read_token(
        secrets: Vec<String>,
        token: &str,
        audience: &str,
        now: f64,
        skew: f64,
    ) -> Result<Array, JsValue> {
        let secrets: Vec<_> = secrets.into_iter().map(Secret::new).collect();
        let expected = Expected { audience, now: now as u64, skew: skew as u64 };
        let claims = broker_token::verify(&secrets, token, expected).map_err(|error| Failure::from(error).into_js())?;
        let Claims { sandbox_id, visitor, scopes, expires_at, .. } = claims;
        let texts = [sandbox_id, visitor, scopes].map(JsValue::from);
        Ok(texts.into_iter().chain([JsValue::from(expires_at as f64)]).collect())
    }

    #[wasm_bindgen(js_name = _visitorKey, skip_typescript)]
    pub fn visitor_key(visitor: &str) -> String {
        broker_token::visitor_key(visitor)
    }

    /// `[base URL, sandbox id]` of a port, as requests from here reach it; the id only when they must name it in the routing
    /// headers.
    #[wasm_bindgen(js_name = _port, skip_typescript)]
    pub fn port(&self, port: u16) -> Array {
        let (url, routing) = self.state.address.port(port);
        [Some(url), routing.map(|routing| routing.sandbox_id)].into_iter().map(JsValue::from).collect()
    }
}
