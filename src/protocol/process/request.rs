//! What is asked of the process service.

use crate::protocol::message::{Encoding, Sink, StringMap, encode};

/// Which process is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    Pid(u32),
    /// Tags are not unique; prefer pids.
    Tag(String),
}

impl Selector {
    fn describe(&self, sink: &mut Sink) {
        sink.message(1, "process", &|sink| match self {
            Selector::Pid(pid) => sink.uint32(1, "pid", *pid),
            Selector::Tag(tag) => sink.string(2, "tag", tag),
        });
    }
}

/// Size of a terminal in character cells. The daemon cuts both numbers to 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PtySize {
    pub cols: u32,
    pub rows: u32,
}

impl PtySize {
    fn describe(self, sink: &mut Sink) {
        sink.message(2, "pty", &|sink| {
            sink.message(1, "size", &|sink| {
                sink.uint32(1, "cols", self.cols);
                sink.uint32(2, "rows", self.rows);
            });
        });
    }
}

/// Starts a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StartRequest {
    /// The program; looked up in the `PATH` of the sandbox. No shell sees it.
    pub cmd: String,
    pub args: Vec<String>,
    /// Added to the daemon's environment.
    pub envs: StringMap,
    /// `None`: the daemon's default directory. A relative one starts at the user's home.
    pub cwd: Option<String>,
    /// Run on a terminal of this size.
    pub pty: Option<PtySize>,
    pub tag: Option<String>,
    /// Whether standard input is a pipe. `None` means yes to the daemon; on a terminal it has no meaning.
    pub stdin: Option<bool>,
}

impl StartRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| {
            sink.message(1, "process", &|sink| {
                sink.string(1, "cmd", &self.cmd);
                sink.strings(2, "args", &self.args);
                sink.map(3, "envs", &self.envs);
                if let Some(cwd) = &self.cwd {
                    sink.string(4, "cwd", cwd);
                }
            });
            if let Some(size) = self.pty {
                size.describe(sink);
            }
            if let Some(tag) = &self.tag {
                sink.string(3, "tag", tag);
            }
            if let Some(stdin) = self.stdin {
                sink.bool(4, "stdin", stdin);
            }
        })
    }
}

/// Attaches to a running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectRequest {
    pub process: Selector,
}

impl ConnectRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| self.process.describe(sink))
    }
}

/// Asks for all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListRequest;

impl ListRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|_| {})
    }
}

/// Resizes a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateRequest {
    pub process: Selector,
    /// `None` changes nothing.
    pub pty: Option<PtySize>,
}

impl UpdateRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| {
            self.process.describe(sink);
            if let Some(size) = self.pty {
                size.describe(sink);
            }
        })
    }
}

/// What is sent to a process, and where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    Stdin(&'a [u8]),
    Pty(&'a [u8]),
}

/// Writes to the standard input or the terminal of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendInputRequest<'a> {
    pub process: Selector,
    pub input: Input<'a>,
}

impl SendInputRequest<'_> {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| {
            self.process.describe(sink);
            sink.message(2, "input", &|sink| match self.input {
                Input::Stdin(data) => sink.bytes(1, "stdin", data),
                Input::Pty(data) => sink.bytes(2, "pty", data),
            });
        })
    }
}

/// The signals the daemon can send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Kill,
    Term,
}

/// Signals a process, not its children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendSignalRequest {
    pub process: Selector,
    pub signal: Signal,
}

impl SendSignalRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| {
            self.process.describe(sink);
            match self.signal {
                Signal::Kill => sink.label(2, "signal", 9, "SIGNAL_SIGKILL"),
                Signal::Term => sink.label(2, "signal", 15, "SIGNAL_SIGTERM"),
            }
        })
    }
}

/// Ends the standard input of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseStdinRequest {
    pub process: Selector,
}

impl CloseStdinRequest {
    /// The message in `encoding`, without an envelope.
    pub fn encode(&self, encoding: Encoding) -> Vec<u8> {
        encode(encoding, &|sink| self.process.describe(sink))
    }
}
