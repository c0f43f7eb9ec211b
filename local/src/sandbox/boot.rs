//! What the server tells a new sandbox over the control socket, and what it hears back. Plain data and framing.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::RawFd;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::limits::Limits;

/// The control socket, in the child. When the server's end closes, the sandbox ends.
pub(crate) const CONTROL_FD: RawFd = 3;
/// The listening socket on which envd serves HTTP.
pub(crate) const HTTP_FD: RawFd = 4;
/// The listening socket on which envd connects to ports inside the sandbox.
pub(crate) const PORTS_FD: RawFd = 5;

/// The child has its namespaces and waits for its user map.
pub(crate) const UNSHARED: u8 = b'U';
/// The map is written: go on.
pub(crate) const MAPPED: u8 = b'M';
/// envd serves.
pub(crate) const READY: u8 = b'R';
/// The sandbox could not be built; a message follows.
pub(crate) const FAILED: u8 = b'E';

/// The sandbox's files, before they are covered: a descriptor of the tree comes along.
pub(crate) const TREE: u8 = b'W';

/// Stop every process.
pub(crate) const FREEZE: u8 = b'F';
/// Continue every process.
pub(crate) const THAW: u8 = b'T';
/// End every process, and keep the files.
pub(crate) const PARK: u8 = b'P';
/// Start envd again after [`PARK`]; answered with [`READY`] or [`FAILED`].
pub(crate) const REVIVE: u8 = b'V';
/// Write the files into an archive: descriptors of the tree and of the archive come along.
pub(crate) const ARCHIVE: u8 = b'A';
/// The command was carried out.
pub(crate) const DONE: u8 = b'D';
/// It was not; the length of a message (4 bytes, little endian) and the message follow.
pub(crate) const REFUSED: u8 = b'N';

/// The name under which an archive to start from travels with the translated directories.
pub(crate) const SNAPSHOT: &str = ".snapshot";

/// How a sandbox is kept apart from the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Isolation {
    /// Own users, processes, mounts, host name and IPC; a private writable layer over a read-only host.
    Namespaces {
        /// Which users exist inside.
        users: UserMap,
    },
    /// None at all: commands run as the server's own user on the host.
    None,
}

/// How user ids inside become user ids on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UserMap {
    /// 0..65536 becomes `base`..`base + 65536`, written by the server, which is root.
    Range { base: u32 },
    /// 0..65536 becomes a range from `/etc/subuid`, written by `newuidmap`.
    Subordinate { uid_base: u32, gid_base: u32 },
    /// Only `user` exists, and is the server's user.
    Single,
}

/// What a process tree is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    Sandbox,
    /// It keeps the volumes that sandboxes share.
    Volumes,
}

/// Which network a sandbox is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Network {
    /// The host's, ports and all.
    Shared,
    /// Its own, with nothing but loopback.
    Loopback,
    /// Its own, with a device that leads out. The server gets a socket to configure it with.
    Own,
}

/// Everything a sandbox needs to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Boot {
    pub(crate) role: Role,
    pub(crate) isolation: Isolation,
    pub(crate) network: Network,
    pub(crate) limits: Limits,
    /// Entries of the host's `/etc` that must not be visible inside, relative to `/etc`.
    pub(crate) hidden_etc: Vec<PathBuf>,
    /// Where the sandbox may write when there are no namespaces.
    pub(crate) private_dir: PathBuf,
    /// Whether the code interpreter runs inside.
    pub(crate) interpreter: bool,
    /// The host's folder of kernels for it, if there is one.
    pub(crate) kernels: Option<PathBuf>,
    /// Where volumes are mounted.
    pub(crate) volumes: Vec<PathBuf>,
    pub(crate) envd: EnvdConfig,
}

/// The daemon's initial state: what production sends to `/init`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct EnvdConfig {
    pub(crate) version: String,
    pub(crate) sandbox_id: String,
    pub(crate) template_id: String,
    /// Requests must carry it in `X-Access-Token` when present.
    pub(crate) access_token: Option<String>,
    pub(crate) default_user: String,
    pub(crate) default_workdir: Option<String>,
    pub(crate) env_vars: BTreeMap<String, String>,
}

impl Boot {
    /// Sends the instructions, length first.
    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let body = serde_json::to_vec(self)?;
        let length = u32::try_from(body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        out.write_all(&length.to_le_bytes())?;
        out.write_all(&body)
    }

    pub(crate) fn read_from(input: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        input.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_le_bytes(length) as usize];
        input.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }
}
