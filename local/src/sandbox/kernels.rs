//! The folder of installed kernels: taken from the host before it is out of sight, seen inside read-only.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::{Context, Result};

use super::rootfs;

/// Where the kernels are inside of a sandbox with a file system of its own.
pub(crate) const INSIDE: &str = "/run/kernels";

/// A detached, read-only mount of `folder`. Called in the sandbox's namespaces, but still as the user of the server, who
/// can reach folders that the sandbox's users cannot.
pub(super) fn detach(folder: &Path) -> io::Result<OwnedFd> {
    const OPEN_TREE_CLONE: libc::c_uint = 1;
    const OPEN_TREE_CLOEXEC: libc::c_uint = libc::O_CLOEXEC as libc::c_uint;
    let path = std::ffi::CString::new(folder.as_os_str().as_bytes())?;
    // SAFETY: a plain system call on a string that outlives it; it returns a new descriptor.
    let fd = unsafe {
        libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: see above.
    let tree = unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
    read_only(&tree)?;
    Ok(tree)
}

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

fn read_only(tree: &OwnedFd) -> io::Result<()> {
    const READ_ONLY_NO_SUID: u64 = 0x1 | 0x2;
    let attributes = MountAttr { set: READ_ONLY_NO_SUID, clear: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: plain system call on structures that outlive it.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &attributes,
            size_of::<MountAttr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts a detached tree in the new root.
pub(super) fn attach(tree: &OwnedFd, root: &Path) -> Result<()> {
    let target = root.join(INSIDE.trim_start_matches('/'));
    fs::create_dir_all(&target)?;
    rootfs::attach(tree, &target).context("mounting the kernels")
}
