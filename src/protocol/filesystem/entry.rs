//! Entries: what the filesystem service tells about a path.

use crate::error::Error;
use crate::protocol::message::{Encoding, Node, StringMap, decode};
use crate::protocol::timestamp::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileType {
    File,
    Directory,
    Symlink,
    /// 0: the daemon does not say (devices, sockets, dangling links). Other numbers: a type newer than this client.
    Unknown(i32),
}

impl Default for FileType {
    fn default() -> Self {
        FileType::Unknown(0)
    }
}

/// A file, a directory, or whatever else has a path. For a symbolic link, type and mode are those of its target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EntryInfo {
    pub name: String,
    pub file_type: FileType,
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// As `ls -l` shows them: `-rw-r--r--`.
    pub permissions: String,
    pub owner: String,
    pub group: String,
    pub modified_time: Option<Timestamp>,
    pub symlink_target: Option<String>,
    pub metadata: StringMap,
}

impl EntryInfo {
    pub(super) fn read(entry: Node<'_>) -> Result<Self, Error> {
        const NAMES: [&str; 11] = [
            "name",
            "type",
            "path",
            "size",
            "mode",
            "permissions",
            "owner",
            "group",
            "modifiedTime",
            "symlinkTarget",
            "metadata",
        ];
        let mut info = EntryInfo::default();
        entry.fields(&NAMES, &mut |number, node| {
            match number {
                1 => info.name = node.string()?,
                2 => {
                    info.file_type =
                        match node.label(&["FILE_TYPE_FILE", "FILE_TYPE_DIRECTORY", "FILE_TYPE_SYMLINK"])? {
                            1 => FileType::File,
                            2 => FileType::Directory,
                            3 => FileType::Symlink,
                            other => FileType::Unknown(other),
                        };
                }
                3 => info.path = node.string()?,
                4 => info.size = node.integer()?.try_into().unwrap_or(0),
                5 => info.mode = node.uint32()?,
                6 => info.permissions = node.string()?,
                7 => info.owner = node.string()?,
                8 => info.group = node.string()?,
                9 => info.modified_time = Some(node.timestamp()?),
                10 => info.symlink_target = Some(node.string()?),
                11 => node.pairs(&mut info.metadata)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(info)
    }
}

/// Decodes the answer of [`STAT`](super::STAT), [`MAKE_DIR`](super::MAKE_DIR) and [`MOVE`](super::MOVE).
///
/// # Errors
/// `protocol_error` when the body is not such a message or holds no entry.
pub fn decode_entry(body: &[u8], encoding: Encoding) -> Result<EntryInfo, Error> {
    read_entries(body, encoding, "entry")?.pop().ok_or_else(|| {
        Error::protocol(
            "The sandbox's daemon answered without an entry. Rebuild the template, so that the daemon is current.",
        )
    })
}

/// Decodes the answer of [`LIST_DIR`](super::LIST_DIR). Entries of unknown type are kept.
///
/// # Errors
/// `protocol_error` when the body is not such a message.
pub fn decode_entries(body: &[u8], encoding: Encoding) -> Result<Vec<EntryInfo>, Error> {
    read_entries(body, encoding, "entries")
}

/// Field 1 of an answer: one entry, or many.
fn read_entries(body: &[u8], encoding: Encoding, name: &str) -> Result<Vec<EntryInfo>, Error> {
    decode(body, encoding, &|response| {
        let mut entries = Vec::new();
        response.fields(&[name], &mut |number, node| {
            if number == 1 {
                entries.push(EntryInfo::read(node)?);
            }
            Ok(())
        })?;
        Ok(entries)
    })
}
