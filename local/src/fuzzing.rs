//! What the fuzz targets call; compiled for them alone.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::sandbox::isolation::Choice;
use crate::sandbox::limits::Limits;
use crate::sandbox::registry::{Config, Registry};
use crate::{control, listen, server};

/// The key that requests need.
pub const API_KEY: &str = "e2b_0000000000000000000000000000000000000000";

/// A server that listens nowhere and has room for no sandbox.
pub struct Server(Router);

impl Server {
    /// Must be called inside a runtime.
    ///
    /// # Panics
    ///
    /// When there is nowhere to put its files.
    pub async fn start() -> Self {
        let config = Config {
            isolation: Choice::None,
            max_sandboxes: 0,
            envd_version: server::ENVD_VERSION.into(),
            kernels: PathBuf::new(),
            opened: Vec::new(),
            limits: Limits::new(1, None, None),
        };
        let registry = Registry::new(config).await.expect("a registry");
        let templates = control::templates::load(None).expect("the templates");
        let api = control::Api::new(Arc::clone(&registry), templates, API_KEY.into(), "localhost:3210".into());
        Server(server::app(api, registry))
    }

    /// Serves one connection to its end.
    pub async fn serve(&self, io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        listen::connection(io, self.0.clone()).await;
    }
}
