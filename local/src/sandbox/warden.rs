//! What the first process of a sandbox does for its whole life: reap orphans, and stop, continue or replace everything
//! else when the server asks. One thread, blocking calls, no state but a list.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};

use super::boot::{ARCHIVE, Boot, DONE, FREEZE, PARK, REFUSED, REVIVE, THAW};
use super::init::{Inherited, exit_code};
use super::{archive, fds};
use crate::envd;

/// How long stopping may take to show; a process in the middle of a system call stops when that returns.
const STOPPING: Duration = Duration::from_secs(2);

/// Every process but this one.
const EVERYBODY: Pid = Pid::from_raw(-1);

/// Watches over a sandbox.
pub(super) struct Warden {
    boot: Boot,
    inherited: Inherited,
    /// Signals as they were before this process blocked any.
    mask: SigSet,
    children: SignalFd,
    /// `None` while everything is killed.
    daemon: Option<Pid>,
    /// Processes that somebody inside had stopped before everything was.
    stopped_before: BTreeSet<i32>,
}

impl Warden {
    pub(super) fn new(boot: Boot, inherited: Inherited) -> Result<Self> {
        let mut children = SigSet::empty();
        children.add(Signal::SIGCHLD);
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&children), Some(&mut mask))?;
        let children = SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC)?;
        Ok(Warden { boot, inherited, mask, children, daemon: None, stopped_before: BTreeSet::new() })
    }

    /// Starts the daemon, and stays until it ends or the server goes away. Returning ends the pid namespace, and with
    /// it every process and every mount of the sandbox.
    pub(super) fn watch(mut self) -> Result<ExitCode> {
        if let Some(code) = self.start_daemon()? {
            return Ok(code);
        }
        loop {
            let control = self.inherited.control.as_fd();
            let mut ready =
                [PollFd::new(control, PollFlags::POLLIN), PollFd::new(self.children.as_fd(), PollFlags::POLLIN)];
            match poll(&mut ready, PollTimeout::NONE) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
            let [asked, signalled] = ready.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
            if asked.contains(PollFlags::POLLIN) {
                let mut command = [0];
                let Ok((_, fds)) = fds::receive_with_fds(&self.inherited.control, &mut command) else {
                    return Ok(ExitCode::SUCCESS);
                };
                if let Some(code) = self.obey(command[0], fds)? {
                    return Ok(code);
                }
            } else if !asked.is_empty() {
                return Ok(ExitCode::SUCCESS);
            }
            if !signalled.is_empty() {
                self.children.read_signal()?;
            }
            if let Some(code) = self.reap()? {
                return Ok(code);
            }
        }
    }

    /// The exit code, in the process that became the daemon, when that ends.
    fn start_daemon(&mut self) -> Result<Option<ExitCode>> {
        // SAFETY: there is one thread.
        match unsafe { fork() }.context("fork")? {
            ForkResult::Child => {
                fds::die_with_parent()?;
                sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None)?;
                self.boot.limits.apply().context("setting limits")?;
                let Inherited { control, http, ports } = self.inherited.try_clone()?;
                envd::run(self.boot.clone(), control, http, ports).map(Some)
            }
            ForkResult::Parent { child } => {
                self.daemon = Some(child);
                Ok(None)
            }
        }
    }

    fn obey(&mut self, command: u8, fds: Vec<OwnedFd>) -> Result<Option<ExitCode>> {
        let outcome = match command {
            FREEZE => self.freeze(),
            THAW => self.thaw(),
            PARK => self.park(),
            // The daemon itself answers when it serves.
            REVIVE => return self.start_daemon(),
            ARCHIVE => write_archive(fds),
            other => bail!("the server sent an unknown command {other}"),
        };
        let mut answer = Vec::new();
        match outcome {
            Ok(()) => answer.push(DONE),
            Err(error) => {
                let message = format!("{error:#}");
                answer.push(REFUSED);
                answer.extend_from_slice(&(message.len() as u32).to_le_bytes());
                answer.extend_from_slice(message.as_bytes());
            }
        }
        // A server that is gone is noticed by the next poll.
        let _ = self.inherited.control.write_all(&answer);
        Ok(None)
    }

    /// Waits for whatever ended; the exit code when the daemon did.
    fn reap(&self) -> Result<Option<ExitCode>> {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) | Err(nix::errno::Errno::ECHILD) => return Ok(None),
                Ok(status) if status.pid().is_some() && status.pid() == self.daemon => {
                    return Ok(Some(exit_code(status)));
                }
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Stops every process. The kernel delivers this signal to all of them at once: a process that is being forked
    /// gets it too, or is forked again after its parent continues.
    fn freeze(&mut self) -> Result<()> {
        self.stopped_before = processes().into_iter().filter(|p| p.stopped()).map(|p| p.pid).collect();
        signal_all(Signal::SIGSTOP)?;
        let start = Instant::now();
        while start.elapsed() < STOPPING && processes().iter().any(|process| process.runs()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Continues what [`Self::freeze`] stopped, children first: a shell with job control must not see a stopped child.
    fn thaw(&mut self) -> Result<()> {
        let mut processes = processes();
        let parents: HashMap<i32, i32> = processes.iter().map(|process| (process.pid, process.parent)).collect();
        let depth = |process: &Process| {
            std::iter::successors(Some(process.parent), |pid| parents.get(pid).copied()).take(parents.len() + 1).count()
        };
        processes.sort_by_cached_key(|process| std::cmp::Reverse(depth(process)));
        for process in processes {
            if !self.stopped_before.contains(&process.pid) {
                // It may have been killed in the meantime.
                let _ = kill(Pid::from_raw(process.pid), Signal::SIGCONT);
            }
        }
        self.stopped_before.clear();
        Ok(())
    }

    /// Ends every process, the daemon included. The files stay: they belong to the mount namespace of this process.
    fn park(&mut self) -> Result<()> {
        self.daemon = None;
        self.stopped_before.clear();
        signal_all(Signal::SIGKILL)?;
        loop {
            match waitpid(None, None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(nix::errno::Errno::ECHILD) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn signal_all(signal: Signal) -> Result<()> {
    match kill(EVERYBODY, signal) {
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).context("signalling all processes"),
    }
}

/// Copies the writable layer, in a process of its own: whatever its file system does to it, this one lives on.
fn write_archive(fds: Vec<OwnedFd>) -> Result<()> {
    let [tree, out] = <[OwnedFd; 2]>::try_from(fds).map_err(|_| anyhow::anyhow!("an archive needs two descriptors"))?;
    let (mut reading, writing) = std::io::pipe()?;
    // SAFETY: there is one thread.
    match unsafe { fork() }.context("fork")? {
        ForkResult::Child => {
            let outcome = fds::die_with_parent().map_err(Into::into).and_then(|()| archive::write(&tree, out.into()));
            let message = outcome.err().map(|error| format!("{error:#}")).unwrap_or_default();
            let _ = (&writing).write_all(message.as_bytes());
            std::process::exit(i32::from(!message.is_empty()));
        }
        ForkResult::Parent { child } => {
            drop(writing);
            let mut message = String::new();
            std::io::Read::read_to_string(&mut reading, &mut message)?;
            match waitpid(child, None)? {
                WaitStatus::Exited(_, 0) => Ok(()),
                _ if message.is_empty() => bail!("copying the files was interrupted"),
                _ => bail!(message),
            }
        }
    }
}

/// A line of `/proc`.
struct Process {
    pid: i32,
    parent: i32,
    state: char,
}

impl Process {
    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may contain anything.
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
        Some(Process { pid, state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
    }

    fn stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }

    fn runs(&self) -> bool {
        !self.stopped() && !matches!(self.state, 'Z' | 'X')
    }
}

/// All processes of the sandbox but the first.
fn processes() -> Vec<Process> {
    let own = nix::unistd::getpid().as_raw();
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own)
        .filter_map(Process::read)
        .collect()
}
