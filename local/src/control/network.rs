//! A sandbox's network settings: checked, kept and echoed.
//!
//! What is enforced are addresses and ranges, allowed and denied, at the start and when they change. Domains, rules and
//! proxies are not: who denies everything but some domains denies nothing.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Api;
use super::body::JsonBody;
use super::error::ApiError;
use super::lifecycle::{conflict, other};
use crate::sandbox::lifecycle::StateError;
use crate::sandbox::reach::{Reach, everywhere, range};
use crate::sandbox::registry::NetworkSettings;

const EVERYWHERE: &str = "0.0.0.0/0";
const MOST_RULES: usize = 10;
const LONGEST_DOMAIN: usize = 128;
const MOST_HEADERS: usize = 20;
const LONGEST_NAME: usize = 64;
const LONGEST_VALUE: usize = 2048;

/// The parts that can be changed later. Each is cleared when it is absent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Egress {
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_out: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deny_out: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_proxy: Option<EgressProxy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rules: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct EgressProxy {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    username: Option<String>,
    /// Taken, and shown to nobody.
    #[serde(skip_serializing, rename = "password")]
    _password: Option<String>,
}

impl Egress {
    /// Refuses lists that cannot be meant.
    pub(super) fn check(&self) -> Result<(), ApiError> {
        let denied = self.deny_out.as_deref().unwrap_or_default();
        if let Some(bad) = denied.iter().find(|entry| !is_range(entry)) {
            return Err(ApiError::bad_request(format!("invalid denied CIDR {bad}")));
        }
        let mut domains = false;
        for entry in self.allow_out.iter().flatten().filter(|entry| !is_range(entry)) {
            if !is_domain(entry) {
                return Err(ApiError::bad_request(format!("invalid allowed address {entry}")));
            }
            domains = true;
        }
        if domains && !denied.iter().any(|entry| entry == EVERYWHERE) {
            return Err(ApiError::bad_request(
                "When specifying allowed domains in allow out, you must include 'ALL_TRAFFIC' in deny out to block all \
                 other traffic.",
            ));
        }
        self.rules.as_ref().map_or(Ok(()), check_rules)
    }

    /// What can be enforced of it.
    pub(super) fn reach(&self, allow_internet: Option<bool>) -> Reach {
        let ranges = |list: &Option<Vec<String>>| list.iter().flatten().filter_map(|entry| range(entry)).collect();
        let mut reach = Reach { allow: ranges(&self.allow_out), deny: ranges(&self.deny_out) };
        if allow_internet == Some(false) {
            reach.deny.push(everywhere());
        }
        if self.allow_out.iter().flatten().any(|entry| !is_range(entry)) {
            // Which addresses the domains have is not known before they are asked for.
            reach.deny.retain(|denied| *denied != everywhere());
        }
        reach
    }

    /// As clients get to see it.
    pub(super) fn shown(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(shown)) => shown,
            _ => Map::new(),
        }
    }
}

/// An address or a range of them.
fn is_range(text: &str) -> bool {
    let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let longest = if address.is_ipv4() { 32 } else { 128 };
    length.is_none_or(|length| length.parse::<u8>().is_ok_and(|length| length <= longest))
}

/// A domain name, or all below one.
fn is_domain(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.len() <= 253 && name.contains('.') && name.split('.').all(label)
}

fn check_rules(rules: &Map<String, Value>) -> Result<(), ApiError> {
    if rules.len() > MOST_RULES {
        return Err(ApiError::bad_request(format!("rules may have at most {MOST_RULES} domains")));
    }
    for (domain, transforms) in rules {
        if domain.len() > LONGEST_DOMAIN {
            return Err(ApiError::bad_request(format!("rule domains may have at most {LONGEST_DOMAIN} characters")));
        }
        let transforms = transforms.as_array().map_or(&[][..], Vec::as_slice);
        if transforms.len() > 1 {
            return Err(ApiError::bad_request(format!("rules for '{domain}' may have one transform")));
        }
        let headers = transforms.iter().filter_map(|rule| rule["transform"]["headers"].as_object());
        for headers in headers {
            let long = headers.iter().any(|(name, value)| {
                name.len() > LONGEST_NAME || value.as_str().is_none_or(|value| value.len() > LONGEST_VALUE)
            });
            if headers.len() > MOST_HEADERS || long {
                return Err(ApiError::bad_request(format!(
                    "rules for '{domain}' may set {MOST_HEADERS} headers, with names of {LONGEST_NAME} and values of \
                     {LONGEST_VALUE} characters"
                )));
            }
        }
    }
    Ok(())
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Update {
    #[serde(flatten)]
    egress: Egress,
    allow_internet_access: Option<bool>,
}

/// Replaces everything but what is fixed at the start: who may reach the sandbox, and under which name.
pub(super) async fn update(
    State(api): State<Arc<Api>>,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<Option<Update>>,
) -> Result<StatusCode, ApiError> {
    let body = body.unwrap_or_default();
    body.egress.check()?;
    let sandbox = api.find_running(&id)?;
    if sandbox.state().looks_paused() {
        let state = sandbox.state().name();
        return Err(conflict(format!("Sandbox '{}' cannot change its network while in '{state}' state", sandbox.id)));
    }
    let updated = sandbox.update_network(|settings| {
        let mut network = body.egress.shown();
        for kept in ["allowPublicTraffic", "maskRequestHost"] {
            if let Some(value) = settings.network.as_ref().and_then(|network| network.get(kept)) {
                network.insert(kept.into(), value.clone());
            }
        }
        *settings = NetworkSettings {
            reach: body.egress.reach(body.allow_internet_access),
            allow_internet: body.allow_internet_access,
            network: (!network.is_empty()).then_some(Value::Object(network)),
        };
    });
    let enforced = updated.map_err(|error| other(&sandbox, "change the network of", StateError::Failed(error)))?;
    sandbox.journal.info(if enforced {
        "network settings changed"
    } else {
        "network settings changed; they are kept, but not enforced on this machine in a sandbox that runs"
    });
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_checked_entry_by_entry() {
        for (body, expected) in [
            (r#"{"denyOut":["0.0.0.0/0"],"allowOut":["1.1.1.1"]}"#, None),
            (r#"{"denyOut":["0.0.0.0/0"],"allowOut":["X.test","*.x.test","::1/64"]}"#, None),
            (r#"{"denyOut":["x.test"]}"#, Some("invalid denied CIDR x.test")),
            (r#"{"denyOut":["1.1.1.1/33"]}"#, Some("invalid denied CIDR 1.1.1.1/33")),
            (r#"{"denyOut":["0.0.0.0/0"],"allowOut":["no domain"]}"#, Some("invalid allowed address no domain")),
            (r#"{"allowOut":["x.test"]}"#, Some("When specifying allowed domains")),
            (r#"{"rules":{"x.test":[{},{}]}}"#, Some("rules for 'x.test' may have one transform")),
        ] {
            let checked = serde_json::from_str::<Egress>(body).unwrap().check();
            match expected {
                None => assert!(checked.is_ok(), "{body}: {checked:?}"),
                Some(text) => assert!(format!("{checked:?}").contains(text), "{body}: {checked:?}"),
            }
        }
    }

    #[test]
    fn the_proxy_s_password_is_not_shown() {
        let body = r#"{"egressProxy":{"address":"p:1","username":"u","password":"hidden"}}"#;
        let shown = Value::Object(serde_json::from_str::<Egress>(body).unwrap().shown()).to_string();
        assert!(shown.contains("p:1") && !shown.contains("hidden"), "{shown}");
    }
}
