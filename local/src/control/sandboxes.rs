//! One sandbox: create, look at, keep alive, end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Api;
use super::body::JsonBody;
use super::catalog::Source;
use super::daemon;
use super::error::ApiError;
use super::lifecycle::conflict;
use super::network::Egress;
use super::volumes::{NewMount, invalid_mounts};
use crate::route::sandbox_id;
use crate::sandbox::lifecycle::State as Life;
use crate::sandbox::registry::{CreateError, NetworkSettings, Sandbox, Spec};
use crate::sandbox::volumes::Mount;

/// Deprecated, and the same for everybody.
const CLIENT_ID: &str = "6532622b";

pub(super) const MIB: u64 = 1024 * 1024;

pub(super) const DEFAULT_TIMEOUT: i64 = 15;

/// The same for the second version of the calls that create and connect.
pub(super) const DEFAULT_TIMEOUT_V2: i64 = 300;

/// The longest a sandbox may live, in hours and in seconds.
const LONGEST_HOURS: i64 = 24;
pub(super) const LONGEST: i64 = LONGEST_HOURS * 3600;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSandbox {
    #[serde(rename = "templateID")]
    template_id: String,
    timeout: Option<i64>,
    auto_pause: Option<bool>,
    auto_pause_memory: Option<bool>,
    auto_resume: Option<AutoResume>,
    secure: Option<bool>,
    #[serde(rename = "allow_internet_access")]
    allow_internet_access: Option<bool>,
    network: Option<Network>,
    metadata: Option<BTreeMap<String, String>>,
    env_vars: Option<BTreeMap<String, String>>,
    volume_mounts: Option<Vec<NewMount>>,
}

#[derive(Debug, Deserialize)]
struct AutoResume {
    enabled: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
struct Network(serde_json::Map<String, Value>);

impl NewSandbox {
    fn check(self, source: Source, mounts: Vec<Mount>) -> Result<Spec, ApiError> {
        let timeout = limited(self.timeout.unwrap_or(DEFAULT_TIMEOUT))?;
        if timeout <= 0 {
            return Err(ApiError::bad_request("Timeout must be greater than 0"));
        }
        let auto_pause = self.auto_pause.unwrap_or(false);
        let auto_resume = self.auto_resume.is_some_and(|resume| resume.enabled);
        if self.auto_pause_memory == Some(false) && !auto_pause {
            return Err(ApiError::bad_request("autoPauseMemory=false only applies when autoPause is true."));
        }
        if self.auto_pause_memory == Some(false) && auto_resume {
            return Err(ApiError::bad_request(
                "autoPauseMemory=false cannot be combined with autoResume: traffic only wakes sandboxes with memory.",
            ));
        }
        let secure = self.secure.unwrap_or(false);
        let mut network = self.network.map(|network| network.0).unwrap_or_default();
        let egress: Egress = serde_json::from_value(network.clone().into()).map_err(ApiError::validation)?;
        egress.check()?;
        network.append(&mut egress.shown());
        let restricted = network.get("allowPublicTraffic") == Some(&Value::Bool(false));
        if restricted && !secure {
            return Err(ApiError::bad_request(
                "You cannot create a sandbox without public access unless you enable secure envd access via 'secure' \
                 flag.",
            ));
        }
        let masked_host = network.get("maskRequestHost").and_then(Value::as_str).map(str::to_owned);
        if let Some(host) = &masked_host {
            check_host(host)?;
        }
        Ok(Spec {
            template_id: source.template_id,
            setup: source.setup,
            internal: false,
            alias: source.alias,
            timeout: seconds(timeout),
            secure,
            metadata: self.metadata,
            env_vars: self.env_vars.unwrap_or_default(),
            network: NetworkSettings {
                reach: egress.reach(self.allow_internet_access),
                allow_internet: self.allow_internet_access,
                network: (!network.is_empty()).then_some(Value::Object(network)),
            },
            restricted,
            masked_host,
            on_timeout_pause: auto_pause,
            pause_memory: self.auto_pause_memory.unwrap_or(true),
            auto_resume,
            snapshot: source.snapshot,
            mounts,
        })
    }
}

/// A name or address with an optional port, which may be `${PORT}`.
fn check_host(host: &str) -> Result<(), ApiError> {
    if !host.is_ascii() {
        let text = format!("mask request host '{host}' is not ASCII. Please use ASCII characters only.");
        return Err(ApiError::bad_request(text));
    }
    let plain = host.replace("${PORT}", "80");
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    if plain.is_empty() || !plain.bytes().all(letter) {
        return Err(ApiError::bad_request(format!("mask request host is not valid: {host}")));
    }
    Ok(())
}

/// Refuses times to live that no sandbox may have.
pub(super) fn limited(timeout: i64) -> Result<i64, ApiError> {
    if timeout > LONGEST {
        return Err(ApiError::bad_request(format!("Timeout cannot be greater than {LONGEST_HOURS} hours")));
    }
    Ok(timeout)
}

pub(super) fn seconds(timeout: i64) -> Duration {
    Duration::from_secs(u64::try_from(timeout).unwrap_or(0))
}

/// A time as RFC 3339 in UTC.
pub(super) fn timestamp(time: OffsetDateTime) -> String {
    time.format(&Rfc3339).unwrap_or_default()
}

pub(super) async fn create(
    State(api): State<Arc<Api>>,
    JsonBody(request): JsonBody<NewSandbox>,
) -> Result<Response, ApiError> {
    let sandbox = api.create(request).await?;
    Ok((StatusCode::CREATED, Json(api.brief(&sandbox))).into_response())
}

/// The same with other defaults: such a sandbox is secured, and lives longer.
pub(super) async fn create_v2(
    state: State<Arc<Api>>,
    JsonBody(mut request): JsonBody<NewSandbox>,
) -> Result<Response, ApiError> {
    request.secure.get_or_insert(true);
    request.timeout.get_or_insert(DEFAULT_TIMEOUT_V2);
    create(state, JsonBody(request)).await
}

impl Api {
    pub(super) async fn create(&self, mut request: NewSandbox) -> Result<Arc<Sandbox>, ApiError> {
        let source = self.catalog.source(&request.template_id)?;
        let mounts = self.mounts(request.volume_mounts.take())?;
        self.start(request.check(source, mounts)?).await
    }

    /// Starts a sandbox and what its template starts.
    pub(super) async fn start(&self, mut spec: Spec) -> Result<Arc<Sandbox>, ApiError> {
        let failed = |error: anyhow::Error| {
            tracing::error!("creating a sandbox failed: {error:#}");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("Failed to create sandbox: {error:#}"))
                .with_code("sandbox_create_failed")
        };
        let setup = Arc::clone(&spec.setup);
        for (name, value) in &setup.envs {
            spec.env_vars.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let with_files = spec.snapshot.is_none();
        let sandbox = self.registry.create(spec).await.map_err(|error| match error {
            CreateError::TooMany { .. } => ApiError::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()),
            CreateError::NoVolume { name } => invalid_mounts(&[format!("volume '{name}' not found")]),
            CreateError::Failed(error) => failed(error),
        })?;
        if let Err(error) = daemon::set_up(&sandbox, &setup, with_files).await {
            self.registry.kill(&sandbox.id).await;
            let template = sandbox.spec.alias.as_ref().unwrap_or(&sandbox.spec.template_id);
            return Err(failed(error.context(format!("in template '{template}'"))));
        }
        Ok(sandbox)
    }

    /// What create and connect answer.
    pub(super) fn brief(&self, sandbox: &Sandbox) -> Value {
        let mut body = json!({
            "templateID": sandbox.spec.template_id,
            "sandboxID": sandbox.id,
            "clientID": CLIENT_ID,
            "envdVersion": self.registry.envd_version(),
            "domain": self.domain,
            "trafficAccessToken": sandbox.traffic_token(),
        });
        if let Some(alias) = &sandbox.spec.alias {
            body["alias"] = alias.clone().into();
        }
        if let Some(token) = &sandbox.envd_token {
            body["envdAccessToken"] = token.clone().into();
        }
        body
    }

    /// What lists contain.
    pub(super) fn listed(&self, sandbox: &Sandbox) -> Value {
        let paused = sandbox.state().looks_paused();
        let mut body = json!({
            "templateID": sandbox.spec.template_id,
            "sandboxID": sandbox.id,
            "clientID": CLIENT_ID,
            "startedAt": timestamp(sandbox.started_at),
            "endAt": timestamp(sandbox.end_at()),
            "cpuCount": std::thread::available_parallelism().map_or(1, usize::from),
            "memoryMB": self.registry.limits().memory / MIB,
            "diskSizeMB": self.registry.limits().files / MIB,
            "state": if paused { "paused" } else { "running" },
            "envdVersion": self.registry.envd_version(),
        });
        if let Some(alias) = &sandbox.spec.alias {
            body["alias"] = alias.clone().into();
        }
        if let Some(metadata) = &sandbox.spec.metadata {
            body["metadata"] = json!(metadata);
        }
        let mounts = &sandbox.spec.mounts;
        if !paused && !mounts.is_empty() {
            let shown = |mount: &Mount| json!({ "name": mount.volume.name, "path": mount.path });
            body["volumeMounts"] = mounts.iter().map(shown).collect();
        }
        body
    }

    fn detail(&self, sandbox: &Sandbox) -> Value {
        let mut body = self.listed(sandbox);
        if sandbox.state().looks_paused() {
            // There is nothing at its addresses.
            body["domain"] = Value::Null;
            body["alias"] = sandbox.spec.alias.clone().unwrap_or_default().into();
        } else {
            body["domain"] = self.domain.clone().into();
        }
        let settings = sandbox.network();
        body["allowInternetAccess"] = json!(settings.allow_internet);
        body["lifecycle"] = json!({
            "autoResume": sandbox.spec.auto_resume,
            "onTimeout": if sandbox.spec.on_timeout_pause { "pause" } else { "kill" },
        });
        if let Some(network) = settings.network {
            body["network"] = network;
        }
        if let Some(token) = &sandbox.envd_token {
            body["envdAccessToken"] = token.clone().into();
        }
        body
    }

    pub(super) fn find(&self, id: &str) -> Result<Arc<Sandbox>, ApiError> {
        let id = checked_id(id)?;
        self.registry.get(id).filter(|sandbox| !sandbox.spec.internal).ok_or_else(|| ApiError::no_sandbox(id))
    }

    /// A sandbox that is not paused: to calls that need a running one, a paused one does not exist.
    pub(super) fn find_running(&self, id: &str) -> Result<Arc<Sandbox>, ApiError> {
        let sandbox = self.find(id)?;
        match sandbox.state() {
            Life::Paused { .. } => Err(ApiError::no_sandbox(&sandbox.id)),
            _ => Ok(sandbox),
        }
    }
}

pub(super) fn checked_id(id: &str) -> Result<&str, ApiError> {
    sandbox_id(id).ok_or_else(|| ApiError::bad_request("Invalid sandbox ID"))
}

pub(super) async fn info(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    Ok(Json(api.detail(&*api.find(&id)?)))
}

pub(super) async fn kill(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    let id = checked_id(&id)?;
    match api.registry.kill(id).await {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(ApiError::no_sandbox(id)),
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Timeout {
    timeout: i64,
}

/// Refuses a time to live before now.
pub(super) fn not_negative(timeout: i64) -> Result<i64, ApiError> {
    if timeout < 0 {
        return Err(ApiError::validation("timeout must be at least 0"));
    }
    Ok(timeout)
}

pub(super) async fn timeout(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Timeout>,
) -> Result<StatusCode, ApiError> {
    let timeout = not_negative(body.timeout)?;
    let sandbox = api.find_running(&id)?;
    if sandbox.state().looks_paused() {
        let state = sandbox.state().name();
        return Err(conflict(format!("Sandbox '{}' cannot change its timeout while in '{state}' state", sandbox.id)));
    }
    // Longer than the longest life is silently capped.
    sandbox.expire_in(seconds(timeout.min(LONGEST)), true);
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Refresh {
    duration: Option<i64>,
}

pub(super) async fn refresh(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Option<Refresh>>,
) -> Result<StatusCode, ApiError> {
    const LONGEST_REFRESH: i64 = 3600;
    let duration = body.unwrap_or_default().duration.unwrap_or(DEFAULT_TIMEOUT);
    if !(0..=LONGEST_REFRESH).contains(&duration) {
        return Err(ApiError::validation(format!("duration must be between 0 and {LONGEST_REFRESH}")));
    }
    api.find_running(&id)?.expire_in(seconds(duration.max(DEFAULT_TIMEOUT)), false);
    Ok(StatusCode::NO_CONTENT)
}
