//! Starting a process: identity, environment, working directory, terminal; then reading it until its end.

use std::collections::BTreeMap;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use connectrpc::ConnectError;
use nix::fcntl::OFlag;
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::child::{Birth, Child};
use super::direct::{Direct, Program};
use super::status::end_event;
use super::table::{Input, Process, Subscription, set_size};
use crate::envd::error::reason;
use crate::envd::journal;
use crate::envd::paths;
use crate::envd::state::Envd;
use crate::protocol::process::__buffa::oneof::process_event::data_event::Output;
use crate::protocol::process::process_event::DataEvent;
use crate::protocol::process::{PTY, ProcessConfig, StartRequest};
use crate::sandbox::users::User;

/// Replaces the shell by the command, so that a command that does not exist is a message on standard error and exit
/// code 127, not a failed call. The arguments arrive as positional parameters: nothing is expanded or split. Most programs
/// are started without this detour: see [`Direct`].
const WRAPPER: &str = r#"exec "$@""#;

const PIPE_CHUNK: usize = 32 * 1024;
const TERMINAL_CHUNK: usize = 16 * 1024;

/// Chunks smaller than this are copied out of the read buffer, so that a waiting one does not hold all of it.
const WORTH_KEEPING: usize = 4 * 1024;

/// How long a subscriber that does not read may hold up the end of a command that was ended by a signal.
const AFTERMATH: Duration = Duration::from_secs(1);

/// Starts what `request` asks for as `user`. It is killed when `deadline` passes, whoever still listens.
pub(super) async fn start(
    envd: &Arc<Envd>,
    user: &User,
    request: StartRequest,
    deadline: Option<Instant>,
) -> Result<(Arc<Process>, Subscription), ConnectError> {
    let stdin = request.stdin.unwrap_or(true);
    let config = request.process.into_option().unwrap_or_default();
    let directory = working_directory(envd, user, &config)?;
    let environment = environment(envd, user, &config);
    let failed = |error: io::Error| start_error(&config, request.pty.as_option(), &directory, &error);
    let begin = || -> io::Result<Spawned> {
        let (streams, output) = match request.pty.as_option() {
            Some(pty) => terminal(pty, user, envd.switches_users)?,
            None => pipes(stdin)?,
        };
        let variables = || environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        let words = ["-c", WRAPPER, "--", &config.cmd].into_iter().chain(config.args.iter().map(String::as_str));
        let birth = Birth {
            stdio: streams,
            terminal: request.pty.is_set(),
            user: envd.switches_users.then_some(user),
            directory: CString::new(directory.as_str())?,
            direct: Direct::new(&config.cmd, &config.args, variables()),
            fallback: Program::new("/bin/sh", words, variables())?,
        };
        let child = birth.start()?;
        let handle = child.handle.try_clone()?;
        Ok((child, handle, output))
    };
    let (child, handle, (input, output)) = begin().map_err(failed)?;
    let pid = child.pid;
    let line = std::iter::once(&config.cmd).chain(&config.args).map(String::as_str).collect::<Vec<_>>().join(" ");
    journal::record("process started", &[("pid", &pid.to_string()), ("user", &user.name), ("cmd", &line)]);
    let process = Arc::new(Process::new(pid, handle, config, request.tag, input));
    let subscription = process.subscribe();
    envd.processes.add(Arc::clone(&process));
    tokio::spawn(supervise(Arc::clone(envd), Arc::clone(&process), child, output, deadline));
    Ok((process, subscription))
}

fn working_directory(envd: &Envd, user: &User, config: &ProcessConfig) -> Result<String, ConnectError> {
    let workdir = envd.settings().default_workdir.clone();
    let path = paths::resolve(config.cwd.as_deref().unwrap_or(""), user, workdir.as_deref())
        .map_err(ConnectError::invalid_argument)?;
    let text = path.to_string_lossy().into_owned();
    if matches!(std::fs::metadata(&path), Err(error) if error.kind() == io::ErrorKind::NotFound) {
        return Err(ConnectError::invalid_argument(format!("cwd '{text}' does not exist")));
    }
    Ok(text)
}

fn environment(envd: &Envd, user: &User, config: &ProcessConfig) -> BTreeMap<OsString, OsString> {
    let path = ("PATH".into(), std::env::var_os("PATH").unwrap_or_default());
    let home = ("HOME".into(), user.home.clone().into());
    let names = ["USER", "LOGNAME"].map(|name| (name.into(), (&user.name).into()));
    let others = envd.settings().environment().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>();
    let asked = config.envs.iter().map(|(name, value)| (name.into(), value.into()));
    [path, home].into_iter().chain(names).chain(others).chain(asked).collect()
}

fn start_error(config: &ProcessConfig, pty: Option<&PTY>, directory: &str, error: &io::Error) -> ConnectError {
    let command = std::iter::once(&config.cmd).chain(&config.args).map(String::as_str).collect::<Vec<_>>().join(" ");
    let reason = reason(error);
    ConnectError::invalid_argument(match pty {
        Some(pty) => format!(
            "error starting pty with command '{command}' in dir '{directory}' with '{}' cols and '{}' rows: \
             fork/exec /bin/sh: {reason}",
            pty.size.cols, pty.size.rows
        ),
        None => format!("error starting process '{command}': fork/exec /bin/sh: {reason}"),
    })
}

/// What the readers read from.
enum Streams {
    Pipes(pipe::Receiver, pipe::Receiver),
    Terminal(Arc<AsyncFd<OwnedFd>>),
}

/// The daemon's ends of what a process reads and writes.
type Ends = (Input, Streams);

type Spawned = (Child, OwnedFd, Ends);

fn pipes(stdin: bool) -> io::Result<([OwnedFd; 3], Ends)> {
    let make = || nix::unistd::pipe2(OFlag::O_CLOEXEC);
    let ((stdout, theirs_out), (stderr, theirs_err)) = (make()?, make()?);
    let (theirs_in, input) = if stdin {
        let (theirs, ours) = make()?;
        let pipe = Some(pipe::Sender::from_owned_fd(ours)?).into();
        (theirs, Input::Pipe { pipe, closed: CancellationToken::new() })
    } else {
        (File::open("/dev/null")?.into(), Input::None)
    };
    let output = Streams::Pipes(pipe::Receiver::from_owned_fd(stdout)?, pipe::Receiver::from_owned_fd(stderr)?);
    Ok(([theirs_in, theirs_out, theirs_err], (input, output)))
}

fn terminal(pty: &PTY, user: &User, switches_users: bool) -> io::Result<([OwnedFd; 3], Ends)> {
    let pair = nix::pty::openpty(None, None)?;
    for fd in [&pair.master, &pair.slave] {
        crate::sandbox::fds::close_on_exec(fd)?;
    }
    set_size(&pair.master, pty.size.cols, pty.size.rows)?;
    if switches_users {
        // Otherwise programs could not open their own terminal by name.
        nix::unistd::fchown(pair.slave.as_fd(), Some(nix::unistd::Uid::from_raw(user.uid)), None)?;
    }
    let flags = OFlag::from_bits_retain(nix::fcntl::fcntl(&pair.master, nix::fcntl::F_GETFL)?);
    nix::fcntl::fcntl(&pair.master, nix::fcntl::F_SETFL(flags | OFlag::O_NONBLOCK))?;
    // SAFETY: the descriptor is owned, is handed over, and its number stays the same.
    let master = Arc::new(unsafe { AsyncFd::register(pair.master) }?);
    let theirs = [pair.slave.try_clone()?, pair.slave.try_clone()?, pair.slave];
    Ok((theirs, (Input::Terminal(Arc::clone(&master)), Streams::Terminal(master))))
}

/// Follows a process to its end. All output is published before the end is.
async fn supervise(envd: Arc<Envd>, process: Arc<Process>, child: Child, output: Streams, deadline: Option<Instant>) {
    // After a signal the end does not wait for whoever else holds the pipes; what is in them is still delivered.
    let hurry = CancellationToken::new();
    let mut readers = match output {
        Streams::Pipes(stdout, stderr) => vec![
            tokio::spawn(read_pipe(Arc::clone(&process), stdout, Output::Stdout, hurry.clone())),
            tokio::spawn(read_pipe(Arc::clone(&process), stderr, Output::Stderr, hurry.clone())),
        ],
        Streams::Terminal(master) => vec![tokio::spawn(read_terminal(Arc::clone(&process), master, hurry.clone()))],
    };
    let killer = deadline.map(|deadline| {
        let process = Arc::clone(&process);
        tokio::spawn(async move {
            tokio::time::sleep_until(deadline).await;
            process.signal(libc::SIGKILL);
        })
    });
    let status = child.ended().await;
    tokio::select! {
        () = drain(&mut readers) => {}
        () = async {
            process.signalled.cancelled().await;
            hurry.cancel();
            tokio::time::sleep(AFTERMATH).await;
        } => {}
    }
    for reader in readers {
        reader.abort();
    }
    if let Some(killer) = killer {
        killer.abort();
    }
    if let Ok(status) = &status {
        journal::record("process ended", &[("pid", &process.pid.to_string()), ("status", &status.to_string())]);
    }
    match status {
        Ok(status) => process.finish(end_event(status)),
        Err(error) => {
            let mut end = crate::protocol::process::process_event::EndEvent { exit_code: -1, ..Default::default() };
            end.error = Some(format!("waiting for the process: {error}"));
            process.finish(end);
        }
    }
    envd.processes.forget_later(&process, &envd);
}

async fn drain(readers: &mut [JoinHandle<()>]) {
    for reader in readers {
        // A reader that panicked has nothing more to give.
        let _ = reader.await;
    }
}

async fn read_pipe(
    process: Arc<Process>,
    mut pipe: impl AsyncRead + AsFd + Unpin,
    output: fn(Bytes) -> Output,
    hurry: CancellationToken,
) {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PIPE_CHUNK);
        let read = tokio::select! {
            biased;
            () = hurry.cancelled() => break,
            read = async { (&mut pipe).take(PIPE_CHUNK as u64).read_buf(&mut buffer).await } => read,
        };
        match read {
            Ok(0) | Err(_) => return,
            Ok(_) => process.publish(data(output(chunk(&mut buffer)))).await,
        }
    }
    read_rest(&process, &pipe, output).await;
}

/// Reads what is there, and does not wait for more: the descriptor does not block.
async fn read_rest(process: &Process, source: impl AsFd, output: fn(Bytes) -> Output) {
    let mut buffer = vec![0; TERMINAL_CHUNK];
    while let Ok(length @ 1..) = nix::unistd::read(source.as_fd(), &mut buffer) {
        process.publish(data(output(Bytes::copy_from_slice(&buffer[..length])))).await;
    }
}

async fn read_terminal(process: Arc<Process>, master: Arc<AsyncFd<OwnedFd>>, hurry: CancellationToken) {
    let mut buffer = vec![0; TERMINAL_CHUNK];
    loop {
        let ready = tokio::select! {
            biased;
            () = hurry.cancelled() => break,
            ready = master.readable() => ready,
        };
        let Ok(mut ready) = ready else { return };
        match ready.try_io(|fd| Ok(nix::unistd::read(fd.get_ref(), &mut buffer)?)) {
            // The last process that had the terminal open is gone: EIO, or 0 on some kernels.
            Ok(Ok(0) | Err(_)) => return,
            Ok(Ok(length)) => process.publish(data(Output::Pty(Bytes::copy_from_slice(&buffer[..length])))).await,
            Err(_would_block) => {}
        }
    }
    read_rest(&process, master.get_ref(), Output::Pty).await;
}

fn chunk(buffer: &mut BytesMut) -> Bytes {
    if buffer.len() < WORTH_KEEPING {
        let chunk = Bytes::copy_from_slice(buffer);
        buffer.clear();
        return chunk;
    }
    buffer.split().freeze()
}

fn data(output: Output) -> DataEvent {
    DataEvent { output: Some(output), ..Default::default() }
}
