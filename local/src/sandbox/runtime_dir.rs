//! The server's directory of sockets: private, and gone when the server is.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

const PREFIX: &str = "agent-sandbox-local-";
const LOCK: &str = "lock";

/// Removed on drop. The lock in it says that its server lives; a later server removes directories without one.
pub(crate) struct RuntimeDir {
    path: PathBuf,
    _lock: Flock<File>,
}

impl RuntimeDir {
    /// Creates a directory, and removes those that killed servers of the same user left behind.
    pub(crate) fn create() -> io::Result<Self> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_dir());
        Self::create_in(&base.unwrap_or_else(std::env::temp_dir))
    }

    fn create_in(base: &Path) -> io::Result<Self> {
        remove_stale(base);
        let name = format!("{PREFIX}{:08x}", rand::random::<u32>());
        // Under another name until it is locked: a server that starts at the same time would take it for a stale one.
        let (unlocked, path) = (base.join(format!(".{name}")), base.join(name));
        DirBuilder::new().mode(0o700).create(&unlocked)?;
        let lock = Flock::lock(File::create(unlocked.join(LOCK))?, FlockArg::LockExclusiveNonblock)
            .map_err(|(_, error)| io::Error::from(error))?;
        fs::rename(&unlocked, &path)?;
        Ok(RuntimeDir { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RuntimeDir {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next server.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn remove_stale(base: &Path) {
    use std::os::unix::fs::MetadataExt;
    let own = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir() && meta.uid() == own);
        if !ours {
            continue;
        }
        let Ok(lock) = File::open(path.join(LOCK)) else { continue };
        if Flock::lock(lock, FlockArg::LockExclusiveNonblock).is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_dead_servers_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let stale = base.path().join(format!("{PREFIX}dead"));
        fs::create_dir(&stale).unwrap();
        fs::write(stale.join(LOCK), "").unwrap();
        let other = base.path().join("something-else");
        fs::create_dir(&other).unwrap();

        let first = RuntimeDir::create_in(base.path()).unwrap();
        let second = RuntimeDir::create_in(base.path()).unwrap();
        assert!(!stale.exists());
        assert!(other.exists() && first.path().exists() && second.path().exists());

        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists() && second.path().exists());
    }
}
