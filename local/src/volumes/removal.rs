//! Removes what may be a directory of any depth, while sandboxes go on writing to it.
//!
//! First it is moved out of sight, in one step. Then directories are taken apart one at a time, each of its own name in
//! one flat place: neither paths nor open directories nor the stack grow with the depth.

use std::ffi::{CString, OsStr, OsString};
use std::os::fd::OwnedFd;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat, renameat};
use nix::sys::stat::{Mode, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::tree::{is_directory, permit};

/// How often a directory is emptied into which somebody keeps writing.
const ROUNDS: usize = 1000;

/// A name that nobody can have taken.
pub(super) fn fresh_name() -> OsString {
    format!("{:032x}", rand::random::<u128>()).into()
}

/// Removes `name` of `parent` by way of `staging`.
pub(super) fn remove(parent: &OwnedFd, name: &OsStr, staging: &OwnedFd) -> nix::Result<()> {
    let mut pending = vec![move_away(parent, name, staging)?];
    while let Some(staged) = pending.pop() {
        if is_directory(&fstatat(staging, staged.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW)?) {
            take_apart(staging, &staged, &mut pending)?;
        } else {
            unlinkat(staging, staged.as_os_str(), UnlinkatFlags::NoRemoveDir)?;
        }
    }
    Ok(())
}

/// Moves an entry to a name of its own in `staging`.
fn move_away(parent: &OwnedFd, name: &OsStr, staging: &OwnedFd) -> nix::Result<OsString> {
    let staged = fresh_name();
    match renameat(parent, name, staging, staged.as_os_str()) {
        // Moving a directory changes it: without privileges that takes the permission to write to it.
        Err(Errno::EACCES) => {
            open_up(parent, name)?;
            renameat(parent, name, staging, staged.as_os_str())?;
        }
        moved => moved?,
    }
    Ok(staged)
}

/// Empties a directory and removes it. Directories in it are added to `pending`.
fn take_apart(staging: &OwnedFd, staged: &OsStr, pending: &mut Vec<OsString>) -> nix::Result<()> {
    for _ in 0..ROUNDS {
        let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        open_up(staging, staged)?;
        let directory = openat(staging, staged, flags, Mode::empty())?;
        let mut entries = Dir::from_fd(directory.try_clone().map_err(|_| Errno::EMFILE)?)?;
        // All names first: what is read while it is being changed may come twice or not at all.
        let mut names: Vec<(CString, Option<Type>)> = Vec::new();
        for entry in entries.iter() {
            let entry = entry?;
            names.push((entry.file_name().to_owned(), entry.file_type()));
        }
        for (name, kind) in names.iter().filter(|(name, _)| ![&b"."[..], b".."].contains(&name.to_bytes())) {
            let unlinked = match kind {
                Some(Type::Directory) => Err(Errno::EISDIR),
                _ => unlinkat(&directory, name.as_c_str(), UnlinkatFlags::NoRemoveDir),
            };
            match unlinked {
                Ok(()) | Err(Errno::ENOENT) => {}
                Err(Errno::EISDIR) => {
                    use std::os::unix::ffi::OsStrExt;
                    match move_away(&directory, OsStr::from_bytes(name.to_bytes()), staging) {
                        Ok(staged) => pending.push(staged),
                        Err(Errno::ENOENT) => {}
                        Err(error) => return Err(error),
                    }
                }
                Err(error) => return Err(error),
            }
        }
        match unlinkat(staging, staged, UnlinkatFlags::RemoveDir) {
            Err(Errno::ENOTEMPTY) => {}
            removed => return removed,
        }
    }
    Err(Errno::EBUSY)
}

/// Lets its owner, as whom this process may be running without privileges, change a directory.
fn open_up(parent: &OwnedFd, name: &OsStr) -> nix::Result<()> {
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let directory = openat(parent, name, flags, Mode::empty())?;
    permit(&directory, 0o700).map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use nix::sys::stat::mkdirat;

    use super::*;

    #[test]
    fn depth_does_not_matter() {
        let base = tempfile::tempdir().unwrap();
        for name in ["tree", "staging"] {
            fs::create_dir(base.path().join(name)).unwrap();
        }
        let open = |path: &Path| -> OwnedFd { fs::File::open(path).unwrap().into() };
        let (tree, staging) = (open(&base.path().join("tree")), open(&base.path().join("staging")));
        // Deeper than a path can be long, and than there are descriptors.
        let mut directory = tree.try_clone().unwrap();
        for _ in 0..1500 {
            mkdirat(&directory, "deep", Mode::S_IRWXU).unwrap();
            directory = openat(&directory, "deep", OFlag::O_RDONLY, Mode::empty()).unwrap();
            drop(openat(&directory, "file", OFlag::O_CREAT | OFlag::O_WRONLY, Mode::S_IRUSR).unwrap());
        }
        remove(&tree, OsStr::new("deep"), &staging).unwrap();
        for name in ["tree", "staging"] {
            assert_eq!(fs::read_dir(base.path().join(name)).unwrap().count(), 0, "{name}");
        }
        assert_eq!(remove(&tree, OsStr::new("deep"), &staging), Err(Errno::ENOENT));
    }
}
