//! The first process of a sandbox: enters the namespaces, builds the file system, and hands over to the warden,
//! which starts envd.
//!
//! This runs in the re-executed binary, before any thread exists: `fork` and `unshare` are only sound that way.
//! The order is fixed: unshare, wait for the user map, fork (the child is pid 1 of the new pid namespace), build the
//! root file system, give up privileges that commands must not have, fork again for envd ([`super::warden`]).

use std::collections::HashMap;
use std::io::{self, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use nix::sched::{CloneFlags, unshare};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, Gid, Uid, fork, setgroups, setresgid, setresuid, setsid};

use super::boot::{Boot, CONTROL_FD, FAILED, HTTP_FD, Isolation, MAPPED, Network, PORTS_FD, Role, UNSHARED, UserMap};
use super::isolation::RANGE;
use super::warden::Warden;
use super::{caps, fds, kernels, net, rootfs, users};
use crate::{envd, volumes};

/// How long the list of what comes along with the user map may be.
const LONGEST_LIST: usize = 4096;

/// The three descriptors a sandbox is born with.
pub(super) struct Inherited {
    pub(super) control: UnixStream,
    pub(super) http: OwnedFd,
    pub(super) ports: OwnedFd,
}

impl Inherited {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        let control = self.control.try_clone()?;
        Ok(Inherited { control, http: self.http.try_clone()?, ports: self.ports.try_clone()? })
    }
}

/// Runs the hidden `sandbox-init` command. Only the server starts it, with the descriptors of [`super::boot`].
pub(crate) fn main() -> ExitCode {
    // SAFETY: the server placed exactly these descriptors, and nothing else in this process has touched them.
    let inherited = unsafe {
        Inherited {
            control: UnixStream::from_raw_fd(CONTROL_FD),
            http: OwnedFd::from_raw_fd(HTTP_FD),
            ports: OwnedFd::from_raw_fd(PORTS_FD),
        }
    };
    let Ok(report) = inherited.control.try_clone() else {
        return ExitCode::FAILURE;
    };
    match run(inherited) {
        Ok(code) => code,
        Err(error) => {
            let mut message = vec![FAILED];
            message.extend_from_slice(format!("{error:#}").as_bytes());
            // The server may be gone; then nobody is left to tell.
            let _ = (&report).write_all(&message);
            ExitCode::FAILURE
        }
    }
}

fn run(mut inherited: Inherited) -> Result<ExitCode> {
    fds::close_on_exec(&inherited.control)?;
    fds::close_on_exec(&inherited.http)?;
    fds::close_on_exec(&inherited.ports)?;
    fds::die_with_parent()?;
    setsid().context("setsid")?;
    let boot = Boot::read_from(&mut inherited.control).context("reading the instructions")?;
    match boot.isolation {
        Isolation::None => {
            fds::become_subreaper()?;
            envd::run(boot, inherited.control, inherited.http, inherited.ports)
        }
        Isolation::Namespaces { users } => isolated(boot, users, inherited),
    }
}

fn isolated(boot: Boot, users: UserMap, inherited: Inherited) -> Result<ExitCode> {
    let mut flags = CloneFlags::CLONE_NEWUSER
        | CloneFlags::CLONE_NEWNS
        | CloneFlags::CLONE_NEWPID
        | CloneFlags::CLONE_NEWIPC
        | CloneFlags::CLONE_NEWUTS;
    if boot.network != Network::Shared {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    unshare(flags).context("creating namespaces")?;
    // Before anything else changes: this needs the server's user and the sandbox's capabilities.
    let kernels = boot.kernels.as_deref().map(kernels::detach).transpose().context("reaching the folder of kernels")?;
    let mut handles = Vec::new();
    if boot.network == Network::Own {
        net::make_device().context("making a network device")?;
        handles.push(net::handle()?);
    }
    fds::send_with_fds(&inherited.control, &[UNSHARED], &handles)?;
    let mut answer = [0; LONGEST_LIST];
    let (length, trees) = fds::receive_with_fds(&inherited.control, &mut answer).context("waiting for the user map")?;
    if answer[0] != MAPPED {
        bail!("the server could not write the user map");
    }
    let names = std::str::from_utf8(&answer[1..length])?.split(',');
    let kernels = kernels.map(|tree| (kernels::INSIDE.to_owned(), tree));
    let lowers = names.map(str::to_owned).zip(trees).chain(kernels).collect();
    if users != UserMap::Single {
        setgroups(&[]).context("setgroups")?;
        let (root_group, root) = (Gid::from_raw(0), Uid::from_raw(0));
        setresgid(root_group, root_group, root_group).context("becoming group 0")?;
        setresuid(root, root, root).context("becoming user 0")?;
        // Changing identity cleared both.
        fds::make_dumpable()?;
        fds::die_with_parent()?;
    }
    // SAFETY: there is one thread.
    match unsafe { fork() }.context("fork")? {
        ForkResult::Parent { child } => {
            drop(inherited);
            Ok(exit_code(waitpid(child, None)?))
        }
        ForkResult::Child => {
            fds::die_with_parent()?;
            first_process(boot, users, lowers, inherited)
        }
    }
}

/// Pid 1: everything else in the sandbox descends from it and dies with it.
fn first_process(
    boot: Boot,
    users: UserMap,
    lowers: HashMap<String, OwnedFd>,
    inherited: Inherited,
) -> Result<ExitCode> {
    nix::unistd::sethostname("sandbox").context("sethostname")?;
    if boot.network != Network::Shared {
        net::raise_loopback().context("raising loopback")?;
        match users {
            UserMap::Single => net::allow_echo(users::USER_ID, users::USER_ID),
            _ => net::allow_echo(0, RANGE - 1),
        }
    }
    if boot.role == Role::Volumes {
        return volumes::keeper::run(users, inherited.control, inherited.http);
    }
    rootfs::build(&boot, users, lowers, &inherited.control)?;
    caps::limit().context("dropping capabilities")?;
    Warden::new(boot, inherited)?.watch()
}

pub(super) fn exit_code(status: WaitStatus) -> ExitCode {
    match status {
        WaitStatus::Exited(_, code) => ExitCode::from(code as u8),
        WaitStatus::Signaled(_, signal, _) => ExitCode::from(128 + signal as u8),
        _ => ExitCode::FAILURE,
    }
}
