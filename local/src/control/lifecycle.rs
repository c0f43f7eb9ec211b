//! Pausing and resuming: `pause`, `connect`, `resume`, and their conflicts in the API's words.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;

use super::Api;
use super::body::JsonBody;
use super::error::ApiError;
use super::sandboxes::{DEFAULT_TIMEOUT, DEFAULT_TIMEOUT_V2, limited, not_negative, seconds};
use crate::sandbox::lifecycle::{State as Life, StateError};
use crate::sandbox::registry::Sandbox;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Pause {
    memory: Option<bool>,
}

pub(super) async fn pause(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Option<Pause>>,
) -> Result<StatusCode, ApiError> {
    let sandbox = api.find(&id)?;
    let memory = body.unwrap_or_default().memory.unwrap_or(true);
    sandbox.pause(memory).await.map_err(|error| match error {
        StateError::Conflict(Life::Paused { .. }) => {
            conflict(format!("Error pausing sandbox - sandbox '{}' is already paused", sandbox.id))
        }
        StateError::Conflict(state) => {
            conflict(format!("Sandbox '{}' cannot be paused while in '{}' state", sandbox.id, state.name()))
        }
        error => other(&sandbox, "pause", error),
    })?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Resume {
    timeout: Option<i64>,
    memory: Option<bool>,
}

/// Dropping at the resume what was kept at the pause is not offered, as it usually is not.
fn refuse_forgetting(memory: Option<bool>) -> Result<(), ApiError> {
    if memory != Some(false) {
        return Ok(());
    }
    let text = "memory cannot be chosen when a sandbox is resumed: it is as it was paused";
    Err(ApiError::bad_request(text).with_code("sandbox_memory_override_disabled"))
}

pub(super) async fn resume(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Option<Resume>>,
) -> Result<Response, ApiError> {
    let body = body.unwrap_or_default();
    let timeout = limited(not_negative(body.timeout.unwrap_or(DEFAULT_TIMEOUT))?)?;
    let sandbox = api.find(&id)?;
    refuse_forgetting(body.memory)?;
    sandbox.resume(seconds(timeout)).await.map_err(|error| match error {
        StateError::Conflict(Life::Snapshotting) => {
            conflict(format!("Sandbox snapshot is currently being created for sandbox '{}'", sandbox.id))
        }
        StateError::Conflict(_) => conflict(format!("Sandbox {} is already running", sandbox.id)),
        error => other(&sandbox, "resume", error),
    })?;
    Ok((StatusCode::CREATED, Json(api.brief(&sandbox))).into_response())
}

#[derive(Debug, Deserialize)]
pub(super) struct Connect {
    timeout: i64,
    memory: Option<bool>,
}

/// Extends a running sandbox, wakes a paused one.
pub(super) async fn connect(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Connect>,
) -> Result<Response, ApiError> {
    let timeout = limited(not_negative(body.timeout)?)?;
    let sandbox = api.find(&id)?;
    refuse_forgetting(body.memory)?;
    let resumed = sandbox.connect(seconds(timeout)).await.map_err(|error| other(&sandbox, "resume", error))?;
    let status = if resumed { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(api.brief(&sandbox))).into_response())
}

/// The same, and nothing has to be said.
pub(super) async fn connect_v2(
    state: State<Arc<Api>>,
    id: Path<String>,
    JsonBody(body): JsonBody<Option<Resume>>,
) -> Result<Response, ApiError> {
    let Resume { timeout, memory } = body.unwrap_or_default();
    let body = Connect { timeout: timeout.unwrap_or(DEFAULT_TIMEOUT_V2), memory };
    connect(state, id, JsonBody(body)).await
}

pub(super) fn conflict(text: String) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, text)
}

/// What all calls have in common: it may end meanwhile, and the machine may fail.
pub(super) fn other(sandbox: &Sandbox, what: &str, error: StateError) -> ApiError {
    match error {
        StateError::Gone => ApiError::no_sandbox(&sandbox.id),
        StateError::Conflict(state) => {
            conflict(format!("Sandbox '{}' cannot {what} while in '{}' state", sandbox.id, state.name()))
        }
        StateError::Failed(error) => {
            tracing::error!(sandbox = sandbox.id, "cannot {what}: {error:#}");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("Failed to {what} sandbox: {error:#}"))
        }
    }
}
