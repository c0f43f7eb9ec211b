//! The file system a sandbox sees.
//!
//! A tmpfs that only this sandbox can reach holds the new root, and the writable layers of the overlays over the
//! host's programs (`/usr`, `/etc`, `/opt`). Being a tmpfs in the sandbox's own mount namespace it vanishes with the
//! last process: there is no file to clean up, whoever owns it. Nothing else of the host is mounted: no home
//! directory, no `/var`, no `/run`, no sockets.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::unistd::{chdir, pivot_root};

use super::boot::{Boot, Network, SNAPSHOT, TREE, UserMap};
use super::{archive, fds, kernels, uplink, users};

/// Directories of the host that a sandbox sees through an overlay. `bin`, `lib` and the like are usually links into
/// `usr`; where they are not, they are treated the same way.
pub(crate) const LAYERED: [&str; 10] = ["usr", "etc", "opt", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix"];

/// Where the tmpfs is mounted while the root is built. It exists everywhere, and nothing of it is needed.
const STAGE: &str = "/tmp";

const NO_DATA: Option<&str> = None;

/// Builds the root and moves into it. `lowers` are detached mounts of directories of [`LAYERED`] whose owners are
/// translated to the sandbox's users; where one is missing the plain directory serves, and then even the sandbox's root
/// cannot change what the host's root owns.
///
/// With a snapshot among the `lowers`, its files come first and nothing of theirs is replaced. The server gets a
/// descriptor of the writable files, through which a snapshot can be made: inside, they stay out of reach.
pub(super) fn build(
    boot: &Boot,
    users: UserMap,
    mut lowers: HashMap<String, OwnedFd>,
    server: &UnixStream,
) -> Result<()> {
    let snapshot = lowers.remove(SNAPSHOT);
    let restored = snapshot.is_some();
    let kernel_tree = lowers.remove(kernels::INSIDE);
    let volumes: Option<Vec<_>> = (0..boot.volumes.len()).map(|index| lowers.remove(&volume_name(index))).collect();
    let volumes = volumes.context("the server lent too few volumes")?;
    let host = HostFiles::read();
    let stage = stage(Some(boot.limits.files))?;
    let root = stage.join("root");
    match snapshot {
        Some(archive) => archive::restore(archive.into(), stage).context("restoring the snapshot")?,
        None => fs::create_dir(&root)?,
    }
    // A clone of this mount alone: what is mounted on it later is not to be seen through it.
    fds::send_with_fds(server, &[TREE], &[detached(stage)?])?;
    mount(Some(&root), &root, NO_DATA, MsFlags::MS_BIND, NO_DATA).context("binding the root")?;

    layers(boot, stage, &root, &host, lowers, restored)?;
    if !restored {
        directories(&root, users)?;
    }
    devices(&root, users, boot.limits.files)?;
    if let Some(tree) = &kernel_tree {
        kernels::attach(tree, &root)?;
    }
    mount_proc(&root)?;
    enter(&root)?;
    // Last: in a restored sandbox there may be links on the way, which lead nowhere but inside now.
    for (path, tree) in boot.volumes.iter().zip(&volumes) {
        mount_volume(tree, path).with_context(|| format!("mounting a volume at {}", path.display()))?;
    }
    Ok(())
}

/// Moves into a file system that has nothing but `/proc`.
pub(crate) fn build_empty() -> Result<()> {
    let stage = stage(None)?;
    fs::create_dir(stage.join("proc"))?;
    mount_proc(stage)?;
    enter(stage)
}

/// The name under which the volume for the mount path of that index travels with the translated directories.
pub(super) fn volume_name(index: usize) -> String {
    format!(".volume{index}")
}

/// The options of a tmpfs for `size` bytes of files, and as many files as have one page each: empty ones would otherwise
/// take the machine's memory without end.
fn bounds(size: u64) -> String {
    const PAGE: u64 = 4096;
    format!("size={size},nr_inodes={}", size.div_ceil(PAGE))
}

/// Where a new root is built: a tmpfs that nobody else sees, of at most `size` bytes.
fn stage(size: Option<u64>) -> Result<&'static Path> {
    mount(NO_DATA, "/", NO_DATA, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NO_DATA).context("detaching from the host")?;
    let options = size.map_or("mode=0755".to_owned(), |size| format!("mode=0755,{}", bounds(size)));
    mount(Some("tmpfs"), STAGE, Some("tmpfs"), MsFlags::MS_NODEV, Some(&*options)).context("mounting a tmpfs")?;
    Ok(Path::new(STAGE))
}

fn mount_proc(root: &Path) -> Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("proc"), &root.join("proc"), Some("proc"), flags, NO_DATA).context("mounting /proc")
}

/// Mounts a volume in the finished root. Directories that are missing on the way belong to whom the one above belongs.
fn mount_volume(tree: &OwnedFd, path: &Path) -> Result<()> {
    let mut way: Vec<_> = path.ancestors().take_while(|path| !path.exists()).collect();
    while let Some(missing) = way.pop() {
        let above = fs::metadata(missing.parent().unwrap_or(Path::new("/")))?;
        fs::create_dir(missing)?;
        chown(missing, Some(above.uid()), Some(above.gid()))?;
    }
    attach(tree, &fs::canonicalize(path)?)
}

/// Text files of the host that get a counterpart inside. Read before the host is out of sight.
struct HostFiles {
    passwd: String,
    group: String,
    resolv_conf: String,
    profile: String,
}

impl HostFiles {
    fn read() -> Self {
        let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
        HostFiles {
            passwd: text("/etc/passwd"),
            group: text("/etc/group"),
            resolv_conf: text("/etc/resolv.conf"),
            profile: text("/etc/profile"),
        }
    }
}

fn layers(
    boot: &Boot,
    stage: &Path,
    root: &Path,
    host: &HostFiles,
    mut lowers: HashMap<String, OwnedFd>,
    restored: bool,
) -> Result<()> {
    for name in LAYERED {
        let source = Path::new("/").join(name);
        let Ok(kind) = fs::symlink_metadata(&source).map(|meta| meta.file_type()) else { continue };
        let target = root.join(name);
        if kind.is_symlink() {
            if !restored {
                symlink(fs::read_link(&source)?, &target)?;
            }
            continue;
        }
        if !kind.is_dir() {
            continue;
        }
        fs::create_dir_all(&target)?;
        let translated = lowers.remove(name);
        let hiding = name == "etc" && translated.is_some() && !restored;
        let lower = match translated {
            Some(tree) => {
                let lower = stage.join("lower").join(name);
                fs::create_dir_all(&lower)?;
                attach(&tree, &lower).with_context(|| format!("attaching the translated /{name}"))?;
                lower
            }
            None => source,
        };
        let upper = stage.join("upper").join(name);
        let work = stage.join("work").join(name);
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        if name == "etc" && !restored {
            configuration(&upper, host, boot.network)?;
        }
        let options =
            format!("lowerdir={},upperdir={},workdir={},userxattr", lower.display(), upper.display(), work.display());
        mount(Some("overlay"), &target, Some("overlay"), MsFlags::empty(), Some(options.as_str()))
            .with_context(|| format!("mounting an overlay on /{name}"))?;
        // With the host's own owners such entries are out of reach anyway.
        if hiding {
            hide(&target, &boot.hidden_etc)?;
        }
    }
    Ok(())
}

/// A detached mount of the file system at `path`, without what is mounted below.
pub(crate) fn detached(path: &Path) -> Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    const OPEN_TREE_CLOEXEC: libc::c_uint = libc::O_CLOEXEC as libc::c_uint;
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: the string is null-terminated and outlives the call, which returns a new descriptor.
    unsafe {
        let fd = libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if fd < 0 {
            return Err(std::io::Error::last_os_error()).context("cloning a mount");
        }
        Ok(OwnedFd::from_raw_fd(fd as std::os::fd::RawFd))
    }
}

/// Mounts a detached tree at `target`.
pub(super) fn attach(tree: &OwnedFd, target: &Path) -> Result<()> {
    let target = std::ffi::CString::new(target.as_os_str().as_encoded_bytes())?;
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    // SAFETY: both strings are null-terminated and outlive the call.
    let moved = unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_FDCWD,
            target.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    };
    if moved != 0 {
        bail!(std::io::Error::last_os_error());
    }
    Ok(())
}

/// How a profile commonly finds out whether it is root's.
const USER_ID_PROGRAM: &str = "$(id -u)";

/// The files of `/etc` that must differ from the host's.
fn configuration(etc: &Path, host: &HostFiles, network: Network) -> Result<()> {
    let write = |name: &str, text: &str, mode: u32| -> Result<()> {
        let path = etc.join(name);
        fs::write(&path, text).with_context(|| format!("writing /etc/{name}"))?;
        Ok(fs::set_permissions(&path, fs::Permissions::from_mode(mode))?)
    };
    write("passwd", &users::sandbox_passwd(&host.passwd), 0o644)?;
    write("group", &users::sandbox_group(&host.group), 0o644)?;
    write("shadow", "root:*:19000:0:99999:7:::\nuser:*:19000:0:99999:7:::\n", 0o600)?;
    write("gshadow", "", 0o600)?;
    write("hostname", "sandbox\n", 0o644)?;
    write("hosts", "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost ip6-loopback\n", 0o644)?;
    let resolv_conf = match network {
        Network::Own => format!("nameserver {}\n", uplink::RESOLVER),
        Network::Shared | Network::Loopback => host.resolv_conf.clone(),
    };
    write("resolv.conf", &resolv_conf, 0o644)?;
    write("mtab", "", 0o644)?;
    // Commands run in login shells. To start a program for what bash knows by itself takes a third of their time.
    if host.profile.contains(USER_ID_PROGRAM) {
        write("profile", &host.profile.replace(USER_ID_PROGRAM, "${EUID:-$(id -u)}"), 0o644)?;
    }
    // Commands as root without a password, as in the hosted templates.
    write("sudoers", "root ALL=(ALL:ALL) ALL\nuser ALL=(ALL:ALL) NOPASSWD: ALL\n", 0o440)?;
    Ok(())
}

/// Removes what only the host's root may read from the sandbox's view. The host's files are not touched: removing
/// through an overlay leaves a mark in the upper layer.
fn hide(etc: &Path, hidden: &[PathBuf]) -> Result<()> {
    const REPLACED: [&str; 3] = ["shadow", "gshadow", "sudoers"];
    for path in hidden {
        if REPLACED.iter().any(|kept| path == Path::new(kept)) {
            continue;
        }
        let path = etc.join(path);
        let removed = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(_) => continue,
        };
        removed.with_context(|| format!("hiding {}", path.display()))?;
    }
    Ok(())
}

fn directories(root: &Path, users: UserMap) -> Result<()> {
    const DIRECTORIES: [(&str, u32); 20] = [
        ("proc", 0o555),
        ("sys", 0o555),
        ("dev", 0o755),
        ("tmp", 0o1777),
        ("run", 0o755),
        ("run/lock", 0o1777),
        ("run/e2b", 0o755),
        ("home", 0o755),
        ("home/user", 0o755),
        ("root", 0o700),
        ("mnt", 0o755),
        ("media", 0o755),
        ("srv", 0o755),
        ("var", 0o755),
        ("var/cache", 0o755),
        ("var/lib", 0o755),
        ("var/log", 0o755),
        ("var/spool", 0o755),
        ("var/tmp", 0o1777),
        ("code", 0o777),
    ];
    for (name, mode) in DIRECTORIES {
        let path = root.join(name);
        fs::create_dir_all(&path)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    }
    for entry in fs::read_dir(root.join("etc/skel")).into_iter().flatten().flatten() {
        // What every new user gets: a prompt, completion. Anything but plain files is not worth the trouble.
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let copy = root.join("home/user").join(entry.file_name());
            fs::copy(entry.path(), &copy)?;
            if users != UserMap::Single {
                chown(&copy, Some(users::USER_ID), Some(users::USER_ID))?;
            }
        }
    }
    symlink("/run", root.join("var/run"))?;
    symlink("/run/lock", root.join("var/lock"))?;
    if users != UserMap::Single {
        chown(root.join("home/user"), Some(users::USER_ID), Some(users::USER_ID))?;
        chown(root.join("code"), Some(users::USER_ID), Some(users::USER_ID))?;
    }
    Ok(())
}

/// The devices every program expects, a pseudo-terminal instance of its own, and shared memory.
fn devices(root: &Path, users: UserMap, shared_memory: u64) -> Result<()> {
    let dev = root.join("dev");
    mount(Some("tmpfs"), &dev, Some("tmpfs"), MsFlags::MS_NOSUID, Some("mode=0755,size=64k"))
        .context("mounting /dev")?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let node = dev.join(name);
        fs::File::create(&node)?;
        mount(Some(&Path::new("/dev").join(name)), &node, NO_DATA, MsFlags::MS_BIND, NO_DATA)
            .with_context(|| format!("binding /dev/{name}"))?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, dev.join(name))?;
    }
    let pts = dev.join("pts");
    fs::create_dir(&pts)?;
    let options = if users == UserMap::Single {
        "newinstance,ptmxmode=0666,mode=0620"
    } else {
        "newinstance,ptmxmode=0666,mode=0620,gid=5"
    };
    mount(Some("devpts"), &pts, Some("devpts"), MsFlags::MS_NOSUID | MsFlags::MS_NOEXEC, Some(options))
        .context("mounting /dev/pts")?;
    let shm = dev.join("shm");
    fs::create_dir(&shm)?;
    mount(
        Some("tmpfs"),
        &shm,
        Some("tmpfs"),
        MsFlags::MS_NOSUID | MsFlags::MS_NODEV,
        Some(&*format!("mode=1777,{}", bounds(shared_memory))),
    )
    .context("mounting /dev/shm")?;
    Ok(())
}

/// Makes `root` the root directory and lets go of the old one.
fn enter(root: &Path) -> Result<()> {
    chdir(root)?;
    // The old root ends up on top of the new one, and is then detached: no directory is needed to hold it.
    pivot_root(".", ".").context("pivot_root")?;
    umount2(".", MntFlags::MNT_DETACH).context("detaching the host's root")?;
    chdir("/")?;
    Ok(())
}
