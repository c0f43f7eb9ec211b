//! `file-signatures.json`: signatures and the URLs that carry them.

use agent_sandbox_web::config::{Config, Options, Origin, Platform, SandboxAddress, Sources};
use agent_sandbox_web::protocol::secret::Secret;
use agent_sandbox_web::protocol::signature::{FileUrl, Operation, sign};
use agent_sandbox_web::protocol::version::Version;
use serde_json::Value;

use crate::replay::{Outcome, expect_eq, expect_error, replay, text};

/// The present plus the wanted seconds, as the API computes it.
fn expiration(case: &Value, seconds: &Value) -> Option<i64> {
    Some(case["now_unix"].as_f64()?.floor() as i64 + seconds.as_i64()?)
}

#[test]
fn signatures() {
    replay("file-signatures", "signatures", |case| {
        let operation = if text(case, "operation") == "read" { Operation::Read } else { Operation::Write };
        let token = Secret::new(text(case, "envd_access_token"));
        let expiration = expiration(case, &case["expiration_in_seconds"]);
        expect_eq("expiration", expiration, case["expect"]["expiration"].as_i64())?;
        let signature = sign(text(case, "path"), operation, case["user"].as_str(), &token, expiration);
        Ok(expect_eq("signature", signature.as_str(), text(&case["expect"], "signature"))?)
    });
}

/// The sandbox of the recordings. The three cases with a note change one setting each.
fn address(case: &Value) -> SandboxAddress {
    let mut options = Options::default();
    match case["note"].as_str() {
        None => {}
        Some(note) if note.starts_with("sandbox_url") => options.sandbox_url = Some("http://h:1/base".into()),
        Some(note) if note.starts_with("domain") => options.domain = Some("e2b.app".into()),
        Some(note) if note.starts_with("debug") => options.debug = Some(true),
        Some(note) => panic!("unknown note {note}"),
    }
    let sources = Sources { platform: Platform::AlicloudExpress, ..Sources::default() };
    Config::resolve(&options, &sources).unwrap().sandbox("sbx123", None, Origin::Runtime).unwrap()
}

#[test]
fn urls() {
    replay("file-signatures", "urls", |case| -> Outcome {
        let address = address(case);
        if let Some(url) = case["envd_api_url"].as_str() {
            expect_eq("envd URL", address.envd().0.as_str(), url)?;
        }
        if let Some(url) = case["mcp_url"].as_str() {
            expect_eq("MCP URL", address.mcp_url().as_str(), url)?;
            expect_eq("host", address.host(80).as_str(), text(case, "host"))?;
        }
        let version = Version::parse(case["envd_version"].as_str().unwrap_or("0.6.5"));
        let token = match case.get("envd_access_token") {
            Some(token) => token.as_str().map(Secret::new),
            None => Some(Secret::new("tok-123")),
        };
        let base_url = address.envd_direct_url();
        let url = FileUrl {
            base_url: &base_url,
            path: text(case, "path"),
            user: case["user"].as_str().or(version.default_user()),
            operation: if text(case, "method") == "download_url" { Operation::Read } else { Operation::Write },
            token: token.as_ref(),
            expiration: expiration(case, &case["use_signature_expiration"]),
        };
        match (url.build(), &case["expect"]) {
            (Ok(url), Value::String(expected)) => Ok(expect_eq("URL", &url, expected)?),
            (Err(error), expected) => Ok(expect_error(&error, &expected["error"])?),
            (Ok(url), expected) => Err(format!("ours {url}, theirs {expected}").into()),
        }
    });
}

/// The recorded client hashes an expiration of 0 and then leaves it out of the URL, which makes the URL useless.
#[test]
fn expiration_zero_is_sent() {
    let token = Secret::new("t");
    let url = FileUrl {
        base_url: "http://h",
        path: "/a",
        user: None,
        operation: Operation::Read,
        token: Some(&token),
        expiration: Some(0),
    };
    assert!(url.build().unwrap().ends_with("&signature_expiration=0"));
}
