//! The settings of the Alibaba Cloud platform: `ABX_*` variables, `.env` files and a configuration file.
//!
//! The best layer that has a usable value wins: environment, `.env` files in order, configuration file. Inside a layer
//! the name scoped to the provider (`ABX_ALICLOUD_EXPRESS_SANDBOX_DOMAIN`) precedes the general one
//! (`ABX_SANDBOX_DOMAIN`), and the table `providers.alicloud-express` precedes `transport`. A blank value counts as unset.

use super::Sources;

/// A setting and the names it goes by.
pub struct Key {
    /// Its name in the configuration file; `None` for secrets, which are never read from there.
    toml: Option<&'static str>,
    /// Its variables, best first.
    env: &'static [&'static str],
}

pub const API_KEY: Key = Key { toml: None, env: &["ABX_ALICLOUD_EXPRESS_SANDBOX_API_KEY", "ABX_SANDBOX_API_KEY"] };
pub const BASE_URL: Key =
    Key { toml: Some("sandbox_base_url"), env: &["ABX_ALICLOUD_EXPRESS_SANDBOX_BASE_URL", "ABX_SANDBOX_BASE_URL"] };
pub const DOMAIN: Key =
    Key { toml: Some("sandbox_domain"), env: &["ABX_ALICLOUD_EXPRESS_SANDBOX_DOMAIN", "ABX_SANDBOX_DOMAIN"] };
pub const REGION: Key = Key { toml: Some("region"), env: &["ALIBABA_CLOUD_REGION_ID"] };

impl Key {
    /// The value of the best layer, trimmed.
    pub fn find(&self, sources: &Sources<'_>) -> Option<String> {
        let in_env = || self.env.iter().find_map(|name| usable((sources.env)(name)?));
        let in_dotenv = || {
            sources.dotenv.iter().find_map(|file| {
                self.env.iter().find_map(|name| {
                    let (_, value) = file.iter().find(|(key, _)| key == name)?;
                    usable(value.clone())
                })
            })
        };
        let in_toml = || {
            let (file, name) = (sources.toml?, self.toml?);
            [file.pointer("/providers/alicloud-express"), file.pointer("/transport")]
                .into_iter()
                .flatten()
                .find_map(|table| usable(table.get(name)?.as_str()?.to_owned()))
        };
        in_env().or_else(in_dotenv).or_else(in_toml)
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
