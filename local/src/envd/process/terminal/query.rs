//! What an address asks for, and whether who dials it may. Pure, but for the settings it is held against.

use http::request::Parts;
use http::{HeaderMap, header};
use subtle::ConstantTimeEq;

use super::Refusal;
use crate::envd::front;
use crate::envd::state::Envd;
use crate::sandbox::users::User;

/// What an address asks for.
pub(super) struct Asked {
    /// Columns and rows.
    pub(super) size: Option<(u32, u32)>,
    pub(super) user: User,
    pub(super) cwd: Option<String>,
    /// A terminal that is there, in place of a new one.
    pub(super) pid: Option<u32>,
    /// Whether to say what happens to the process.
    pub(super) events: bool,
}

/// Reads the query, and the headers of clients that can send some. A token in the header decides alone.
pub(super) fn read(envd: &Envd, parts: &Parts) -> Result<Asked, Refusal> {
    let query = Query::new(parts.uri.query().unwrap_or(""));
    let settings = envd.settings().clone();
    if let Some(token) = &settings.access_token {
        let allowed = match parts.headers.contains_key("x-access-token") {
            true => front::token_matches(&parts.headers, token),
            false => query.get("token").is_some_and(|given| given.as_bytes().ct_eq(token.as_bytes()).into()),
        };
        if !allowed {
            return Err(Refusal::unauthorized());
        }
    }
    let name = query.get("user").map(str::to_owned).or_else(|| front::basic_user(&parts.headers));
    let name = name.unwrap_or(settings.default_user);
    let user = envd.users.by_name(&name).ok_or_else(|| Refusal::invalid(format!("there is no user '{name}'")))?;
    let (cols, rows) = (query.number("cols", u16::MAX.into())?, query.number("rows", u16::MAX.into())?);
    let size = (cols.is_some() || rows.is_some()).then(|| (cols.unwrap_or(80), rows.unwrap_or(24)));
    Ok(Asked {
        size,
        user,
        cwd: query.get("cwd").map(str::to_owned),
        pid: query.number("pid", u32::MAX)?,
        events: query.get("events") == Some("1"),
    })
}

struct Query(Vec<(String, String)>);

impl Query {
    fn new(text: &str) -> Self {
        Query(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first value of a name that is not empty.
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    fn number(&self, name: &str, most: u32) -> Result<Option<u32>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| Refusal::invalid(format!("{name} must be a whole number from 1 to {most}")))
    }
}

/// Whether the request comes from a page of this machine, or from no page at all. Exactly: not from a name that ends or begins
/// like one, and not from a document without an origin.
pub(super) fn is_near(headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let host = || {
        let uri: http::Uri = origin.to_str().ok()?.parse().ok()?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let is_bare = uri.path_and_query().is_none_or(|rest| rest == "/") && !uri.authority()?.as_str().contains('@');
        (is_web && is_bare).then(|| uri.host().unwrap_or("").to_ascii_lowercase())
    };
    let Some(host) = host() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    let is_loopback = address.is_ok_and(|address| address.is_loopback());
    origins.next().is_none() && (host == "localhost" || host.ends_with(".localhost") || is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_machines_are_strangers() {
        let near = |origins: &[&str]| {
            let mut headers = HeaderMap::new();
            for origin in origins {
                headers.append(header::ORIGIN, origin.parse().unwrap());
            }
            is_near(&headers)
        };
        assert!(near(&[]), "no page");
        for origin in [
            "http://localhost",
            "http://localhost:3000",
            "https://LOCALHOST:1",
            "http://app.localhost:5",
            "http://127.0.0.1:8000",
            "http://127.1.2.3",
            "http://[::1]:8000",
        ] {
            assert!(near(&[origin]), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://localhost.evil.example",
            "http://evil-localhost",
            "http://127.0.0.1.evil.example",
            "http://localhost@evil.example",
            "http://evil.example/localhost",
            "http://evil.example#localhost",
            "file://localhost",
            "localhost",
            "http://192.168.1.2",
            "http://[::2]",
            "http://0.0.0.0",
        ] {
            assert!(!near(&[origin]), "{origin}");
        }
        assert!(!near(&["http://localhost", "http://evil.example"]));
    }

    #[test]
    fn queries_are_read_by_name() {
        let query = Query::new("cols=100&token=t%2Fo+k&cols=5&rows=&pid=0");
        assert_eq!(query.get("token"), Some("t/o k"));
        assert_eq!(query.number("cols", 200).ok(), Some(Some(100)));
        assert_eq!(query.number("rows", 200).ok(), Some(None));
        for (name, most) in [("pid", 10), ("cols", 99), ("token", 10)] {
            let Err(Refusal(code, reason)) = query.number(name, most) else { panic!("{name}") };
            assert_eq!(code, 4005);
            assert!(reason.starts_with(name) && !reason.contains("t/o"), "{reason}");
        }
    }
}
