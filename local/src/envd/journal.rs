//! Tells the server what happened, for the sandbox's owner to read: one line of JSON on standard error each.

use std::io::Write;

use crate::sandbox::journal::{Event, Level};

/// A command line may be long; its beginning tells which one it is.
const LONGEST_FIELD: usize = 256;

pub(super) fn record(message: &str, fields: &[(&str, &str)]) {
    let mut event = Event::new(Level::Info, message);
    let cut = |text: &str| text.chars().take(LONGEST_FIELD).collect();
    event.fields.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), cut(value))));
    if let Ok(mut line) = serde_json::to_string(&event) {
        line.push('\n');
        // In one piece, because each wakes the server. One that does not listen any more is about to end this process.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
}
