//! A file system entry as the protocol describes it.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use buffa_types::google::protobuf::Timestamp;

use crate::protocol::filesystem::{EntryInfo, FileType};
use crate::sandbox::users::Users;

/// Extended attributes with this prefix are an entry's metadata.
pub(super) const METADATA_PREFIX: &str = "user.e2b.";

/// Describes `path` without following it, when it is a link: size, owner and time are the link's, type and mode those
/// of what it finally leads to.
pub(super) fn describe(path: &Path, users: &Users) -> io::Result<EntryInfo> {
    let meta = fs::symlink_metadata(path)?;
    let mut entry = EntryInfo {
        name: path.file_name().map_or_else(|| "/".into(), |name| name.to_string_lossy().into_owned()),
        path: path.to_string_lossy().into_owned(),
        size: meta.len() as i64,
        permissions: permissions(&meta),
        owner: users.user_name(meta.uid()),
        group: users.group_name(meta.gid()),
        modified_time: modified(&meta).into(),
        metadata: metadata(path).into_iter().collect(),
        ..Default::default()
    };
    let target = if meta.is_symlink() {
        let resolved = fs::canonicalize(path);
        entry.symlink_target = Some(resolved.as_deref().unwrap_or(path).to_string_lossy().into_owned());
        resolved.and_then(fs::metadata).ok()
    } else {
        Some(meta)
    };
    if let Some(target) = target {
        entry.r#type = file_type(&target).into();
        entry.mode = target.mode() & 0o777;
    }
    Ok(entry)
}

fn file_type(meta: &Metadata) -> FileType {
    if meta.is_file() {
        FileType::FILE_TYPE_FILE
    } else if meta.is_dir() {
        FileType::FILE_TYPE_DIRECTORY
    } else {
        FileType::FILE_TYPE_UNSPECIFIED
    }
}

fn modified(meta: &Metadata) -> Timestamp {
    Timestamp { seconds: meta.mtime(), nanos: meta.mtime_nsec() as i32, ..Default::default() }
}

/// Metadata stored with the entry, without the prefix. Empty where the file system has no extended attributes.
pub(super) fn metadata(path: &Path) -> HashMap<String, String> {
    let mut found = HashMap::new();
    for name in xattr::list(path).into_iter().flatten() {
        let Some(key) = name.to_str().and_then(|name| name.strip_prefix(METADATA_PREFIX)) else { continue };
        if let Ok(Some(value)) = xattr::get(path, &name) {
            found.insert(key.to_owned(), String::from_utf8_lossy(&value).into_owned());
        }
    }
    found
}

/// The mode as the original's standard library spells it: kind and special bits first, then nine letters.
fn permissions(meta: &Metadata) -> String {
    let kind = meta.file_type();
    let mode = meta.mode();
    let mut text = String::with_capacity(12);
    for (letter, set) in [
        ("d", kind.is_dir()),
        ("L", kind.is_symlink()),
        ("D", kind.is_block_device() || kind.is_char_device()),
        ("p", kind.is_fifo()),
        ("S", kind.is_socket()),
        ("u", mode & 0o4000 != 0),
        ("g", mode & 0o2000 != 0),
        ("c", kind.is_char_device()),
        ("t", mode & 0o1000 != 0),
    ] {
        if set {
            text.push_str(letter);
        }
    }
    if text.is_empty() {
        text.push('-');
    }
    for (position, letter) in "rwxrwxrwx".chars().enumerate() {
        text.push(if mode & (0o400 >> position) != 0 { letter } else { '-' });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_spelled_like_the_original() {
        for (path, expected) in [("/tmp", "dtrwxrwxrwx"), ("/dev/null", "Dcrw-rw-rw-"), ("/proc/self", "Lrwxrwxrwx")] {
            assert_eq!(permissions(&fs::symlink_metadata(path).unwrap()), expected, "{path}");
        }
    }
}
