//! Logs and metrics of sandboxes.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use serde_json::{Map, Value, json};

use super::Api;
use super::error::ApiError;
use super::page::Parameters;
use super::sandboxes::{checked_id, timestamp};
use crate::sandbox::journal::Entry;
use crate::sandbox::metrics::Sample;

const MOST_ENTRIES: usize = 1000;
const MOST_SANDBOXES: usize = 100;
const LONGEST_SEARCH: usize = 256;

fn logged(entry: &Entry) -> Value {
    json!({
        "timestamp": timestamp(entry.time),
        "level": entry.event.level,
        "message": entry.event.message,
        "fields": entry.event.fields,
    })
}

fn milliseconds(entry: &Entry) -> i128 {
    entry.time.unix_timestamp_nanos() / 1_000_000
}

pub(super) async fn logs_v2(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let parameters = Parameters::parse(query);
    let least = parameters.level()?;
    let search = parameters.get("search").unwrap_or("");
    if search.chars().count() > LONGEST_SEARCH {
        return Err(ApiError::validation(format!("search must have at most {LONGEST_SEARCH} characters")));
    }
    let mut entries = api.find(&id)?.journal.entries();
    entries.retain(|entry| entry.event.level >= least && entry.event.message.contains(search));
    let entries = parameters.stretch(entries, milliseconds, false, MOST_ENTRIES)?;
    Ok(Json(json!({ "logs": entries.iter().map(logged).collect::<Value>() })))
}

/// The older form: oldest first, and each entry as a line, too.
pub(super) async fn logs(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let parameters = Parameters::parse(query);
    let limit = parameters.number("limit", 0..=MOST_ENTRIES)?.unwrap_or(MOST_ENTRIES);
    let start = parameters.number("start", 0..=i64::MAX)?.map_or(0, i128::from);
    let mut entries = api.find(&id)?.journal.entries();
    entries.retain(|entry| milliseconds(entry) >= start);
    entries.truncate(limit);
    let lines = entries
        .iter()
        .map(|entry| json!({ "timestamp": timestamp(entry.time), "line": json!(entry.event).to_string() }));
    Ok(Json(json!({
        "logs": lines.collect::<Value>(),
        "logEntries": entries.iter().map(logged).collect::<Value>(),
    })))
}

fn measured(sample: &Sample) -> Value {
    json!({
        "timestamp": timestamp(sample.time),
        "timestampUnix": sample.time.unix_timestamp(),
        "cpuCount": std::thread::available_parallelism().map_or(1, usize::from),
        "cpuUsedPct": sample.cpu_used,
        "memUsed": sample.memory_used,
        "memTotal": sample.memory_total,
        "memCache": sample.memory_cache,
        "diskUsed": sample.disk_used,
        "diskTotal": sample.disk_total,
    })
}

pub(super) async fn metrics(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, ApiError> {
    let parameters = Parameters::parse(query);
    let start = parameters.number("start", 0..=i64::MAX)?;
    let end = parameters.number("end", 0..=i64::MAX)?;
    let (start, end) = (start.unwrap_or(0), end.unwrap_or(i64::MAX));
    if start > end {
        return Err(ApiError::bad_request("Invalid time range for metrics"));
    }
    let samples = api.find(&id)?.metrics.samples();
    let within = samples.iter().filter(|sample| (start..=end).contains(&sample.time.unix_timestamp()));
    Ok(Json(within.map(measured).collect()))
}

/// The newest measurement of each of many sandboxes; those without one are left out.
pub(super) async fn latest(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Json<Value>, ApiError> {
    let parameters = Parameters::parse(query);
    let ids = parameters.get("sandbox_ids").ok_or_else(|| ApiError::validation("sandbox_ids is required"))?;
    let ids = ids.split(',').map(|id| checked_id(id.trim())).collect::<Result<Vec<_>, _>>()?;
    if ids.len() > MOST_SANDBOXES {
        return Err(ApiError::validation(format!("sandbox_ids must have at most {MOST_SANDBOXES} entries")));
    }
    let found = ids.into_iter().filter_map(|id| {
        let sample = api.registry.get(id)?.metrics.latest()?;
        Some((id.to_owned(), measured(&sample)))
    });
    Ok(Json(json!({ "sandboxes": found.collect::<Map<_, _>>() })))
}
