//! Accepts connections and speaks HTTP/1.1 on them, with patience that ends.

use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use http::StatusCode;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tower::ServiceExt;

use crate::hangup::Lingering;

/// How long the head of a request may take to arrive, counted from the end of the one before. How long and how many its
/// lines may be is hyper's business, which answers with 431 and 414.
const HEAD_LIMIT: Duration = Duration::from_secs(60);

/// Serves whoever comes, for as long as the runtime lives.
pub(crate) async fn serve(listener: TcpListener, app: Router) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Small frames must not wait for each other.
                let _ = stream.set_nodelay(true);
                tokio::spawn(connection(stream, app.clone()));
            }
            Err(error) => {
                // Out of descriptors: others may end soon.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Serves one connection to its end.
pub(crate) async fn connection(io: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, app: Router) {
    let io = Lingering::new(io);
    let half_closes = io.half_closes();
    let service = app.map_request(|request: http::Request<hyper::body::Incoming>| request.map(Body::new)).map_response(
        move |response: Response| {
            if response.status() == StatusCode::SWITCHING_PROTOCOLS {
                half_closes.store(true, Ordering::Relaxed);
            }
            response
        },
    );
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_LIMIT)
        .serve_connection(TokioIo::new(io), TowerToHyperService::new(service))
        .with_upgrades()
        .await;
    if let Err(error) = served {
        // Clients come, say nonsense and go; that is their business.
        tracing::debug!("a connection ended: {error}");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// What a client gets that sends `head` and waits.
    async fn answer(head: &str) -> String {
        let (mut client, server) = tokio::io::duplex(1024);
        tokio::spawn(connection(server, Router::new()));
        client.write_all(head.as_bytes()).await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test(start_paused = true)]
    async fn who_dawdles_is_not_waited_for() {
        for head in ["", "GET / HTTP/1.1\r\nHost: loc", "GET / HTTP/1.1\r\nHost: localhost\r\n"] {
            let answered = tokio::time::timeout(HEAD_LIMIT * 2, answer(head)).await;
            assert!(answered.is_ok(), "{head:?}");
        }
        let whole = answer("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").await;
        assert!(whole.starts_with("HTTP/1.1 404"), "{whole}");
    }
}
