//! The server's hold on a running sandbox: stop it, continue it, copy its files, end it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::boot::{ARCHIVE, DONE, FREEZE, PARK, REFUSED, REVIVE, THAW};
use super::fds::send_with_fds;
use super::launch::await_ready;

/// Stopping and continuing takes milliseconds; a sandbox that needs longer than this is stuck.
const LIMIT: Duration = Duration::from_secs(20);

/// Copying files takes as long as there are files.
const COPY_LIMIT: Duration = Duration::from_secs(600);

/// Messages of a sandbox are cut here: its root may have written them.
const LONGEST_MESSAGE: u64 = 4096;

/// One sandbox's control socket. Calls block, and must not overlap.
pub(crate) struct Leash {
    control: UnixStream,
    hold: Hold,
}

/// How far a sandbox can be held.
enum Hold {
    /// It has a first process that obeys, and files of its own.
    Namespaces { tree: Option<OwnedFd> },
    /// It is nothing but the descendants of this process.
    Processes { daemon: Pid },
}

impl Leash {
    pub(super) fn of_namespaces(control: UnixStream, tree: OwnedFd) -> Self {
        Leash { control, hold: Hold::Namespaces { tree: Some(tree) } }
    }

    pub(super) fn of_processes(control: UnixStream, daemon: Pid) -> Self {
        Leash { control, hold: Hold::Processes { daemon } }
    }

    /// Whether the sandbox has files and a first process of its own, without which there are no archives.
    pub(super) fn has_files(&self) -> bool {
        matches!(self.hold, Hold::Namespaces { .. })
    }

    /// Stops every process.
    pub(super) fn freeze(&self) -> Result<()> {
        match self.hold {
            Hold::Namespaces { .. } => self.command(FREEZE, &[], LIMIT),
            Hold::Processes { daemon } => stop_descendants(daemon),
        }
    }

    /// Continues every process.
    pub(super) fn thaw(&self) -> Result<()> {
        match self.hold {
            Hold::Namespaces { .. } => self.command(THAW, &[], LIMIT),
            Hold::Processes { daemon } => {
                // The daemon comes last: it must not see its children stopped.
                for pid in descendants(daemon).into_iter().rev() {
                    let _ = kill(pid, Signal::SIGCONT);
                }
                Ok(())
            }
        }
    }

    /// Ends every process and keeps the files.
    pub(super) fn park(&self) -> Result<()> {
        self.command(PARK, &[], LIMIT)
    }

    /// Starts the daemon after [`Self::park`]; it serves when this returns.
    pub(super) fn revive(&self) -> Result<()> {
        self.control.set_read_timeout(Some(LIMIT))?;
        send_with_fds(&self.control, &[REVIVE], &[])?;
        await_ready(&mut &self.control)
    }

    /// Writes the files of the sandbox, which must not run, to `out`.
    pub(super) fn archive(&self, out: &File) -> Result<()> {
        let Hold::Namespaces { tree: Some(tree) } = &self.hold else { bail!("the sandbox has no files of its own") };
        // It gets the tree only now that nobody inside can take it away from its first process.
        self.command(ARCHIVE, &[tree.try_clone()?, out.try_clone()?.into()], COPY_LIMIT)
    }

    /// Bytes used and available in the sandbox's own file system.
    pub(super) fn disk(&self) -> Option<(u64, u64)> {
        let Hold::Namespaces { tree: Some(tree) } = &self.hold else { return None };
        let disk = nix::sys::statvfs::fstatvfs(tree).ok()?;
        let unit = disk.fragment_size();
        Some(((disk.blocks() - disk.blocks_free()) * unit, disk.blocks() * unit))
    }

    /// Ends the sandbox, and lets go of its files.
    pub(super) fn release(&mut self) {
        if let Hold::Processes { .. } = self.hold {
            // A daemon that stands still would not notice.
            let _ = self.thaw();
        }
        // A socket that is closed already is what we want.
        let _ = self.control.shutdown(Shutdown::Both);
        if let Hold::Namespaces { tree } = &mut self.hold {
            *tree = None;
        }
    }

    fn command(&self, command: u8, fds: &[OwnedFd], limit: Duration) -> Result<()> {
        if !self.has_files() {
            bail!("this needs isolation, which is off");
        }
        self.control.set_read_timeout(Some(limit))?;
        send_with_fds(&self.control, &[command], fds)?;
        let mut answer = [0];
        (&self.control).read_exact(&mut answer).context("the sandbox does not answer")?;
        match answer[0] {
            DONE => Ok(()),
            REFUSED => {
                let mut length = [0; 4];
                (&self.control).read_exact(&mut length)?;
                let mut message = Vec::new();
                let length = u64::from(u32::from_le_bytes(length)).min(LONGEST_MESSAGE);
                (&self.control).take(length).read_to_end(&mut message)?;
                bail!("{}", String::from_utf8_lossy(&message))
            }
            other => bail!("the sandbox answered {other}"),
        }
    }
}

/// Runs `job` with the leash on a thread that may block.
pub(super) async fn with<T: Send + 'static>(
    leash: &Arc<tokio::sync::Mutex<Leash>>,
    job: impl FnOnce(&mut Leash) -> Result<T> + Send + 'static,
) -> Result<T> {
    let mut leash = Arc::clone(leash).lock_owned().await;
    tokio::task::spawn_blocking(move || job(&mut leash)).await?
}

/// `root` and what descends from it, parents first.
fn descendants(root: Pid) -> Vec<Pid> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next) {
        next += 1;
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let list = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            found.extend(list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw));
        }
    }
    found
}

/// Stops all until nobody new turns up: a process that is stopped has no more children.
fn stop_descendants(daemon: Pid) -> Result<()> {
    const ROUNDS: usize = 100;
    let mut stopped = HashSet::new();
    for _ in 0..ROUNDS {
        let new: Vec<_> = descendants(daemon).into_iter().filter(|pid| stopped.insert(*pid)).collect();
        if new.is_empty() {
            return Ok(());
        }
        for pid in new {
            // It may have ended in the meantime.
            let _ = kill(pid, Signal::SIGSTOP);
        }
    }
    bail!("the sandbox starts processes faster than they can be stopped")
}
