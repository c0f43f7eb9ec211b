//! `broker-tokens.json`, and what no token may be taken for.

use agent_sandbox_web::protocol::broker_token::{Claims, Expected, issue, verify, visitor_key};
use agent_sandbox_web::protocol::secret::Secret;
use serde_json::Value;

use crate::replay::{check_wording, expect_eq, load, replay, text};

fn claims(value: &Value) -> Claims {
    let field = |name| text(value, name).to_owned();
    Claims {
        audience: field("audience"),
        sandbox_id: field("sandboxId"),
        visitor: field("visitor"),
        scopes: field("scopes"),
        issued_at: value["issuedAt"].as_u64().unwrap(),
        expires_at: value["expiresAt"].as_u64().unwrap(),
    }
}

#[test]
fn tokens_are_issued() {
    replay("broker-tokens", "issue", |case| {
        let token = issue(&Secret::new(text(case, "secret")), &claims(&case["claims"])).unwrap();
        Ok(expect_eq("token", token.as_str(), text(case, "token"))?)
    });
}

#[test]
fn tokens_are_checked() {
    replay("broker-tokens", "verify", |case| {
        let secrets: Vec<_> =
            case["secrets"].as_array().unwrap().iter().map(|s| Secret::new(s.as_str().unwrap())).collect();
        let number = |name: &str| case[name].as_u64().unwrap();
        let expected = Expected { audience: text(case, "audience"), now: number("now"), skew: number("skew") };
        let outcome = verify(&secrets, text(case, "token"), expected);
        if let Err(error) = &outcome {
            check_wording(error);
        }
        Ok(expect_eq("outcome", outcome.err().map_or("ok", |error| error.code), text(case, "expect"))?)
    });
}

#[test]
fn visitors_have_keys() {
    replay("broker-tokens", "visitors", |case| {
        Ok(expect_eq("key", visitor_key(text(case, "visitor")).as_str(), text(case, "key"))?)
    });
}

/// Whatever byte of a token is changed, it is no token any more.
#[test]
fn no_byte_can_be_changed() {
    let vectors = load("broker-tokens.json");
    let case = &vectors["issue"][0];
    let (token, secret) = (text(case, "token"), [Secret::new(text(case, "secret"))]);
    let claims = claims(&case["claims"]);
    let expected = Expected { audience: &claims.audience, now: claims.issued_at, skew: 0 };
    assert_eq!(verify(&secret, token, expected).unwrap(), claims);
    for at in 0..token.len() {
        for byte in [token.as_bytes()[at] ^ 1, b'A', b'.', b'-', b'=', b' ', b'\n'] {
            let mut changed = token.as_bytes().to_vec();
            if changed[at] == byte {
                continue;
            }
            changed[at] = byte;
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(verify(&secret, &changed, expected).unwrap_err().code, "session_invalid", "{changed}");
        }
        assert!(verify(&secret, &token[..at], expected).is_err(), "cut at {at}");
    }
}

#[test]
fn weak_secrets_and_broken_claims_are_refused() {
    let good = claims(&load("broker-tokens.json")["issue"][0]["claims"]);
    let short = Secret::new("31 bytes are one byte too few..");
    let error = issue(&short, &good).unwrap_err();
    assert!(error.message.contains("secret") && !error.message.contains("too few"), "{error}");
    assert_eq!(verify(&[short], "", Expected { audience: "", now: 0, skew: 0 }).unwrap_err().code, "invalid_argument");
    let secret = Secret::new("x".repeat(32));
    for broken in [
        Claims { audience: "a\nb".into(), ..good.clone() },
        Claims { sandbox_id: "i1\n".into(), ..good.clone() },
        Claims { visitor: "\0".into(), ..good.clone() },
        Claims { scopes: "run\nlifecycle".into(), ..good },
    ] {
        assert_eq!(issue(&secret, &broken).unwrap_err().code, "invalid_argument");
    }
}
