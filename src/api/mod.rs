//! The exported classes, their options and their data types (wasm only). May touch the transport; the host only through it.
//!
//! Every exported method answers a promise made by [`crate::transport::task::promise`], moves what it needs into the
//! future, and keeps no borrow of its object across an await: calls may overlap and callbacks may call back.

mod attach;
mod auth;
mod broker;
mod call;
mod code;
mod collector;
mod command_opts;
mod commands;
mod connection;
mod control;
mod control_call;
mod digest;
mod download;
mod durable;
mod envd;
mod exchange;
mod execution;
mod file_url;
mod filesystem;
mod handle;
mod input;
mod interpreter;
mod options;
mod output;
mod plumbing;
mod process;
mod pty;
mod recovery;
mod renewal;
mod sandbox;
mod state;
mod types;
mod unary;
mod upload;
mod watch;

pub use attach::SandboxAttachOpts;
pub use auth::Auth;
pub use call::RequestOpts;
pub use code::{CodeRun, RunCodeOpts};
pub use command_opts::{CommandAttachOpts, CommandConnectOpts, CommandKillOpts, CommandOutputOpts, CommandStartOpts};
pub use commands::Commands;
pub use connection::{ConnectionOpts, EncodingChoice, RequestFacts, ResponseFacts};
pub use control_call::ControlCall;
pub use digest::Sha256;
pub use download::FilesystemReadOpts;
pub use durable::CommandToken;
pub use exchange::exchange;
pub use file_url::SandboxUrlOpts;
pub use filesystem::{Filesystem, FilesystemListOpts, FilesystemRequestOpts, FilesystemWriteOpts};
pub use handle::{CommandHandle, OutputReader};
pub use interpreter::{Context, CreateCodeContextOpts};
pub use plumbing::{settings, sign};
pub use pty::{Pty, PtyConnectOpts, PtyCreateOpts, PtySize};
pub use recovery::CommandReconnectOpts;
pub use renewal::SandboxToken;
pub use sandbox::Sandbox;
pub use types::{CommandResult, EntryInfo, ProcessInfo, WriteInfo};
pub use watch::{DirPoller, FilesystemEvent, WatchHandle, WatchOpts, WatchRequestOpts};
