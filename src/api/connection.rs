//! Who is asked, and how: connection options, the environment, and what a client made of them keeps.

use js_sys::{Function, Reflect};
use tsify::Tsify;
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

use super::auth::Auth;
use super::options::Options;
use crate::config::{self, Config, Origin, Platform, Sources};
use crate::error::Error;
use crate::protocol::message::{Encoding, StringMap};
use crate::protocol::secret::Secret;
use crate::transport::{Fetch, Observer, host};

/// Where the control plane and the sandboxes are, and with which credentials they are called.
///
/// What is not given is taken from the environment (`E2B_API_KEY`, `E2B_DOMAIN`, `E2B_API_URL`, `E2B_SANDBOX_URL`,
/// `E2B_DEBUG`) in runtimes that have one. Pages have none: pass everything there.
#[derive(Tsify, Clone, Default)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionOpts {
    /// The API key, sent as `X-API-KEY`. Needed by calls of the control plane only. Never put one into a public page.
    #[tsify(optional, type = "string")]
    pub api_key: Option<Secret>,
    /// Other credentials of the control plane than an API key. Keys of the environment are then not used.
    #[tsify(optional, type = "SandboxAuth")]
    pub auth: Option<Auth>,
    /// The base domain of the platform. Default `e2b.app`.
    #[tsify(optional, type = "string")]
    pub domain: Option<String>,
    /// Base URL of the control plane. Default `https://api.<domain>`.
    #[tsify(optional, type = "string")]
    pub api_url: Option<String>,
    /// One base URL for all sandboxes, in place of a host name per sandbox.
    #[tsify(optional, type = "string")]
    pub sandbox_url: Option<String>,
    /// Talk to `http://localhost:3000` and `http://localhost:49983`. Default false.
    #[tsify(optional, type = "boolean")]
    pub debug: Option<bool>,
    /// Limits each call, in milliseconds. Default 60 000; 0 means no limit.
    #[tsify(optional, type = "number")]
    pub request_timeout_ms: Option<u64>,
    /// Ends the call early: it then rejects with `signal.reason`.
    #[tsify(optional, type = "AbortSignal")]
    pub signal: Option<AbortSignal>,
    /// Headers added to control plane requests. A page can only send those that the server's CORS rules allow.
    #[tsify(optional, type = "Record<string, string>")]
    pub headers: Option<StringMap>,
    /// The same, with precedence over `headers`.
    #[tsify(optional, type = "Record<string, string>")]
    pub api_headers: Option<StringMap>,
    /// How often a call of the control plane is repeated: one that was refused with 429 and told how long to wait, and one
    /// that only reads (`getInfo`, `list` …) after 429, 502, 503, 504 or a connection that failed. All of it within
    /// `requestTimeoutMs`. Default 3.
    #[tsify(optional, type = "number")]
    pub retries: Option<u32>,
    /// Used in place of the global `fetch`.
    #[tsify(optional, type = "typeof globalThis.fetch")]
    pub fetch: Option<Function>,
    /// Called before each request. What it throws is dropped.
    #[tsify(optional, type = "(request: RequestFacts) => void")]
    pub on_request: Option<Function>,
    /// Called when the head of an answer has arrived, or the request has failed. What it throws is dropped.
    #[tsify(optional, type = "(response: ResponseFacts) => void")]
    pub on_response: Option<Function>,
    /// Told about every request in words, without ids, queries or credentials: `debug` when it is sent, `info` when it was
    /// answered, `error` for a status of 400 or more and for a request without an answer. What it throws is dropped.
    #[tsify(optional, type = "Logger")]
    pub logger: Option<JsValue>,
    /// Whether the API key must look like one of E2B (`e2b_` and hexadecimal digits). Default false: other platforms have
    /// other keys.
    #[tsify(optional, type = "boolean")]
    pub validate_api_key: Option<bool>,
    /// How messages to the sandbox are written. Default `"auto"`: binary, and JSON for sandboxes that refuse it.
    #[tsify(optional, type = "\"auto\" | \"proto\" | \"json\"")]
    pub encoding: Option<EncodingChoice>,
    /// Read in place of the environment of the process: a map of variables such as the `env` of a Worker, of which only texts
    /// count. `{}` means that nothing but these options counts. Default: the environment, in runtimes that have one.
    #[tsify(optional, type = "object")]
    pub environment: Option<JsValue>,
    /// Which platform is meant where no domain is set. Default `"auto"`: Alibaba Cloud when the environment has an API key, a base URL
    /// or a domain of its own (`ABX_SANDBOX_…`), or a region (`ALIBABA_CLOUD_REGION_ID`) and no API key of E2B; otherwise E2B.
    #[tsify(optional, type = "\"auto\" | \"e2b\" | \"alicloud-express\"")]
    pub platform: Option<Platform>,
}

/// What `onRequest` is told.
#[derive(Tsify)]
pub struct RequestFacts {
    pub method: String,
    /// The path with `{id}` in place of ids, such as `/sandboxes/{id}/timeout`; never a query.
    pub route: String,
    /// 1 for the first sending, one more for each repetition.
    pub attempt: u32,
}

/// What `onResponse` is told.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ResponseFacts {
    #[serde(flatten)]
    pub request: RequestFacts,
    /// The HTTP status; absent when the request failed before there was one.
    #[tsify(optional, type = "number")]
    pub status: Option<u16>,
    /// Milliseconds from the request to the head of the answer, or to the failure.
    pub duration_ms: f64,
    /// Why there is no status.
    #[tsify(optional, type = "unknown")]
    pub error: Option<String>,
}

/// The option `encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodingChoice {
    Auto,
    Fixed(Encoding),
}

impl ConnectionOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        let encoding = match options.string("encoding")?.as_deref() {
            None => None,
            Some("auto") => Some(EncodingChoice::Auto),
            Some("proto") => Some(EncodingChoice::Fixed(Encoding::Proto)),
            Some("json") => Some(EncodingChoice::Fixed(Encoding::Json)),
            Some(_) => {
                return Err(Error::invalid_argument(r#"Option encoding must be "auto", "proto" or "json""#));
            }
        };
        let platform = match options.string("platform")?.as_deref() {
            None => None,
            Some("auto") => Some(Platform::Auto),
            Some("e2b") => Some(Platform::E2b),
            Some("alicloud-express") => Some(Platform::AlicloudExpress),
            Some(_) => {
                return Err(Error::invalid_argument(r#"Option platform must be "auto", "e2b" or "alicloud-express""#));
            }
        };
        if options.get("proxy").is_some() {
            // Ignoring it would send traffic past the proxy that somebody meant to be used.
            return Err(Error::invalid_argument(
                "Option proxy is not supported, because fetch has none. Pass a fetch that uses the proxy as the option fetch",
            ));
        }
        let logger = options.get("logger");
        if logger.as_ref().is_some_and(|logger| !host::is_logger(logger)) {
            return Err(Error::invalid_argument(
                "Option logger must be an object whose debug, info, warn and error are functions, as far as it has them",
            ));
        }
        Ok(ConnectionOpts {
            api_key: options.string("apiKey")?.map(Secret::new),
            auth: Auth::read(options)?,
            domain: options.string("domain")?,
            api_url: options.string("apiUrl")?,
            sandbox_url: options.string("sandboxUrl")?,
            debug: options.boolean("debug")?,
            request_timeout_ms: options.whole("requestTimeoutMs", 0)?,
            signal: options.signal()?,
            headers: options.string_map("headers")?,
            api_headers: options.string_map("apiHeaders")?,
            retries: options.whole("retries", 0)?.map(|retries| u32::try_from(retries).unwrap_or(u32::MAX)),
            fetch: options.function("fetch")?,
            on_request: options.function("onRequest")?,
            on_response: options.function("onResponse")?,
            logger,
            validate_api_key: options.boolean("validateApiKey")?,
            encoding,
            environment: options.object("environment")?,
            platform,
        })
    }

    /// These options, with `base` where they say nothing. A signal belongs to one call and is never inherited.
    fn over(self, base: &ConnectionOpts) -> ConnectionOpts {
        ConnectionOpts {
            api_key: self.api_key.or_else(|| base.api_key.clone()),
            auth: self.auth.or_else(|| base.auth.clone()),
            domain: self.domain.or_else(|| base.domain.clone()),
            api_url: self.api_url.or_else(|| base.api_url.clone()),
            sandbox_url: self.sandbox_url.or_else(|| base.sandbox_url.clone()),
            debug: self.debug.or(base.debug),
            request_timeout_ms: self.request_timeout_ms.or(base.request_timeout_ms),
            signal: self.signal,
            headers: self.headers.or_else(|| base.headers.clone()),
            api_headers: self.api_headers.or_else(|| base.api_headers.clone()),
            retries: self.retries.or(base.retries),
            fetch: self.fetch.or_else(|| base.fetch.clone()),
            on_request: self.on_request.or_else(|| base.on_request.clone()),
            on_response: self.on_response.or_else(|| base.on_response.clone()),
            logger: self.logger.or_else(|| base.logger.clone()),
            validate_api_key: self.validate_api_key.or(base.validate_api_key),
            encoding: self.encoding.or(base.encoding),
            environment: self.environment.or_else(|| base.environment.clone()),
            platform: self.platform.or(base.platform),
        }
    }

    /// The settings that these options and the environment come to.
    pub(super) fn resolve(&self) -> Result<Config, Error> {
        let given = config::Options {
            api_key: self.api_key.clone(),
            validate_api_key: self.validate_api_key,
            domain: self.domain.clone(),
            api_url: self.api_url.clone(),
            sandbox_url: self.sandbox_url.clone(),
            debug: self.debug,
            authorizes_late: self.auth.is_some(),
            request_timeout_ms: self.request_timeout_ms,
            headers: self.headers.clone().unwrap_or_default(),
            api_headers: self.api_headers.clone().unwrap_or_default(),
            ..config::Options::default()
        };
        let env = |name: &str| match &self.environment {
            Some(map) => Reflect::get(map, &JsValue::from_str(name)).ok()?.as_string(),
            None => host::environment(name),
        };
        Config::resolve(&given, &Sources { env: &env, platform: self.platform.unwrap_or_default() })
    }
}

#[wasm_bindgen(typescript_custom_section)]
const LOGGER: &str = r#"
/** Where the option `logger` writes. `console` is one. */
export interface Logger {
    debug?: ((...words: unknown[]) => void) | undefined;
    info?: ((...words: unknown[]) => void) | undefined;
    warn?: ((...words: unknown[]) => void) | undefined;
    error?: ((...words: unknown[]) => void) | undefined;
}
"#;

/// How often a request is repeated, unless the caller says otherwise.
const DEFAULT_RETRIES: u32 = 3;

/// Resolved settings, and the `fetch` that goes with them.
pub(super) struct Client {
    pub(super) config: Config,
    pub(super) fetch: Fetch,
    pub(super) encoding: EncodingChoice,
    /// How often a request may be repeated.
    pub(super) retries: u32,
    options: ConnectionOpts,
}

impl Client {
    /// What adds credentials to a request when it is sent.
    pub(super) fn auth(&self) -> Option<&Auth> {
        self.options.auth.as_ref()
    }

    pub(super) fn new(options: ConnectionOpts) -> Result<Client, Error> {
        let config = options.resolve()?;
        let observer = Observer {
            on_request: options.on_request.clone(),
            on_response: options.on_response.clone(),
            logger: options.logger.clone(),
        };
        let fetch = Fetch::new(options.fetch.clone(), observer);
        let encoding = options.encoding.unwrap_or(EncodingChoice::Auto);
        let retries = options.retries.unwrap_or(DEFAULT_RETRIES);
        Ok(Client { config, fetch, encoding, retries, options: ConnectionOpts { signal: None, ..options } })
    }

    /// This client with a call's own options.
    pub(super) fn with(&self, overrides: ConnectionOpts) -> Result<Client, Error> {
        Client::new(overrides.over(&self.options))
    }

    pub(super) fn origin() -> Origin {
        if host::in_page() { Origin::Page } else { Origin::Runtime }
    }
}
