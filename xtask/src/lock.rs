//! One `cargo xtask` at a time in a checkout: two would build and install over each other.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::{env, process};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::shell::note;
use crate::workspace;

/// Held while this process works on the checkout. The kernel lets go of it when the process ends, in whatever way.
pub(crate) struct Lock {
    _file: Flock<File>,
}

impl Lock {
    /// Waits, and says for whom, while another `cargo xtask` works.
    pub(crate) fn take() -> Result<Self> {
        let path = workspace::scratch().join("xtask.lock");
        fs::create_dir_all(workspace::scratch())?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        let mut holder = String::new();
        file.read_to_string(&mut holder)?;
        let locked = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Err((file, Errno::EWOULDBLOCK)) => {
                note(&format!("waiting for another `cargo xtask` in this checkout to end: {}", holder.trim()));
                Flock::lock(file, FlockArg::LockExclusive)
            }
            tried => tried,
        };
        let mut file = locked.map_err(|(_, error)| error).with_context(|| format!("cannot lock {}", path.display()))?;
        let words: Vec<String> = env::args().skip(1).collect();
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "`cargo xtask {}`, process {}", words.join(" "), process::id())?;
        Ok(Self { _file: file })
    }
}
