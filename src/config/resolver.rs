//! The settings of the Alibaba Cloud platform, by the variables that have them.
//!
//! The name scoped to the provider (`ABX_ALICLOUD_EXPRESS_SANDBOX_DOMAIN`) precedes the general one (`ABX_SANDBOX_DOMAIN`).
//! A blank value counts as unset.

use super::Sources;

/// A setting: its variables, best first.
pub struct Key(&'static [&'static str]);

pub const API_KEY: Key = Key(&["ABX_ALICLOUD_EXPRESS_SANDBOX_API_KEY", "ABX_SANDBOX_API_KEY"]);
pub const BASE_URL: Key = Key(&["ABX_ALICLOUD_EXPRESS_SANDBOX_BASE_URL", "ABX_SANDBOX_BASE_URL"]);
pub const DOMAIN: Key = Key(&["ABX_ALICLOUD_EXPRESS_SANDBOX_DOMAIN", "ABX_SANDBOX_DOMAIN"]);
pub const REGION: Key = Key(&["ALIBABA_CLOUD_REGION_ID"]);

impl Key {
    /// The best value, trimmed.
    pub fn find(&self, sources: &Sources<'_>) -> Option<String> {
        self.0.iter().find_map(|name| usable((sources.env)(name)?))
    }
}

/// `value` without white space around it, unless nothing is left.
fn usable(value: String) -> Option<String> {
    Some(value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The domain of the platform in `region`; without one, in its home region.
pub fn domain_of(region: Option<&str>) -> String {
    format!("{}.e2b.fc.aliyuncs.com", region.unwrap_or("cn-hangzhou"))
}
