//! Keeps the access of an attached sandbox fresh: asks the page's own back end for a new token when the old one is about to
//! end or was refused.

use std::cell::{Cell, RefCell};

use js_sys::{Date, Function, Promise};
use tsify::Tsify;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::options::Options;
use crate::error::Error;
use crate::protocol::control::SandboxRecord;
use crate::protocol::secret::Secret;
use crate::transport::{Failure, Scope, Slot};

/// Access to one sandbox without an API key: what a back end hands to a page. Whoever holds it can do anything inside of the
/// sandbox, and nothing outside of it.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SandboxToken {
    pub sandbox_id: String,
    /// The domain below which the sandbox's ports are served. Default: that of the client.
    #[tsify(optional, type = "string")]
    pub domain: Option<String>,
    /// One base URL in place of a host name per port.
    #[tsify(optional, type = "string")]
    pub url: Option<String>,
    /// Default: the newest.
    #[tsify(optional, type = "string")]
    pub envd_version: Option<String>,
    #[tsify(optional, type = "string")]
    pub envd_access_token: Option<String>,
    #[tsify(optional, type = "string")]
    pub traffic_access_token: Option<String>,
    /// When the access ends, as ISO 8601 text. Default: never.
    #[tsify(optional, type = "string | Date")]
    pub expires_at: Option<String>,
}

/// A token that was read.
pub(super) struct Access {
    pub(super) record: SandboxRecord,
    pub(super) url: Option<String>,
    /// Milliseconds since the epoch.
    pub(super) expires_at: Option<f64>,
}

/// Reads a [`SandboxToken`].
pub(super) fn read_token(token: JsValue, owner: &'static str) -> Result<Access, Error> {
    let token = Options::new(token, owner)?;
    let sandbox_id = token.string("sandboxId")?.filter(|id| !id.is_empty());
    let sandbox_id =
        sandbox_id.ok_or_else(|| Error::invalid_argument(format!("The token of {owner} has no sandboxId")))?;
    let expires_at = match token.get("expiresAt") {
        None => None,
        Some(value) => {
            let time = Date::new(&value).get_time();
            if time.is_nan() {
                return Err(Error::invalid_argument(format!("expiresAt in the token of {owner} is not a time")));
            }
            Some(time)
        }
    };
    let record = SandboxRecord {
        sandbox_id,
        envd_version: token.string("envdVersion")?.unwrap_or_default(),
        envd_access_token: token.string("envdAccessToken")?.map(Secret::new),
        traffic_access_token: token.string("trafficAccessToken")?.map(Secret::new),
        domain: token.string("domain")?,
    };
    Ok(Access { record, url: token.string("url")?, expires_at })
}

/// How long before its end a token is renewed, in milliseconds.
const EARLY_MS: f64 = 30_000.0;

/// The credentials of one sandbox.
#[derive(Clone)]
pub(super) struct Tokens {
    /// For envd.
    pub(super) access: Option<Secret>,
    /// For the other ports.
    pub(super) traffic: Option<Secret>,
}

impl Tokens {
    pub(super) fn of(record: SandboxRecord) -> Self {
        Tokens { access: record.envd_access_token, traffic: record.traffic_access_token }
    }
}

/// The outcome of one renewal, for everyone who waits for it.
type Outcome = Slot<Result<Tokens, Failure>>;

/// A callback that answers the next token.
pub(super) struct Renewal {
    callback: Function,
    /// Milliseconds since the epoch.
    expires_at: Cell<Option<f64>>,
    /// The renewal under way: calls that come meanwhile wait for the same.
    under_way: RefCell<Option<Outcome>>,
}

impl Renewal {
    pub(super) fn new(callback: Function, expires_at: Option<f64>) -> Self {
        Renewal { callback, expires_at: Cell::new(expires_at), under_way: RefCell::default() }
    }

    /// Whether the token is about to end.
    pub(super) fn is_due(&self) -> bool {
        self.expires_at.get().is_some_and(|end| Date::now() > end - EARLY_MS)
    }

    /// The next tokens. Calls at the same time share one renewal.
    pub(super) async fn next(&self, scope: &Scope, sandbox_id: &str) -> Result<Tokens, Failure> {
        let waiting = self.under_way.borrow().clone();
        if let Some(slot) = waiting {
            return scope.run(slot.wait()).await?;
        }
        let slot = Slot::new();
        *self.under_way.borrow_mut() = Some(slot.clone());
        let result = self.ask(scope, sandbox_id).await;
        self.under_way.take();
        slot.set(result.clone());
        result
    }

    async fn ask(&self, scope: &Scope, sandbox_id: &str) -> Result<Tokens, Failure> {
        let answer = self.callback.call0(&JsValue::UNDEFINED).map_err(Failure::Thrown)?;
        let token = scope.run(JsFuture::from(Promise::resolve(&answer))).await?.map_err(Failure::Thrown)?;
        let access = read_token(token, "refresh")?;
        if access.record.sandbox_id != sandbox_id {
            return Err(Error::invalid_argument("refresh answered a token of another sandbox").into());
        }
        self.expires_at.set(access.expires_at);
        Ok(Tokens::of(access.record))
    }
}
