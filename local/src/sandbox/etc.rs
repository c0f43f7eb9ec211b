//! What of the host's `/etc` is private: whatever not everybody may read.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const ETC: &str = "/etc";

/// Entries of `/etc`, relative to it, that others than their owner and group may not read. Found once per server; a
/// private directory stands for all it contains.
pub(crate) fn private_entries() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(Path::new(ETC), &mut found);
    found
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        if meta.is_symlink() {
            continue;
        }
        let mode = meta.permissions().mode();
        let open = if meta.is_dir() { mode & 0o005 == 0o005 } else { mode & 0o004 != 0 };
        if !open {
            found.extend(path.strip_prefix(ETC).map(Path::to_owned));
        } else if meta.is_dir() {
            collect(&path, found);
        }
    }
}
