//! Signatures of an access key against known answers, and what they cover.

use agent_sandbox_web::config::{Config, Options, Sources};
use agent_sandbox_web::protocol::access_key::AccessKey;
use agent_sandbox_web::protocol::http::{Method, Request};
use agent_sandbox_web::protocol::secret::Secret;
use serde_json::json;

fn key() -> AccessKey {
    AccessKey { id: "YourAccessKeyId".into(), secret: Secret::new("YourAccessKeySecret"), security_token: None }
}

fn signature(request: &Request) -> &str {
    request.headers.get("authorization").unwrap().rsplit('=').next().unwrap()
}

/// The examples of the platform's own documentation.
#[test]
fn known_answers() {
    for (date, nonce, expected) in [
        (
            "2023-10-26T10:22:32Z",
            "3156853299f313e23d1673dc12e1703d",
            "06563a9e1b43f5dfe96b81484da74bceab24a1d853912eee15083a6f0f3283c0",
        ),
        (
            "2023-10-26T09:01:01Z",
            "d410180a5abf7fe235dd9b74aca91fc0",
            "e521358f7776c97df52e6b2891a8bc73026794a071b50c3323388c4e0df64804",
        ),
    ] {
        let query = "RegionId=cn-shanghai&ImageId=win2019_1809_x64_dtc_zh-cn_40G_alibase_20230811.vhd";
        for url in ["https://ecs.cn-shanghai.aliyuncs.com/?", "https://ecs.cn-shanghai.aliyuncs.com?"] {
            let mut request = Request::new(Method::Post, format!("{url}{query}"));
            request.headers.set("x-acs-action", "RunInstances");
            request.headers.set("x-acs-version", "2014-05-26");
            key().sign(&mut request, date, nonce);
            assert_eq!(signature(&request), expected, "{url}");
            let names = "host;x-acs-action;x-acs-content-sha256;x-acs-date;x-acs-signature-nonce;x-acs-version";
            let head = format!("ACS3-HMAC-SHA256 Credential=YourAccessKeyId,SignedHeaders={names},Signature=");
            assert!(request.headers.get("authorization").unwrap().starts_with(&head));
            let once = request.clone();
            key().sign(&mut request, date, nonce);
            assert!(request == once, "signing again changes nothing");
        }
    }
}

/// Whatever the receiver acts on is covered.
#[test]
fn everything_is_signed() {
    let request = |url: &str, body| Request::json(Method::Post, url, &json!(body));
    let sign = |mut request: Request, key: AccessKey, date: &str, nonce: &str| {
        key.sign(&mut request, date, nonce);
        signature(&request).to_owned()
    };
    let base = sign(request("https://h/a/b?x=1&y=", 1), key(), "d", "n");
    let with_token = AccessKey { security_token: Some(Secret::new("t")), ..key() };
    let mut other_type = request("https://h/a/b?x=1&y=", 1);
    other_type.headers.set("content-type", "text/plain");
    let others = [
        sign(request("https://g/a/b?x=1&y=", 1), key(), "d", "n"),
        sign(request("https://h/a/c?x=1&y=", 1), key(), "d", "n"),
        sign(request("https://h/a/b?x=2&y=", 1), key(), "d", "n"),
        sign(request("https://h/a/b?x=1", 1), key(), "d", "n"),
        sign(request("https://h/a/b?x=1&y=", 2), key(), "d", "n"),
        sign(request("https://h/a/b?x=1&y=", 1), key(), "e", "n"),
        sign(request("https://h/a/b?x=1&y=", 1), key(), "d", "m"),
        sign(request("https://h/a/b?x=1&y=", 1), with_token, "d", "n"),
        sign(other_type, key(), "d", "n"),
    ];
    for other in &others {
        assert_ne!(*other, base);
    }
    // A default port is not in the header that hosts send, and names of hosts have no case.
    assert_eq!(sign(request("https://H:443/a/b?x=1&y=", 1), key(), "d", "n"), base);
    assert_ne!(sign(request("https://h:80/a/b?x=1&y=", 1), key(), "d", "n"), base);
    assert_eq!(
        sign(request("https://h/a?x=1+2", 1), key(), "d", "n"),
        sign(request("https://h/a?x=1%202", 1), key(), "d", "n")
    );
    // The order of the query and how it is encoded do not matter.
    assert_eq!(sign(request("https://h/a/b?y&x=%31", 1), key(), "d", "n"), base);
}

/// No key is needed, and none of the environment is used, when credentials are added later.
#[test]
fn keys_of_the_environment_stay_at_home() {
    let env =
        |name: &str| ["E2B_API_KEY", "E2B_ACCESS_TOKEN", "ABX_SANDBOX_API_KEY"].contains(&name).then(|| "k".into());
    let options = Options { authorizes_late: true, ..Options::default() };
    let config = Config::resolve(&options, &Sources { env: &env, ..Sources::default() }).unwrap();
    let request = config.control_plane().authorize(Request::new(Method::Get, "https://api.test/x")).unwrap();
    assert!(request.authorizes_late);
    assert_eq!((request.headers.get("x-api-key"), request.headers.get("authorization")), (None, None));
    let explicit = Options { api_key: Some(Secret::new("mine")), ..options };
    let config = Config::resolve(&explicit, &Sources { env: &env, ..Sources::default() }).unwrap();
    assert_eq!(
        config
            .control_plane()
            .authorize(Request::new(Method::Get, "https://api.test/x"))
            .unwrap()
            .headers
            .get("x-api-key"),
        Some("mine")
    );
    assert!(!format!("{:?}", key()).contains("YourAccessKeySecret"));
}
