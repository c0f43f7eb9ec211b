//! The tags of templates: names for their builds.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::Api;
use super::body::JsonBody;
use super::catalog::{DEFAULT_TAG, Reference};
use super::error::ApiError;
use super::sandboxes::timestamp;
use super::templates::{missing, refuse_own};

pub(super) async fn list(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    let name = Reference::parse(&id).ok_or_else(|| missing(&id))?.name;
    let tag = |tag: &str, build_id: &str, at: OffsetDateTime| json!({ "tag": tag, "buildID": build_id, "createdAt": timestamp(at) });
    if let Some(template) = api.catalog.template(&name) {
        let (build_id, created_at) = template.tag();
        return Ok(Json(json!([tag(DEFAULT_TAG, build_id, created_at)])));
    }
    let template_id = api.catalog.id_of(&name).ok_or_else(|| missing(&id))?;
    let snapshots = api.catalog.snapshots();
    let tags = snapshots.iter().filter(|snapshot| snapshot.template_id == template_id);
    Ok(Json(tags.map(|snapshot| tag(&snapshot.tag, &snapshot.build_id, snapshot.created_at)).collect()))
}

#[derive(Debug, Deserialize)]
pub(super) struct Assign {
    target: String,
    tags: Vec<String>,
}

pub(super) async fn assign(
    State(api): State<Arc<Api>>,
    JsonBody(Assign { target, tags }): JsonBody<Assign>,
) -> Result<Response, ApiError> {
    let reference = reference(&target)?;
    check(&tags)?;
    refuse_own(&api, &reference.name)?;
    if api.catalog.id_of(&reference.name).is_none() {
        return Err(missing(&target));
    }
    let tagged = api.catalog.assign_tags(&reference, &tags).ok_or_else(|| {
        let tag = reference.tag.as_deref().unwrap_or(DEFAULT_TAG);
        let text = format!("tag '{tag}' does not exist for template '{}'", reference.name);
        ApiError::new(StatusCode::NOT_FOUND, text)
    })?;
    Ok((StatusCode::CREATED, Json(json!({ "tags": tags, "buildID": tagged.build_id }))).into_response())
}

#[derive(Debug, Deserialize)]
pub(super) struct Remove {
    name: String,
    tags: Vec<String>,
}

/// Takes tags away; those that do not exist are gone already.
pub(super) async fn remove(
    State(api): State<Arc<Api>>,
    JsonBody(Remove { name, tags }): JsonBody<Remove>,
) -> Result<StatusCode, ApiError> {
    let reference = reference(&name)?;
    check(&tags)?;
    if tags.iter().any(|tag| tag == DEFAULT_TAG) {
        return Err(ApiError::bad_request("Cannot delete the 'default' tag"));
    }
    refuse_own(&api, &reference.name)?;
    if api.catalog.id_of(&reference.name).is_none() {
        return Err(missing(&name));
    }
    for tag in tags {
        api.catalog.remove(&Reference { name: reference.name.clone(), tag: Some(tag) });
    }
    Ok(StatusCode::NO_CONTENT)
}

fn reference(text: &str) -> Result<Reference, ApiError> {
    Reference::parse(text).ok_or_else(|| ApiError::bad_request(format!("Invalid template reference: {text}")))
}

/// Refuses what no tag can be.
pub(super) fn check(tags: &[String]) -> Result<(), ApiError> {
    if tags.is_empty() {
        return Err(ApiError::bad_request("At least one tag is required"));
    }
    match tags.iter().find(|tag| Reference::parse(&format!("name:{tag}")).is_none_or(|found| found.tag.is_none())) {
        Some(tag) => {
            Err(ApiError::bad_request(format!("Invalid tag: {tag:?} is not letters, digits, '-', '_' and '.'")))
        }
        None => Ok(()),
    }
}
