//! The REST API: sandboxes and their lives, the templates and snapshots they are made from, and the volumes they share.

mod auth;
mod body;
mod builds;
mod catalog;
mod cors;
mod daemon;
mod debug;
mod error;
mod lifecycle;
mod listing;
mod network;
mod page;
mod sandboxes;
mod snapshots;
mod tags;
mod telemetry;
pub(crate) mod templates;
mod volumes;

use std::sync::Arc;

use axum::Router;
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, patch, post, put};
use http::{StatusCode, header};

use self::builds::Builds;
use self::builds::uploads::Uploads;
use self::catalog::Catalog;
use self::templates::Template;
use crate::sandbox::registry::Registry;

/// The API's state.
pub(crate) struct Api {
    registry: Arc<Registry>,
    catalog: Catalog,
    builds: Builds,
    uploads: Uploads,
    api_key: String,
    /// Held while the sandbox of clients in debug mode is looked for, so that two of them do not make two.
    debug: tokio::sync::Mutex<()>,
    /// What clients append to `<port>-<id>.` for a sandbox's host.
    domain: String,
}

impl Api {
    pub(crate) fn new(registry: Arc<Registry>, templates: Vec<Template>, api_key: String, domain: String) -> Arc<Self> {
        let (builds, uploads) = (Builds::new(), Uploads::new());
        Arc::new(Api {
            registry,
            catalog: Catalog::new(templates),
            builds,
            uploads,
            api_key,
            debug: Default::default(),
            domain,
        })
    }
}

/// All routes, with CORS in front of authentication: error answers can be read by pages too.
pub(crate) fn router(api: Arc<Api>) -> Router {
    let one = get(sandboxes::info).delete(sandboxes::kill);
    Router::new()
        .route("/sandboxes", get(listing::list).post(sandboxes::create))
        .route("/v2/sandboxes", get(listing::list_v2).post(sandboxes::create_v2))
        .route("/sandboxes/{id}", one.clone())
        .route("/v2/sandboxes/{id}", one)
        .route("/sandboxes/{id}/timeout", post(sandboxes::timeout))
        .route("/sandboxes/{id}/refreshes", post(sandboxes::refresh))
        .route("/sandboxes/{id}/connect", post(lifecycle::connect))
        .route("/v2/sandboxes/{id}/connect", post(lifecycle::connect_v2))
        .route("/sandboxes/{id}/pause", post(lifecycle::pause))
        .route("/sandboxes/{id}/snapshots", post(snapshots::create))
        .route("/sandboxes/{id}/fork", post(snapshots::fork))
        .route("/sandboxes/{id}/network", put(network::update))
        .route("/sandboxes/{id}/metrics", get(telemetry::metrics))
        .route("/sandboxes/metrics", get(telemetry::latest))
        .route("/sandboxes/{id}/logs", get(telemetry::logs))
        .route("/v2/sandboxes/{id}/logs", get(telemetry::logs_v2))
        .route("/snapshots", get(snapshots::list))
        .route("/sandboxes/{id}/resume", post(lifecycle::resume))
        .route("/templates", get(templates::list))
        .route("/v2/templates", get(templates::list_v2).post(builds::api::create))
        .route("/v3/templates", post(builds::api::create))
        .route("/templates/{id}", get(templates::one).delete(templates::delete))
        .route("/v2/templates/{id}", patch(templates::update))
        .route("/templates/{id}/tags", get(tags::list))
        .route("/templates/tags", post(tags::assign).delete(tags::remove))
        .route("/templates/aliases/{alias}", get(templates::alias))
        .route("/volumes", get(volumes::list).post(volumes::create))
        .route("/volumes/{id}", get(volumes::info).delete(volumes::delete))
        .route("/templates/{id}/files/{hash}", get(builds::api::files))
        .route("/v2/templates/{id}/builds/{build}", post(builds::api::start))
        .route("/templates/{id}/builds/{build}/status", get(builds::api::status))
        .route("/templates/{id}/builds/{build}/logs", get(builds::api::logs))
        .layer(middleware::from_fn_with_state(Arc::clone(&api), auth::require_key))
        // An upload has no key but a link that was signed for it.
        .route("/templates/{id}/files/{hash}", put(builds::api::upload))
        .route("/volumecontent/{id}/{*what}", any(volumes::content))
        .route("/health", get(|| async { "Health check successful" }))
        .fallback(not_found)
        .layer(middleware::from_fn(cors::cors))
        .with_state(api)
}

async fn not_found() -> Response {
    let text = [(header::CONTENT_TYPE, "text/plain")];
    (StatusCode::NOT_FOUND, text, "404 page not found").into_response()
}
