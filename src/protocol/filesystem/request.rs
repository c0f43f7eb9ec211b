//! What is asked of the filesystem service.

use crate::error::Error;
use crate::protocol::message::{Encoding, Sink, encode};

/// Asks about one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatRequest {
    pub path: String,
}

impl StatRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| sink.string(1, "path", &self.path))
    }
}

/// Makes a directory and its parents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeDirRequest {
    pub path: String,
}

impl MakeDirRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| sink.string(1, "path", &self.path))
    }
}

/// Renames; replaces an existing file, creates missing parents of the destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRequest {
    pub source: String,
    pub destination: String,
}

impl MoveRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| {
            sink.string(1, "source", &self.source);
            sink.string(2, "destination", &self.destination);
        })
    }
}

/// Lists a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListDirRequest {
    path: String,
    depth: Option<u32>,
}

impl ListDirRequest {
    /// `depth` is the number of levels to list; `None` leaves it to the daemon, which lists one.
    ///
    /// # Errors
    /// `invalid_argument` when `depth` is 0, which the daemon would take for 1.
    pub fn new(path: &str, depth: Option<u32>) -> Result<Self, Error> {
        if depth == Some(0) {
            return Err(Error::invalid_argument("depth is 0, but must be at least 1: the number of levels to list."));
        }
        Ok(ListDirRequest { path: path.to_owned(), depth })
    }

    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| {
            sink.string(1, "path", &self.path);
            if let Some(depth) = self.depth {
                sink.uint32(2, "depth", depth);
            }
        })
    }
}

/// Removes a file or a directory with all it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveRequest {
    path: String,
}

impl RemoveRequest {
    /// # Errors
    /// `invalid_argument` when `path` is empty: the daemon would take it for the home directory and remove that.
    pub fn new(path: &str) -> Result<Self, Error> {
        if path.is_empty() {
            return Err(Error::invalid_argument("path is empty. Name the file or directory to remove."));
        }
        Ok(RemoveRequest { path: path.to_owned() })
    }

    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| sink.string(1, "path", &self.path))
    }
}

/// Watches a directory, as a stream (`WatchDir`) or to be polled (`CreateWatcher`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchRequest {
    pub path: String,
    pub recursive: bool,
    /// Whether events carry the entry they are about.
    pub include_entry: bool,
    pub allow_network_mounts: bool,
}

impl WatchRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        let set_flag = |sink: &mut Sink, number, name, flag| {
            if flag {
                sink.bool(number, name, true);
            }
        };
        encode(encoding, &|sink| {
            sink.string(1, "path", &self.path);
            set_flag(sink, 2, "recursive", self.recursive);
            set_flag(sink, 3, "includeEntry", self.include_entry);
            set_flag(sink, 4, "allowNetworkMounts", self.allow_network_mounts);
        })
    }
}

/// Names a polled watcher, to fetch its events or to remove it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatcherRequest {
    pub watcher_id: String,
}

impl WatcherRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| sink.string(1, "watcherId", &self.watcher_id))
    }
}
