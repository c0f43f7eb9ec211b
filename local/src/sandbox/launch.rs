//! Starts a sandbox: re-executes this binary with three descriptors, writes its user map, and waits until envd serves.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use nix::fcntl::{FcntlArg, fcntl};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use super::boot::{
    Boot, CONTROL_FD, FAILED, HTTP_FD, Isolation, MAPPED, Network, PORTS_FD, READY, SNAPSHOT, TREE, UNSHARED, UserMap,
};
use super::cgroup::{Cgroups, Group};
use super::fds::{receive_with_fds, send_with_fds};
use super::isolation::RANGE;
use super::journal::Journal;
use super::leash::Leash;
use super::reach::Reach;
use super::rootfs::{LAYERED, volume_name};
use super::uplink::{Helper, Provider, Uplink};

/// The hidden command under which the binary becomes a sandbox's first process.
pub(crate) const INIT_COMMAND: &str = "sandbox-init";

/// Building a sandbox takes milliseconds; a machine that needs longer than this is stuck.
const LIMIT: Duration = Duration::from_secs(20);

/// Restoring a snapshot takes as long as there are files.
const RESTORE_LIMIT: Duration = Duration::from_secs(600);

/// A sandbox that runs.
pub(crate) struct Running {
    /// The process outside of the pid namespace; it ends when the sandbox has.
    pub(crate) child: Child,
    /// Releasing it ends the sandbox.
    pub(crate) leash: Arc<tokio::sync::Mutex<Leash>>,
    /// Its way out, when it has a network of its own that has one.
    pub(crate) uplink: Option<Arc<Uplink>>,
    pub(crate) helper: Option<Helper>,
    /// What it may use is counted here.
    pub(crate) group: Option<Group>,
    pub(crate) sockets: Sockets,
}

/// The process that keeps volumes ([`crate::volumes`]).
pub(super) struct Keeper {
    /// Dropping it ends the process.
    pub(super) child: Child,
    pub(super) control: UnixStream,
    _sockets: Sockets,
}

/// What a sandbox starts with, beside its instructions.
#[derive(Default)]
pub(crate) struct Provisions {
    /// Files that are there from the start.
    pub(crate) snapshot: Option<File>,
    /// Volumes for the mount paths among the instructions, in their order.
    pub(crate) volumes: Vec<OwnedFd>,
    /// What [`Network::Own`] needs: the way out, and how far it goes.
    pub(crate) way_out: Option<(Provider, Reach)>,
    pub(crate) cgroups: Option<Arc<Cgroups>>,
    pub(crate) journal: Arc<Journal>,
}

/// Where the server reaches envd. Removed on drop.
#[derive(Debug)]
pub(crate) struct Sockets {
    pub(crate) http: PathBuf,
    pub(crate) ports: PathBuf,
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // Missing is what we want.
        let _ = fs::remove_file(&self.http);
        let _ = fs::remove_file(&self.ports);
    }
}

/// Starts children from one thread that lives as long as the server. The kernel kills a sandbox when the *thread* that
/// started it ends, and threads of the runtime come and go.
pub(crate) struct Nursery {
    requests: mpsc::Sender<(Command, oneshot::Sender<std::io::Result<Child>>)>,
}

impl Nursery {
    /// Must be called inside the runtime that will wait for the children.
    pub(crate) fn new() -> std::io::Result<Self> {
        let runtime = tokio::runtime::Handle::current();
        let (requests, queue) = mpsc::channel::<(Command, oneshot::Sender<_>)>();
        std::thread::Builder::new().name("nursery".into()).spawn(move || {
            let _context = runtime.enter();
            for (mut command, answer) in queue {
                // A caller that went away drops the child, which kills it.
                let _ = answer.send(command.spawn());
            }
        })?;
        Ok(Nursery { requests })
    }

    pub(super) async fn spawn(&self, command: Command) -> Result<Child> {
        let (answer, child) = oneshot::channel();
        self.requests.send((command, answer)).map_err(|_| anyhow!("the server is stopping"))?;
        child.await.context("the server is stopping")?.context("starting a process")
    }

    /// Starts a sandbox whose sockets are in `runtime_dir`, and waits until it serves.
    pub(crate) async fn launch(
        self: &Arc<Self>,
        runtime_dir: &Path,
        boot: Boot,
        provisions: Provisions,
    ) -> Result<Running> {
        let id = boot.envd.sandbox_id.clone();
        let (child, pid, control, sockets) = self.start(runtime_dir, id, Arc::clone(&provisions.journal)).await?;
        let nursery = Arc::clone(self);
        let (leash, way_out, group) =
            tokio::task::spawn_blocking(move || shake_hands(control, pid, &boot, provisions, &nursery)).await??;
        let leash = Arc::new(tokio::sync::Mutex::new(leash));
        let (uplink, helper) = way_out.unzip();
        Ok(Running { child, leash, uplink, helper, group, sockets })
    }

    /// Starts the process that keeps volumes, and waits until it serves.
    pub(super) async fn launch_keeper(&self, runtime_dir: &Path, name: &str, boot: Boot) -> Result<Keeper> {
        let (child, pid, mut control, sockets) = self.start(runtime_dir, name.into(), Arc::default()).await?;
        let control = tokio::task::spawn_blocking(move || {
            control.set_read_timeout(Some(LIMIT))?;
            boot.write_to(&mut control).context("sending the instructions")?;
            let Isolation::Namespaces { users } = boot.isolation else { bail!("volumes need isolation, which is off") };
            expect(&mut control, UNSHARED)?;
            write_maps(pid, users).context("writing the user map")?;
            send_with_fds(&control, &[MAPPED], &[])?;
            await_ready(&mut control)?;
            Ok(control)
        });
        Ok(Keeper { child, control: control.await??, _sockets: sockets })
    }

    /// Starts a process that waits for instructions: itself, its pid, its control socket, and where it will serve.
    async fn start(
        &self,
        runtime_dir: &Path,
        id: String,
        journal: Arc<Journal>,
    ) -> Result<(Child, u32, UnixStream, Sockets)> {
        let sockets =
            Sockets { http: runtime_dir.join(format!("{id}.http")), ports: runtime_dir.join(format!("{id}.ports")) };
        let http = UnixListener::bind(&sockets.http).context("binding a socket")?;
        let ports = UnixListener::bind(&sockets.ports).context("binding a socket")?;
        let (control, theirs) = UnixStream::pair()?;
        let mut child = self
            .spawn(command([above(theirs.as_raw_fd())?, above(http.as_raw_fd())?, above(ports.as_raw_fd())?]))
            .await?;
        drop((theirs, http, ports));
        let pid = child.id().context("the sandbox process ended at once")?;
        if let Some(stderr) = child.stderr.take() {
            tokio::spawn(super::log::forward(id, stderr, journal));
        }
        Ok((child, pid, control, sockets))
    }
}

/// A copy of `fd` out of the way of the numbers that the child expects.
fn above(fd: RawFd) -> Result<OwnedFd> {
    // SAFETY: `fd` is open for the duration of the call, and the result is a new descriptor.
    unsafe {
        let fd = std::os::fd::BorrowedFd::borrow_raw(fd);
        Ok(OwnedFd::from_raw_fd(fcntl(fd, FcntlArg::F_DUPFD_CLOEXEC(PORTS_FD + 1))?))
    }
}

fn command(fds: [OwnedFd; 3]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("agent-sandbox-local")
        .arg(INIT_COMMAND)
        .env_clear()
        .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // SAFETY: between fork and exec only `dup2` runs, on descriptors that the closure keeps open.
    unsafe {
        command.pre_exec(move || {
            for (fd, number) in fds.iter().zip([CONTROL_FD, HTTP_FD, PORTS_FD]) {
                if libc::dup2(fd.as_raw_fd(), number) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    command
}

/// The network of a sandbox, and the program beside it.
type WayOut = (Arc<Uplink>, Helper);

/// The conversation of [`super::init`], from the server's side.
fn shake_hands(
    mut control: UnixStream,
    pid: u32,
    boot: &Boot,
    provisions: Provisions,
    nursery: &Arc<Nursery>,
) -> Result<(Leash, Option<WayOut>, Option<Group>)> {
    control.set_read_timeout(Some(LIMIT))?;
    boot.write_to(&mut control).context("sending the instructions")?;
    let Isolation::Namespaces { users } = boot.isolation else {
        await_ready(&mut control)?;
        return Ok((Leash::of_processes(control, Pid::from_raw(pid.cast_signed())), None, None));
    };
    // Moving a process takes the kernel a while, and it has more to do before it starts others: those come after the map.
    let confined = provisions.cgroups.map(|cgroups| {
        let (id, limits) = (boot.envd.sandbox_id.clone(), boot.limits);
        std::thread::spawn(move || cgroups.confine(&id, pid, &limits))
    });
    let handle = expect_with_fd(&mut control, UNSHARED)?;
    let way_out = match (boot.network, provisions.way_out) {
        (Network::Own, Some((provider, reach))) => {
            let handle = handle.context("the sandbox did not hand over its network")?;
            let uplink = Arc::new(Uplink::new(provider, handle, &reach)?);
            // It gets ready while the sandbox does.
            let helper = Helper::start(&uplink, nursery, &boot.envd.sandbox_id, pid);
            Some((uplink, helper))
        }
        _ => None,
    };
    write_maps(pid, users).context("writing the user map")?;
    let mut trees = translated(pid, users);
    trees.extend(provisions.snapshot.map(|archive| (SNAPSHOT.to_owned(), archive.into())));
    trees.extend(provisions.volumes.into_iter().enumerate().map(|(index, volume)| (volume_name(index), volume)));
    let (names, trees): (Vec<_>, Vec<_>) = trees.into_iter().unzip();
    let group = confined.map(|thread| -> Result<Group> {
        let confined = thread.join().map_err(|_| anyhow!("a thread panicked"));
        confined?.context("limiting the sandbox")
    });
    let group = group.transpose()?;
    let mut answer = vec![MAPPED];
    answer.extend_from_slice(names.join(",").as_bytes());
    send_with_fds(&control, &answer, &trees)?;
    control.set_read_timeout(Some(RESTORE_LIMIT))?;
    let tree = expect_with_fd(&mut control, TREE)?.context("the sandbox did not hand over its files")?;
    control.set_read_timeout(Some(LIMIT))?;
    await_ready(&mut control)?;
    Ok((Leash::of_namespaces(control, tree), way_out, group))
}

/// Waits until envd serves.
pub(super) fn await_ready(control: &mut impl Read) -> Result<()> {
    expect(control, READY)
}

const ENDED_EARLY: &str = "the sandbox ended before it was ready";

fn expect(control: &mut impl Read, wanted: u8) -> Result<()> {
    let mut byte = [0];
    control.read_exact(&mut byte).context(ENDED_EARLY)?;
    judge(control, byte[0], wanted)
}

/// The same for a word that a descriptor may come along with.
fn expect_with_fd(control: &mut UnixStream, wanted: u8) -> Result<Option<OwnedFd>> {
    let mut byte = [0];
    let (_, fds) = receive_with_fds(control, &mut byte).context(ENDED_EARLY)?;
    judge(control, byte[0], wanted)?;
    Ok(fds.into_iter().next())
}

fn judge(control: &mut impl Read, given: u8, wanted: u8) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    let mut message = String::new();
    if given == FAILED {
        // The sender closes its end right after; whatever arrived is the message.
        let _ = control.read_to_string(&mut message);
    }
    bail!("{}", if message.is_empty() { "the sandbox did not answer as expected" } else { &message })
}

fn write_maps(pid: u32, users: UserMap) -> Result<()> {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let put = |name: &str, text: String| -> Result<()> {
        let mut options = fs::OpenOptions::new();
        let mut file = options.write(true).custom_flags(libc::O_CLOEXEC).open(proc.join(name))?;
        std::io::Write::write_all(&mut file, text.as_bytes()).with_context(|| format!("writing {name}"))
    };
    match users {
        UserMap::Range { base } => {
            put("uid_map", format!("0 {base} {RANGE}"))?;
            put("gid_map", format!("0 {base} {RANGE}"))
        }
        UserMap::Subordinate { uid_base, gid_base } => {
            for (program, base) in [("newuidmap", uid_base), ("newgidmap", gid_base)] {
                let status = std::process::Command::new(program)
                    .args([pid.to_string(), "0".into(), base.to_string(), RANGE.to_string()])
                    .status()
                    .with_context(|| format!("running {program}"))?;
                if !status.success() {
                    bail!("{program} failed with {status}");
                }
            }
            Ok(())
        }
        UserMap::Single => {
            let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
            let id = super::users::USER_ID;
            put("setgroups", "deny".into())?;
            put("uid_map", format!("{id} {uid} 1"))?;
            put("gid_map", format!("{id} {gid} 1"))
        }
    }
}

/// The host's program directories with their owners translated, so that the sandbox's root owns (its layer over) what
/// the host's root owns. `/opt` and `/nix` stay as they are: what only the host's root may read there stays unreadable.
fn translated(pid: u32, users: UserMap) -> Vec<(String, OwnedFd)> {
    if !matches!(users, UserMap::Range { .. }) {
        return Vec::new();
    }
    let Ok(namespace) = fs::File::open(format!("/proc/{pid}/ns/user")) else { return Vec::new() };
    LAYERED
        .into_iter()
        .filter(|name| !matches!(*name, "opt" | "nix"))
        .filter(|name| fs::symlink_metadata(Path::new("/").join(name)).is_ok_and(|meta| meta.is_dir()))
        .filter_map(|name| Some((name.to_owned(), translate(name, &namespace).ok()?)))
        .collect()
}

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

fn translate(name: &str, namespace: &fs::File) -> std::io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    const OPEN_TREE_CLOEXEC: libc::c_uint = libc::O_CLOEXEC as libc::c_uint;
    const MOUNT_ATTR_RDONLY: u64 = 0x1;
    const MOUNT_ATTR_IDMAP: u64 = 0x0010_0000;
    let path = std::ffi::CString::new(format!("/{name}"))?;
    // SAFETY: plain system calls on strings and structures that outlive them; the first returns a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if fd < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let tree = OwnedFd::from_raw_fd(fd as RawFd);
        let attributes = MountAttr {
            set: MOUNT_ATTR_IDMAP | MOUNT_ATTR_RDONLY,
            clear: 0,
            propagation: 0,
            userns_fd: namespace.as_raw_fd() as u64,
        };
        let done = libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &attributes,
            size_of::<MountAttr>(),
        );
        if done != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(tree)
    }
}
