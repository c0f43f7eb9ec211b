//! What happened in a sandbox, for its owner: processes that started and ended, pauses, words of the daemon.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// Older entries give way.
const CAPACITY: usize = 2000;

/// How much an entry matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

/// What a daemon writes, one a line, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Event {
    pub(crate) level: Level,
    pub(crate) message: String,
    pub(crate) fields: BTreeMap<String, String>,
}

impl Event {
    pub(crate) fn new(level: Level, message: &str) -> Self {
        Event { level, message: message.to_owned(), fields: BTreeMap::new() }
    }
}

/// An event and its time.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) time: OffsetDateTime,
    pub(crate) event: Event,
}

/// The newest entries of one sandbox.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Mutex<VecDeque<Entry>>,
}

impl Journal {
    pub(crate) fn add(&self, event: Event) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() == CAPACITY {
            entries.pop_front();
        }
        entries.push_back(Entry { time: OffsetDateTime::now_utc(), event });
    }

    pub(crate) fn info(&self, message: &str) {
        self.add(Event::new(Level::Info, message));
    }

    /// All entries, oldest first.
    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_entries_give_way() {
        let journal = Journal::default();
        for number in 0..CAPACITY + 3 {
            journal.info(&number.to_string());
        }
        let entries = journal.entries();
        assert_eq!((entries.len(), entries[0].event.message.as_str()), (CAPACITY, "3"));
    }
}
