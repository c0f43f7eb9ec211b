//! envd's side of the interpreter: starts the process, starts it again when it ends, and tells it the sandbox's variables.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, chown};
use std::os::unix::net::{UnixListener, UnixStream as StdUnixStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;

use super::{COMMAND, ENVD_FD, HTTP_FD, Settings};
use crate::sandbox::fds;
use crate::sandbox::users::User;

/// The one thing the interpreter asks.
pub(super) const VARIABLES: u8 = b'V';

/// A process that cannot be started is not tried in a tight loop.
const PAUSE: Duration = Duration::from_millis(500);

/// The interpreter of a sandbox, from envd's point of view.
pub(crate) struct Interpreter {
    listener: UnixListener,
    socket: PathBuf,
    settings: Settings,
    user: User,
    switches_users: bool,
}

impl Interpreter {
    /// Makes the interpreter reachable; it does not run yet. `folder` is made anew: a daemon before this one left it when
    /// the sandbox was paused without memory, or when it is a copy.
    pub(crate) fn new(folder: PathBuf, kernels: PathBuf, user: User, switches_users: bool) -> io::Result<Self> {
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let socket = folder.join("http");
        let listener = UnixListener::bind(&socket)?;
        if switches_users {
            chown(&folder, Some(user.uid), Some(user.gid))?;
        }
        let settings = Settings { kernels, home: user.home.clone(), private: folder };
        Ok(Interpreter { listener, socket, settings, user, switches_users })
    }

    /// Where envd connects to for the interpreter's port.
    pub(crate) fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// Runs the interpreter for as long as the sandbox lives. `variables` tells the current ones.
    pub(crate) async fn run(self, variables: impl Fn() -> BTreeMap<String, String>) {
        loop {
            if let Err(error) = self.run_once(&variables).await {
                eprintln!("the code interpreter did not start: {error}");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn run_once(&self, variables: &impl Fn() -> BTreeMap<String, String>) -> io::Result<()> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let mut child = self.command([above(&self.listener)?, above(&theirs)?])?.spawn()?;
        drop(theirs);
        ours.set_nonblocking(true)?;
        let link = UnixStream::from_std(ours)?;
        tokio::select! {
            status = child.wait() => {
                status?;
            }
            // Its end of the link closes with it, or a moment before.
            _ = answer(link, variables) => {
                child.wait().await?;
            }
        }
        Ok(())
    }

    fn command(&self, fds: [OwnedFd; 2]) -> io::Result<Command> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("agent-sandbox-local")
            .arg(COMMAND)
            .arg(serde_json::to_string(&self.settings)?)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .current_dir(&self.user.home)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        let identity = self.switches_users.then(|| (self.user.uid, self.user.gid, self.user.groups.clone()));
        let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        // SAFETY: between fork and exec only system calls run, on memory and descriptors that the closure owns.
        unsafe {
            command.pre_exec(move || {
                for (fd, number) in fds.iter().zip([HTTP_FD, ENVD_FD]) {
                    check(libc::dup2(fd.as_raw_fd(), number))?;
                }
                // Kernels go before the daemon when memory runs out. A kernel that refuses changes nothing else.
                let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
                if score >= 0 {
                    libc::write(score, c"100".as_ptr().cast(), 3);
                    libc::close(score);
                }
                if let Some((uid, gid, groups)) = &identity {
                    check(libc::setgroups(groups.len(), groups.as_ptr()))?;
                    check(libc::setresgid(*gid, *gid, *gid))?;
                    check(libc::setresuid(*uid, *uid, *uid))?;
                }
                // After the change of identity, which would undo it.
                fds::die_with_parent()
            });
        }
        Ok(command)
    }
}

/// A copy of a descriptor out of the way of the numbers that the child expects.
fn above(fd: &impl std::os::fd::AsFd) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    let copy = fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(ENVD_FD + 1))?;
    // SAFETY: the kernel just made this descriptor for us; nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

async fn answer(mut link: UnixStream, variables: &impl Fn() -> BTreeMap<String, String>) -> io::Result<()> {
    while link.read_u8().await? == VARIABLES {
        let answer = serde_json::to_vec(&variables())?;
        let length = u32::try_from(answer.len()).map_err(|_| io::ErrorKind::InvalidData)?;
        link.write_u32(length).await?;
        link.write_all(&answer).await?;
    }
    Ok(())
}
