//! Processes that run, and for a while those that ended: their input, their subscribers, their signals.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use connectrpc::ConnectError;
use tokio::io::AsyncWriteExt;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Selector;
use crate::envd::error::reason;
use crate::protocol::process::__buffa::oneof;
use crate::protocol::process::process_event::{DataEvent, EndEvent};
use crate::protocol::process::{ProcessConfig, ProcessInfo, ProcessInput};

/// How long the end of a process is remembered for those who connect late.
const REMEMBERED: Duration = Duration::from_secs(30);

/// Events a subscriber may lag behind before the process has to wait: bounded memory, and no output is lost.
const BACKLOG: usize = 16;

/// What happens to a process after its start.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Data(DataEvent),
    End(EndEvent),
}

/// One process.
pub(crate) struct Process {
    pub(super) pid: u32,
    pub(super) tag: Option<String>,
    started: Instant,
    config: ProcessConfig,
    input: Input,
    /// `None` when it ended: what is remembered of a process takes no descriptor.
    handle: Mutex<Option<OwnedFd>>,
    /// Cancelled when a signal was sent: the end is then no longer delayed by whoever else holds the output pipes.
    pub(super) signalled: CancellationToken,
    audience: Mutex<Audience>,
}

#[derive(Default)]
struct Audience {
    subscribers: Vec<mpsc::Sender<Event>>,
    end: Option<EndEvent>,
}

/// Where input for the process goes.
pub(super) enum Input {
    /// No input: the process reads from `/dev/null`.
    None,
    Pipe {
        pipe: tokio::sync::Mutex<Option<pipe::Sender>>,
        closed: CancellationToken,
    },
    Terminal(Arc<AsyncFd<OwnedFd>>),
}

/// The receiving end of a process's events.
pub(super) enum Subscription {
    Live(mpsc::Receiver<Event>),
    /// The process had ended already.
    Ended(EndEvent),
}

impl Subscription {
    /// The next event; after the end, the end again.
    pub(super) async fn next(&mut self) -> Event {
        match self {
            Subscription::Live(events) => match events.recv().await {
                Some(event) => event,
                // The sender lives until it has sent the end; this is only reached when the daemon stops.
                None => std::future::pending().await,
            },
            Subscription::Ended(end) => Event::End(end.clone()),
        }
    }
}

impl Process {
    pub(super) fn new(pid: u32, handle: OwnedFd, config: ProcessConfig, tag: Option<String>, input: Input) -> Self {
        let (handle, audience) = (Mutex::new(Some(handle)), Mutex::default());
        let (started, signalled) = (Instant::now(), CancellationToken::new());
        Process { pid, tag, started, config, input, handle, signalled, audience }
    }

    fn handle(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn audience(&self) -> MutexGuard<'_, Audience> {
        self.audience.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All events from now on.
    pub(super) fn subscribe(&self) -> Subscription {
        let mut audience = self.audience();
        if let Some(end) = &audience.end {
            return Subscription::Ended(end.clone());
        }
        let (sender, receiver) = mpsc::channel(BACKLOG);
        audience.subscribers.push(sender);
        Subscription::Live(receiver)
    }

    /// Hands `data` to every subscriber, waiting for the slow ones. Without subscribers it is dropped.
    pub(super) async fn publish(&self, data: DataEvent) {
        let subscribers = self.audience().subscribers.clone();
        let mut gone = false;
        for subscriber in &subscribers {
            gone |= subscriber.send(Event::Data(data.clone())).await.is_err();
        }
        if gone {
            self.audience().subscribers.retain(|subscriber| !subscriber.is_closed());
        }
    }

    /// The last event.
    pub(super) fn finish(&self, end: EndEvent) {
        *self.handle() = None;
        let subscribers = {
            let mut audience = self.audience();
            audience.end = Some(end.clone());
            std::mem::take(&mut audience.subscribers)
        };
        for subscriber in subscribers {
            let event = Event::End(end.clone());
            // A full backlog must not hold up the others; the end waits in a task of its own.
            if let Err(mpsc::error::TrySendError::Full(event)) = subscriber.try_send(event) {
                tokio::spawn(async move { subscriber.send(event).await });
            }
        }
    }

    /// Whether it runs on a terminal.
    pub(super) fn is_terminal(&self) -> bool {
        matches!(self.input, Input::Terminal(_))
    }

    fn ended(&self) -> bool {
        self.audience().end.is_some()
    }

    /// Sends `signal` to the process itself, not to its children. False when it is gone.
    pub(super) fn signal(&self, signal: i32) -> bool {
        if self.ended() {
            return false;
        }
        self.signalled.cancel();
        let handle = self.handle();
        let Some(handle) = &*handle else { return false };
        // SAFETY: the descriptor refers to this very process, even after its number was used again.
        unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), signal, 0, 0) == 0 }
    }

    /// Writes input, waiting while the process does not read.
    pub(super) async fn write(&self, input: &ProcessInput) -> Result<(), ConnectError> {
        use oneof::process_input::Input as Kind;
        let stdin_error = |text: &str| ConnectError::internal(format!("error writing to stdin: {text}"));
        match (&input.input, &self.input) {
            (None, _) => Err(ConnectError::unimplemented("invalid input type <nil>")),
            (Some(Kind::Stdin(_)), Input::Terminal(_)) => {
                Err(stdin_error("tty assigned to process — input should be written to the pty, not the stdin"))
            }
            (Some(Kind::Stdin(_)), Input::None) => Err(stdin_error("stdin not enabled or closed")),
            (Some(Kind::Stdin(data)), Input::Pipe { pipe, closed }) => {
                let write = async {
                    let mut pipe = pipe.lock().await;
                    let pipe = pipe.as_mut().ok_or_else(|| stdin_error("stdin not enabled or closed"))?;
                    pipe.write_all(data).await.map_err(|error| {
                        stdin_error(&format!(
                            "error writing to stdin of process '{}': write |1: {}",
                            self.pid,
                            reason(&error)
                        ))
                    })
                };
                tokio::select! {
                    biased;
                    () = closed.cancelled() => {
                        // `close_stdin` found the pipe busy and left it to us.
                        *pipe.lock().await = None;
                        Err(stdin_error("stdin not enabled or closed"))
                    }
                    written = write => written,
                }
            }
            (Some(Kind::Pty(data)), Input::Terminal(terminal)) => write_terminal(terminal, data)
                .await
                .map_err(|error| ConnectError::internal(format!("error writing to tty: {}", reason(&error)))),
            (Some(Kind::Pty(_)), _) => Err(ConnectError::internal(
                "error writing to tty: tty not assigned to process — input should be written to the stdin, not the tty",
            )),
        }
    }

    /// End of file on standard input, even while a write is stuck. Repeating it is fine.
    pub(super) fn close_stdin(&self) -> Result<(), ConnectError> {
        match &self.input {
            Input::None => Ok(()),
            Input::Pipe { pipe, closed } => {
                closed.cancel();
                // Otherwise a writer holds the pipe: it has just been told to stop, and closes it.
                if let Ok(mut pipe) = pipe.try_lock() {
                    *pipe = None;
                }
                Ok(())
            }
            Input::Terminal(_) => Err(ConnectError::unknown(
                "error closing stdin: cannot close stdin for PTY process — send Ctrl+D (0x04) instead",
            )),
        }
    }

    /// Changes the size of the terminal, in characters. Larger numbers than a terminal can have are cut.
    pub(super) fn resize(&self, columns: u32, rows: u32) -> Result<(), ConnectError> {
        let Input::Terminal(terminal) = &self.input else {
            return Err(ConnectError::internal("error resizing tty: tty not assigned to process"));
        };
        set_size(terminal.get_ref(), columns, rows)
            .map_err(|error| ConnectError::internal(format!("error resizing tty: {}", reason(&error))))
    }
}

/// Tells the terminal its size; the foreground process gets SIGWINCH.
pub(super) fn set_size(terminal: &OwnedFd, columns: u32, rows: u32) -> io::Result<()> {
    let size = libc::winsize { ws_row: rows as u16, ws_col: columns as u16, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the structure outlives the call.
    if unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCSWINSZ, &size) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

async fn write_terminal(terminal: &AsyncFd<OwnedFd>, data: &Bytes) -> io::Result<()> {
    let mut rest = &data[..];
    while !rest.is_empty() {
        let mut ready = terminal.writable().await?;
        if let Ok(written) = ready.try_io(|fd| Ok(nix::unistd::write(fd.get_ref(), rest)?)) {
            rest = &rest[written?..];
        }
    }
    Ok(())
}

/// The processes by pid.
#[derive(Default)]
pub(crate) struct Processes {
    by_pid: Mutex<HashMap<u32, Arc<Process>>>,
}

impl Processes {
    fn by_pid(&self) -> MutexGuard<'_, HashMap<u32, Arc<Process>>> {
        self.by_pid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a process. Whoever had its pid or its tag before is forgotten, unless it still runs.
    pub(super) fn add(&self, process: Arc<Process>) {
        let mut by_pid = self.by_pid();
        if process.tag.is_some() {
            by_pid.retain(|_, other| other.tag != process.tag || !other.ended());
        }
        by_pid.insert(process.pid, process);
    }

    /// Forgets an ended process after a while. Must be called inside the runtime.
    pub(super) fn forget_later(self: &Processes, process: &Arc<Process>, envd: &Arc<crate::envd::state::Envd>) {
        let (process, envd) = (Arc::clone(process), Arc::clone(envd));
        tokio::spawn(async move {
            tokio::time::sleep(REMEMBERED).await;
            let mut by_pid = envd.processes.by_pid();
            if by_pid.get(&process.pid).is_some_and(|current| Arc::ptr_eq(current, &process)) {
                by_pid.remove(&process.pid);
            }
        });
    }

    /// A process that runs.
    pub(super) fn live(&self, selector: &Selector) -> Result<Arc<Process>, ConnectError> {
        self.find(selector, false)
    }

    /// A process that runs or ended recently.
    pub(super) fn known(&self, selector: &Selector) -> Result<Arc<Process>, ConnectError> {
        self.find(selector, true)
    }

    fn find(&self, selector: &Selector, ended_too: bool) -> Result<Arc<Process>, ConnectError> {
        let by_pid = self.by_pid();
        let matching = by_pid.values().filter(|process| match selector {
            Selector::Pid(pid) => process.pid == *pid,
            Selector::Tag(tag) => process.tag.as_ref() == Some(tag),
        });
        // With equal tags a process that runs is the better answer, and then the newest.
        let found = matching.max_by_key(|process| (!process.ended(), process.started));
        found.filter(|process| ended_too || !process.ended()).cloned().ok_or_else(|| selector.not_found())
    }

    /// The processes that run, as they were asked for.
    pub(super) fn list(&self) -> Vec<ProcessInfo> {
        let by_pid = self.by_pid();
        let mut live: Vec<_> = by_pid.values().filter(|process| !process.ended()).collect();
        live.sort_by_key(|process| process.pid);
        live.into_iter()
            .map(|process| ProcessInfo {
                config: process.config.clone().into(),
                pid: process.pid,
                tag: process.tag.clone(),
                ..Default::default()
            })
            .collect()
    }
}
