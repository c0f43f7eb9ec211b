//! Lists of sandboxes: filters, order, pages.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE;
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Api;
use super::catalog::Reference;
use super::error::ApiError;
use super::page::Parameters;
use super::sandboxes::timestamp;
use crate::sandbox::lifecycle::State as Life;
use crate::sandbox::registry::Sandbox;

const ASCENDING_MARK: &str = "__asc";

/// `k=v&k2=v2`, itself URL-encoded, all of which must match.
fn metadata_filter(filter: &str) -> Result<Vec<(String, String)>, ApiError> {
    let decode = |text: &str| -> Option<String> {
        let plain = text.replace('+', " ");
        percent_encoding::percent_decode_str(&plain).decode_utf8().ok().map(|text| text.into_owned())
    };
    filter
        .split('&')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let mut sides = part.split('=');
            match (sides.next().and_then(decode), sides.next().and_then(decode), sides.next()) {
                (Some(key), Some(value), None) => Ok((key, value)),
                _ => Err(ApiError::bad_request("Error parsing metadata")),
            }
        })
        .collect()
}

/// Clients encode the filter's keys and values once or twice before they encode the whole: both are understood.
fn matches(sandbox: &Sandbox, filter: &[(String, String)]) -> bool {
    let has = |key: &str, value: &str| {
        sandbox.spec.metadata.as_ref().is_some_and(|data| data.get(key).is_some_and(|given| given == value))
    };
    let decoded = |text: &str| percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned();
    filter.iter().all(|(key, value)| has(key, value) || has(&decoded(key), &decoded(value)))
}

/// Which states a list is about.
struct States {
    running: bool,
    paused: bool,
}

impl States {
    /// `running`, `paused` or both with a comma; both when absent.
    fn parse(text: Option<&str>) -> Result<Self, ApiError> {
        let Some(text) = text else { return Ok(States { running: true, paused: true }) };
        let mut states = States { running: false, paused: false };
        for state in text.split(',') {
            match state.trim() {
                "running" => states.running = true,
                "paused" => states.paused = true,
                other => {
                    return Err(ApiError::validation(format!("state {other:?} is neither running nor paused")));
                }
            }
        }
        Ok(states)
    }

    /// A sandbox that is being copied is in neither list for the moment.
    fn contain(&self, state: Life) -> bool {
        match state {
            Life::Snapshotting => false,
            state if state.looks_paused() => self.paused,
            _ => self.running,
        }
    }
}

/// Newest first, ties by id; or the exact reverse.
fn sort(sandboxes: &mut [Arc<Sandbox>], ascending: bool) {
    sandboxes.sort_by(|a, b| b.started_at.cmp(&a.started_at).then_with(|| a.id.cmp(&b.id)));
    if ascending {
        sandboxes.reverse();
    }
}

pub(super) async fn list(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Json<Value>, ApiError> {
    let parameters = Parameters::parse(query);
    let filter = metadata_filter(parameters.get("metadata").unwrap_or(""))?;
    let mut sandboxes = api.registry.all();
    sandboxes.retain(|sandbox| !sandbox.spec.internal && !sandbox.state().looks_paused() && matches(sandbox, &filter));
    sort(&mut sandboxes, false);
    Ok(Json(sandboxes.iter().map(|sandbox| api.listed(sandbox)).collect()))
}

/// Where a page begins: after this sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    started_at: OffsetDateTime,
    id: String,
}

impl Cursor {
    fn encode(sandbox: &Sandbox, ascending: bool) -> String {
        let mark = if ascending { ASCENDING_MARK } else { "" };
        BASE64_URL_SAFE.encode(format!("{}__{}{mark}", timestamp(sandbox.started_at), sandbox.id))
    }

    fn decode(token: &str, ascending: bool) -> Result<Self, ApiError> {
        let parse = || {
            let text = String::from_utf8(BASE64_URL_SAFE.decode(token).ok()?).ok()?;
            let text = match (text.strip_suffix(ASCENDING_MARK), ascending) {
                (Some(text), true) => text.to_owned(),
                (None, false) => text,
                _ => return None,
            };
            let (time, id) = text.split_once("__")?;
            Some(Cursor { started_at: OffsetDateTime::parse(time, &Rfc3339).ok()?, id: id.to_owned() })
        };
        parse().ok_or_else(|| ApiError::bad_request("Invalid next token"))
    }

    fn is_before(&self, sandbox: &Sandbox, ascending: bool) -> bool {
        let order = self.started_at.cmp(&sandbox.started_at).then_with(|| sandbox.id.cmp(&self.id));
        if ascending { order.is_lt() } else { order.is_gt() }
    }
}

pub(super) async fn list_v2(State(api): State<Arc<Api>>, RawQuery(query): RawQuery) -> Result<Response, ApiError> {
    let parameters = Parameters::parse(query);
    let get = |name: &str| parameters.get(name);
    let filter = metadata_filter(get("metadata").unwrap_or(""))?;
    let wanted = States::parse(get("state"))?;
    let limit = parameters.limit()?;
    let ascending = match get("order") {
        None | Some("desc") => false,
        Some("asc") => true,
        Some(other) => return Err(ApiError::validation(format!("order {other:?} is neither asc nor desc"))),
    };
    let started_after = get("startedAfter")
        .map(|time| OffsetDateTime::parse(time, &Rfc3339))
        .transpose()
        .map_err(|_| ApiError::validation("startedAfter is not an RFC 3339 time"))?;
    let template = get("template").map(|text| match Reference::parse(text) {
        Some(Reference { name, tag: None }) => Ok(api.catalog.id_of(&name)),
        _ => Err(ApiError::bad_request(format!("Invalid template: {text}"))),
    });
    let template = template.transpose()?;
    let cursor = get("nextToken").map(|token| Cursor::decode(token, ascending)).transpose()?;

    let mut sandboxes = api.registry.all();
    sandboxes.retain(|sandbox| {
        !sandbox.spec.internal
            && wanted.contain(sandbox.state())
            && matches(sandbox, &filter)
            && started_after.is_none_or(|time| on_grid(sandbox.started_at) >= on_grid(time))
            && template.as_ref().is_none_or(|id| id.as_ref() == Some(&sandbox.spec.template_id))
    });
    let total = sandboxes.iter().filter(|sandbox| !sandbox.state().looks_paused()).count();
    sort(&mut sandboxes, ascending);
    if let Some(cursor) = &cursor {
        sandboxes.retain(|sandbox| cursor.is_before(sandbox, ascending));
    }
    let more = sandboxes.len() > limit;
    sandboxes.truncate(limit);
    let body: Value = sandboxes.iter().map(|sandbox| api.listed(sandbox)).collect();
    let mut response = Json(body).into_response();
    let headers = response.headers_mut();
    if wanted.running {
        headers.insert("x-total-running", total.into());
    }
    if let Some(last) = sandboxes.last().filter(|_| more)
        && let Ok(token) = Cursor::encode(last, ascending).parse()
    {
        headers.insert("x-next-token", token);
    }
    Ok(response)
}

/// Times are compared as microseconds.
fn on_grid(time: OffsetDateTime) -> i128 {
    time.unix_timestamp_nanos() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_decoded_twice_but_split_once() {
        let parsed = metadata_filter("a=1&b%3D=x%26y&c=d+e").unwrap();
        let expected = [("a", "1"), ("b=", "x&y"), ("c", "d e")];
        assert_eq!(parsed, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        assert!(metadata_filter("").unwrap().is_empty());
        for bad in ["a", "a=b=c", "a=1&b"] {
            assert!(metadata_filter(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn foreign_cursors_are_refused() {
        let good = BASE64_URL_SAFE.encode("2026-01-02T03:04:05.678Z__iabc");
        assert_eq!(Cursor::decode(&good, false).unwrap().id, "iabc");
        let up = BASE64_URL_SAFE.encode("2026-01-02T03:04:05.678Z__iabc__asc");
        assert_eq!(Cursor::decode(&up, true).unwrap().id, "iabc");
        for (token, ascending) in [(&*good, true), (&*up, false), ("x", false), ("", true), ("////", false)] {
            assert!(Cursor::decode(token, ascending).is_err(), "{token}");
        }
    }
}
