//! Starting a process in memory that it shares with the daemon until it becomes another program. A copy of that memory,
//! which `fork` makes and the standard library needs for what happens here, would cost more than all the rest.
//!
//! In between the thread that starts it stands still, and only system calls run, on memory that was prepared before.
//! Changes of identity are system calls too: the C library's functions would change the daemon's threads.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use libc::{c_int, c_long, c_void};
use nix::sys::signal::{SigSet, SigmaskHow};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::direct::{Direct, Program};
use crate::sandbox::fds;
use crate::sandbox::users::User;

/// Where the child's few calls have their variables.
#[repr(align(16))]
struct Stack([u8; 64 * 1024]);

/// One process is started at a time: see [`Birth::start`].
static STACK: Mutex<Stack> = Mutex::new(Stack([0; _]));

/// What is to become of a new process, in this order: its descriptors, its group or terminal, its out-of-memory score, its
/// identity, its directory, its program. The directory is entered as the user, whose permissions decide.
pub(super) struct Birth<'a> {
    /// Standard input, output and error.
    pub(super) stdio: [OwnedFd; 3],
    /// Standard input is a terminal, which the process is to lead. Otherwise it leads a group of its own: a signal to group
    /// 0 must not reach the daemon.
    pub(super) terminal: bool,
    /// `None` leaves the identity as it is.
    pub(super) user: Option<&'a User>,
    pub(super) directory: CString,
    pub(super) direct: Option<Direct>,
    /// The shell that says why not, where the program cannot be started directly.
    pub(super) fallback: Program,
}

/// What parent and child share.
struct Frame<'a> {
    birth: Birth<'a>,
    /// Why the child ended before it became a program.
    failure: Option<io::Error>,
}

/// A process that runs, or is remembered until somebody asks how it ended.
pub(super) struct Child {
    pub(super) pid: u32,
    /// Refers to this very process, even after its number was used again.
    pub(super) handle: OwnedFd,
}

impl Birth<'_> {
    /// Starts the process; it has become the program when this returns.
    pub(super) fn start(self) -> io::Result<Child> {
        const FLAGS: c_int = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        let changes_identity = self.user.is_some();
        let mut frame = Frame { birth: self, failure: None };
        let mut handle: c_int = -1;
        // Also held until this process is itself again: while a child has its user's identity, that user must not be able
        // to look into the memory they share. The kernel sees to that, for all of them, until it is told otherwise below.
        let mut stack = STACK.lock().unwrap_or_else(PoisonError::into_inner);
        // A handler of the daemon must not run in the child.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        // SAFETY: the child has a stack of its own, which grows downwards, and lives on what `frame` has; both stay where they
        // are until it has let go of them, because this thread only continues then.
        let pid = unsafe {
            let top = stack.0.as_mut_ptr_range().end;
            libc::clone(live, top.cast(), FLAGS, (&raw mut frame).cast(), &raw mut handle)
        };
        let cloned = if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
        mask.thread_set_mask()?;
        if changes_identity {
            fds::make_dumpable()?;
        }
        drop(stack);
        cloned?;
        // SAFETY: the kernel just made this descriptor for us; nobody else knows it.
        let child = Child { pid: pid.cast_unsigned(), handle: unsafe { OwnedFd::from_raw_fd(handle) } };
        match frame.failure {
            None => Ok(child),
            Some(failure) => {
                // It is gone already, or about to.
                let _ = nix::sys::wait::waitpid(nix::unistd::Pid::from_raw(pid), None);
                Err(failure)
            }
        }
    }

    /// Returns only when the process cannot become what it should.
    fn become_program(&mut self) -> io::Result<()> {
        // SAFETY: plain system calls on memory that outlives them.
        unsafe {
            for (fd, number) in self.stdio.iter().zip(0..) {
                check(libc::dup2(fd.as_raw_fd(), number).into())?;
            }
            if self.terminal {
                check(libc::setsid().into())?;
                check(libc::ioctl(0, libc::TIOCSCTTY, 0).into())?;
            } else {
                check(libc::setpgid(0, 0).into())?;
            }
            // Commands go before the daemon when memory runs out. A kernel that refuses changes nothing else.
            let score = libc::open(c"/proc/self/oom_score_adj".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
            if score >= 0 {
                libc::write(score, c"100".as_ptr().cast(), 3);
                libc::close(score);
            }
            if let Some(User { uid, gid, groups, .. }) = self.user {
                check(libc::syscall(libc::SYS_setgroups, groups.len(), groups.as_ptr()))?;
                check(libc::syscall(libc::SYS_setresgid, *gid, *gid, *gid))?;
                check(libc::syscall(libc::SYS_setresuid, *uid, *uid, *uid))?;
            }
            check(libc::chdir(self.directory.as_ptr()).into())?;
            calm();
        }
        if let Some(direct) = &mut self.direct {
            direct.exec();
        }
        Err(self.fallback.exec())
    }
}

/// The life of a child until it is a program.
extern "C" fn live(frame: *mut c_void) -> c_int {
    // SAFETY: this is the frame that `start` made, and its thread stands still.
    let frame = unsafe { &mut *frame.cast::<Frame<'_>>() };
    frame.failure = frame.birth.become_program().err();
    // SAFETY: what a normal exit would do is the daemon's business.
    unsafe { libc::_exit(127) }
}

/// Signals as programs expect them: none blocked, none handled, none ignored that this daemon ignores.
///
/// # Safety
///
/// Only a child may call this, whose handlers are its own.
unsafe fn calm() {
    // SAFETY: the structures are valid when they are all zeros, and outlive the calls.
    unsafe {
        for signal in 1..=64 {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handled = libc::sigaction(signal, std::ptr::null(), &mut action) == 0
                && !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
            if handled || signal == libc::SIGPIPE {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
}

fn check(result: c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

impl Child {
    /// Waits for the end. Must be called inside the runtime.
    pub(super) async fn ended(self) -> io::Result<ExitStatus> {
        // SAFETY: the descriptor is owned, is handed over, and its number stays the same.
        let watched = unsafe { AsyncFd::register_with_interest(self.handle, Interest::READABLE) }?;
        loop {
            let mut ready = watched.readable().await?;
            let mut status = 0;
            // SAFETY: a plain system call; nobody else waits for this child.
            match unsafe { libc::waitpid(self.pid.cast_signed(), &mut status, libc::WNOHANG) } {
                0 => ready.clear_ready(),
                -1 => return Err(io::Error::last_os_error()),
                _ => return Ok(ExitStatus::from_raw(status)),
            }
        }
    }
}
