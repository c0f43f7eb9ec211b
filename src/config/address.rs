//! Where the ports of a sandbox are.

use crate::protocol::rpc::Routing;
use crate::protocol::url::{HttpUrl, is_loopback, split_port};

/// envd's port.
pub const ENVD_PORT: u16 = 49983;
/// The code interpreter's port.
pub const CODE_INTERPRETER_PORT: u16 = 49999;
/// The MCP gateway's port.
pub const MCP_PORT: u16 = 50005;

/// Domains with a host, `sandbox.<domain>`, that is shared by all sandboxes and routed by headers.
const DOMAINS_WITH_SHARED_HOST: [&str; 4] = ["e2b.app", "e2b.dev", "e2b.pro", "e2b-staging.dev"];

/// Where requests come from, which decides how they can be routed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A page or a worker of one: preflights carry no routing headers, so every sandbox needs its own host; `*.localhost`
    /// always resolves.
    Page,
    /// Any other runtime: may route by headers, may be unable to resolve `*.localhost`.
    Runtime,
}

/// The addresses of one sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxAddress {
    pub(super) sandbox_id: String,
    pub(super) domain: String,
    pub(super) place: Place,
    pub(super) origin: Origin,
}

/// Which rule the addresses follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// One base URL for every sandbox and port. Requests carry the routing headers, for behind it may be a gateway.
    Override(String),
    /// Every port of the one sandbox is that port of this machine.
    Debug,
    /// A server on this machine, whose proxy answers at this origin (`http://localhost:3210`) and below its domain.
    Local { scheme: String, origin: String },
    /// TLS below the domain.
    Hosted,
}

impl Place {
    /// The place of a server on this machine and the domain of its sandboxes, if `domain` is on this machine: its sandboxes
    /// are reached the way the control plane is. Under an address there can be no host names, so it becomes `localhost`.
    pub(super) fn local(api_url: &str, domain: &str) -> Option<(Place, String)> {
        let (host, port) = split_port(domain);
        if !is_loopback(host) {
            return None;
        }
        let api = HttpUrl::parse(api_url)?;
        let place =
            Place::Local { scheme: api.scheme.to_owned(), origin: format!("{}://{}", api.scheme, api.authority) };
        let host = if host.ends_with("localhost") { host } else { "localhost" };
        Some((place, port.map_or(host.to_owned(), |port| format!("{host}:{port}"))))
    }
}

impl SandboxAddress {
    /// The domain its host names end in, with a port where the proxy listens on an unusual one.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Host name of a port, with the proxy's own port where it has an unusual one: `8080-<id>.<domain>`.
    pub fn host(&self, port: u16) -> String {
        match self.place {
            Place::Debug => format!("localhost:{port}"),
            _ => format!("{port}-{}.{}", self.sandbox_id, self.domain),
        }
    }

    /// Base URL of envd for calls, and the routing headers it needs.
    pub fn envd(&self) -> (String, Option<Routing>) {
        match self.place {
            Place::Hosted
                if self.origin == Origin::Runtime && DOMAINS_WITH_SHARED_HOST.contains(&self.domain.as_str()) =>
            {
                (format!("https://sandbox.{}", self.domain), Some(self.routing(ENVD_PORT)))
            }
            _ => self.port(ENVD_PORT),
        }
    }

    /// Base URL of envd that works without headers, for signed file URLs.
    pub fn envd_direct_url(&self) -> String {
        match &self.place {
            Place::Override(url) => url.clone(),
            _ => format!("{}://{}", self.scheme(), self.host(ENVD_PORT)),
        }
    }

    /// Base URL of the code interpreter, and the routing headers it needs.
    pub fn code_interpreter(&self) -> (String, Option<Routing>) {
        self.port(CODE_INTERPRETER_PORT)
    }

    /// URL of the MCP gateway, which takes a bearer token and so is never reached in the clear, but on this machine.
    pub fn mcp_url(&self) -> String {
        let scheme = if let Place::Local { scheme, .. } = &self.place { scheme } else { "https" };
        format!("{scheme}://{}/mcp", self.host(MCP_PORT))
    }

    /// Base URL of any port, and the routing headers it needs.
    pub fn port(&self, port: u16) -> (String, Option<Routing>) {
        match &self.place {
            Place::Override(url) => (url.clone(), Some(self.routing(port))),
            Place::Local { origin, .. } if self.origin == Origin::Runtime => (origin.clone(), Some(self.routing(port))),
            _ => (format!("{}://{}", self.scheme(), self.host(port)), None),
        }
    }

    fn scheme(&self) -> &str {
        match &self.place {
            Place::Debug => "http",
            Place::Local { scheme, .. } => scheme,
            Place::Override(_) | Place::Hosted => "https",
        }
    }

    fn routing(&self, port: u16) -> Routing {
        Routing { sandbox_id: self.sandbox_id.clone(), port }
    }
}
