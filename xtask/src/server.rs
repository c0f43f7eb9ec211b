//! Starts and ends a local sandbox server. Whatever happens to xtask, the server and its sandboxes end with it: by `Drop`, by
//! the signal handler here, or by the kernel (see [`shell::command`]).

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use anyhow::{Context, Result, bail};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::shell::{self, cargo, command, note, step};
use crate::workspace;

const START: Duration = Duration::from_secs(30);
/// The server ends its sandboxes before itself.
const STOP: Duration = Duration::from_secs(15);
const POLL: Duration = Duration::from_millis(10);

/// A running local sandbox server with a random key.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) api_key: String,
}

/// The server that runs. One at a time, reachable for the signal handler as well.
static RUNNING: Mutex<Option<Child>> = Mutex::new(None);

/// What xtask exits with when a signal ends it.
static STATUS_ON_SIGNAL: AtomicI32 = AtomicI32::new(130);

impl Server {
    /// Builds the server if needed and starts it on a free loopback port. Its messages go to a file; its warnings are shown.
    pub(crate) fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// The same with more options of `agent-sandbox-local serve`.
    pub(crate) fn start_with(options: &[&str]) -> Result<Self> {
        let program = build()?;
        step("local sandbox server");
        end_on_signals()?;
        remove_old_files();
        let ready = workspace::scratch().join(format!("local-server-{}.json", process::id()));
        let log = workspace::scratch().join(format!("local-server-{}.log", process::id()));
        let started = spawn(&program, options, &ready, &log).and_then(|()| wait_until_ready(&ready));
        let _ = fs::remove_file(&ready);
        let messages = fs::read_to_string(&log).unwrap_or_default();
        if started.is_err() {
            stop();
            println!("{messages}");
        }
        let server = started?;
        for warning in messages.lines().filter(|line| line.contains("WARN")) {
            note(warning);
        }
        note(&format!("listening on {}, messages go to {}", server.url, log.display()));
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        stop();
    }
}

/// From now on a signal is the usual way to end xtask, and not a failure.
pub(crate) fn expect_signal() {
    STATUS_ON_SIGNAL.store(0, Ordering::Relaxed);
}

const NAME: &str = "agent-sandbox-local";

/// Builds the server as tests use it, and says where it is.
pub(crate) fn build() -> Result<PathBuf> {
    step("building the local sandbox server");
    shell::run(cargo().args(["build", "--package", NAME, "--bin", NAME]))?;
    Ok(workspace::target().join("debug").join(NAME))
}

/// Builds the server as users install it.
pub(crate) fn build_release() -> Result<PathBuf> {
    step("building the local sandbox server for release, which takes minutes the first time");
    shell::run(cargo().args(["build", "--release", "--package", NAME, "--bin", NAME]))?;
    Ok(workspace::target().join("release").join(NAME))
}

/// Removes what the servers of processes that are gone have left: their messages are kept until the next start only.
fn remove_old_files() {
    let Ok(entries) = fs::read_dir(workspace::scratch()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix("local-server-")?.split('.').next()?.parse().ok());
        if owner.is_some_and(|owner| kill(Pid::from_raw(owner), None) == Err(Errno::ESRCH)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn spawn(program: &Path, options: &[&str], ready: &Path, log: &Path) -> Result<()> {
    let _ = fs::remove_file(ready);
    fs::create_dir_all(workspace::scratch())?;
    let mut command = command(program);
    command.args(["serve", "--port", "0", "--ready-file"]).arg(ready).args(options).stdin(Stdio::null());
    // A group of its own: Ctrl-C reaches xtask, which then ends the server in good order.
    command.process_group(0);
    let file = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdout(file.try_clone()?).stderr(file);
    let child = command.spawn().with_context(|| format!("cannot start {}", shell::line(&command)))?;
    *running() = Some(child);
    Ok(())
}

/// The server writes the file in one go when it listens.
fn wait_until_ready(ready: &Path) -> Result<Server> {
    let start = Instant::now();
    while start.elapsed() < START {
        if let Ok(text) = fs::read_to_string(ready) {
            let facts: serde_json::Value = serde_json::from_str(&text).context("the ready file is not JSON")?;
            let fact =
                |name| facts[name].as_str().map(str::to_owned).with_context(|| format!("the ready file has no {name}"));
            return Ok(Server { url: fact("url")?, api_key: fact("apiKey")? });
        }
        if let Some(child) = running().as_mut()
            && let Some(status) = child.try_wait()?
        {
            bail!("the local sandbox server ended with {status} instead of listening");
        }
        thread::sleep(POLL);
    }
    bail!("the local sandbox server did not listen within {}", shell::seconds(START))
}

/// Ends the server and waits until it is gone. Does nothing when none runs.
fn stop() {
    let Some(mut child) = running().take() else { return };
    let group = Pid::from_raw(child.id().cast_signed());
    let _ = killpg(group, Signal::SIGTERM);
    let start = Instant::now();
    while start.elapsed() < STOP {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        thread::sleep(POLL);
    }
    note("the local sandbox server did not end in time and was killed");
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
}

/// Makes Ctrl-C and its relatives end the server first. A second signal ends xtask at once.
fn end_on_signals() -> Result<()> {
    static ONCE: Once = Once::new();
    let mut outcome = Ok(());
    ONCE.call_once(|| {
        outcome = Signals::new([SIGINT, SIGTERM, SIGHUP]).map(|signals| {
            thread::spawn(move || handle(signals));
        })
    });
    outcome.context("cannot handle signals")
}

fn handle(mut signals: Signals) {
    for (count, signal) in signals.forever().enumerate() {
        if count > 0 {
            process::exit(128 + signal);
        }
        thread::spawn(|| {
            println!();
            note("stopping");
            stop();
            process::exit(STATUS_ON_SIGNAL.load(Ordering::Relaxed));
        });
    }
}

fn running() -> MutexGuard<'static, Option<Child>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}
