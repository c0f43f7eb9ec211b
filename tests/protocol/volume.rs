//! Where the content of volumes is, and what refusals of volumes mean. The requests are replayed end to end, for
//! `js/volume.js` makes them.

use agent_sandbox_web::config::{Config, Options, Sources};
use agent_sandbox_web::error::Kind;
use agent_sandbox_web::protocol::http::{Head, Headers};
use agent_sandbox_web::protocol::volume::{Subject, failure};

use crate::replay::check_wording;

fn content(options: &Options, url: Option<&str>, answered: Option<&str>) -> Result<String, &'static str> {
    let config = Config::resolve(options, &Sources::default()).unwrap();
    config.volume_content(url.map(str::to_owned), answered.map(str::to_owned)).map_err(|error| {
        check_wording(&error);
        error.code
    })
}

#[test]
fn content_is_where_the_most_specific_setting_says() {
    let some = |text: &str| Some(text.to_owned());
    let default = Options::default();
    let local = Options { api_url: some("http://localhost:3210"), ..Options::default() };
    let remote = Options { api_url: some("https://eu.example"), domain: some("e.test"), ..Options::default() };
    let fixed = Options { volume_api_url: some("https://volumes.example/"), ..local.clone() };
    let debug = Options { debug: Some(true), ..Options::default() };
    for (options, url, answered, expected) in [
        (&default, None, None, Ok("https://api.e2b.app")),
        (&default, None, Some(""), Ok("https://api.e2b.app")),
        (&default, None, Some("eu.e2b.dev"), Ok("https://api.eu.e2b.dev")),
        (&default, Some("http://u:1/"), Some("eu.e2b.dev"), Ok("http://u:1")),
        // The address of the control plane alone says nothing about volumes, unless everything is on this machine.
        (&remote, None, None, Ok("https://api.e.test")),
        (&local, None, None, Ok("https://api.e2b.app")),
        (&local, None, Some("localhost:3210"), Ok("http://localhost:3210")),
        (&local, None, Some("other.example"), Ok("https://api.other.example")),
        (&remote, None, Some("localhost:3210"), Ok("https://api.localhost:3210")),
        (&fixed, None, Some("localhost:3210"), Ok("https://volumes.example")),
        (&debug, None, Some("localhost:3210"), Ok("http://localhost:8080")),
        // A token must not be sent to wherever an answer likes.
        (&default, None, Some("evil.example/x?"), Err("invalid_argument")),
        (&default, None, Some("user@evil.example"), Err("invalid_argument")),
        (&default, Some("ftp://x"), None, Err("invalid_argument")),
    ] {
        assert_eq!(content(options, url, answered), expected.map(str::to_owned), "{options:?} {url:?} {answered:?}");
    }
}

#[test]
fn refusals_have_a_class_and_a_code() {
    use Kind::{Authentication, NotEnoughSpace, Protocol, RateLimit, ServiceBusy, VolumeNotFound, VolumePathNotFound};
    for (status, subject, kind, code, retryable) in [
        (400, Subject::Volume, Kind::Volume, "invalid_argument", false),
        (401, Subject::Volume, Authentication, "unauthenticated", false),
        (401, Subject::Path, Authentication, "unauthenticated", false),
        (403, Subject::Volume, Kind::Volume, "permission_denied", false),
        (404, Subject::Volume, VolumeNotFound, "volume_not_found", false),
        (404, Subject::Path, VolumePathNotFound, "file_not_found", false),
        (409, Subject::Path, Kind::Volume, "already_exists", false),
        (429, Subject::Path, RateLimit, "rate_limited", true),
        (500, Subject::Path, Kind::Volume, "server_error", false),
        (502, Subject::Path, Kind::Volume, "unavailable", true),
        (503, Subject::Volume, ServiceBusy, "service_busy", true),
        (507, Subject::Path, NotEnoughSpace, "not_enough_space", false),
        (302, Subject::Path, Protocol, "protocol_error", false),
    ] {
        for body in [&b""[..], b"<html>", b"[]", b"{", b"\xff\xfe", br#"{"code":404,"message":"no"}"#] {
            let error = failure(&Head { status, headers: Headers::default() }, body, subject);
            check_wording(&error);
            assert_eq!((error.kind, error.code, error.retryable), (kind, code, retryable), "{status}");
        }
    }
    let gone = br#"{"code":"volume_not_found","message":"volume 'v' not found"}"#;
    let error = failure(&Head { status: 404, headers: Headers::default() }, gone, Subject::Path);
    assert_eq!((error.kind, error.code), (Kind::VolumeNotFound, "volume_not_found"));
    assert!(error.message.contains("volume 'v' not found"), "{}", error.message);
}
