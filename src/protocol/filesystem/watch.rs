//! What a watched directory reports.

use super::EntryInfo;
use crate::error::Error;
use crate::protocol::message::{Encoding, Node, decode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    Create,
    Write,
    Remove,
    Rename,
    Chmod,
    /// 0: none given. Other numbers: a type newer than this client.
    Unknown(i32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesystemEvent {
    /// Relative to the watched directory.
    pub name: String,
    pub event_type: EventType,
    /// Only when asked for, and never for `Remove` and `Rename`.
    pub entry: Option<Box<EntryInfo>>,
}

impl FilesystemEvent {
    fn read(event: Node<'_>) -> Result<Self, Error> {
        const LABELS: [&str; 5] =
            ["EVENT_TYPE_CREATE", "EVENT_TYPE_WRITE", "EVENT_TYPE_REMOVE", "EVENT_TYPE_RENAME", "EVENT_TYPE_CHMOD"];
        let mut read = FilesystemEvent { name: String::new(), event_type: EventType::Unknown(0), entry: None };
        event.fields(&["name", "type", "entry"], &mut |number, node| {
            match number {
                1 => read.name = node.string()?,
                2 => {
                    read.event_type = match node.label(&LABELS)? {
                        1 => EventType::Create,
                        2 => EventType::Write,
                        3 => EventType::Remove,
                        4 => EventType::Rename,
                        5 => EventType::Chmod,
                        other => EventType::Unknown(other),
                    };
                }
                3 => read.entry = Some(Box::new(EntryInfo::read(node)?)),
                _ => {}
            }
            Ok(())
        })?;
        Ok(read)
    }
}

/// One message of a `WatchDir` stream. The first is `Start`: the watch is armed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    Start,
    Filesystem(FilesystemEvent),
    Keepalive,
    /// Something this client does not know.
    Unknown,
}

impl WatchEvent {
    /// Decodes a `WatchDirResponse`.
    ///
    /// # Errors
    /// `protocol_error` when the payload is not such a message.
    pub fn decode(payload: &[u8], encoding: Encoding) -> Result<Self, Error> {
        decode(payload, encoding, &|response| {
            let mut event = WatchEvent::Unknown;
            response.fields(&["start", "filesystem", "keepalive"], &mut |number, node| {
                match number {
                    1 => event = WatchEvent::Start,
                    2 => event = WatchEvent::Filesystem(FilesystemEvent::read(node)?),
                    3 => event = WatchEvent::Keepalive,
                    _ => {}
                }
                Ok(())
            })?;
            Ok(event)
        })
    }
}

/// Decodes the answer of [`CREATE_WATCHER`](super::CREATE_WATCHER).
///
/// # Errors
/// `protocol_error` when the body is not such a message or names no watcher.
pub fn decode_watcher_id(body: &[u8], encoding: Encoding) -> Result<String, Error> {
    let id = decode(body, encoding, &|response| {
        let mut id = String::new();
        response.fields(&["watcherId"], &mut |number, node| {
            if number == 1 {
                id = node.string()?;
            }
            Ok(())
        })?;
        Ok(id)
    })?;
    if id.is_empty() {
        return Err(Error::protocol("The sandbox's daemon made a watcher without an id. Watch with a stream instead."));
    }
    Ok(id)
}

/// Decodes the answer of [`GET_WATCHER_EVENTS`](super::GET_WATCHER_EVENTS): what happened since the last one.
///
/// # Errors
/// `protocol_error` when the body is not such a message.
pub fn decode_watcher_events(body: &[u8], encoding: Encoding) -> Result<Vec<FilesystemEvent>, Error> {
    decode(body, encoding, &|response| {
        let mut events = Vec::new();
        response.fields(&["events"], &mut |number, node| {
            if number == 1 {
                events.push(FilesystemEvent::read(node)?);
            }
            Ok(())
        })?;
        Ok(events)
    })
}
