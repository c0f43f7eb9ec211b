//! Connections from the server's proxy to ports inside the sandbox, whose network may be one of its own.
//!
//! The server connects to a socket and sends the port as two bytes, big endian. The daemon connects to that port on
//! loopback and answers with one byte: 1 and from then on relays, or 0 when nothing listens.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional_with_sizes};
use tokio::net::{TcpStream, UnixListener, UnixStream};

use crate::hangup::Undeterred;
use crate::interpreter;

/// The answer that a relay follows.
pub(crate) const CONNECTED: u8 = 1;
const REFUSED: u8 = 0;

const BUFFER: usize = 64 * 1024;

/// Serves for as long as the sandbox lives.
pub(super) async fn serve(listener: UnixListener, interpreter: Option<PathBuf>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // A peer that went away in the middle is nobody's error.
                let interpreter = interpreter.clone();
                tokio::spawn(async move { relay(stream, interpreter).await.ok() });
            }
            // Out of descriptors: others may end soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn relay(mut outside: UnixStream, interpreter: Option<PathBuf>) -> std::io::Result<()> {
    let port = outside.read_u16().await?;
    // The interpreter listens on a socket of its own: several sandboxes may share one network.
    if let (Some(socket), interpreter::PORT) = (interpreter, port) {
        let mut inside = UnixStream::connect(socket).await?;
        outside.write_u8(CONNECTED).await?;
        copy_bidirectional_with_sizes(&mut outside, &mut inside, BUFFER, BUFFER).await?;
        return Ok(());
    }
    let inside = match TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await {
        Ok(stream) => Ok(stream),
        Err(_) => TcpStream::connect((Ipv6Addr::LOCALHOST, port)).await,
    };
    match inside {
        Ok(inside) => {
            inside.set_nodelay(true)?;
            outside.write_u8(CONNECTED).await?;
            copy_bidirectional_with_sizes(&mut outside, &mut Undeterred::new(inside), BUFFER, BUFFER).await?;
            Ok(())
        }
        Err(_) => outside.write_u8(REFUSED).await,
    }
}
