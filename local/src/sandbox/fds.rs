//! Descriptor and process attributes for which there is no safe wrapper at hand.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::socket::{ControlMessage, ControlMessageOwned, MsgFlags, recvmsg, sendmsg};

/// Keeps `fd` out of the programs this process starts.
pub(crate) fn close_on_exec(fd: &impl AsFd) -> io::Result<()> {
    fcntl(fd.as_fd(), FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    Ok(())
}

/// Keeps all that is open, but for the three streams, out of the programs this process starts: whoever started it may have
/// left something open, and that may lead anywhere.
pub(crate) fn close_inherited_on_exec() -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            // SAFETY: it was open a moment ago; if it is not any more, or is another one, no harm is done.
            let _ = close_on_exec(&unsafe { BorrowedFd::borrow_raw(number) });
        }
    }
    Ok(())
}

/// Asks the kernel to kill this process when the thread that started it ends.
pub(crate) fn die_with_parent() -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    Ok(())
}

/// Lets this process read and write its own `/proc` entries after a change of identity.
pub(crate) fn make_dumpable() -> io::Result<()> {
    prctl::set_dumpable(true)?;
    Ok(())
}

/// Makes orphaned descendants children of this process instead of the host's init.
pub(crate) fn become_subreaper() -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    Ok(())
}

/// Sends `bytes` and a copy of each descriptor.
pub(crate) fn send_with_fds(socket: &UnixStream, bytes: &[u8], fds: &[OwnedFd]) -> io::Result<()> {
    let raw: Vec<_> = fds.iter().map(|fd| fd.as_raw_fd()).collect();
    let rights = [ControlMessage::ScmRights(&raw)];
    let rights: &[ControlMessage<'_>] = if raw.is_empty() { &[] } else { &rights };
    sendmsg::<()>(socket.as_raw_fd(), &[io::IoSlice::new(bytes)], rights, MsgFlags::empty(), None)?;
    Ok(())
}

/// How many descriptors can come along: directories of the host, a snapshot, and as many volumes as a sandbox may have.
const MOST_FDS: usize = 64;

/// Receives into `bytes`: how many, and whatever descriptors came along.
pub(crate) fn receive_with_fds(socket: &UnixStream, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = nix::cmsg_space!([std::os::fd::RawFd; MOST_FDS]);
    let mut slices = [IoSliceMut::new(bytes)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC)?;
    if message.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut fds = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(raw) = part {
            // SAFETY: the kernel just installed these descriptors for us; nobody else knows them.
            fds.extend(raw.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    Ok((message.bytes, fds))
}

/// Kills every process that descends from this one. Without a pid namespace this is all there is: a process that
/// forks faster than it is found is killed in a later round.
pub(crate) fn kill_descendants() {
    use nix::sys::signal::kill;
    use nix::sys::wait::{WaitPidFlag, waitpid};
    use nix::unistd::Pid;
    const ROUNDS: usize = 100;
    for _ in 0..ROUNDS {
        let mut children = Vec::new();
        for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
            let list = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children.extend(list.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw));
        }
        if children.is_empty() {
            return;
        }
        for child in children {
            let _ = kill(child, Signal::SIGKILL);
        }
        // Orphans become our children as their parents are reaped.
        while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|status| status.pid().is_some()) {}
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}
