//! How answers that are not what was asked for become errors.

use agent_sandbox_web::error::Kind;
use agent_sandbox_web::protocol::connect::{Code, Context, RpcError, end_of_stream, read_unary_error};
use agent_sandbox_web::protocol::files;
use agent_sandbox_web::protocol::http::{Head, Headers};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::rpc;
use agent_sandbox_web::protocol::version::{Feature, Version};

use crate::replay::check_wording;

fn head(status: u16, content_type: &str) -> Head {
    let mut headers = Headers::default();
    headers.set("Content-Type", content_type);
    Head { status, headers }
}

fn code_of(status: u16, body: &str) -> Code {
    read_unary_error(&head(status, "application/json"), body.as_bytes()).code
}

#[test]
fn codes_of_bodies() {
    assert_eq!(code_of(500, r#"{"code":"not_found"}"#), Code::NotFound);
    assert_eq!(code_of(500, r#"{"code":404}"#), Code::NotFound);
    // Without a usable code the status decides.
    for body in
        [r#"{"message":"m"}"#, r#"{"code":null}"#, r#"{"code":"odd"}"#, r#"{"code":999}"#, r#"{"code":[]}"#, "{}"]
    {
        assert_eq!(code_of(503, body), Code::Unavailable, "{body}");
        assert_eq!(code_of(404, body), Code::Unimplemented, "{body}");
    }
    for body in ["", "page not found", "<html>", "[1]", "7", "{"] {
        assert_eq!(code_of(502, body), Code::Unavailable, "{body}");
        // Only the service itself can know that a file is missing, and it names the code.
        assert_eq!(code_of(404, body), Code::Unimplemented, "{body}");
    }
    assert_eq!(code_of(418, ""), Code::Unknown);
    // A proxy's 409 must not be taken for "the directory exists already".
    assert_eq!(code_of(409, r#"{"message":"The sandbox is still transitioning."}"#), Code::Aborted);
    assert_eq!(code_of(409, r#"{"code":"already_exists"}"#), Code::AlreadyExists);
    for code in Code::ALL {
        assert_eq!(Code::from_name(code.as_str()), Some(code));
    }
    assert_eq!(Code::from_name("Canceled"), None);
}

#[test]
fn every_code_becomes_a_helpful_error() {
    for code in Code::ALL {
        for context in [Context::Process, Context::ProcessStart, Context::Filesystem] {
            for (message, status) in [("", None), ("words", Some(500)), ("words", None)] {
                let error = RpcError { code, message: message.into(), status, proxy: None }.into_error(context);
                check_wording(&error);
                assert_eq!(error.status, status);
                // What may have begun is not to be repeated blindly.
                assert!(status.is_some() || !error.retryable, "{error}");
            }
        }
    }
    let missing =
        |context| RpcError { code: Code::NotFound, message: "m".into(), status: None, proxy: None }.into_error(context);
    assert_eq!(missing(Context::Filesystem).code, "file_not_found");
    assert_eq!(missing(Context::Process).kind, Kind::NotFound);
}

#[test]
fn the_proxy_is_understood() {
    let gone = br#"{"sandboxId":"i1","message":"The sandbox was not found","code":502}"#;
    let closed =
        br#"{"sandboxId":"i1","message":"The sandbox is running but port is not open","port":49983,"code":502}"#;
    let bad_gateway = head(502, "application/json; charset=utf-8");
    for (context, kind) in [
        (Context::Process, Kind::Timeout),
        (Context::Filesystem, Kind::Timeout),
        (Context::ProcessStart, Kind::SandboxNotFound),
    ] {
        let error = rpc::failure(&bad_gateway, gone, context);
        assert_eq!((error.kind, error.code, error.retryable), (kind, "sandbox_gone", false));
        check_wording(&error);
        let error = rpc::failure(&bad_gateway, closed, context);
        assert_eq!((error.kind, error.code, error.retryable), (Kind::Connection, "port_closed", true));
        assert!(error.message.contains("49983"));
        check_wording(&error);
    }
    assert_eq!(files::failure(&bad_gateway, gone).code, "sandbox_gone");
    assert_eq!(files::failure(&bad_gateway, closed).code, "port_closed");
    assert_eq!(files::failure(&bad_gateway, b"{\"message\":\"x\"}").code, "unavailable");
    assert_eq!(files::failure(&head(500, ""), gone).code, "server_error");
}

#[test]
fn file_statuses() {
    for (status, code, kind) in [
        (400, "invalid_argument", Kind::InvalidArgument),
        (401, "unauthenticated", Kind::Authentication),
        (403, "permission_denied", Kind::Sandbox),
        (404, "file_not_found", Kind::FileNotFound),
        (409, "conflict", Kind::Sandbox),
        (429, "rate_limited", Kind::RateLimit),
        (500, "server_error", Kind::Sandbox),
        (502, "unavailable", Kind::Timeout),
        (503, "unavailable", Kind::Sandbox),
        (507, "not_enough_space", Kind::NotEnoughSpace),
        (302, "protocol_error", Kind::Protocol),
    ] {
        let error = files::failure(&head(status, ""), br#"{"message":"words"}"#);
        assert_eq!((error.code, error.kind, error.status), (code, kind, Some(status)));
        check_wording(&error);
    }
    assert_eq!(files::failure(&head(404, ""), b"404 page not found").code, "unimplemented");
    assert_eq!(files::read_health(&head(404, ""), b"{}").unwrap_err().code, "not_found");
}

#[test]
fn only_the_right_media_type_is_an_answer() {
    let ok = |content_type: &str| head(200, content_type);
    assert!(rpc::is_unary_answer(&ok("application/json; charset=utf-8"), Encoding::Json));
    assert!(rpc::is_unary_answer(&head(201, "Application/Proto"), Encoding::Proto));
    assert!(rpc::is_stream_answer(&ok("application/connect+proto"), Encoding::Proto));
    for content_type in ["", "text/html", "application/json", "application/connect+jsonx"] {
        assert!(!rpc::is_stream_answer(&ok(content_type), Encoding::Json), "{content_type}");
        let error = rpc::failure(&ok(content_type), b"<html>log in</html>", Context::Process);
        assert_eq!(error.code, "protocol_error");
        check_wording(&error);
    }
    assert!(!rpc::is_stream_answer(&head(201, "application/connect+json"), Encoding::Json));
    assert!(rpc::refuses_encoding(&head(415, "")) && !rpc::refuses_encoding(&head(400, "")));
    for status in [307, 415] {
        let error = rpc::failure(&head(status, ""), b"", Context::Process);
        assert_eq!((error.code, error.status), ("protocol_error", Some(status)));
        check_wording(&error);
    }
}

#[test]
fn long_pages_are_cut() {
    let page = format!("<html>{}</html>", "é".repeat(100_000));
    for error in [
        rpc::failure(&head(502, "text/html"), page.as_bytes(), Context::Process),
        rpc::failure(&head(200, "text/html"), page.as_bytes(), Context::Process),
        files::failure(&head(500, "text/html"), page.as_bytes()),
    ] {
        check_wording(&error);
        assert!(error.message.contains("<html>é") && error.message.contains('…'));
    }
    let words = serde_json::json!({"code": "internal", "message": "x".repeat(10_000)}).to_string();
    assert_eq!(read_unary_error(&head(500, ""), words.as_bytes()).message.chars().count(), 301);
}

#[test]
fn end_frames() {
    assert_eq!(end_of_stream(b"").unwrap(), None);
    assert_eq!(end_of_stream(br#"{"error":null,"metadata":{"a":["b"]}}"#).unwrap(), None);
    let error = end_of_stream(br#"{"error":{}}"#).unwrap().unwrap();
    assert_eq!((error.code, error.status), (Code::Unknown, None));
    assert_eq!(end_of_stream(br#"{"error":7}"#).unwrap().unwrap().code, Code::Unknown);
    for payload in [&b"x"[..], b"[]", b"null", b"{", b"\xff"] {
        let error = end_of_stream(payload).unwrap_err();
        assert_eq!(error.code, "protocol_error");
        check_wording(&error);
    }
}

#[test]
fn versions() {
    let supports = |text: &str, feature| Version::parse(text).supports(feature);
    assert!(supports("0.10.0", Feature::WatchNetworkMounts));
    assert!(supports("v0.5.7", Feature::RawUpload) && !supports("0.5.6", Feature::RawUpload));
    // A pre-release comes before its release; build information does not count.
    assert!(!supports("0.5.7-rc.1", Feature::RawUpload) && supports("0.5.8-rc.1", Feature::RawUpload));
    assert!(supports("0.5.7+build.5", Feature::RawUpload));
    assert!(supports("1", Feature::RawUpload) && !supports("0.5", Feature::RawUpload));
    for odd in ["", "main", "0.x", "99999999999.0.0", "..", "-1"] {
        assert_eq!(Version::parse(odd), Version::NEWEST, "{odd}");
    }
    assert_eq!(Version::parse("0.3.9").default_user(), Some("user"));
    assert_eq!(Version::parse("0.4.0").default_user(), None);
    let error = Version::parse("0.6.1").require(Feature::FileMetadata).unwrap_err();
    assert_eq!((error.code, error.kind), ("unsupported_by_sandbox", Kind::Template));
    assert!(error.message.contains("0.6.2") && error.message.contains("0.6.1"));
    check_wording(&error);
}
