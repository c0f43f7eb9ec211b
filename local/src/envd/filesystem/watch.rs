//! Following a directory: the kernel's notifications become the protocol's events.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use connectrpc::ConnectError;
use futures::StreamExt;
use inotify::{EventMask, EventOwned, EventStream, Inotify, WatchDescriptor, WatchMask, Watches};
use nix::sys::statfs::statfs;

use crate::envd::entry::describe;
use crate::envd::error::reason;
use crate::protocol::filesystem::{EventType, FilesystemEvent};
use crate::sandbox::users::Users;

const BUFFER: usize = 64 * 1024;

/// What a client wants to be told.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wishes {
    pub(super) recursive: bool,
    pub(super) include_entry: bool,
    pub(super) allow_network_mounts: bool,
}

/// A directory that is being followed. Changes made after `new` has returned are reported.
pub(super) struct Watcher {
    root: PathBuf,
    wishes: Wishes,
    users: Users,
    watches: Watches,
    stream: EventStream<Vec<u8>>,
    /// The directory of each watch, relative to the root; empty for the root itself.
    directories: HashMap<WatchDescriptor, PathBuf>,
    pending: VecDeque<FilesystemEvent>,
}

impl Watcher {
    /// Must be called inside the runtime.
    pub(super) fn new(root: &Path, wishes: Wishes, users: Users) -> Result<Self, ConnectError> {
        check(root, wishes.allow_network_mounts)?;
        let failed = |error: io::Error| ConnectError::internal(format!("error watching path: {}", reason(&error)));
        let inotify = Inotify::init().map_err(failed)?;
        let watches = inotify.watches();
        let stream = inotify.into_event_stream(vec![0; BUFFER]).map_err(failed)?;
        let mut watcher = Watcher {
            root: root.to_owned(),
            wishes,
            users,
            watches,
            stream,
            directories: HashMap::new(),
            pending: VecDeque::new(),
        };
        watcher.add(Path::new("")).map_err(failed)?;
        if wishes.recursive {
            watcher.add_below(Path::new(""), false);
        }
        Ok(watcher)
    }

    /// The next event.
    pub(super) async fn next(&mut self) -> Result<FilesystemEvent, ConnectError> {
        loop {
            if let Some(event) = self.pending.pop_front() {
                return Ok(event);
            }
            match self.stream.next().await {
                Some(Ok(event)) if event.mask.contains(EventMask::Q_OVERFLOW) => {
                    return Err(ConnectError::internal("watcher error: fsnotify: queue or buffer overflow"));
                }
                Some(Ok(event)) => self.take(&event),
                Some(Err(error)) => {
                    return Err(ConnectError::internal(format!("watcher error: {}", reason(&error))));
                }
                None => return Err(ConnectError::internal("watcher error: the kernel stopped reporting")),
            }
        }
    }

    fn add(&mut self, relative: &Path) -> io::Result<()> {
        const MASK: WatchMask = WatchMask::CREATE
            .union(WatchMask::MOVED_TO)
            .union(WatchMask::MOVED_FROM)
            .union(WatchMask::MODIFY)
            .union(WatchMask::ATTRIB)
            .union(WatchMask::DELETE)
            .union(WatchMask::DELETE_SELF)
            .union(WatchMask::MOVE_SELF);
        let descriptor = self.watches.add(self.root.join(relative), MASK | WatchMask::ONLYDIR)?;
        self.directories.insert(descriptor, relative.to_owned());
        Ok(())
    }

    /// Watches what is below `relative`; with `announce` its content is reported as new.
    fn add_below(&mut self, relative: &Path, announce: bool) {
        let mut unvisited = vec![relative.to_owned()];
        while let Some(directory) = unvisited.pop() {
            // A directory that is gone again has nothing to report.
            for entry in fs::read_dir(self.root.join(&directory)).into_iter().flatten().flatten() {
                let path = directory.join(entry.file_name());
                if announce {
                    self.report(&path, EventType::EVENT_TYPE_CREATE);
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) && self.add(&path).is_ok() {
                    unvisited.push(path);
                }
            }
        }
    }

    fn take(&mut self, event: &EventOwned) {
        let Some(directory) = self.directories.get(&event.wd).cloned() else { return };
        if event.mask.contains(EventMask::IGNORED) {
            self.directories.remove(&event.wd);
            return;
        }
        let path = match &event.name {
            Some(name) => directory.join(name),
            // A sub-directory's parent reports the same change by name.
            None if directory.as_os_str().is_empty() => PathBuf::from("."),
            None => return,
        };
        for (masks, kind) in [
            (EventMask::CREATE | EventMask::MOVED_TO, EventType::EVENT_TYPE_CREATE),
            (EventMask::MOVED_FROM | EventMask::MOVE_SELF, EventType::EVENT_TYPE_RENAME),
            (EventMask::ATTRIB, EventType::EVENT_TYPE_CHMOD),
            (EventMask::MODIFY, EventType::EVENT_TYPE_WRITE),
            (EventMask::DELETE | EventMask::DELETE_SELF, EventType::EVENT_TYPE_REMOVE),
        ] {
            if event.mask.intersects(masks) {
                self.report(&path, kind);
            }
        }
        if self.wishes.recursive && event.mask.contains(EventMask::ISDIR) && event.name.is_some() {
            if event.mask.contains(EventMask::MOVED_FROM) {
                self.remove_below(&path);
            }
            if event.mask.intersects(EventMask::CREATE | EventMask::MOVED_TO) && self.add(&path).is_ok() {
                self.add_below(&path, true);
            }
        }
    }

    /// Stops watching a tree that was moved away.
    fn remove_below(&mut self, path: &Path) {
        let gone: Vec<_> = self
            .directories
            .iter()
            .filter(|(_, directory)| directory.starts_with(path))
            .map(|(wd, _)| wd.clone())
            .collect();
        for descriptor in gone {
            self.directories.remove(&descriptor);
            // It may have been deleted since.
            let _ = self.watches.remove(descriptor);
        }
    }

    fn report(&mut self, path: &Path, kind: EventType) {
        let described =
            self.wishes.include_entry && !matches!(kind, EventType::EVENT_TYPE_REMOVE | EventType::EVENT_TYPE_RENAME);
        let entry = described.then(|| describe(&self.root.join(path), &self.users).ok()).flatten();
        self.pending.push_back(FilesystemEvent {
            name: path.to_string_lossy().into_owned(),
            r#type: kind.into(),
            entry: entry.into(),
            ..Default::default()
        });
    }
}

fn check(path: &Path, allow_network_mounts: bool) -> Result<(), ConnectError> {
    let shown = path.display();
    let meta = fs::metadata(path).map_err(|error| {
        let text = format!("stat {shown}: {}", reason(&error));
        match error.kind() {
            io::ErrorKind::NotFound => ConnectError::not_found(format!("path {shown} not found: {text}")),
            _ => ConnectError::internal(format!("error getting file info: {text}")),
        }
    })?;
    if !meta.is_dir() {
        return Err(ConnectError::invalid_argument(format!("path {shown} not a directory")));
    }
    if !allow_network_mounts && on_network(path) {
        return Err(ConnectError::invalid_argument(format!("cannot watch path on network filesystem: {shown}")));
    }
    Ok(())
}

/// Whether others can change the directory without this kernel noticing.
fn on_network(path: &Path) -> bool {
    const NFS: u32 = 0x6969;
    const CIFS: u32 = 0xff53_4d42;
    const SMB: u32 = 0x517b;
    const SMB2: u32 = 0xfe53_4d42;
    const FUSE: u32 = 0x6573_5546;
    statfs(path).is_ok_and(|found| matches!(found.filesystem_type().0 as u32, NFS | CIFS | SMB | SMB2 | FUSE))
}
