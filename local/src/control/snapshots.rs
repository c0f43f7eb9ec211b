//! Snapshots and forks: copies of a sandbox's files. Processes cannot be copied; new sandboxes start their own.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Api;
use super::body::JsonBody;
use super::catalog::{Reference, Snapshot};
use super::error::ApiError;
use super::lifecycle::{conflict, other};
use super::page::{Parameters, page};
use super::sandboxes::{DEFAULT_TIMEOUT, limited, seconds};
use crate::sandbox::lifecycle::StateError;

const MOST_COPIES: i64 = 100;

fn described(snapshot: &Snapshot) -> Value {
    json!({ "snapshotID": snapshot.id(), "names": snapshot.names() })
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct NewSnapshot {
    name: Option<String>,
}

pub(super) async fn create(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Option<NewSnapshot>>,
) -> Result<Response, ApiError> {
    let name = body.unwrap_or_default().name.filter(|name| !name.is_empty());
    let reference = name.map(|name| api.catalog.check_name(&name)).transpose()?;
    let sandbox = api.find_running(&id)?;
    let archive = sandbox.archive().await.map_err(|error| match error {
        StateError::Conflict(state) => {
            conflict(format!("Sandbox '{}' cannot be snapshotted while in '{}' state", sandbox.id, state.name()))
        }
        error => other(&sandbox, "snapshot", error),
    })?;
    let snapshot = api.catalog.add(reference, &sandbox, archive);
    Ok((StatusCode::CREATED, Json(described(&snapshot))).into_response())
}

pub(super) async fn list(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query);
    let name = parameters
        .get("name")
        .map(|name| Reference::parse(name).ok_or_else(|| ApiError::bad_request(format!("Invalid name: {name}"))));
    let name = name.transpose()?;
    let mut snapshots = api.catalog.snapshots();
    snapshots.retain(|snapshot| {
        // What has no sandbox is a template's build.
        snapshot.sandbox_id.as_deref().is_some_and(|of| parameters.get("sandboxID").is_none_or(|id| id == of))
            && name.as_ref().is_none_or(|name| {
                (snapshot.name.as_ref() == Some(&name.name) || snapshot.template_id == name.name)
                    && name.tag.as_ref().is_none_or(|tag| *tag == snapshot.tag)
            })
    });
    page(&parameters, &snapshots, |snapshot| snapshot.build_id.clone(), |snapshot| described(snapshot))
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Fork {
    timeout: Option<i64>,
    count: Option<i64>,
}

pub(super) async fn fork(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Option<Fork>>,
) -> Result<Response, ApiError> {
    let body = body.unwrap_or_default();
    let count = body.count.unwrap_or(1);
    if count < 1 {
        return Err(ApiError::bad_request("Count must be at least 1"));
    }
    if count > MOST_COPIES {
        return Err(ApiError::bad_request(format!("Count cannot be greater than {MOST_COPIES}")));
    }
    let timeout = limited(body.timeout.unwrap_or(DEFAULT_TIMEOUT))?;
    if timeout <= 0 {
        return Err(ApiError::bad_request("Timeout must be greater than 0"));
    }
    let sandbox = api.find(&id)?;
    let archive = sandbox.archive().await.map_err(|error| match error {
        StateError::Conflict(state) if state.looks_paused() => {
            conflict(format!("Sandbox '{}' is paused and cannot be forked; resume it first", sandbox.id))
        }
        StateError::Conflict(state) => {
            conflict(format!("Sandbox '{}' cannot be forked while in '{}' state", sandbox.id, state.name()))
        }
        error => other(&sandbox, "fork", error),
    })?;
    let mut spec = sandbox.spec.clone();
    spec.timeout = seconds(timeout);
    // What was closed meanwhile is closed in the copies.
    spec.network = sandbox.network();
    spec.snapshot = Some(Arc::new(archive));
    let copies = (0..count).map(|_| api.start(spec.clone()));
    let copies = futures::future::join_all(copies).await.into_iter().map(|copy| match copy {
        Ok(copy) => json!({ "sandbox": api.brief(&copy) }),
        Err(error) => json!({ "error": error.body() }),
    });
    Ok((StatusCode::CREATED, Json(copies.collect::<Value>())).into_response())
}
