//! `POST /init` and `GET /envs`: the daemon's settings. From outside, the proxy lets nobody near `/init`.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Deserialize;
use subtle::ConstantTimeEq;
use time::OffsetDateTime;

use super::state::{Envd, Settings};

/// The settings that matter outside of a virtual machine. Clock, trust store, hosts file and mounts are the host's.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct InitRequest {
    env_vars: Option<BTreeMap<String, String>>,
    access_token: Option<String>,
    #[serde(with = "time::serde::rfc3339::option")]
    timestamp: Option<OffsetDateTime>,
    default_user: Option<String>,
    default_workdir: Option<String>,
}

pub(super) async fn envs(State(envd): State<Arc<Envd>>) -> Response {
    let environment: BTreeMap<_, _> = {
        let settings = envd.settings();
        settings.environment().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let body = serde_json::json!(environment);
    ([(header::CACHE_CONTROL, "no-store"), (header::CONTENT_TYPE, "application/json")], format!("{body}\n"))
        .into_response()
}

pub(super) async fn init(State(envd): State<Arc<Envd>>, body: Bytes) -> Response {
    let mut response = apply(&envd, &body).unwrap_or_else(IntoResponse::into_response);
    if let Ok(version) = HeaderValue::from_str(&envd.version) {
        response.headers_mut().insert(HeaderName::from_static("x-envd-version"), version);
    }
    response
}

/// Why settings were not taken.
enum Refusal {
    /// Answered without a word.
    Malformed,
    Unauthorized(&'static str),
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        match self {
            Refusal::Malformed => StatusCode::BAD_REQUEST.into_response(),
            Refusal::Unauthorized(text) => {
                let kind = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
                (StatusCode::UNAUTHORIZED, kind, text).into_response()
            }
        }
    }
}

fn apply(envd: &Envd, body: &[u8]) -> Result<Response, Refusal> {
    let request = match body {
        [] => InitRequest::default(),
        body => serde_json::from_slice::<InitRequest>(body).map_err(|_| Refusal::Malformed)?,
    };
    if request.access_token.as_ref().is_some_and(|token| token.is_empty() || token.contains('\\')) {
        return Err(Refusal::Malformed);
    }
    let mut settings = envd.settings_mut();
    authorize(&settings, request.access_token.as_deref())?;
    let stale = matches!((request.timestamp, settings.applied), (Some(time), Some(applied)) if time <= applied);
    if !stale {
        settings.applied = request.timestamp.or(settings.applied);
        if request.access_token.is_some() {
            settings.access_token = request.access_token;
        }
        if let Some(variables) = request.env_vars {
            settings.env_vars = variables;
        }
        if let Some(user) = request.default_user.filter(|user| !user.is_empty()) {
            settings.default_user = user;
        }
        if let Some(workdir) = request.default_workdir.filter(|workdir| !workdir.is_empty()) {
            settings.default_workdir = Some(workdir);
        }
    }
    Ok((StatusCode::NO_CONTENT, [(header::CACHE_CONTROL, "no-store")]).into_response())
}

/// The installed token may be repeated; it can be neither replaced nor removed.
fn authorize(settings: &Settings, given: Option<&str>) -> Result<(), Refusal> {
    match (&settings.access_token, given) {
        (None, _) => Ok(()),
        (Some(installed), Some(given)) if installed.as_bytes().ct_eq(given.as_bytes()).into() => Ok(()),
        (Some(_), Some(_)) => Err(Refusal::Unauthorized("access token validation failed")),
        (Some(_), None) => Err(Refusal::Unauthorized("access token reset not authorized")),
    }
}
