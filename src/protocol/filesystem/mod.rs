//! `filesystem.Filesystem`: entries, directories and watching. File contents travel through [`super::files`].

mod entry;
mod request;
mod watch;

pub use entry::{EntryInfo, FileType, decode_entries, decode_entry};
pub use request::{
    ListDirRequest, MakeDirRequest, MoveRequest, RemoveRequest, StatRequest, WatchRequest, WatcherRequest,
};
pub use watch::{EventType, FilesystemEvent, WatchEvent, decode_watcher_events, decode_watcher_id};

use super::connect::Context;
use super::rpc::Rpc;

/// Unary: [`StatRequest`] → [`decode_entry`].
pub const STAT: Rpc = method("/filesystem.Filesystem/Stat");
/// Unary: [`MakeDirRequest`] → [`decode_entry`]. `already_exists` when the directory was there.
pub const MAKE_DIR: Rpc = method("/filesystem.Filesystem/MakeDir");
/// Unary: [`MoveRequest`] → [`decode_entry`].
pub const MOVE: Rpc = method("/filesystem.Filesystem/Move");
/// Unary: [`ListDirRequest`] → [`decode_entries`].
pub const LIST_DIR: Rpc = method("/filesystem.Filesystem/ListDir");
/// Unary: [`RemoveRequest`] → an empty message. Recursive; a missing path is success.
pub const REMOVE: Rpc = method("/filesystem.Filesystem/Remove");
/// Server stream: [`WatchRequest`] → [`WatchEvent`]s.
pub const WATCH_DIR: Rpc = method("/filesystem.Filesystem/WatchDir");
/// Unary: [`WatchRequest`] → [`decode_watcher_id`].
pub const CREATE_WATCHER: Rpc = method("/filesystem.Filesystem/CreateWatcher");
/// Unary: [`WatcherRequest`] → [`decode_watcher_events`].
pub const GET_WATCHER_EVENTS: Rpc = method("/filesystem.Filesystem/GetWatcherEvents");
/// Unary: [`WatcherRequest`] → an empty message.
pub const REMOVE_WATCHER: Rpc = method("/filesystem.Filesystem/RemoveWatcher");

const fn method(path: &'static str) -> Rpc {
    Rpc { path, takes_user: true, context: Context::Filesystem }
}
