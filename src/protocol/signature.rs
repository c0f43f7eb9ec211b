//! Signed file URLs, which work without any header.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use sha2::{Digest, Sha256};

use super::secret::Secret;
use super::url::Query;
use crate::error::Error;

/// What a signed URL permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Read,
    Write,
}

impl Operation {
    /// The operation's name in what is signed.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
        }
    }
}

/// A file URL to be built.
#[derive(Debug, Clone, Copy)]
pub struct FileUrl<'a> {
    /// Base URL of envd on the sandbox's own host; a shared host cannot be used, because a bare URL has no headers.
    pub base_url: &'a str,
    /// As the daemon will see it; empty for a form upload that names its files itself.
    pub path: &'a str,
    /// The effective user (see [`Version::default_user`](super::version::Version::default_user)).
    pub user: Option<&'a str>,
    pub operation: Operation,
    pub token: Option<&'a Secret>,
    /// When the URL stops working, in Unix seconds; the present plus the wanted seconds. 0 is a real value, long past.
    pub expiration: Option<i64>,
}

/// `v1_` and the unpadded standard base64 of the SHA-256 of `path:operation:user:token`, with `:expiration` appended when
/// there is one. No user is the empty user.
pub fn sign(path: &str, operation: Operation, user: Option<&str>, token: &Secret, expiration: Option<i64>) -> String {
    let mut hash = Sha256::new();
    for part in [path, ":", operation.as_str(), ":", user.unwrap_or(""), ":", token.expose()] {
        hash.update(part);
    }
    if let Some(expiration) = expiration {
        hash.update(format!(":{expiration}"));
    }
    let mut signature = String::from("v1_");
    STANDARD_NO_PAD.encode_string(hash.finalize(), &mut signature);
    signature
}

impl FileUrl<'_> {
    /// The URL, signed when there is a token.
    ///
    /// # Errors
    /// `invalid_argument` for an expiration without a token: nothing could enforce it.
    pub fn build(&self) -> Result<String, Error> {
        let mut query = Query::new();
        if !self.path.is_empty() {
            query.push("path", self.path);
        }
        query.push_some("username", self.user.filter(|user| !user.is_empty()));
        match self.token {
            Some(token) => {
                let signature = sign(self.path, self.operation, self.user, token, self.expiration);
                query.push("signature", &signature);
                query.push_some("signature_expiration", self.expiration.map(|time| time.to_string()).as_deref());
            }
            None if self.expiration.is_some() => {
                return Err(Error::invalid_argument(
                    "A file URL can only expire when the sandbox is secured by an access token. Leave out the expiration, \
                     or create the sandbox with secure: true.",
                ));
            }
            None => {}
        }
        Ok(format!("{}/files{}", self.base_url, query.as_str()))
    }
}
