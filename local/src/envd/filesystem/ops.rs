//! The operations behind the RPCs, with the errors of the protocol.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, lchown};
use std::path::{Path, PathBuf};

use connectrpc::ConnectError;

use crate::envd::entry::describe;
use crate::envd::error::reason;
use crate::protocol::filesystem::EntryInfo;
use crate::sandbox::users::{User, Users};

/// One entry.
pub(super) fn stat(path: &Path, users: &Users) -> Result<EntryInfo, ConnectError> {
    describe(path, users).map_err(|error| {
        let text = format!("lstat {}: {}", path.display(), reason(&error));
        match error.kind() {
            ErrorKind::NotFound => ConnectError::not_found(format!("file not found: {text}")),
            _ => ConnectError::internal(format!("error getting file info: {text}")),
        }
    })
}

/// Creates `path` and the parents it misses.
pub(super) fn make_dir(path: &Path, user: &User, users: &Users) -> Result<EntryInfo, ConnectError> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            return Err(ConnectError::already_exists(format!("directory already exists: {}", path.display())));
        }
        Ok(_) => {
            let text = format!("path already exists but it is not a directory: {}", path.display());
            return Err(ConnectError::invalid_argument(text));
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => {
            let text = format!("error getting file info: stat {}: {}", path.display(), reason(&error));
            return Err(ConnectError::internal(text));
        }
    }
    ensure_directories(path, user).map_err(ConnectError::internal)?;
    stat(path, users)
}

/// Creates the directories of `path` that are missing, with mode 0755, owned by `user`.
pub(in crate::envd) fn ensure_directories(path: &Path, user: &User) -> Result<(), String> {
    let mut missing: Vec<&Path> = Vec::new();
    let mut current = Some(path);
    while let Some(directory) = current {
        if directory.as_os_str().is_empty() {
            break;
        }
        match fs::metadata(directory) {
            Ok(meta) if meta.is_dir() => break,
            Ok(_) => return Err(format!("path is a file: {}", directory.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => missing.push(directory),
            Err(error) => {
                return Err(format!("failed to stat directory: stat {}: {}", directory.display(), reason(&error)));
            }
        }
        current = directory.parent();
    }
    for directory in missing.into_iter().rev() {
        let fail = |what: &str, error: &io::Error| {
            format!("failed to create directory: {what} {}: {}", directory.display(), reason(error))
        };
        match DirBuilder::new().mode(0o755).create(directory) {
            Ok(()) => {}
            // Another request was faster.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(fail("mkdir", &error)),
        }
        lchown(directory, Some(user.uid), Some(user.gid)).map_err(|error| fail("chown", &error))?;
    }
    Ok(())
}

/// Moves `source`, creating the destination's parents first; they stay even if the move then fails.
pub(super) fn rename(source: &Path, destination: &Path, user: &User, users: &Users) -> Result<EntryInfo, ConnectError> {
    if let Some(parent) = destination.parent() {
        ensure_directories(parent, user).map_err(ConnectError::internal)?;
    }
    fs::rename(source, destination).map_err(|error| {
        let text = format!("rename {} {}: {}", source.display(), destination.display(), reason(&error));
        match error.kind() {
            ErrorKind::NotFound => ConnectError::not_found(format!("source file not found: {text}")),
            _ => ConnectError::internal(format!("error renaming: {text}")),
        }
    })?;
    stat(destination, users)
}

/// Removes a file, a link, or a directory with everything in it. What is not there is fine.
pub(super) fn remove(path: &Path) -> Result<(), ConnectError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound) => Err(ConnectError::internal(format!(
            "error removing file or directory: remove {}: {}",
            path.display(),
            reason(&error)
        ))),
        _ => Ok(()),
    }
}

/// Everything below `path`, parents first and in lexical order, `depth` levels deep. A link given as the root is
/// followed, but its children are reported below it; links further down are listed and not entered.
pub(super) fn list(path: &Path, depth: u32, users: &Users) -> Result<Vec<EntryInfo>, ConnectError> {
    let resolved = fs::canonicalize(path).map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT) => {
            ConnectError::not_found(format!("path not found: lstat {}: {}", path.display(), reason(&error)))
        }
        Some(libc::ELOOP) => {
            ConnectError::failed_precondition(format!("cyclic symlink or chain >255 links at \"{}\"", path.display()))
        }
        _ => ConnectError::internal(format!("error getting file info: stat {}: {}", path.display(), reason(&error))),
    })?;
    if !resolved.is_dir() {
        return Err(ConnectError::invalid_argument(format!("path is not a directory: {}", resolved.display())));
    }
    let mut entries = Vec::new();
    // A stack instead of recursion: the depth of a tree is its owner's choice.
    let mut pending = vec![(children(path).map_err(|error| list_error(path, &error))?, 1)];
    while let Some((names, level)) = pending.last_mut() {
        let level = *level;
        let Some(child) = names.next() else {
            pending.pop();
            continue;
        };
        // Entries that vanish during the walk are skipped.
        let Ok(entry) = describe(&child, users) else { continue };
        let enter = level < depth && fs::symlink_metadata(&child).is_ok_and(|meta| meta.is_dir());
        entries.push(entry);
        if enter {
            match children(&child) {
                Ok(names) => pending.push((names, level + 1)),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(list_error(&child, &error)),
            }
        }
    }
    Ok(entries)
}

fn list_error(path: &Path, error: &io::Error) -> ConnectError {
    ConnectError::internal(format!("error reading directory {}: {}", path.display(), reason(error)))
}

fn children(path: &Path) -> io::Result<std::vec::IntoIter<PathBuf>> {
    let mut names = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names.into_iter().map(|name| path.join(name)).collect::<Vec<_>>().into_iter())
}
