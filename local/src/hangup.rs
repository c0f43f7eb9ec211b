//! Streams on which nobody's last words are lost when one side has heard enough.
//!
//! A server may answer before it has read the whole request, and close. Its peer, which is still sending, then gets an
//! error for its next write, and has to go on reading to find the answer; and a server that closes with bytes of the
//! request unread makes the kernel reset the connection, which may destroy the answer on its way. Knows nothing of HTTP.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long a peer may go on sending what nobody reads any more.
const LINGER_LIMIT: Duration = Duration::from_secs(10);

/// The side that sends: what the peer does not want any more is thrown away, so that reading decides how it ends.
pub(crate) struct Undeterred<S> {
    stream: S,
    unwanted: bool,
}

impl<S> Undeterred<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, unwanted: false }
    }
}

fn hung_up(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::NotConnected)
}

impl<S: AsyncRead + Unpin> AsyncRead for Undeterred<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Undeterred<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        if self.unwanted {
            return Poll::Ready(Ok(data.len()));
        }
        match ready!(Pin::new(&mut self.stream).poll_write(context, data)) {
            Err(error) if hung_up(&error) => {
                self.unwanted = true;
                Poll::Ready(Ok(data.len()))
            }
            written => Poll::Ready(written),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_flush(context)) {
            Err(error) if hung_up(&error) => Poll::Ready(Ok(())),
            flushed => Poll::Ready(flushed),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match ready!(Pin::new(&mut self.stream).poll_shutdown(context)) {
            Err(error) if hung_up(&error) => Poll::Ready(Ok(())),
            shut => Poll::Ready(shut),
        }
    }
}

/// The side that answers: closing says so first, and then takes in what is still under way, for a limited time.
pub(crate) struct Lingering<S> {
    stream: S,
    /// Since closing was said.
    limit: Option<Pin<Box<Sleep>>>,
    half_closes: Arc<AtomicBool>,
}

impl<S> Lingering<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, limit: None, half_closes: Arc::default() }
    }

    /// To be set when the stream becomes a tunnel, in which one direction may end long before the other: closing then
    /// only says so.
    pub(crate) fn half_closes(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.half_closes)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Lingering<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Lingering<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, data)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self { stream, limit, half_closes } = self.get_mut();
        if limit.is_none() {
            ready!(Pin::new(&mut *stream).poll_shutdown(context))?;
        }
        if half_closes.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let limit = limit.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER_LIMIT)));
        let mut unread = [0; 16 * 1024];
        loop {
            if limit.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            let mut buffer = ReadBuf::new(&mut unread);
            match ready!(Pin::new(&mut *stream).poll_read(context, &mut buffer)) {
                Ok(()) if !buffer.filled().is_empty() => {}
                // The peer has closed as well, or is gone.
                Ok(()) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_read_though_the_question_was_not_heard() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut ours = Undeterred::new(ours);
        ours.write_all(b"beginning").await.unwrap();
        theirs.write_all(b"enough").await.unwrap();
        drop(theirs);
        for _ in 0..100 {
            ours.write_all(&[0; 1 << 16]).await.unwrap();
        }
        let mut answer = [0; 6];
        ours.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"enough");
        ours.shutdown().await.unwrap();
    }

    #[tokio::test]
    async fn what_comes_too_late_is_taken_in() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let closing = tokio::spawn(async move {
            let mut ours = Lingering::new(ours);
            ours.write_all(b"enough").await.unwrap();
            ours.shutdown().await.unwrap();
        });
        theirs.write_all(&[0; 1 << 20]).await.unwrap();
        theirs.shutdown().await.unwrap();
        let mut answer = String::new();
        theirs.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer, "enough");
        closing.await.unwrap();
    }

    #[tokio::test]
    async fn a_tunnel_may_end_in_one_direction_only() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let mut ours = Lingering::new(ours);
        ours.half_closes().store(true, Ordering::Relaxed);
        theirs.write_all(b"still here").await.unwrap();
        ours.shutdown().await.unwrap();
        let mut data = [0; 10];
        ours.read_exact(&mut data).await.unwrap();
        assert_eq!(&data, b"still here");
    }

    #[tokio::test(start_paused = true)]
    async fn who_never_ends_is_not_listened_to_forever() {
        let (ours, mut theirs) = tokio::io::duplex(1024);
        let closing = tokio::spawn(async move { Lingering::new(ours).shutdown().await });
        let sending = tokio::spawn(async move {
            while theirs.write_all(&[0; 100]).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        tokio::time::timeout(LINGER_LIMIT * 2, closing).await.unwrap().unwrap().unwrap();
        sending.await.unwrap();
    }
}
