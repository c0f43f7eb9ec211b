//! Query parameters, and lists that come in pages with the cursor in a header.

use std::collections::HashMap;

use axum::Json;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE;
use serde_json::Value;

use super::error::ApiError;
use crate::sandbox::journal::Level;

const LARGEST_PAGE: usize = 100;

/// Decoded query parameters.
pub(super) struct Parameters(HashMap<String, String>);

impl Parameters {
    /// The first of a name counts.
    pub(super) fn parse(query: Option<String>) -> Self {
        let mut parameters = HashMap::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            parameters.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Parameters(parameters)
    }

    /// A parameter that is present and not empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A number within bounds, when given.
    pub(super) fn number<T>(&self, name: &str, bounds: std::ops::RangeInclusive<T>) -> Result<Option<T>, ApiError>
    where
        T: std::str::FromStr + PartialOrd + std::fmt::Display,
    {
        let Some(text) = self.0.get(name) else { return Ok(None) };
        match text.parse() {
            Ok(number) if bounds.contains(&number) => Ok(Some(number)),
            _ => {
                let (least, most) = bounds.into_inner();
                Err(ApiError::validation(format!("{name} must be between {least} and {most}")))
            }
        }
    }

    /// The least level of the log entries that are asked for.
    pub(super) fn level(&self) -> Result<Level, ApiError> {
        match self.get("level") {
            None | Some("debug") => Ok(Level::Debug),
            Some("info") => Ok(Level::Info),
            Some("warn") => Ok(Level::Warn),
            Some("error") => Ok(Level::Error),
            Some(other) => Err(ApiError::validation(format!("level {other:?} is none of debug, info, warn, error"))),
        }
    }

    /// The stretch of a log that is asked for: up to `limit` entries, `most` if not given, from the moment `cursor` on or
    /// back from it. `entries` are in the order of their `time` in ms; `forward` is the direction if none is given.
    pub(super) fn stretch<T>(
        &self,
        mut entries: Vec<T>,
        time: impl Fn(&T) -> i128,
        forward: bool,
        most: usize,
    ) -> Result<Vec<T>, ApiError> {
        let limit = self.number("limit", 0..=most)?.unwrap_or(most);
        let cursor = self.number("cursor", 0..=i64::MAX)?.map(i128::from);
        let forward = match self.get("direction") {
            None => forward,
            Some("forward") => true,
            Some("backward") => false,
            Some(other) => {
                return Err(ApiError::validation(format!("direction {other:?} is neither forward nor backward")));
            }
        };
        if !forward {
            entries.reverse();
        }
        entries.retain(|entry| {
            cursor.is_none_or(|cursor| if forward { time(entry) >= cursor } else { time(entry) <= cursor })
        });
        entries.truncate(limit);
        Ok(entries)
    }

    /// How many items a page may have.
    pub(super) fn limit(&self) -> Result<usize, ApiError> {
        Ok(self.number("limit", 1..=LARGEST_PAGE)?.unwrap_or(LARGEST_PAGE))
    }
}

/// The page of `items` that the parameters ask for. A cursor names the last item of the page before; when that item is
/// gone, so is the cursor.
pub(super) fn page<T>(
    parameters: &Parameters,
    items: &[T],
    key: impl Fn(&T) -> String,
    describe: impl Fn(&T) -> Value,
) -> Result<Response, ApiError> {
    let limit = parameters.limit()?;
    let start = match parameters.get("nextToken") {
        None => 0,
        Some(token) => BASE64_URL_SAFE
            .decode(token)
            .ok()
            .and_then(|last| items.iter().position(|item| key(item).as_bytes() == last))
            .map(|position| position + 1)
            .ok_or_else(|| ApiError::bad_request("Invalid next token"))?,
    };
    let rest = &items[start..];
    let shown = &rest[..limit.min(rest.len())];
    let mut response = Json(shown.iter().map(describe).collect::<Value>()).into_response();
    if let Some(last) = shown.last().filter(|_| rest.len() > limit)
        && let Ok(token) = BASE64_URL_SAFE.encode(key(last)).parse()
    {
        response.headers_mut().insert("x-next-token", token);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other() {
        let items: Vec<_> = (0..5).collect();
        let mut query = Some("limit=2".to_owned());
        let mut pages = 0;
        while let Some(text) = query.take() {
            let response =
                page(&Parameters::parse(Some(text)), &items, ToString::to_string, |item| Value::from(*item)).unwrap();
            query =
                response.headers().get("x-next-token").map(|t| format!("limit=2&nextToken={}", t.to_str().unwrap()));
            pages += 1;
        }
        assert_eq!(pages, 3);
        for bad in ["limit=0", "limit=101", "limit=x", "nextToken=x", "nextToken=OTk="] {
            let page =
                page(&Parameters::parse(Some(bad.into())), &items, ToString::to_string, |item| Value::from(*item));
            assert!(page.is_err(), "{bad}");
        }
    }
}
