//! What the environment comes to, and what this client adds to it: the default platform and local servers. Files of settings are
//! made into an environment before, by `agent-sandbox-web/config`.

use agent_sandbox_web::config::{Config, Options, Origin, Platform, Sources, resolver};
use agent_sandbox_web::error::Error;
use agent_sandbox_web::protocol::http::{Method, Request};
use agent_sandbox_web::protocol::message::StringMap;
use agent_sandbox_web::protocol::secret::Secret;
use serde_json::{Value, json};

use crate::replay::{check_wording, expect_eq, load, text};

fn string_map(object: &Value) -> StringMap {
    object.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect()
}

fn options(args: &Value) -> Options {
    let string = |name: &str| args[name].as_str().map(str::to_owned);
    for name in args.as_object().unwrap().keys() {
        let known = ["api_key", "domain", "api_url", "sandbox_url", "request_timeout", "integration", "headers"];
        assert!(known.contains(&name.as_str()), "the recordings use an option this test does not know: {name}");
    }
    Options {
        api_key: string("api_key").map(Secret::new),
        domain: string("domain"),
        api_url: string("api_url"),
        sandbox_url: string("sandbox_url"),
        request_timeout_ms: args["request_timeout"].as_u64().map(|seconds| seconds * 1000),
        headers: string_map(&args["headers"]),
        ..Options::default()
    }
}

/// The recordings that need nothing but an environment, on this machine. The end-to-end suite goes through all of them, files
/// included: `tests/e2e/config-vectors.js`.
#[test]
fn standard_configuration() {
    let recorded = load("config-resolution.json");
    let files = ["project_dotenv", "home_dotenv", "home_config_toml"];
    let cases = recorded["cases"].as_array().unwrap().iter().filter(|case| files.iter().all(|file| case[*file] == ""));
    let mut differing = Vec::new();
    for case in cases {
        if let Err(difference) = compare(case) {
            differing.push(format!("{}: {difference}", text(case, "name")));
        }
    }
    // The domain follows the region: see `domain_follows_region`.
    assert!(differing.len() == 1 && differing[0].starts_with("base_url_env_with_region:"), "{differing:#?}");
}

fn compare(case: &Value) -> Result<(), String> {
    let env = string_map(&case["env"]);
    let env = |name: &str| env.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone());
    let sources = Sources { env: &env, platform: Platform::AlicloudExpress };
    let config = Config::resolve(&options(&case["args"]), &sources).map_err(|error| error.to_string())?;
    let address = config.sandbox("sbx123", None, Origin::Runtime).map_err(|error| error.to_string())?;
    let secret = |secret: &Option<Secret>| secret.as_ref().map(|secret| secret.expose().to_owned());
    let mut expected = case["expect"].clone();
    // A page cannot send one, so this client composes none.
    expected.as_object_mut().unwrap().remove("user_agent");
    let timeout = &mut expected["request_timeout"];
    *timeout = timeout.as_f64().map_or(Value::Null, |seconds| json!((seconds * 1000.0) as u64));
    let ours = json!({
        "domain": config.domain,
        "api_url": config.api_url,
        "debug": config.debug,
        "api_key": secret(&config.api_key),
        "access_token": secret(&config.access_token),
        "validate_api_key": config.validate_api_key,
        "request_timeout": config.request_timeout_ms,
        "sandbox_url_override": config.sandbox_url,
        "envd_url": address.envd().0,
        "envd_direct_url": address.envd_direct_url(),
        "host_8080": address.host(8080),
        "volume_api_url": config.volume_api_url,
    });
    expect_eq("configuration", ours, expected)
}

/// The settings of the platform that are read here, by each of their names; the one of the provider comes first.
#[test]
fn platform_keys() {
    let recorded = load("config-keys.json");
    let keys = [
        ("sandbox_api_key", resolver::API_KEY),
        ("sandbox_base_url", resolver::BASE_URL),
        ("sandbox_domain", resolver::DOMAIN),
        ("region", resolver::REGION),
    ];
    for (name, key) in keys {
        let case = recorded["keys"].as_array().unwrap().iter().find(|case| case["key"] == name).unwrap();
        let env = |asked: &str| Some(format!(" {asked} ")).filter(|_| asked == text(case, "env"));
        assert_eq!(key.find(&Sources { env: &env, ..Sources::default() }).as_deref(), Some(text(case, "env")));
        let own = format!("ABX_ALICLOUD_EXPRESS_{}", name.to_uppercase());
        let env = |asked: &str| [&own, text(case, "env")].contains(&asked).then(|| asked.to_owned());
        let is_scoped = recorded["generic_endpoint_keys"].as_array().unwrap().contains(&json!(name));
        let best = if is_scoped { &own } else { text(case, "env") };
        assert_eq!(key.find(&Sources { env: &env, ..Sources::default() }).as_deref(), Some(best));
    }
    let config =
        Config::resolve(&Options::default(), &Sources { platform: Platform::AlicloudExpress, ..Sources::default() });
    assert_eq!(config.unwrap().api_url, "https://api.cn-hangzhou.e2b.fc.aliyuncs.com");
}

fn resolve(options: Options, env: &[(&str, &str)]) -> Result<Config, Error> {
    let lookup = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    Config::resolve(&options, &Sources { env: &lookup, ..Sources::default() })
}

#[test]
fn default_platform() {
    let domain = |key: Option<&str>, env: &[(&str, &str)]| {
        resolve(Options { api_key: key.map(Secret::new), ..Options::default() }, env).unwrap().domain
    };
    let region = ("ALIBABA_CLOUD_REGION_ID", "cn-beijing");
    assert_eq!(domain(None, &[]), "e2b.app");
    assert_eq!(domain(None, &[("ABX_SANDBOX_API_KEY", "k")]), "cn-hangzhou.e2b.fc.aliyuncs.com");
    assert_eq!(domain(None, &[("ABX_SANDBOX_API_KEY", " ")]), "e2b.app");
    assert_eq!(domain(None, &[("ABX_SANDBOX_BASE_URL", "https://x.example")]), "cn-hangzhou.e2b.fc.aliyuncs.com");
    assert_eq!(domain(None, &[("ABX_SANDBOX_DOMAIN", "d.example")]), "d.example");
    assert_eq!(domain(None, &[region]), "cn-beijing.e2b.fc.aliyuncs.com");
    assert_eq!(domain(Some("ak"), &[region]), "cn-beijing.e2b.fc.aliyuncs.com");
    // A machine that runs in a region must not send a key of E2B there.
    assert_eq!(domain(Some("e2b_00"), &[region]), "e2b.app");
    assert_eq!(domain(None, &[region, ("E2B_API_KEY", "e2b_00")]), "e2b.app");

    let sources = Sources { env: &|name| (name == "ABX_SANDBOX_API_KEY").then(|| "k".into()), platform: Platform::E2b };
    let config = Config::resolve(&Options::default(), &sources).unwrap();
    assert_eq!((config.domain.as_str(), config.api_key), ("e2b.app", None));
}

/// What the region says about the domain holds although the environment sets the base URL.
#[test]
fn domain_follows_region() {
    let env = [("ABX_SANDBOX_BASE_URL", "https://x.example"), ("ALIBABA_CLOUD_REGION_ID", "cn-beijing")];
    let config = resolve(Options::default(), &env).unwrap();
    assert_eq!(config.api_url, "https://x.example");
    assert_eq!(config.domain, "cn-beijing.e2b.fc.aliyuncs.com");
}

#[test]
fn local_server() {
    let options = |api_url: &str| Options { api_url: Some(api_url.into()), ..Options::default() };
    let config = resolve(options("http://127.0.0.1:3210/"), &[]).unwrap();
    for domain in ["localhost:3210", "127.0.0.1:3210", "[::1]:3210"] {
        let page = config.sandbox("i1", Some(domain), Origin::Page).unwrap();
        assert_eq!(page.envd(), ("http://49983-i1.localhost:3210".into(), None), "{domain}");
        assert_eq!(page.code_interpreter(), ("http://49999-i1.localhost:3210".into(), None));
        assert_eq!(page.host(8080), "8080-i1.localhost:3210");
        assert_eq!(page.mcp_url(), "http://50005-i1.localhost:3210/mcp");
        let runtime = config.sandbox("i1", Some(domain), Origin::Runtime).unwrap();
        let (base_url, routing) = runtime.envd();
        assert_eq!(base_url, "http://127.0.0.1:3210");
        assert_eq!(routing.map(|routing| (routing.sandbox_id, routing.port)), Some(("i1".into(), 49983)));
        assert_eq!(runtime.code_interpreter().1.map(|routing| routing.port), Some(49999));
        assert_eq!(runtime.envd_direct_url(), "http://49983-i1.localhost:3210");
        assert_eq!(runtime.host(8080), "8080-i1.localhost:3210");
    }
    let deeper = config.sandbox("i1", Some("box.localhost:1"), Origin::Page).unwrap();
    assert_eq!(deeper.envd().0, "http://49983-i1.box.localhost:1");

    // Everything that says where sandboxes are switches the rule off, and so does a domain that is not on this machine.
    let hosted = |config: Config, domain| config.sandbox("i1", Some(domain), Origin::Page).unwrap().envd().0;
    assert_eq!(hosted(config, "notlocalhost:1"), "https://49983-i1.notlocalhost:1");
    let with_domain = Options { domain: Some("localhost:1".into()), ..options("http://localhost:1") };
    assert_eq!(hosted(resolve(with_domain, &[]).unwrap(), "localhost:1"), "https://49983-i1.localhost:1");
    assert_eq!(hosted(resolve(Options::default(), &[]).unwrap(), "localhost:1"), "https://49983-i1.localhost:1");
    let from_env = resolve(Options::default(), &[("E2B_API_URL", "http://localhost:1")]).unwrap();
    assert_eq!(hosted(from_env, "localhost:1"), "http://49983-i1.localhost:1");
}

#[test]
fn hosted_addresses() {
    let config = resolve(Options::default(), &[]).unwrap();
    let runtime = config.sandbox("i1", None, Origin::Runtime).unwrap();
    assert_eq!(runtime.envd().0, "https://sandbox.e2b.app");
    assert_eq!(runtime.envd().1.map(|routing| routing.port), Some(49983));
    // A preflight carries no routing headers, so a page uses the sandbox's own host.
    let page = config.sandbox("i1", Some(""), Origin::Page).unwrap();
    assert_eq!(page.envd(), ("https://49983-i1.e2b.app".into(), None));
    assert_eq!(page.code_interpreter(), ("https://49999-i1.e2b.app".into(), None));
    assert_eq!(page.mcp_url(), "https://50005-i1.e2b.app/mcp");
    let moved = config.sandbox("i1", Some("own.example"), Origin::Runtime).unwrap();
    assert_eq!((moved.envd(), moved.domain()), (("https://49983-i1.own.example".into(), None), "own.example"));
}

#[test]
fn bad_settings_are_named() {
    let error = |options: Options| {
        let error = resolve(options, &[]).unwrap_err();
        check_wording(&error);
        (error.code, error.message)
    };
    for url in ["api.e2b.app", "ftp://x", "https://", "https://user:pw@x", "https://x?a=b", "https://x y", "//x"] {
        let (code, message) = error(Options { api_url: Some(url.into()), ..Options::default() });
        assert_eq!(code, "invalid_argument");
        assert!(message.contains("apiUrl") && !message.contains("pw"), "{message}");
    }
    let (_, message) = error(Options { sandbox_url: Some("x".into()), ..Options::default() });
    assert!(message.contains("sandboxUrl"), "{message}");
    for domain in ["https://e2b.app", "e2b.app/", "a b", "a@b", ".x", "a?b#c"] {
        let (code, message) = error(Options { domain: Some(domain.into()), ..Options::default() });
        assert!(code == "invalid_argument" && message.contains("domain"), "{message}");
    }
    for key in ["e2b_", "e2b_XYZ", "x", "E2B_00"] {
        let key = Some(Secret::new(key));
        let (code, message) = error(Options { api_key: key, validate_api_key: Some(true), ..Options::default() });
        assert!(code == "unauthenticated" && !message.contains("XYZ"), "{message}");
    }
    let key = Some(Secret::new("e2b_0af9"));
    resolve(Options { api_key: key, validate_api_key: Some(true), ..Options::default() }, &[]).unwrap();
}

/// An id or a domain from elsewhere must not turn a host name into another one: the token would go there.
#[test]
fn host_names_cannot_be_forged() {
    let config = resolve(Options::default(), &[]).unwrap();
    for id in ["", "a.evil.example/", "a/", "a b", "a@b", "é", "a:1", "a#"] {
        let error = config.sandbox(id, None, Origin::Page).unwrap_err();
        assert_eq!(error.code, "invalid_argument", "{id}");
    }
    for domain in ["evil.example/", "evil.example?", "x@evil.example", "a b", "a\\b"] {
        assert!(config.sandbox("i1", Some(domain), Origin::Page).is_err(), "{domain}");
    }
}

#[test]
fn secrets_are_not_printed() {
    let options = Options {
        api_key: Some(Secret::new("hunter2")),
        access_token: Some(Secret::new("hunter2")),
        ..Options::default()
    };
    let config = resolve(options.clone(), &[]).unwrap();
    let request = config.control_plane().authorize(Request::new(Method::Get, "https://api.test/x")).unwrap();
    let printed = format!("{options:?} {config:?} {:?} {request:?}", config.control_plane());
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(request.headers.iter().any(|(_, value)| value == "hunter2"));
}
