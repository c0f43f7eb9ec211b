//! Percent-encoding, queries and origins: the few operations on URLs that the protocol needs.

/// Appends `text` to `out`, percent-encoding every UTF-8 byte outside `A–Z a–z 0–9 _ . - ~`. Fit for a path segment and
/// for either side of a query pair.
pub fn percent_encode(out: &mut String, text: &str) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in text.as_bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'~') {
            out.push(byte as char);
        } else {
            out.push('%');
            out.push(HEX[usize::from(byte >> 4)] as char);
            out.push(HEX[usize::from(byte & 15)] as char);
        }
    }
}

/// `base` followed by `/segment` for each segment, percent-encoded.
pub fn join(base: &str, segments: &[&str]) -> String {
    let mut url = String::from(base);
    for segment in segments {
        url.push('/');
        percent_encode(&mut url, segment);
    }
    url
}

/// The path of `url` with `{id}` in place of what names a thing, for logs: `/sandboxes/{id}/timeout`. No origin, no query.
pub fn route(url: &str) -> String {
    /// The segments that are followed by an id, but for these words.
    const COLLECTIONS: [(&str, &[&str]); 9] = [
        ("sandboxes", &["metrics"]),
        ("templates", &["aliases", "tags"]),
        ("aliases", &[]),
        ("builds", &[]),
        ("files", &[]),
        ("volumes", &[]),
        ("volumecontent", &[]),
        ("contexts", &[]),
        ("secrets", &[]),
    ];
    let rest = split_scheme(url).map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or("").split_once('/').map_or("", |(_, path)| path);
    let mut route = String::new();
    let mut before = "";
    for segment in path.split('/') {
        let collection = COLLECTIONS.iter().find(|(name, _)| *name == before);
        let is_id = collection.is_some_and(|(_, words)| !words.contains(&segment));
        route.push('/');
        route.push_str(if is_id { "{id}" } else { segment });
        before = segment;
    }
    route
}

/// A query under construction: `?a=1&b=2`, or nothing while no pair was added.
#[derive(Debug, Default)]
pub struct Query {
    text: String,
    plus_for_space: bool,
}

impl Query {
    /// A query that writes a space as `%20`, which every reader understands.
    pub fn new() -> Self {
        Self::default()
    }

    /// A query that writes a space as `+`, as forms do.
    pub fn form() -> Self {
        Query { text: String::new(), plus_for_space: true }
    }

    /// Adds a pair.
    pub fn push(&mut self, name: &str, value: &str) {
        self.text.push(if self.text.is_empty() { '?' } else { '&' });
        percent_encode(&mut self.text, name);
        self.text.push('=');
        for (index, word) in value.split(' ').enumerate() {
            if index > 0 {
                self.text.push_str(if self.plus_for_space { "+" } else { "%20" });
            }
            percent_encode(&mut self.text, word);
        }
    }

    /// Adds a pair when there is a value.
    pub fn push_some(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.push(name, value);
        }
    }

    /// What to append to a URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The parts of an absolute `http` or `https` URL that addressing needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpUrl<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host and port as written, without user information.
    pub authority: &'a str,
    /// From the first slash after the authority on, without one at the end; may be empty.
    pub path: &'a str,
}

impl<'a> HttpUrl<'a> {
    /// Splits `url`; `None` for another scheme, a missing host, user information, a query or a fragment: none of those
    /// can stand in a base URL.
    pub fn parse(url: &'a str) -> Option<Self> {
        let (scheme, rest) = split_scheme(url)?;
        if !matches!(scheme, "http" | "https") || rest.contains(['?', '#', '@', '\\']) {
            return None;
        }
        if rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return None;
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.is_empty() || authority.starts_with(':') {
            return None;
        }
        Some(HttpUrl { scheme, authority, path: path.trim_end_matches('/') })
    }
}

/// Splits `scheme://rest`. Searching for a text, in place of a character, would bring its own algorithm along.
pub fn split_scheme(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once(':')?;
    Some((scheme, rest.strip_prefix("//")?))
}

/// Splits `host[:port]`; brackets of an IPv6 address stay with the host.
pub fn split_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => (host, Some(port)),
        _ => (authority, None),
    }
}

/// Whether `host` (without a port) is this machine: `localhost`, anything below it, 127.0.0.0/8, `[::1]`.
pub fn is_loopback(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || is_loopback_v4(&host)
}

/// Whether `host` is an address of 127.0.0.0/8.
fn is_loopback_v4(host: &str) -> bool {
    host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::route;

    #[test]
    fn routes_hold_no_id_and_no_query() {
        for (url, expected) in [
            ("https://api.e2b.app/sandboxes", "/sandboxes"),
            ("https://api.e2b.app/sandboxes/i123/timeout", "/sandboxes/{id}/timeout"),
            ("http://localhost:3210/v2/sandboxes?metadata=secret", "/v2/sandboxes"),
            ("http://localhost:3210/sandboxes/metrics?sandbox_ids=a", "/sandboxes/metrics"),
            ("http://h/templates/team%2Fs%3Adefault", "/templates/{id}"),
            ("http://h/templates/aliases/mine", "/templates/aliases/{id}"),
            ("https://49983-i1.e2b.app/files?path=%2Fsecret&signature=v1_x", "/files"),
            ("https://49983-i1.e2b.app/process.Process/Start", "/process.Process/Start"),
            ("https://49999-i1.e2b.app/contexts/c1/restart", "/contexts/{id}/restart"),
            ("http://h", "/"),
        ] {
            assert_eq!(route(url), expected, "{url}");
        }
    }
}
