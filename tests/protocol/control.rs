//! How requests of the control plane are authorized, and what its failures mean. Which requests there are, and what the answers
//! say, is `js/control.js`, which the end-to-end suite holds against `control-plane.json`.

use agent_sandbox_web::error::code;
use agent_sandbox_web::protocol::control::{self, ControlPlane, Subject};
use agent_sandbox_web::protocol::http::{Head, Headers, Method, Request};
use agent_sandbox_web::protocol::message::StringMap;
use agent_sandbox_web::protocol::secret::Secret;

use crate::replay::check_wording;

fn plane() -> ControlPlane {
    ControlPlane {
        api_url: "http://api.test".into(),
        api_key: Some(Secret::new("k1")),
        access_token: None,
        authorizes_late: false,
        headers: StringMap::new(),
    }
}

#[test]
fn other_requests_are_authorized_and_their_failures_read() {
    let url = "http://api.test/templates/tags";
    let request = Request { body: Some(b"{}".to_vec()), ..Request::new(Method::Delete, url) };
    let request = plane().authorize(request).unwrap();
    assert_eq!(request.headers.get("x-api-key"), Some("k1"));
    assert_eq!(request.headers.get("content-type"), Some("application/json"));
    let bare = plane().authorize(Request::new(Method::Get, url)).unwrap();
    assert_eq!((bare.headers.get("content-type"), bare.body), (None, None));
    let nobody = ControlPlane { api_key: None, ..plane() };
    let error = nobody.authorize(Request::new(Method::Get, url)).unwrap_err();
    check_wording(&error);
    assert_eq!(error.code, code::UNAUTHENTICATED);
    assert_eq!(Method::parse("PATCH"), Some(Method::Patch));
    assert_eq!(Method::parse("TRACE"), None);

    let head = |status| Head { status, headers: Headers::default() };
    assert_eq!(control::read_other(&head(204), b""), Ok(()));
    for (status, expected) in [(400, code::INVALID_ARGUMENT), (401, code::UNAUTHENTICATED), (404, code::NOT_FOUND)] {
        let error = control::read_other(&head(status), br#"{"code":0,"message":"words"}"#).unwrap_err();
        assert_eq!((error.code, error.status), (expected, Some(status)));
        assert!(error.message.contains("words"), "{}", error.message);
    }
    assert_eq!(control::read_uploaded(&head(200), b"<ok/>"), Ok(()));
    let refused = control::read_uploaded(&head(403), b"<Error>expired</Error>").unwrap_err();
    assert!(refused.message.contains("403") && refused.message.contains("expired") && !refused.retryable);
    assert!(control::read_uploaded(&head(503), b"").unwrap_err().retryable);
}

#[test]
fn caller_headers_cannot_replace_the_key() {
    let headers = [("X-API-Key", "other"), ("CONTENT-TYPE", "text/plain"), ("authorization", "mine")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let plane = ControlPlane { headers, access_token: Some(Secret::new("at")), ..plane() };
    let request = plane
        .authorize(Request { body: Some(b"{}".to_vec()), ..Request::new(Method::Post, "http://api.test/") })
        .unwrap();
    let sent: Vec<_> = request.headers.iter().collect();
    assert_eq!(sent.len(), 3);
    assert_eq!(request.headers.get("x-api-key"), Some("k1"));
    assert_eq!(request.headers.get("content-type"), Some("application/json"));
    assert_eq!(request.headers.get("authorization"), Some("mine"));
}

fn head(status: u16, headers: &[(&'static str, &str)]) -> Head {
    let mut all = Headers::default();
    headers.iter().for_each(|(name, value)| all.set(*name, *value));
    Head { status, headers: all }
}

#[test]
fn failures_carry_what_is_known() {
    let busy = head(429, &[("Retry-After", " 7 "), ("X-Request-Id", "r1")]);
    let error = Subject::Sandbox.check(&busy, br#"{"message":"slow down"}"#).unwrap_err();
    assert_eq!((error.code, error.retryable, error.retry_after_ms), ("rate_limited", true, Some(7000)));
    assert_eq!((error.status, error.request_id.as_deref()), (Some(429), Some("r1")));

    for (subject, code) in [
        ("sandbox", "sandbox_not_found"),
        ("template", "template_not_found"),
        ("route", "not_found"),
        ("anything", "not_found"),
    ] {
        let unknown = Subject::named(subject).check(&head(404, &[]), br#"{"code":404,"message":"'x' not found"}"#);
        assert_eq!(unknown.unwrap_err().code, code);
    }
    for (status, code, retryable) in [
        (400, "invalid_argument", false),
        (401, "unauthenticated", false),
        (403, "permission_denied", false),
        (404, "sandbox_not_found", false),
        (409, "conflict", true),
        (500, "server_error", false),
        (502, "unavailable", true),
        (503, "service_busy", true),
        (504, "unavailable", true),
        (302, "protocol_error", false),
    ] {
        for body in [&b""[..], b"<html>", b"[]", b"{", b"\xff\xfe", b"{\"message\":7}"] {
            let error = Subject::Sandbox.check(&head(status, &[]), body).unwrap_err();
            check_wording(&error);
            assert_eq!((error.code, error.retryable, error.status), (code, retryable, Some(status)));
        }
    }
}

#[test]
fn unexpected_answers_show_no_secrets() {
    let ok = head(201, &[]);
    for body in [&b""[..], b"null", b"[]", b"{}", b"<html>login</html>", br#"{"envdAccessToken":"hunter2"}"#] {
        let error = ok.unexpected(body);
        check_wording(&error);
        assert_eq!(error.code, "protocol_error");
        assert!(!error.message.contains("hunter2"));
    }
}
