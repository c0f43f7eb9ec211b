//! The sandbox of clients in debug mode: they take it for granted, so it is created when the first of them needs it.

use std::sync::Arc;

use serde_json::json;

use super::Api;
use super::error::ApiError;
use super::sandboxes::LONGEST;
use crate::sandbox::registry::Sandbox;

/// Whatever such a client wants to do can be done in this one.
const TEMPLATE: &str = "code-interpreter-v1";

impl Api {
    /// The newest sandbox that runs, or else a new one that asks for no token.
    pub(crate) async fn debug_sandbox(&self) -> Result<Arc<Sandbox>, ApiError> {
        let _alone = self.debug.lock().await;
        let running = self.registry.all().into_iter().filter(|sandbox| !sandbox.state().looks_paused());
        match running.max_by_key(|sandbox| sandbox.started_at) {
            Some(sandbox) => Ok(sandbox),
            None => {
                let request = json!({ "templateID": TEMPLATE, "timeout": LONGEST });
                self.create(serde_json::from_value(request).map_err(ApiError::validation)?).await
            }
        }
    }
}
