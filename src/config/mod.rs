//! Options and environment in, addresses and credentials out. Touches nothing: the caller reads the environment.
//!
//! For every setting the first of these that is not empty wins: the option; the `E2B_*` variable of the environment; the
//! setting of the Alibaba Cloud platform ([`resolver`]); the default. What differs from the established clients:
//!
//! * The default platform is E2B, as in its JavaScript client, unless a setting of the other one is found: see
//!   [`Platform::Auto`].
//! * The domain follows the region whenever only the domain is unset; the platform's own client lets a base URL in the
//!   environment prevent that and ends up with a domain of another region.
//! * Sandboxes of a server on this machine are found by themselves: see [`Config::sandbox`].
//! * No user agent is composed: a page cannot send one.

mod address;
pub mod resolver;

pub use address::{CODE_INTERPRETER_PORT, ENVD_PORT, MCP_PORT, Origin, SandboxAddress};

use crate::error::{Error, Kind, code};
use crate::protocol::control::ControlPlane;
use crate::protocol::message::StringMap;
use crate::protocol::secret::Secret;
use crate::protocol::url::{HttpUrl, is_loopback, split_port};
use address::Place;

/// What a caller may set. Everything is optional; an empty string counts as unset.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub api_key: Option<Secret>,
    /// Whether to check on this side that the key looks like `e2b_` and hexadecimal digits.
    pub validate_api_key: Option<bool>,
    pub access_token: Option<Secret>,
    /// Whether the caller brings credentials that are added to each request: keys of the environment are then not looked at.
    pub authorizes_late: bool,
    pub domain: Option<String>,
    pub api_url: Option<String>,
    /// One base URL for envd and the code interpreter of every sandbox.
    pub sandbox_url: Option<String>,
    pub volume_api_url: Option<String>,
    /// Talk to `http://localhost:3000` and `http://localhost:49983`.
    pub debug: Option<bool>,
    /// Milliseconds; 0 means no limit. 60 000 by default.
    pub request_timeout_ms: Option<u64>,
    /// Headers of control plane requests.
    pub headers: StringMap,
    /// The same, with precedence over `headers`.
    pub api_headers: StringMap,
}

/// Which platform is meant where no domain is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Platform {
    /// Alibaba Cloud when one of its settings is found: an API key, a base URL or a domain of its own; or a region, unless
    /// the API key in use is one of E2B (`e2b_…`), for a region is also set by machines that merely run there, and no key
    /// may go to the wrong platform. Otherwise E2B.
    #[default]
    Auto,
    /// `e2b.app`; settings of the other platform are not looked at.
    E2b,
    /// `<region>.e2b.fc.aliyuncs.com`.
    AlicloudExpress,
}

/// Where settings may come from beside the options. The default has none, as in a page.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The process environment, or what stands for it. Several layers of settings (`.env` files, configuration files) are made
    /// into one before: that is `loadConfig` of `agent-sandbox-web/config`.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    pub platform: Platform,
}

impl Default for Sources<'_> {
    fn default() -> Self {
        Sources { env: &|_| None, platform: Platform::Auto }
    }
}

/// The settings of one client.
#[derive(Debug, Clone)]
pub struct Config {
    /// Its absence is an error only when the control plane is called.
    pub api_key: Option<Secret>,
    pub access_token: Option<Secret>,
    authorizes_late: bool,
    pub validate_api_key: bool,
    pub domain: String,
    pub api_url: String,
    pub sandbox_url: Option<String>,
    pub volume_api_url: String,
    pub debug: bool,
    /// Whether the answers of the control plane cannot move the content of volumes.
    volume_api_url_is_fixed: bool,
    /// Milliseconds; `None` means no limit.
    pub request_timeout_ms: Option<u64>,
    /// The caller's headers for the control plane.
    pub headers: StringMap,
    /// Whether `api_url` was given and nothing says where sandboxes are: only then may an answer of the control plane move
    /// them to this machine.
    follows_local_answers: bool,
}

const DEFAULT_REQUEST_TIMEOUT_MS: u64 = 60_000;

impl Config {
    /// # Errors
    /// `invalid_argument` for a URL that is not `http(s)://…` or a domain that holds more than a host and a port;
    /// `unauthenticated` for an API key that fails the requested check.
    pub fn resolve(options: &Options, sources: &Sources<'_>) -> Result<Config, Error> {
        let env = |name: &str| (sources.env)(name).filter(|value| !value.is_empty());
        let given = |option: &Option<String>, name: &str| non_empty(option).or_else(|| env(name));

        let own_key = options.api_key.clone().filter(|key| !key.expose().is_empty());
        let from_env = |name: &str| env(name).filter(|_| !options.authorizes_late).map(Secret::new);
        let own_key = own_key.or_else(|| from_env("E2B_API_KEY"));
        let alicloud = Alicloud::find(sources, own_key.as_ref());
        let api_key = own_key.or(alicloud.api_key.filter(|_| !options.authorizes_late));

        let debug = options.debug.unwrap_or_else(|| env("E2B_DEBUG").is_some_and(|v| v.eq_ignore_ascii_case("true")));
        // Set but empty means yes: only the word `false` turns the check off again.
        let validate_api_key = options.validate_api_key.unwrap_or_else(|| {
            (sources.env)("E2B_VALIDATE_API_KEY").is_some_and(|value| !value.eq_ignore_ascii_case("false"))
        });

        let explicit_domain = given(&options.domain, "E2B_DOMAIN").or(alicloud.domain);
        let domain_is_open = explicit_domain.is_none();
        let domain = check_domain("domain", explicit_domain.unwrap_or(alicloud.default_domain))?;

        let explicit_url = given(&options.api_url, "E2B_API_URL");
        let url_is_given = explicit_url.is_some();
        let api_url = explicit_url
            .or_else(|| debug.then(|| "http://localhost:3000".to_owned()))
            .or(alicloud.base_url)
            .unwrap_or_else(|| format!("https://api.{domain}"));
        let api_url = check_url("apiUrl", api_url)?;

        let sandbox_url = given(&options.sandbox_url, "E2B_SANDBOX_URL");
        let sandbox_url = sandbox_url.map(|url| check_url("sandboxUrl", url)).transpose()?;

        let explicit_url = given(&options.volume_api_url, "E2B_VOLUME_API_URL");
        let volume_api_url_is_fixed = debug || explicit_url.is_some();
        let volume_api_url = explicit_url
            .or_else(|| debug.then(|| "http://localhost:8080".to_owned()))
            .unwrap_or_else(|| format!("https://api.{domain}"));
        let volume_api_url = check_url("volumeApiUrl", volume_api_url)?;

        if validate_api_key {
            api_key.as_ref().map_or(Ok(()), check_api_key)?;
        }
        let timeout = options.request_timeout_ms.unwrap_or(DEFAULT_REQUEST_TIMEOUT_MS);
        Ok(Config {
            api_key,
            access_token: options.access_token.clone().or_else(|| from_env("E2B_ACCESS_TOKEN")),
            authorizes_late: options.authorizes_late,
            validate_api_key,
            follows_local_answers: url_is_given && domain_is_open && sandbox_url.is_none() && !debug,
            domain,
            api_url,
            sandbox_url,
            volume_api_url,
            volume_api_url_is_fixed,
            debug,
            request_timeout_ms: (timeout > 0).then_some(timeout),
            headers: options.headers.iter().chain(&options.api_headers).cloned().collect(),
        })
    }

    /// The control plane with this client's credentials.
    pub fn control_plane(&self) -> ControlPlane {
        ControlPlane {
            api_url: self.api_url.clone(),
            api_key: self.api_key.clone(),
            access_token: self.access_token.clone(),
            authorizes_late: self.authorizes_late,
            headers: self.headers.clone(),
        }
    }

    /// Base URL of the content of a volume. First counts `url`, an option of the call; then the setting `volumeApiUrl`; then
    /// `answered_domain`, which came with the volume; then the configured domain. When both the answer and `apiUrl` are on
    /// this machine, it is a local server, which serves everything at `apiUrl`.
    ///
    /// # Errors
    /// `invalid_argument` for a URL or a domain that is none: it would send the volume's token elsewhere.
    pub fn volume_content(&self, url: Option<String>, answered_domain: Option<String>) -> Result<String, Error> {
        if let Some(url) = non_empty(&url) {
            return check_url("apiUrl", url);
        }
        let Some(domain) = non_empty(&answered_domain).filter(|_| !self.volume_api_url_is_fixed) else {
            return Ok(self.volume_api_url.clone());
        };
        let domain = check_domain("The volume's domain", domain)?;
        let is_local = |authority: &str| is_loopback(split_port(authority).0);
        let api = HttpUrl::parse(&self.api_url);
        let both_local = is_local(&domain) && api.is_some_and(|api| is_local(api.authority));
        Ok(if both_local { self.api_url.clone() } else { format!("https://api.{domain}") })
    }

    /// The addresses of a sandbox. `answered_domain` is the `domain` of the create or connect answer; it precedes the
    /// configured one.
    ///
    /// When `apiUrl` was given and neither `sandboxUrl` nor `domain` was, an answer with a domain on this machine
    /// (`localhost:3210`) means a local server: its sandboxes are then reached with the scheme of `apiUrl`, from a page at
    /// `http://<port>-<id>.localhost:3210`, from elsewhere at `apiUrl`'s own origin by routing headers.
    ///
    /// # Errors
    /// `invalid_argument` for an id or a domain that cannot be part of a host name: it would send credentials elsewhere.
    pub fn sandbox(
        &self,
        sandbox_id: &str,
        answered_domain: Option<&str>,
        origin: Origin,
    ) -> Result<SandboxAddress, Error> {
        let label = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if sandbox_id.is_empty() || !sandbox_id.bytes().all(label) {
            return Err(Error::invalid_argument(
                "The sandbox id may consist of letters, digits, - and _ only. Use the sandboxId of a created sandbox.",
            ));
        }
        let answered = answered_domain.filter(|domain| !domain.is_empty());
        let domain = check_domain("The sandbox's domain", answered.unwrap_or(&self.domain).to_owned())?;
        let local = answered.filter(|_| self.follows_local_answers).and_then(|d| Place::local(&self.api_url, d));
        let (place, domain) = match (&self.sandbox_url, self.debug, local) {
            (Some(url), ..) => (Place::Override(url.clone()), domain),
            (None, true, _) => (Place::Debug, domain),
            (None, false, Some(local)) => local,
            (None, false, None) => (Place::Hosted, domain),
        };
        Ok(SandboxAddress { sandbox_id: sandbox_id.to_owned(), domain, place, origin })
    }
}

/// What the settings of the Alibaba Cloud platform come to; empty but for the default domain when E2B is meant.
struct Alicloud {
    api_key: Option<Secret>,
    base_url: Option<String>,
    domain: Option<String>,
    default_domain: String,
}

impl Alicloud {
    fn find(sources: &Sources<'_>, own_key: Option<&Secret>) -> Alicloud {
        let e2b = Alicloud { api_key: None, base_url: None, domain: None, default_domain: "e2b.app".to_owned() };
        if sources.platform == Platform::E2b {
            return e2b;
        }
        let api_key = resolver::API_KEY.find(sources).map(Secret::new);
        let base_url = resolver::BASE_URL.find(sources);
        let domain = resolver::DOMAIN.find(sources);
        let region = resolver::REGION.find(sources);
        let is_key_of_e2b = own_key.is_some_and(|key| key.expose().starts_with("e2b_"));
        let meant = api_key.is_some()
            || base_url.is_some()
            || domain.is_some()
            || (region.is_some() && !is_key_of_e2b)
            || sources.platform == Platform::AlicloudExpress;
        if !meant {
            return e2b;
        }
        Alicloud { api_key, base_url, domain, default_domain: resolver::domain_of(region.as_deref()) }
    }
}

fn non_empty(option: &Option<String>) -> Option<String> {
    option.clone().filter(|value| !value.is_empty())
}

/// A URL without the slashes at its end.
fn check_url(option: &str, mut url: String) -> Result<String, Error> {
    if HttpUrl::parse(&url).is_none() {
        return Err(Error::invalid_argument(format!(
            "{option} must be an absolute http or https URL without query and credentials, such as https://api.e2b.app."
        )));
    }
    url.truncate(url.trim_end_matches('/').len());
    Ok(url)
}

fn check_domain(what: &str, domain: String) -> Result<String, Error> {
    let usable = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if !domain.chars().all(usable) || domain.starts_with(['.', ':']) {
        return Err(Error::invalid_argument(format!(
            "{what} must be a host name with an optional port, such as e2b.app, without scheme or path."
        )));
    }
    Ok(domain)
}

fn check_api_key(key: &Secret) -> Result<(), Error> {
    let digits = key.expose().strip_prefix("e2b_").unwrap_or("");
    if !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return Ok(());
    }
    Err(Error::new(
        Kind::Authentication,
        code::UNAUTHENTICATED,
        "The API key does not look like one of E2B (e2b_ and hexadecimal digits). Copy it again from the dashboard, or turn \
         validateApiKey off for other platforms.",
    ))
}
