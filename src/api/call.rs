//! What every call has: the caller's signal and the request clock.

use js_sys::Date;
use tsify::Tsify;
use wasm_bindgen::JsValue;
use web_sys::AbortSignal;

use super::options::Options;
use crate::error::Error;
use crate::transport::timer::Timer;
use crate::transport::{Clock, Failure, Scope};

/// Options that every call takes.
#[derive(Tsify, Clone, Default)]
#[serde(rename_all = "camelCase")]
pub struct RequestOpts {
    /// Limits a whole call, or the set-up of a stream, in milliseconds. Default 60 000; 0 means no limit.
    #[tsify(optional, type = "number")]
    pub request_timeout_ms: Option<u64>,
    /// Ends the call early: it then rejects with `signal.reason`.
    #[tsify(optional, type = "AbortSignal")]
    pub signal: Option<AbortSignal>,
}

impl RequestOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        Ok(RequestOpts { request_timeout_ms: options.whole("requestTimeoutMs", 0)?, signal: options.signal()? })
    }
}

/// One call under way. Dropping it stops its clock.
pub(super) struct Call {
    pub(super) scope: Scope,
    _clock: Option<Timer>,
    /// When the clock fires, in milliseconds since the epoch.
    ends_at: f64,
}

impl Call {
    /// Starts the request clock, with `default_ms` where the caller set none (None: no limit).
    pub(super) fn begin(options: &RequestOpts, default_ms: Option<u64>) -> Result<Call, Failure> {
        let scope = Scope::of(options.signal.as_ref())?;
        let limit_ms = options.request_timeout_ms.or(default_ms).unwrap_or(0);
        let clock = scope.arm(Clock::Request(limit_ms));
        let ends_at = if limit_ms > 0 { Date::now() + limit_ms as f64 } else { f64::INFINITY };
        Ok(Call { scope, _clock: clock, ends_at })
    }

    /// Whether the clock will not have fired after so many milliseconds.
    pub(super) fn has_time_for(&self, ms: f64) -> bool {
        Date::now() + ms < self.ends_at
    }

    /// A call whose options hold nothing else. `owner` names it in errors.
    pub(super) fn start(options: JsValue, owner: &'static str, default_ms: Option<u64>) -> Result<Call, Failure> {
        Call::begin(&RequestOpts::read(&Options::new(options, owner)?)?, default_ms)
    }

    /// A call that the caller cannot abort, for clean-up and probes.
    pub(super) fn unattended(limit_ms: u64) -> Result<Call, Failure> {
        Call::begin(&RequestOpts { request_timeout_ms: Some(limit_ms), signal: None }, None)
    }
}
