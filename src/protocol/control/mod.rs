//! The control plane: how its requests are authorized, and what its answers mean. Which requests there are about sandboxes is
//! said in `js/control.js`.

mod answer;

pub(super) use answer::{Missing, worded};
pub use answer::{SandboxRecord, Subject, read_other, read_uploaded};

use super::http::Request;
use super::message::StringMap;
use super::secret::Secret;
use crate::error::{Error, Kind, code};

/// Where the control plane is and who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlPlane {
    /// Without a slash at the end.
    pub api_url: String,
    /// Sent as `X-API-KEY`. Without it every request is refused here, before it is sent.
    pub api_key: Option<Secret>,
    /// Sent as `Authorization: Bearer` beside the key; deprecated by the platform.
    pub access_token: Option<Secret>,
    /// Whether requests get credentials when they are sent, so that they need no key.
    pub authorizes_late: bool,
    /// The caller's own headers; they can replace all but `X-API-KEY` and the content type. In a page the hosted control plane's CORS rules
    /// admit only a fixed list.
    pub headers: StringMap,
}

/// Every request fails with `unauthenticated` when there is no API key.
impl ControlPlane {
    /// Adds the credentials and the caller's headers.
    pub fn authorize(&self, mut request: Request) -> Result<Request, Error> {
        if self.api_key.is_none() && !self.authorizes_late {
            return Err(Error::new(
                Kind::Authentication,
                code::UNAUTHENTICATED,
                "No API key is set. Pass the option apiKey, or set E2B_API_KEY where there is an environment. In a page, \
                 rather attach to a sandbox that your own server has created.",
            ));
        }
        request.authorizes_late = self.authorizes_late;
        if let Some(token) = &self.access_token {
            request.headers.set("authorization", format!("Bearer {}", token.expose()));
        }
        for (name, value) in &self.headers {
            request.headers.set(name.to_ascii_lowercase(), value.as_str());
        }
        if let Some(key) = &self.api_key {
            request.headers.set("x-api-key", key.expose());
        }
        if request.body.is_some() {
            request.headers.set("content-type", "application/json");
        }
        Ok(request)
    }
}
