//! Credentials that cannot be printed by accident.

use std::fmt;

/// An API key or a token. Its `Debug` form is a placeholder and it has no `Display`, so that it cannot reach a log or an
/// error text without [`expose`](Secret::expose) being spelled out.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Secret(value.into())
    }

    /// The value itself, for the one place that puts it on the wire.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
