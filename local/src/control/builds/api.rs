//! The routes of builds: ask for one, upload its files, start it, follow it.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Query, RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};

use super::plan::StartRequest;
use super::{Build, MOST_UNDER_WAY, Size, run, uploads};
use crate::control::Api;
use crate::control::body::JsonBody;
use crate::control::catalog::{DEFAULT_TAG, Reference};
use crate::control::error::ApiError;
use crate::control::page::Parameters;
use crate::control::tags;
use crate::control::templates::{missing, refuse_own};

const DEFAULT_CPUS: i64 = 2;
const MOST_CPUS: i64 = 32;

/// Mebibytes.
const DEFAULT_MEMORY: i64 = 1024;
const LEAST_MEMORY: i64 = 128;
const MOST_MEMORY: i64 = 65_536;

/// How many templates clients may have.
const MOST_TEMPLATES: usize = 1000;

/// How many log entries an answer has.
const MOST_ENTRIES: usize = 100;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::control) struct NewBuild {
    name: Option<String>,
    /// An older word for it.
    alias: Option<String>,
    tags: Option<Vec<String>>,
    cpu_count: Option<i64>,
    #[serde(rename = "memoryMB")]
    memory_mb: Option<i64>,
}

impl NewBuild {
    fn size(&self) -> Result<Size, ApiError> {
        let cpus = self.cpu_count.unwrap_or(DEFAULT_CPUS);
        let memory = self.memory_mb.unwrap_or(DEFAULT_MEMORY);
        if cpus < 1 {
            return Err(ApiError::validation("cpuCount must be at least 1"));
        }
        if memory < LEAST_MEMORY {
            return Err(ApiError::validation(format!("memoryMB must be at least {LEAST_MEMORY}")));
        }
        if cpus > MOST_CPUS {
            return Err(ApiError::bad_request(format!("CPU count must be at most {MOST_CPUS}")));
        }
        if cpus != 1 && cpus % 2 != 0 {
            return Err(ApiError::bad_request("CPU count must be 1 or an even number"));
        }
        if memory % 2 != 0 {
            return Err(ApiError::bad_request("Memory must be divisible by 2"));
        }
        if memory > MOST_MEMORY {
            return Err(ApiError::bad_request(format!("Memory can't be higher than {MOST_MEMORY}")));
        }
        Ok(Size { cpu_count: usize::try_from(cpus).unwrap_or(1), memory_mb: u64::try_from(memory).unwrap_or(0) })
    }
}

/// A new build, of a new template or of one that exists.
pub(in crate::control) async fn create(
    State(api): State<Arc<Api>>,
    JsonBody(request): JsonBody<NewBuild>,
) -> Result<Response, ApiError> {
    let size = request.size()?;
    let name = request.name.or(request.alias).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| ApiError::bad_request("Name is required"))?;
    let Reference { name, tag } = api.catalog.check_name(&name)?;
    let mut tags = request.tags.unwrap_or_default();
    tags.extend(tag);
    if tags.is_empty() {
        tags.push(DEFAULT_TAG.to_owned());
    }
    tags::check(&tags)?;
    let mut seen = Vec::new();
    tags.retain(|tag| {
        !seen.contains(tag) && {
            seen.push(tag.clone());
            true
        }
    });
    if api.catalog.project(&name).is_none() && api.catalog.projects().len() >= MOST_TEMPLATES {
        let text = format!("there are {MOST_TEMPLATES} templates already; delete some");
        return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text));
    }
    let project = api.catalog.open_project(&name);
    let build = api.builds.add(project, tags, size);
    let body = json!({
        "templateID": build.project.template_id,
        "buildID": build.id,
        "public": build.project.public,
        "names": [build.project.name],
        "aliases": [build.project.name],
        "tags": build.tags,
    });
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// The client's template that a path names.
fn template_id(api: &Api, id: &str) -> Result<String, ApiError> {
    let name = Reference::parse(id).ok_or_else(|| missing(id))?.name;
    refuse_own(api, &name)?;
    api.catalog.project(&name).map(|project| project.template_id).ok_or_else(|| missing(id))
}

fn checked_hash(hash: &str) -> Result<(), ApiError> {
    const LONGEST: usize = 128;
    match !hash.is_empty() && hash.len() <= LONGEST && hash.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        true => Ok(()),
        false => Err(ApiError::bad_request("Invalid files hash")),
    }
}

/// Whether an archive is here already, and where to put it.
pub(in crate::control) async fn files(
    State(api): State<Arc<Api>>,
    Path((id, hash)): Path<(String, String)>,
) -> Result<Response, ApiError> {
    checked_hash(&hash)?;
    let id = template_id(&api, &id)?;
    let url = format!("http://{}/templates/{id}/files/{hash}?{}", api.domain, api.uploads.permit(&id, &hash));
    let body = json!({ "present": api.uploads.get(&id, &hash).is_some(), "url": url });
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

#[derive(Debug, Deserialize)]
pub(in crate::control) struct Permit {
    expires: i64,
    signature: String,
}

/// Takes an archive. The link is the permission.
pub(in crate::control) async fn upload(
    State(api): State<Arc<Api>>,
    Path((id, hash)): Path<(String, String)>,
    permit: Result<Query<Permit>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
    body: Body,
) -> Result<StatusCode, ApiError> {
    let permitted =
        permit.is_ok_and(|Query(permit)| api.uploads.is_permitted(&id, &hash, permit.expires, &permit.signature));
    if !permitted {
        let text = "this link is not valid, or not any more: ask for another one";
        return Err(ApiError::new(StatusCode::FORBIDDEN, text));
    }
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > uploads::LARGEST) {
        return Err(uploads::too_large());
    }
    // It may have been deleted since the link was given.
    template_id(&api, &id)?;
    api.uploads.receive(&id, &hash, body).await?;
    Ok(StatusCode::OK)
}

/// The build that a path names.
fn find(api: &Api, id: &str, build_id: &str) -> Result<Arc<Build>, ApiError> {
    if uuid::Uuid::try_parse(build_id).is_err() {
        return Err(ApiError::bad_request("Invalid build id"));
    }
    let template_id = template_id(api, id)?;
    let build = api.builds.get(build_id).filter(|build| build.project.template_id == template_id);
    build.ok_or_else(|| ApiError::bad_request(format!("Build '{build_id}' not found")))
}

pub(in crate::control) async fn start(
    State(api): State<Arc<Api>>,
    Path((id, build_id)): Path<(String, String)>,
    JsonBody(request): JsonBody<Option<StartRequest>>,
) -> Result<StatusCode, ApiError> {
    let build = find(&api, &id, &build_id)?;
    let plan = request.unwrap_or_default().check()?;
    if api.builds.under_way() >= MOST_UNDER_WAY {
        let text = format!("{MOST_UNDER_WAY} builds are under way already; wait until some have ended");
        return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, text));
    }
    if !build.begin() {
        return Err(ApiError::bad_request("build is not in waiting state"));
    }
    // Taken here and not by the task: who asks first builds first, whichever task is polled first.
    let turn = Arc::clone(&api.builds.turns).try_acquire_owned().ok();
    tokio::spawn(run::run(Arc::clone(&api), build, plan, turn));
    Ok(StatusCode::ACCEPTED)
}

pub(in crate::control) async fn status(
    State(api): State<Arc<Api>>,
    Path((id, build_id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let build = find(&api, &id, &build_id)?;
    let parameters = Parameters::parse(query);
    let offset = parameters.number("logsOffset", 0..=usize::MAX)?.unwrap_or(0);
    let limit = parameters.number("limit", 0..=MOST_ENTRIES)?.unwrap_or(MOST_ENTRIES);
    Ok(Json(build.described(offset, limit, parameters.level()?)))
}

/// The log by time: up to `limit` entries after (or before) the moment `cursor`.
pub(in crate::control) async fn logs(
    State(api): State<Arc<Api>>,
    Path((id, build_id)): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let build = find(&api, &id, &build_id)?;
    let parameters = Parameters::parse(query);
    let entries = build.entries(parameters.level()?);
    let entries = parameters.stretch(entries, |(time, _)| i128::from(*time), true, MOST_ENTRIES)?;
    let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
    Ok(Json(json!({ "logs": entries })))
}
