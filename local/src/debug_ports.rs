//! The fixed ports of clients in debug mode (`E2B_DEBUG=true`): the API, the daemon and the code interpreter of one
//! sandbox. Such a client creates no sandbox and sends no token, so whoever reaches these ports needs no key.

use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

use crate::control::Api;
use crate::route::{ENVD_PORT, Misrouted, Route, route};
use crate::sandbox::registry::Registry;
use crate::{interpreter, proxy, server};

const API_PORT: u16 = 3000;

/// Listeners with what they serve. `main` is the port that serves already, and `app` what it serves.
pub(crate) async fn open(
    main: u16,
    app: &Router,
    api: &Arc<Api>,
    registry: &Arc<Registry>,
) -> Result<Vec<(TcpListener, Router)>> {
    let mut open = Vec::new();
    for port in [API_PORT, ENVD_PORT, interpreter::PORT] {
        if port == main {
            continue;
        }
        let app = if port == API_PORT { app.clone() } else { sandbox_port(port, api, registry) };
        let listeners = server::bind(port).await.with_context(|| format!("--debug-ports needs port {port}"))?;
        open.extend(listeners.into_iter().map(|listener| (listener, app.clone())));
    }
    Ok(open)
}

struct Port {
    number: u16,
    api: Arc<Api>,
    registry: Arc<Registry>,
}

fn sandbox_port(number: u16, api: &Arc<Api>, registry: &Arc<Registry>) -> Router {
    let port = Port { number, api: Arc::clone(api), registry: Arc::clone(registry) };
    let log = move |request, next| server::log_as(format!("debug:{number}"), request, next);
    Router::new().fallback(forward).layer(middleware::from_fn(log)).with_state(Arc::new(port))
}

async fn forward(State(port): State<Arc<Port>>, mut request: Request) -> Response {
    // The routing headers name a sandbox that never was.
    for name in crate::route::ROUTING_HEADERS {
        request.headers_mut().remove(name);
    }
    match route(request.headers()) {
        Ok(Route::Control) => {}
        Ok(Route::Sandbox { .. }) => return server::misrouted(Misrouted::InvalidHost),
        Err(misrouted) => return server::misrouted(misrouted),
    }
    match port.api.debug_sandbox().await {
        Ok(sandbox) => proxy::forward(&port.registry, &sandbox.id, port.number, request).await,
        Err(error) => error.into_response(),
    }
}
