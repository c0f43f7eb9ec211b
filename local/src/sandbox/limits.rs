//! How much of the machine one sandbox may use.

use std::io;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde::{Deserialize, Serialize};

/// As many files as the daemon of the hosted service may have open.
const OPEN_FILES: u64 = 65536;

/// The limits of every sandbox. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Processes and threads.
    pub(crate) processes: u32,
    /// Memory, files included: they are in memory.
    pub(crate) memory: u64,
    /// All files that are written, and as much again in `/dev/shm`.
    pub(crate) files: u64,
}

impl Limits {
    /// What is not given follows from the machine: one sandbox gets half of its memory, and half of that for files.
    pub(crate) fn new(processes: u32, memory: Option<u64>, files: Option<u64>) -> Self {
        let memory = memory.unwrap_or_else(|| machine_memory() / 2);
        Limits { processes, memory, files: files.unwrap_or(memory / 2) }
    }

    /// Limits this process and all it starts, as far as processes can. Where control groups count processes this is the
    /// second line, where they do not the only one: it counts for each user of the sandbox.
    pub(crate) fn apply(&self) -> io::Result<()> {
        lower(Resource::RLIMIT_NOFILE, OPEN_FILES)?;
        // Older kernels count all processes of the machine that have the same user.
        if kernel_counts_by_namespace() {
            lower(Resource::RLIMIT_NPROC, self.processes.into())?;
        }
        Ok(())
    }
}

/// Lets this process have as many files open as it may: each connection is one.
pub(crate) fn raise_open_files() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // It can do with less.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// Sets a limit that is not above the present one.
fn lower(resource: Resource, wanted: u64) -> io::Result<()> {
    let (_, hard) = getrlimit(resource)?;
    let limit = wanted.min(hard);
    Ok(setrlimit(resource, limit, limit)?)
}

/// The memory of this machine.
pub(crate) fn machine_memory() -> u64 {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse().ok());
    total.unwrap_or(0u64) * 1024
}

/// Whether the kernel, 5.14 or newer, counts the processes of a user namespace by themselves.
fn kernel_counts_by_namespace() -> bool {
    let Ok(system) = nix::sys::utsname::uname() else { return false };
    system.release().to_str().and_then(version).is_some_and(|version| version >= (5, 14))
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_versions() {
        for (release, expected) in
            [("6.18.44-fc", Some((6, 18))), ("5.4.0-1", Some((5, 4))), ("5.14", Some((5, 14))), ("x", None), ("", None)]
        {
            assert_eq!(version(release), expected, "{release}");
        }
    }

    #[test]
    fn what_is_not_given_follows_from_the_rest() {
        let given = Limits::new(7, Some(100), None);
        assert_eq!(given, Limits { processes: 7, memory: 100, files: 50 });
        assert_eq!(Limits::new(7, Some(100), Some(3)).files, 3);
        assert!(Limits::new(7, None, None).memory > 0);
    }
}
