//! Which sandbox and which port a request is for, by its host name or its headers. Pure.

use http::{HeaderMap, header};

/// The daemon's port.
pub(crate) const ENVD_PORT: u16 = 49983;

const ID_HEADER: &str = "e2b-sandbox-id";
const PORT_HEADER: &str = "e2b-sandbox-port";

/// What names a sandbox and its port where the host name does not.
pub(crate) const ROUTING_HEADERS: [&str; 2] = [ID_HEADER, PORT_HEADER];

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// The REST API.
    Control,
    /// A port of a sandbox, which may not exist.
    Sandbox { id: String, port: u16 },
}

/// Why a request goes nowhere: the text of a 400.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misrouted {
    MissingHeader,
    InvalidHost,
    InvalidId,
    InvalidPort,
    /// The host is no name of this server: a page may have bound its own name to our address.
    ForeignHost,
}

impl Misrouted {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Misrouted::MissingHeader => "missing header",
            Misrouted::InvalidHost => "Invalid host",
            Misrouted::InvalidId => "Invalid sandbox ID",
            Misrouted::InvalidPort => "Invalid sandbox port",
            Misrouted::ForeignHost => "Invalid host",
        }
    }
}

/// Decides by the host name `<port>-<id>.localhost`, then by the routing headers; everything else on a loopback name is
/// the REST API.
pub(crate) fn route(headers: &HeaderMap) -> Result<Route, Misrouted> {
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().map_or(Ok("localhost"), |host| host.to_str().map_err(|_| Misrouted::InvalidHost))?;
    if hosts.next().is_some() {
        return Err(Misrouted::InvalidHost);
    }
    let name = host_name(host).to_ascii_lowercase();
    if let Some(label) = name.strip_suffix(".localhost") {
        return by_label(label);
    }
    if name != "localhost" && name.parse::<std::net::IpAddr>().is_err() {
        return Err(Misrouted::ForeignHost);
    }
    let text = |name| headers.get(name).map(|value: &http::HeaderValue| value.to_str().unwrap_or(""));
    match (text(ID_HEADER), text(PORT_HEADER)) {
        (None, None) => Ok(Route::Control),
        (Some(id), Some(port)) => sandbox(id, port),
        _ => Err(Misrouted::MissingHeader),
    }
}

/// The host without its port and without the brackets of an IPv6 address.
fn host_name(host: &str) -> &str {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().unwrap_or("");
    }
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

/// `<port>-<id>`, or the older `<port>-<id>-<client id>`.
fn by_label(label: &str) -> Result<Route, Misrouted> {
    let (port, rest) = label.split_once('-').ok_or(Misrouted::InvalidHost)?;
    sandbox(rest, port)
}

fn sandbox(id: &str, port: &str) -> Result<Route, Misrouted> {
    let id = sandbox_id(id).ok_or(Misrouted::InvalidId)?;
    let port = port.parse().ok().filter(|port| *port > 0).ok_or(Misrouted::InvalidPort)?;
    Ok(Route::Sandbox { id: id.to_owned(), port })
}

/// The sandbox whose terminal `/terminal/<id>` of the REST API's host means: for clients that can send no header, where names
/// below `localhost` do not resolve.
pub(crate) fn terminal(path: &str) -> Option<&str> {
    sandbox_id(path.strip_prefix("/terminal/")?)
}

/// The sandbox's part of `<id>` or `<id>-<client id>`, when it can be one.
pub(crate) fn sandbox_id(text: &str) -> Option<&str> {
    let mut parts = text.split('-');
    let id = parts.next()?;
    let client = parts.next();
    let plausible =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (parts.next().is_none() && plausible(id) && client.is_none_or(plausible)).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, id: Option<&str>, port: Option<&str>) -> Result<Route, Misrouted> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        for (name, value) in [(ID_HEADER, id), (PORT_HEADER, port)] {
            if let Some(value) = value {
                headers.insert(name, value.parse().unwrap());
            }
        }
        route(&headers)
    }

    #[test]
    fn one_host_that_is_text() {
        let mut headers = HeaderMap::new();
        assert_eq!(route(&headers), Ok(Route::Control), "old clients send none");
        headers.insert(header::HOST, http::HeaderValue::from_bytes(b"localhost\xff").unwrap());
        assert_eq!(route(&headers), Err(Misrouted::InvalidHost));
        headers.insert(header::HOST, "localhost".parse().unwrap());
        headers.append(header::HOST, "localhost".parse().unwrap());
        assert_eq!(route(&headers), Err(Misrouted::InvalidHost));
    }

    #[test]
    fn hosts_and_headers_decide() {
        let sandbox = |id: &str, port| Ok(Route::Sandbox { id: id.into(), port });
        for (host, id, port, expected) in [
            ("localhost:3210", None, None, Ok(Route::Control)),
            ("127.0.0.1:3210", None, None, Ok(Route::Control)),
            ("[::1]:3210", None, None, Ok(Route::Control)),
            ("LOCALHOST", None, None, Ok(Route::Control)),
            ("49983-iabc.localhost:3210", None, None, sandbox("iabc", 49983)),
            ("49983-iabc.localhost", None, None, sandbox("iabc", 49983)),
            ("8000-iabc-6532622b.localhost:1", None, None, sandbox("iabc", 8000)),
            ("49983-iabc.localhost", Some("other"), Some("1"), sandbox("iabc", 49983)),
            ("localhost:3210", Some("iabc"), Some("80"), sandbox("iabc", 80)),
            ("127.0.0.1", Some("iabc"), Some("80"), sandbox("iabc", 80)),
            ("localhost", Some("iabc"), None, Err(Misrouted::MissingHeader)),
            ("localhost", None, Some("80"), Err(Misrouted::MissingHeader)),
            ("localhost", Some("iabc"), Some("x"), Err(Misrouted::InvalidPort)),
            ("localhost", Some("iabc"), Some("0"), Err(Misrouted::InvalidPort)),
            ("localhost", Some("iabc"), Some("65536"), Err(Misrouted::InvalidPort)),
            ("localhost", Some("../x"), Some("1"), Err(Misrouted::InvalidId)),
            ("localhost", Some(""), Some("1"), Err(Misrouted::InvalidId)),
            ("nodash.localhost", None, None, Err(Misrouted::InvalidHost)),
            ("x-iabc.localhost", None, None, Err(Misrouted::InvalidPort)),
            ("80-a-b-c.localhost", None, None, Err(Misrouted::InvalidId)),
            ("evil.example", None, None, Err(Misrouted::ForeignHost)),
            ("localhost.evil.example:3210", None, None, Err(Misrouted::ForeignHost)),
            ("49983-iabc.evil.example", None, None, Err(Misrouted::ForeignHost)),
        ] {
            assert_eq!(check(host, id, port), expected, "{host} {id:?} {port:?}");
        }
    }
}
