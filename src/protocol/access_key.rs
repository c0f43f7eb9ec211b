//! Requests signed with an access key, as gateways of Alibaba Cloud's OpenAPI want them: ACS3-HMAC-SHA256.
//!
//! What is signed is the request in a canonical form: method, path, sorted query, the headers `host`, `content-type` and
//! `x-acs-*`, and the SHA-256 of the body. Time and nonce are arguments.

use std::fmt::Write;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use super::http::Request;
use super::secret::Secret;
use super::url::{HttpUrl, percent_encode};

const ALGORITHM: &str = "ACS3-HMAC-SHA256";

/// An access key. Its secret never leaves this side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessKey {
    pub id: String,
    pub secret: Secret,
    /// Of temporary credentials.
    pub security_token: Option<Secret>,
}

impl AccessKey {
    /// Signs `request`, which must be complete. `date` is in UTC, `2023-10-26T10:22:32Z`; `nonce` is different for each request.
    /// Signing again replaces the former signature.
    pub fn sign(&self, request: &mut Request, date: &str, nonce: &str) {
        request.headers.set("x-acs-date", date);
        request.headers.set("x-acs-signature-nonce", nonce);
        request.headers.set("x-acs-content-sha256", hex(&Sha256::digest(request.body.as_deref().unwrap_or_default())));
        if let Some(token) = &self.security_token {
            request.headers.set("x-acs-security-token", token.expose());
        }
        let (canonical, signed) = canonical(request);
        let text = format!("{ALGORITHM}\n{}", hex(&Sha256::digest(&canonical)));
        let mut mac =
            Hmac::<Sha256>::new_from_slice(self.secret.expose().as_bytes()).expect("HMAC takes keys of any length");
        mac.update(text.as_bytes());
        let signature = hex(&mac.finalize().into_bytes());
        request.headers.set(
            "authorization",
            format!("{ALGORITHM} Credential={},SignedHeaders={signed},Signature={signature}", self.id),
        );
    }
}

/// The canonical form of a request, and the names of the headers in it.
fn canonical(request: &Request) -> (String, String) {
    let url = HttpUrl::parse(request.url.split(['?', '#']).next().unwrap_or(""));
    let host = url.map_or("", |url| url.authority);
    let rest = request.url.split_once("://").map_or("", |(_, rest)| rest);
    let rest = rest.strip_prefix(host).unwrap_or(rest);
    // As the host will name it in the header.
    let default_port = url.map_or("", |url| if url.scheme == "https" { ":443" } else { ":80" });
    let host = host.strip_suffix(default_port).unwrap_or(host).to_ascii_lowercase();
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));

    let mut pairs: Vec<&str> = query.split('&').filter(|pair| !pair.is_empty()).collect();
    pairs.sort_by_key(|pair| pair.split('=').next());
    let pairs: Vec<String> = pairs
        .iter()
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            // Servers read a plus in a query as a space.
            format!("{}={}", recoded(&name.replace('+', " ")), recoded(&value.replace('+', " ")))
        })
        .collect();

    let is_signed = |name: &str| name == "content-type" || name.starts_with("x-acs-");
    let mut headers: Vec<(String, &str)> =
        request.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    headers.retain(|(name, _)| is_signed(name));
    headers.push(("host".to_owned(), &host));
    headers.sort();
    let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    let signed = names.join(";");

    let path: Vec<String> = path.split('/').map(recoded).collect();
    let path = path.join("/");
    let mut text =
        format!("{}\n{}\n{}\n", request.method.as_str(), if path.is_empty() { "/" } else { &path }, pairs.join("&"));
    for (name, value) in &headers {
        let _ = writeln!(text, "{name}:{}", value.trim());
    }
    let hash = request.headers.get("x-acs-content-sha256").unwrap_or_default();
    let _ = write!(text, "\n{signed}\n{hash}");
    (text, signed)
}

/// A part of a URL, which is percent-encoded already, in the one form that is signed.
fn recoded(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |index: usize| tail.get(index).and_then(|&byte| char::from(byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    let mut text = String::new();
    percent_encode(&mut text, &String::from_utf8_lossy(&bytes));
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
