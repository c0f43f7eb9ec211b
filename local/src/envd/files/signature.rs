//! Who may use `/files`: the holder of the token, or of a URL signed with it.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD_NO_PAD;
use http::HeaderMap;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::Query;
use crate::envd::error::HttpError;
use crate::envd::front::token_matches;
use crate::envd::state::Envd;

/// What a signature allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    Read,
    Write,
}

/// Refuses unless there is no token, or the header carries it, or the URL is signed with it. A header decides alone.
pub(super) fn check(envd: &Envd, query: &Query, operation: Operation, headers: &HeaderMap) -> Result<(), HttpError> {
    let Some(token) = envd.settings().access_token.clone() else { return Ok(()) };
    if headers.contains_key("x-access-token") {
        return match token_matches(headers, &token) {
            true => Ok(()),
            false => Err(HttpError::unauthorized("access token present in header but does not match")),
        };
    }
    let given =
        query.signature.as_deref().ok_or_else(|| HttpError::unauthorized("missing signature query parameter"))?;
    let expected = sign(query, operation, &token);
    if !bool::from(given.as_bytes().ct_eq(expected.as_bytes())) {
        return Err(HttpError::unauthorized("invalid signature"));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
    if query.signature_expiration.is_some_and(|expiration| expiration < now) {
        return Err(HttpError::unauthorized("signature is already expired"));
    }
    Ok(())
}

/// `v1_` and the hash of `path:operation:username:token[:expiration]`, from the decoded parameters as they were sent.
fn sign(query: &Query, operation: Operation, token: &str) -> String {
    let path = query.path.as_deref().unwrap_or("");
    let username = query.username.as_deref().unwrap_or("");
    let operation = match operation {
        Operation::Read => "read",
        Operation::Write => "write",
    };
    let mut message = format!("{path}:{operation}:{username}:{token}");
    if let Some(expiration) = query.signature_expiration {
        message.push_str(&format!(":{expiration}"));
    }
    format!("v1_{}", BASE64_STANDARD_NO_PAD.encode(Sha256::digest(message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_the_original_ones() {
        let token = "0123456789abcdef".repeat(4);
        for (path, operation, username, expiration, expected) in [
            ("/home/user/a.txt", Operation::Read, Some("user"), None, "WD1Bfkz9WKRqQn/yTgHXQnwEq9hVmdKNzjjK7wdx+JU"),
            (
                "/home/user/a.txt",
                Operation::Read,
                None,
                Some(4102444800),
                "+t9zTQkTfCqh+xtI/B5kUxEqYnRWXgn1y/jzHmD19Xc",
            ),
            ("", Operation::Write, None, Some(4102444800), "uPu+UtgIHHVAe/rP9IbXxqLWhIY1suIb3UErcnje/N8"),
            (
                "/home/user/a.txt",
                Operation::Write,
                Some("user"),
                Some(1),
                "/yc74tP7/OrCVa3DdMBF7XU1ziU4BrNjJ/iIrPAxHi8",
            ),
            ("/home/user/ü b.txt", Operation::Read, Some("root"), None, "wei/L0XXKz9/cIWm2dZuIku5ei4UGbBQ50wbhd6qNuQ"),
        ] {
            let query = Query {
                path: (!path.is_empty()).then(|| path.to_owned()),
                username: username.map(str::to_owned),
                signature: None,
                signature_expiration: expiration,
            };
            assert_eq!(sign(&query, operation, &token), format!("v1_{expected}"), "{path:?}");
        }
    }
}
