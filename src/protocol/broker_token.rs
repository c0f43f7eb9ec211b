//! The tokens of a broker: which visitor may do what with which sandbox, and until when. A broker keeps no list of them; it
//! knows its own by their signature.
//!
//! ```text
//! b1.<key id>.<claims>.<mac>
//! ```
//!
//! `claims` is the unpadded base64url of six lines: audience, sandbox id, visitor, scopes between spaces, time of issue and of
//! expiry, both in milliseconds since the epoch. `mac` is that of the HMAC-SHA256 of everything before its dot. The key id is
//! made from the secret, so that secrets can be replaced without numbering them. Nothing of a token is looked at, but for the
//! key id, before its mac has been compared, in constant time.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use super::secret::Secret;
use crate::error::{Error, Kind, code};

const VERSION: &str = "b1";

/// The shortest secret, in bytes: one that is as strong as the signature.
pub const LEAST_SECRET: usize = 32;

/// The longest token that is looked at, in bytes.
const LONGEST: usize = 4096;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The broker that issued the token: others refuse it.
    pub audience: String,
    pub sandbox_id: String,
    /// See [`visitor_key`].
    pub visitor: String,
    /// What the token permits, between spaces.
    pub scopes: String,
    /// Milliseconds since the epoch.
    pub issued_at: u64,
    /// Milliseconds since the epoch.
    pub expires_at: u64,
}

/// What a token is held against.
#[derive(Debug, Clone, Copy)]
pub struct Expected<'a> {
    pub audience: &'a str,
    /// Milliseconds since the epoch.
    pub now: u64,
    /// How far the clocks of two brokers may be apart, in milliseconds.
    pub skew: u64,
}

/// A token for `claims`.
///
/// # Errors
/// `invalid_argument` for a secret that is too short, and for claims with control characters.
pub fn issue(secret: &Secret, claims: &Claims) -> Result<String, Error> {
    check_secret(secret)?;
    let Claims { audience, sandbox_id, visitor, scopes, issued_at, expires_at } = claims;
    let texts = [audience, sandbox_id, visitor, scopes];
    if texts.iter().any(|text| text.contains(char::is_control)) {
        return Err(Error::invalid_argument("What a token says must not have control characters."));
    }
    let lines = format!("{audience}\n{sandbox_id}\n{visitor}\n{scopes}\n{issued_at}\n{expires_at}");
    let mut token = format!("{VERSION}.{}.", key_id(secret));
    URL_SAFE_NO_PAD.encode_string(lines, &mut token);
    let mac = mac(secret, &token).finalize().into_bytes();
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(mac, &mut token);
    Ok(token)
}

/// What a token of one of `secrets` says.
///
/// # Errors
/// `invalid_argument` for a secret that is too short. `session_expired` for a token of one's own whose time is over;
/// `session_invalid` for everything else that is not a token for `expected`.
pub fn verify(secrets: &[Secret], token: &str, expected: Expected<'_>) -> Result<Claims, Error> {
    secrets.iter().try_for_each(check_secret)?;
    let claims = authentic(secrets, token).and_then(parse).ok_or_else(invalid)?;
    if claims.audience != expected.audience || claims.issued_at > expected.now.saturating_add(expected.skew) {
        return Err(invalid());
    }
    if expected.now >= claims.expires_at.saturating_add(expected.skew) {
        let message = "The session has expired. Open a new one.";
        return Err(Error::new(Kind::Authentication, code::SESSION_EXPIRED, message));
    }
    Ok(claims)
}

/// What stands for a visitor where the visitor's own name would tell too much, or be too long.
pub fn visitor_key(visitor: &str) -> String {
    let mut hash = Sha256::new();
    hash.update("agent-sandbox broker visitor\n");
    hash.update(visitor);
    URL_SAFE_NO_PAD.encode(&hash.finalize()[..18])
}

fn check_secret(secret: &Secret) -> Result<(), Error> {
    if secret.expose().len() >= LEAST_SECRET {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "Option secret of createSandboxBroker must have at least {LEAST_SECRET} bytes. `openssl rand -base64 32` makes one."
    )))
}

/// The claims of a token that one of `secrets` has signed, not yet looked at.
fn authentic<'a>(secrets: &[Secret], token: &'a str) -> Option<&'a str> {
    if token.len() > LONGEST {
        return None;
    }
    let (signed, given) = token.rsplit_once('.')?;
    let [VERSION, id, claims] = signed.split('.').collect::<Vec<_>>()[..] else { return None };
    let given = URL_SAFE_NO_PAD.decode(given).ok()?;
    let signs = |secret: &&Secret| key_id(secret) == id && mac(secret, signed).verify_slice(&given).is_ok();
    secrets.iter().find(signs).map(|_| claims)
}

fn parse(claims: &str) -> Option<Claims> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let [audience, sandbox_id, visitor, scopes, issued_at, expires_at] = text.split('\n').collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let [audience, sandbox_id, visitor, scopes] = [audience, sandbox_id, visitor, scopes].map(str::to_owned);
    let (issued_at, expires_at) = (issued_at.parse().ok()?, expires_at.parse().ok()?);
    Some(Claims { audience, sandbox_id, visitor, scopes, issued_at, expires_at })
}

/// Which of several secrets has signed: public, and of no use for finding the secret.
fn key_id(secret: &Secret) -> String {
    URL_SAFE_NO_PAD.encode(&mac(secret, "agent-sandbox broker key id").finalize().into_bytes()[..6])
}

fn mac(secret: &Secret, text: &str) -> Hmac<Sha256> {
    let mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes()).expect("HMAC takes keys of any length");
    mac.chain_update(text)
}

/// One error for everything that was tampered with: what exactly is wrong helps nobody else.
fn invalid() -> Error {
    let message = "The session is not one of this broker. Open a new one.";
    Error::new(Kind::Authentication, code::SESSION_INVALID, message)
}
