//! The files of one volume. Sandboxes write to them while they are read here, links included, so every path is resolved
//! by the kernel with the volume as its root: whatever a link says, it leads nowhere else. Devices, pipes and sockets
//! are never opened.
//!
//! Beside the directory that sandboxes see a volume has one that they do not, on the same file system. Uploads grow
//! there and appear whole; what is removed is moved there and disappears at once.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstat, fstatat, mkdirat};
use nix::unistd::{Gid, Uid, UnlinkatFlags, fchownat, linkat, unlinkat};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::Refusal;
use super::removal;
use crate::sandbox::users::USER_ID;

/// What sandboxes see of a volume, and what they do not.
pub(super) const VISIBLE: &str = "tree";
pub(super) const STAGING: &str = "staging";

const FILE_MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;

/// The kernel's own limits, with the end of the string.
const LONGEST_PATH: usize = 4095;
const LONGEST_NAME: usize = 255;

/// A list of more entries than this, or with longer paths taken together, is refused.
const MOST_ENTRIES: usize = 100_000;
const MOST_PATHS: usize = 32 * 1024 * 1024;

/// How often a path is resolved again that was being renamed meanwhile.
const ATTEMPTS: usize = 32;

/// Owner and permissions of something new, or changes to those of something old.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) mode: Option<u32>,
}

impl Attributes {
    pub(super) fn check(self) -> Result<Self, Refusal> {
        match self.mode {
            Some(mode) if mode > 0o7777 => Err(Refusal::invalid("mode must be permission bits, at most 4095 (0o7777)")),
            _ => Ok(self),
        }
    }

    /// These, with the usual ones where they say nothing.
    fn or(self, uid: u32, gid: u32, mode: u32) -> Self {
        Attributes { uid: self.uid.or(Some(uid)), gid: self.gid.or(Some(gid)), mode: self.mode.or(Some(mode)) }
    }

    /// Gives them to what `fd` stands for, which may be open for nothing but its name.
    fn give(self, fd: &OwnedFd, path: &str) -> Result<(), Refusal> {
        if self.uid.is_some() || self.gid.is_some() {
            let (uid, gid) = (self.uid.map(Uid::from_raw), self.gid.map(Gid::from_raw));
            fchownat(fd, "", uid, gid, AtFlags::AT_EMPTY_PATH).map_err(|error| match error {
                Errno::EINVAL | Errno::EPERM => Refusal::invalid(format!(
                    "uid and gid must be those of users that sandboxes can have on this machine: 0 to 65535, or only \
                     {USER_ID} where there is a single user"
                )),
                error => Refusal::of(error, path),
            })?;
        }
        // After the owner, whose change takes bits away.
        self.mode.map_or(Ok(()), |mode| permit(fd, mode).map_err(|error| Refusal::of_io(&error, path)))
    }
}

/// Changes the permissions of whatever `fd` stands for.
pub(super) fn permit(fd: &OwnedFd, mode: u32) -> std::io::Result<()> {
    fs::set_permissions(by_descriptor(fd), fs::Permissions::from_mode(mode))
}

/// A path to the very thing that `fd` stands for.
fn by_descriptor(fd: &OwnedFd) -> PathBuf {
    format!("/proc/self/fd/{}", fd.as_raw_fd()).into()
}

/// A path of a request: relative to the volume, without `.`, `..` and empty parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EntryPath(String);

impl EntryPath {
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() {
            return Err(Refusal::invalid("path must not be empty"));
        }
        if text.contains('\0') {
            return Err(Refusal::invalid("path must not contain NUL"));
        }
        let mut parts = Vec::new();
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part if part.len() > LONGEST_NAME => {
                    return Err(Refusal::invalid(format!("path has a name of more than {LONGEST_NAME} bytes")));
                }
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        if path.len() > LONGEST_PATH {
            return Err(Refusal::invalid(format!("path is longer than {LONGEST_PATH} bytes")));
        }
        Ok(EntryPath(path))
    }

    /// As answers and messages have it.
    fn shown(&self) -> String {
        format!("/{}", self.0)
    }

    /// The directory it is in, and its name there; `None` for the volume itself.
    fn split(&self) -> Option<(EntryPath, &str)> {
        if self.0.is_empty() {
            return None;
        }
        let (parent, name) = self.0.rsplit_once('/').unwrap_or(("", &self.0));
        Some((EntryPath(parent.to_owned()), name))
    }
}

/// What the API says about an entry.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    name: String,
    #[serde(rename = "type")]
    kind: &'static str,
    path: String,
    size: u64,
    mode: u32,
    uid: u32,
    gid: u32,
    atime: String,
    mtime: String,
    ctime: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl Entry {
    fn new(path: &Path, stat: &FileStat, target: Option<OsString>) -> Self {
        let time = |seconds: i64, nanos: i64| {
            let time =
                OffsetDateTime::from_unix_timestamp_nanos(i128::from(seconds) * 1_000_000_000 + i128::from(nanos));
            time.ok().and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
        };
        Entry {
            name: path.file_name().unwrap_or(OsStr::new("/")).to_string_lossy().into_owned(),
            kind: match format_of(stat) {
                SFlag::S_IFREG => "file",
                SFlag::S_IFDIR => "directory",
                SFlag::S_IFLNK => "symlink",
                _ => "unknown",
            },
            path: Path::new("/").join(path).to_string_lossy().into_owned(),
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            uid: stat.st_uid,
            gid: stat.st_gid,
            atime: time(stat.st_atime, stat.st_atime_nsec),
            mtime: time(stat.st_mtime, stat.st_mtime_nsec),
            ctime: time(stat.st_ctime, stat.st_ctime_nsec),
            target: target.map(|target| target.to_string_lossy().into_owned()),
        }
    }
}

fn format_of(stat: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(stat.st_mode & SFlag::S_IFMT.bits())
}

pub(super) fn is_directory(stat: &FileStat) -> bool {
    format_of(stat) == SFlag::S_IFDIR
}

/// The files of one volume.
pub(super) struct Tree {
    root: OwnedFd,
    staging: OwnedFd,
}

impl Tree {
    /// The tree of the volume that is mounted at `mount`.
    pub(super) fn open(mount: &Path) -> nix::Result<Self> {
        let directory =
            |name| open(&mount.join(name), OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty());
        Ok(Tree { root: directory(VISIBLE)?, staging: directory(STAGING)? })
    }

    /// Opens what is at `path`, following links, which cannot lead out.
    fn find(&self, path: impl AsRef<Path>, flags: OFlag) -> nix::Result<OwnedFd> {
        let how = OpenHow::new()
            .flags(flags | OFlag::O_CLOEXEC)
            .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS | ResolveFlag::RESOLVE_NO_XDEV);
        let path = path.as_ref();
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let mut attempts = (0..ATTEMPTS).map(|_| openat2(&self.root, path, how));
        attempts.find(|found| !matches!(found, Err(Errno::EAGAIN))).unwrap_or(Err(Errno::EAGAIN))
    }

    fn directory(&self, path: &EntryPath) -> nix::Result<OwnedFd> {
        self.find(&path.0, OFlag::O_PATH | OFlag::O_DIRECTORY)
    }

    /// What is at `path`; of a link, the link itself.
    pub(super) fn stat(&self, path: &EntryPath) -> Result<Entry, Refusal> {
        let shown = path.shown();
        let fd = self.find(&path.0, OFlag::O_PATH | OFlag::O_NOFOLLOW).map_err(|error| Refusal::of(error, &shown))?;
        describe(&fd, path)
    }

    /// The entries of a directory and, below it, as many levels as `depth` says. Each directory comes before what it
    /// has, sorted by name.
    pub(super) fn list(&self, path: &EntryPath, depth: u32) -> Result<Vec<Entry>, Refusal> {
        if depth == 0 {
            return Err(Refusal::invalid("depth must be at least 1"));
        }
        let shown = path.shown();
        let top = self.find(&path.0, OFlag::O_PATH).map_err(|error| Refusal::of(error, &shown))?;
        if !is_directory(&fstat(&top).map_err(|error| Refusal::of(error, &shown))?) {
            return Err(Refusal::invalid(format!("path '{shown}' is not a directory")));
        }
        let mut found: Vec<(PathBuf, Entry)> = Vec::new();
        let mut length = 0;
        let mut pending = VecDeque::from([(PathBuf::from(&path.0), 1)]);
        while let Some((directory, level)) = pending.pop_front() {
            // By its path from the top each time: a directory for every level would be too many to hold open.
            let entries = match self.entries(&directory, level == 1) {
                Ok(entries) => entries,
                // It was removed, replaced or is too far down meanwhile.
                Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::ENAMETOOLONG) if level > 1 => continue,
                Err(error) => return Err(Refusal::of(error, &format!("/{}", directory.display()))),
            };
            for (name, stat, target) in entries {
                length += directory.as_os_str().len() + name.len();
                if found.len() == MOST_ENTRIES || length > MOST_PATHS {
                    let text = format!("path '{shown}' has too many entries for one list: list fewer levels at once");
                    return Err(Refusal::invalid(text));
                }
                let entry_path = directory.join(name);
                if is_directory(&stat) && level < depth {
                    pending.push_back((entry_path.clone(), level + 1));
                }
                let entry = Entry::new(&entry_path, &stat, target);
                found.push((entry_path, entry));
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found.into_iter().map(|(_, entry)| entry).collect())
    }

    /// What is in a directory: names, what they stand for, and where links lead.
    fn entries(&self, path: &Path, follow: bool) -> nix::Result<Vec<(OsString, FileStat, Option<OsString>)>> {
        let mut flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY;
        if !follow {
            flags |= OFlag::O_NOFOLLOW;
        }
        let mut directory = Dir::from_fd(self.find(path, flags)?)?;
        let mut found = Vec::new();
        for entry in directory.iter() {
            found.push(OsString::from_vec(entry?.file_name().to_bytes().to_vec()));
            if found.len() > MOST_ENTRIES + 2 {
                break;
            }
        }
        let stats = found.into_iter().filter(|name| name != "." && name != "..").filter_map(|name| {
            let stat = fstatat(&directory, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW).ok()?;
            let is_link = format_of(&stat) == SFlag::S_IFLNK;
            let target = is_link.then(|| readlinkat(&directory, name.as_os_str()).ok()).flatten();
            Some((name, stat, target))
        });
        Ok(stats.collect())
    }

    /// Makes a directory, with `force` also those above it; then one that is there already is fine.
    pub(super) fn make_dir(&self, path: &EntryPath, force: bool, attributes: Attributes) -> Result<Entry, Refusal> {
        let shown = path.shown();
        let refused = |error| Refusal::of(error, &shown);
        let attributes = attributes.or(USER_ID, USER_ID, DIRECTORY_MODE);
        let Some((parent, name)) = path.split() else {
            return if force { self.stat(path) } else { Err(Refusal::exists(&shown)) };
        };
        let parent =
            if force { self.make_parents(&parent, attributes)? } else { self.directory(&parent).map_err(refused)? };
        match mkdirat(&parent, name, Mode::S_IRWXU) {
            Ok(()) => {}
            Err(Errno::EEXIST) if force && self.directory(path).is_ok() => return self.stat(path),
            Err(error) => return Err(refused(error)),
        }
        describe(&own(&parent, name, attributes, &shown)?, path)
    }

    fn make_parents(&self, path: &EntryPath, attributes: Attributes) -> Result<OwnedFd, Refusal> {
        let mut directory = self.directory(&EntryPath(String::new())).map_err(|error| Refusal::of(error, "/"))?;
        let ends = path.0.match_indices('/').map(|(end, _)| end).chain([path.0.len()]);
        for end in ends.filter(|end| *end > 0) {
            let path = EntryPath(path.0[..end].to_owned());
            let (shown, name) = (path.shown(), path.split().map_or("", |(_, name)| name));
            let occupied = |error| match error {
                Errno::ENOTDIR => Refusal::conflict(format!("path '{shown}' is not a directory")),
                error => Refusal::of(error, &shown),
            };
            directory = match self.directory(&path) {
                Err(Errno::ENOENT) => {
                    match mkdirat(&directory, name, Mode::S_IRWXU) {
                        Ok(()) => drop(own(&directory, name, attributes, &shown)?),
                        // Somebody else was faster, or it is a link that leads nowhere.
                        Err(Errno::EEXIST) => {}
                        Err(error) => return Err(occupied(error)),
                    }
                    self.directory(&path).map_err(occupied)?
                }
                found => found.map_err(occupied)?,
            };
        }
        Ok(directory)
    }

    /// Changes owner and permissions of what is at `path`; through a link, of what it leads to.
    pub(super) fn update(&self, path: &EntryPath, attributes: Attributes) -> Result<Entry, Refusal> {
        let shown = path.shown();
        let fd = self.find(&path.0, OFlag::O_PATH).map_err(|error| Refusal::of(error, &shown))?;
        attributes.give(&fd, &shown)?;
        self.stat(path)
    }

    /// Removes what is at `path`, with all it has; of a link, the link itself.
    pub(super) fn remove(&self, path: &EntryPath) -> Result<(), Refusal> {
        let shown = path.shown();
        let refused = |error| Refusal::of(error, &shown);
        let Some((parent, name)) = path.split() else {
            return Err(Refusal::invalid("the volume itself cannot be removed this way: delete the volume"));
        };
        let parent = self.directory(&parent).map_err(refused)?;
        removal::remove(&parent, OsStr::new(name), &self.staging).map_err(refused)
    }

    /// Opens a file for reading: itself, and its size.
    pub(super) fn read(&self, path: &EntryPath) -> Result<(File, u64), Refusal> {
        let shown = path.shown();
        let fd = self.find(&path.0, OFlag::O_PATH).map_err(|error| Refusal::of(error, &shown))?;
        let stat = fstat(&fd).map_err(|error| Refusal::of(error, &shown))?;
        match format_of(&stat) {
            SFlag::S_IFREG => {}
            SFlag::S_IFDIR => return Err(Refusal::invalid(format!("path '{shown}' is a directory"))),
            _ => return Err(Refusal::invalid(format!("path '{shown}' is not a file"))),
        }
        // Only now that it is known to be a file: opening a pipe would wait, or wake who waits for it.
        let file = File::open(by_descriptor(&fd)).map_err(|error| Refusal::of_io(&error, &shown))?;
        Ok((file, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Begins to write a file, out of sight. Without `force` there must be nothing at `path`.
    pub(super) fn begin(self, path: EntryPath, force: bool, attributes: Attributes) -> Result<Upload, Refusal> {
        let shown = path.shown();
        let refused = |error| Refusal::of(error, &shown);
        let Some((parent, name)) = path.split() else {
            return Err(Refusal::conflict("the volume itself is a directory"));
        };
        let parent = self.directory(&parent).map_err(refused)?;
        let attributes = match fstatat(&parent, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
            Err(Errno::ENOENT) => attributes.or(USER_ID, USER_ID, FILE_MODE),
            Err(error) => return Err(refused(error)),
            Ok(stat) if is_directory(&stat) => {
                return Err(Refusal::conflict(format!("path '{shown}' is a directory")));
            }
            Ok(_) if !force => return Err(Refusal::exists(&shown)),
            // A new version of a file is still its owner's, and still a program.
            Ok(stat) if format_of(&stat) == SFlag::S_IFREG => {
                attributes.or(stat.st_uid, stat.st_gid, stat.st_mode & 0o777)
            }
            Ok(_) => attributes.or(USER_ID, USER_ID, FILE_MODE),
        };
        let staged = removal::fresh_name();
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let file = openat(&self.staging, staged.as_os_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR).map_err(refused)?;
        let upload = Upload { tree: self, parent, path, staged, file, force };
        // Before the content: a wrong owner is not worth a long upload.
        attributes.give(&upload.file, &upload.shown())?;
        Ok(upload)
    }
}

/// Gives what was just made its owner and permissions.
fn own(parent: &OwnedFd, name: &str, attributes: Attributes, path: &str) -> Result<OwnedFd, Refusal> {
    let flags = OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let fd = openat(parent, name, flags, Mode::empty()).map_err(|error| Refusal::of(error, path))?;
    attributes.give(&fd, path)?;
    Ok(fd)
}

fn describe(fd: &OwnedFd, path: &EntryPath) -> Result<Entry, Refusal> {
    let stat = fstat(fd).map_err(|error| Refusal::of(error, &path.shown()))?;
    let is_link = format_of(&stat) == SFlag::S_IFLNK;
    let target = is_link.then(|| readlinkat(fd, "").ok()).flatten();
    Ok(Entry::new(Path::new(&path.0), &stat, target))
}

/// A file that is being written. Dropping it forgets what was written.
pub(super) struct Upload {
    tree: Tree,
    parent: OwnedFd,
    path: EntryPath,
    staged: OsString,
    file: OwnedFd,
    force: bool,
}

impl Upload {
    pub(super) fn shown(&self) -> String {
        self.path.shown()
    }

    /// Where to write to.
    pub(super) fn file(&self) -> std::io::Result<File> {
        Ok(self.file.try_clone()?.into())
    }

    /// Puts the file in its place, at once and as a whole.
    pub(super) fn finish(self) -> Result<Entry, Refusal> {
        let shown = self.path.shown();
        let name = self.path.split().map_or("", |(_, name)| name);
        let (staging, staged) = (&self.tree.staging, self.staged.as_os_str());
        let placed = if self.force {
            renameat(staging, staged, &self.parent, name)
        } else {
            // Unlike a rename, a second name never replaces anything. Dropping takes the first one away.
            linkat(staging, staged, &self.parent, name, AtFlags::empty())
        };
        placed.map_err(|error| match error {
            Errno::EISDIR => Refusal::conflict(format!("path '{shown}' is a directory")),
            error => Refusal::of(error, &shown),
        })?;
        describe(&self.file, &self.path)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        // It is not there any more when it was moved to its place.
        let _ = unlinkat(&self.tree.staging, self.staged.as_os_str(), UnlinkatFlags::NoRemoveDir);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        for (text, expected) in [
            ("/", ""),
            ("a", "a"),
            ("/a/b", "a/b"),
            ("//a//./b/", "a/b"),
            ("/a/../b", "b"),
            ("../../etc/passwd", "etc/passwd"),
            ("/..", ""),
            ("/a b\n/ü", "a b\n/ü"),
        ] {
            assert_eq!(EntryPath::parse(text).unwrap().0, expected, "{text:?}");
        }
        let long = ["x".repeat(256), "x/".repeat(2048) + "x", String::new(), "a\0b".into()];
        for wrong in long {
            assert_eq!(EntryPath::parse(&wrong).unwrap_err().status, http::StatusCode::BAD_REQUEST);
        }
        assert!(EntryPath::parse(&("x/".repeat(2047) + "x")).is_ok());
    }

    /// A volume in a directory of the host, and a file beside it that nothing may reach.
    fn volume() -> (tempfile::TempDir, PathBuf) {
        let mount = tempfile::tempdir().unwrap();
        fs::create_dir(mount.path().join(VISIBLE)).unwrap();
        fs::create_dir(mount.path().join(STAGING)).unwrap();
        fs::write(mount.path().join("secret"), "secret").unwrap();
        let visible = mount.path().join(VISIBLE);
        (mount, visible)
    }

    fn path(text: &str) -> EntryPath {
        EntryPath::parse(text).unwrap()
    }

    #[test]
    fn links_lead_nowhere_else() {
        use std::os::unix::fs::symlink;
        let (mount, visible) = volume();
        let tree = || Tree::open(mount.path()).unwrap();
        fs::write(visible.join("inside"), "inside").unwrap();
        let secret = mount.path().join("secret");
        for (name, target) in [
            ("up", Path::new("../secret")),
            ("absolute", &secret),
            ("directory", mount.path()),
            ("magic", Path::new("/proc/self/root")),
            ("round", Path::new("round")),
        ] {
            symlink(target, visible.join(name)).unwrap();
        }
        for wrong in ["up", "absolute", "directory/secret", "magic/etc/passwd", "round"] {
            assert!(tree().read(&path(wrong)).is_err(), "{wrong}");
            assert!(tree().update(&path(wrong), Attributes { mode: Some(0o777), ..Default::default() }).is_err());
        }
        for wrong in ["directory/new", "magic/tmp/new"] {
            assert!(tree().make_dir(&path(wrong), true, Attributes::default()).is_err(), "{wrong}");
            assert!(tree().begin(path(wrong), true, Attributes::default()).is_err(), "{wrong}");
            assert!(tree().remove(&path(wrong)).is_err(), "{wrong}");
        }
        assert!(tree().list(&path("directory"), 9).is_err());
        assert_eq!(tree().stat(&path("up")).unwrap().target.as_deref(), Some("../secret"));
        assert_eq!(fs::read(&secret).unwrap(), b"secret");
        // What is inside can be reached, also by a link that begins at the top.
        symlink("/inside", visible.join("fine")).unwrap();
        assert_eq!(tree().read(&path("fine")).unwrap().1, 6);
    }
}
