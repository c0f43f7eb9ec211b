//! What a handler left of a request's body. It is read before the answer goes out: otherwise the connection is closed
//! under a sender who still writes, and who finds that out by writing never reads the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::header;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};

/// More than this is not the end of a form but an upload that was refused: its sender may well be cut off.
const LIMIT: usize = 256 * 1024;

/// A sender who stopped in the middle is not waited for.
const PATIENCE: Duration = Duration::from_secs(1);

pub(super) async fn read(request: Request, next: Next) -> Response {
    // Who asked first whether to send the body is told by the answer.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return next.run(request).await;
    }
    let (head, body) = request.into_parts();
    let body = Arc::new(Mutex::new(body));
    let lent = Body::new(Lent(Arc::clone(&body)));
    let response = next.run(Request::from_parts(head, lent)).await;
    // Otherwise the answer is made while the body is read.
    if let Some(body) = Arc::into_inner(body) {
        let body = body.into_inner().unwrap_or_else(PoisonError::into_inner);
        let _ = tokio::time::timeout(PATIENCE, drop_some(body)).await;
    }
    response
}

async fn drop_some(mut body: Body) {
    let mut length = 0;
    while let Some(Ok(frame)) = body.frame().await {
        length += frame.data_ref().map_or(0, Bytes::len);
        if length > LIMIT {
            return;
        }
    }
}

/// A body that can be taken back.
struct Lent(Arc<Mutex<Body>>);

impl Lent {
    fn with<T>(&self, look: impl FnOnce(&mut Body) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.with(|body| Pin::new(body).poll_frame(context))
    }

    fn is_end_stream(&self) -> bool {
        self.with(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        self.with(|body| body.size_hint())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::routing::post;
    use axum::{Router, middleware};
    use futures::{StreamExt, stream};
    use tower::ServiceExt;

    use super::*;

    /// How many pieces of an endless body were read when the answer of a handler that reads none came.
    async fn read_of(request: http::request::Builder, piece: &'static [u8]) -> usize {
        let read = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&read);
        let pieces = stream::iter(0..1000).map(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok::<_, axum::Error>(Bytes::from_static(piece))
        });
        let app = Router::new().route("/", post(|| async { "no" })).layer(middleware::from_fn(super::read));
        let response = app.oneshot(request.body(Body::from_stream(pieces)).unwrap()).await.unwrap();
        assert_eq!(response.status(), 200);
        read.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn a_little_is_read_and_a_lot_is_not() {
        let request = || http::Request::post("/");
        assert_eq!(read_of(request(), b"\r\n").await, 1000);
        assert_eq!(read_of(request(), &[0; 64 * 1024]).await, 5);
        assert_eq!(read_of(request().header(header::EXPECT, "100-continue"), b"\r\n").await, 0);
    }

    #[tokio::test]
    async fn a_sender_who_stops_is_not_waited_for() {
        let stuck = stream::pending::<Result<Bytes, axum::Error>>();
        let app = Router::new().route("/", post(|| async { "no" })).layer(middleware::from_fn(super::read));
        let request = http::Request::post("/").body(Body::from_stream(stuck)).unwrap();
        assert_eq!(app.oneshot(request).await.unwrap().status(), 200);
    }
}
