//! Listens on loopback, tells API and sandbox traffic apart, logs requests, and takes everything down at the end.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::control::{self, Api};
use crate::route::{ENVD_PORT, Misrouted, Route, route, terminal};
use crate::sandbox::registry::{Config, Registry};
use crate::{debug_ports, listen, proxy};

/// The daemon version that sandboxes report unless told otherwise.
pub(crate) const ENVD_VERSION: &str = "0.6.13";

/// How long the process waits for sandboxes when it stops; whatever is left is killed by the kernel then.
const STOP_LIMIT: Duration = Duration::from_secs(10);

/// What `serve` was asked for.
pub(crate) struct Options {
    pub(crate) port: u16,
    pub(crate) api_key: Option<String>,
    pub(crate) template_dir: Option<PathBuf>,
    /// Serve the fixed ports of clients in debug mode as well.
    pub(crate) debug_ports: bool,
    pub(crate) sandboxes: Config,
}

/// A server that listens.
pub(crate) struct Server {
    listeners: Vec<(TcpListener, Router)>,
    address: SocketAddr,
    api_key: String,
    registry: Arc<Registry>,
}

impl Server {
    pub(crate) async fn start(options: Options) -> Result<Self> {
        let api_key = match options.api_key {
            Some(key) => well_formed(key)?,
            None => random_key(),
        };
        let templates = control::templates::load(options.template_dir.as_deref())?;
        let listeners = bind(options.port)
            .await
            .map_err(|error| anyhow!("{error:#}; choose another port with --port, or 0 for any"))?;
        let address = listeners[0].local_addr()?;
        let registry = Registry::new(options.sandboxes).await?;
        let api = Api::new(Arc::clone(&registry), templates, api_key.clone(), format!("localhost:{}", address.port()));
        let app = app(Arc::clone(&api), Arc::clone(&registry));
        let mut listeners: Vec<_> = listeners.into_iter().map(|listener| (listener, app.clone())).collect();
        if options.debug_ports {
            if !registry.is_isolated() {
                bail!(
                    "--debug-ports lets every program and web page on this machine run commands in a sandbox; without \
                     isolation that is your own account, so the two do not go together"
                );
            }
            listeners.extend(debug_ports::open(address.port(), &app, &api, &registry).await?);
        }
        Ok(Server { listeners, address, api_key, registry })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn api_key(&self) -> &str {
        &self.api_key
    }

    /// Serves until SIGINT or SIGTERM, then ends all sandboxes.
    pub(crate) async fn run(self) -> Result<()> {
        let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        for (listener, app) in self.listeners {
            tokio::spawn(listen::serve(listener, app));
        }
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping");
        if tokio::time::timeout(STOP_LIMIT, self.registry.close()).await.is_err() {
            tracing::warn!("some sandboxes did not end in time and are killed");
        }
        Ok(())
    }
}

/// All that the server answers: the API, and the sandboxes behind it.
pub(crate) fn app(api: Arc<Api>, registry: Arc<Registry>) -> Router {
    control::router(api).layer(middleware::from_fn_with_state(registry, dispatch)).layer(middleware::from_fn(log))
}

/// Both loopback addresses, where both exist: browsers try `::1` first for names under `localhost`.
pub(crate) async fn bind(port: u16) -> Result<Vec<TcpListener>> {
    let first =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.with_context(|| format!("port {port} is not free"))?;
    let port = first.local_addr()?.port();
    let mut listeners = vec![first];
    match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
        Ok(second) => listeners.push(second),
        Err(error) => tracing::debug!("not listening on ::1: {error}"),
    }
    Ok(listeners)
}

fn random_key() -> String {
    let bytes: [u8; 20] = rand::random();
    bytes.iter().fold("e2b_".to_owned(), |key, byte| format!("{key}{byte:02x}"))
}

fn well_formed(key: String) -> Result<String> {
    let hex = key.strip_prefix("e2b_").unwrap_or("");
    if hex.len() != 40 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        bail!("--api-key must be `e2b_` followed by 40 hex digits: clients refuse other keys");
    }
    Ok(key)
}

async fn dispatch(State(registry): State<Arc<Registry>>, request: Request, next: Next) -> Response {
    match route(request.headers()) {
        Ok(Route::Control) => match terminal(request.uri().path()).map(str::to_owned) {
            Some(id) if proxy::upgrade_of(request.headers()).is_some() => {
                proxy::forward(&registry, &id, ENVD_PORT, at_terminal(request)).await
            }
            _ => next.run(request).await,
        },
        Ok(Route::Sandbox { id, port }) => proxy::forward(&registry, &id, port, request).await,
        Err(fault) => misrouted(fault),
    }
}

/// The request as the sandbox's own host would get it.
fn at_terminal(mut request: Request) -> Request {
    let query = request.uri().query().unwrap_or("");
    if let Ok(uri) = format!("{}?{query}", proxy::TERMINAL).parse() {
        *request.uri_mut() = uri;
    }
    request
}

/// The answer to a request that goes nowhere.
pub(crate) fn misrouted(fault: Misrouted) -> Response {
    let text = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
    (StatusCode::BAD_REQUEST, text, fault.message()).into_response()
}

async fn log(request: Request, next: Next) -> Response {
    let target = match route(request.headers()) {
        Ok(Route::Sandbox { id, port }) => format!("{id}:{port}"),
        _ => "api".into(),
    };
    log_as(target, request, next).await
}

/// One line per request. Queries may hold signatures and are left out, as are all headers.
pub(crate) async fn log_as(target: String, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let response = next.run(request).await;
    let milliseconds = started.elapsed().as_secs_f64() * 1000.0;
    let status = response.status().as_u16();
    tracing::info!(target: "request", to = target, status, ms = format!("{milliseconds:.1}"), "{method} {path}");
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_look_like_keys() {
        assert_eq!(well_formed(random_key()).unwrap().len(), 44);
        for bad in ["", "e2b_", "e2b_xyz", "0123456789abcdef0123456789abcdef01234567"] {
            assert!(well_formed(bad.into()).is_err(), "{bad}");
        }
    }
}
