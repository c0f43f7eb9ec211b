//! What a sandbox's daemon says on standard error: events for the sandbox's journal, and everything else in the
//! server's log as well.

use std::sync::Arc;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::ChildStderr;

use super::journal::{Event, Journal, Level};

/// Longer lines are cut: the sandbox's root can write here.
const LONGEST_LINE: u64 = 4096;

pub(super) async fn forward(id: String, stderr: ChildStderr, journal: Arc<Journal>) {
    let mut lines = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        // Command lines may hold secrets: they are their owner's to see, and not in the server's log.
        if let Ok(event) = serde_json::from_slice::<Event>(&line) {
            journal.add(event);
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        tracing::debug!(sandbox = id, "{}", text.escape_debug());
        journal.add(Event::new(Level::Warn, text));
    }
}
