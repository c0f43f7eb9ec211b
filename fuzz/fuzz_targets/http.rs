//! Arbitrary bytes on a connection to the local server: its HTTP, its routing and its REST API, without any sandbox.
//!
//! The first byte chooses the size of the pieces in which the others arrive; `@K` stands for the API key, which no
//! mutation would find. Beside not panicking: the connection ends, and what comes back is nothing or HTTP.

#![no_main]

use std::time::Duration;

use agent_sandbox_local::fuzzing::{API_KEY, Server};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

/// No patience of the server's is longer. Its clock is ours: it jumps as soon as nothing else happens.
const LIMIT: Duration = Duration::from_secs(3600);

thread_local! {
    static SERVER: (Runtime, Server) = {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let server = runtime.block_on(Server::start());
        (runtime, server)
    };
}

async fn exchange(server: &Server, bytes: &[u8], piece: usize) -> Vec<u8> {
    let (client, io) = tokio::io::duplex(1 << 20);
    let (mut reader, mut writer) = tokio::io::split(client);
    let mut answer = Vec::new();
    let talk = async {
        for piece in bytes.chunks(piece) {
            // The server may have hung up.
            if writer.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(server.serve(io), talk, reader.read_to_end(&mut answer)).2.unwrap();
    answer
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, text)) = data.split_first() else { return };
    let mut bytes = Vec::new();
    for (index, part) in text.split(|byte| *byte == b'@').enumerate() {
        match part.strip_prefix(b"K") {
            Some(rest) if index > 0 => bytes.extend([API_KEY.as_bytes(), rest].concat()),
            _ if index > 0 => bytes.extend([b"@", part].concat()),
            _ => bytes.extend(part),
        }
    }
    SERVER.with(|(runtime, server)| {
        let answer = runtime.block_on(async {
            tokio::time::pause();
            let answer = tokio::time::timeout(LIMIT, exchange(server, &bytes, usize::from(piece) + 1)).await;
            tokio::time::resume();
            answer.expect("the connection hangs")
        });
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1."), "{}", String::from_utf8_lossy(&answer));
    });
});
