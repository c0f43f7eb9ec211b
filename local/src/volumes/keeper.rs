//! The process that has the volumes. It is the first and only one in its namespaces, whose file system has nothing but
//! the volumes: whatever a request says, there is nothing else to reach.

use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use super::content;
use super::tree::{STAGING, VISIBLE};
pub(crate) use crate::sandbox::boot::DONE;
use crate::sandbox::boot::{READY, REFUSED, UserMap};
use crate::sandbox::users::USER_ID;
use crate::sandbox::{fds, rootfs};

/// Make a volume.
pub(crate) const MAKE: u8 = b'M';
/// Lend a volume: a detached mount of its files comes along with the answer.
pub(crate) const LEND: u8 = b'L';
/// Forget a volume. Sandboxes that have it mounted keep it.
pub(crate) const FORGET: u8 = b'F';

/// Each of them is followed by the id of a volume, which has so many bytes.
pub(crate) const ID_LENGTH: usize = 36;

const NO_DATA: Option<&str> = None;

/// Where a volume is mounted, if `id` can be one's.
pub(super) fn mount_point(id: &str) -> Option<PathBuf> {
    let plain = id.len() == ID_LENGTH && id.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    plain.then(|| Path::new("/").join(id))
}

/// Serves until the server's end of `control` closes.
pub(crate) fn run(users: UserMap, mut control: UnixStream, http: OwnedFd) -> Result<ExitCode> {
    rootfs::build_empty().context("building a file system for volumes")?;
    let listener = UnixListener::from(http);
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let serving = std::thread::Builder::new().name("content".into()).spawn(move || {
        runtime.block_on(async {
            let listener = tokio::net::UnixListener::from_std(listener)?;
            axum::serve(listener, content::router()).await
        })
    })?;
    control.write_all(&[READY]).context("reporting for duty")?;
    let mut request = [0; 1 + ID_LENGTH];
    while std::io::Read::read_exact(&mut control, &mut request).is_ok() && !serving.is_finished() {
        let lent = match std::str::from_utf8(&request[1..]).ok().and_then(mount_point) {
            Some(mount) => obey(request[0], &mount, users),
            None => Err(anyhow::anyhow!("the server named no volume")),
        };
        match lent {
            Ok(lent) => fds::send_with_fds(&control, &[DONE], lent.as_slice())?,
            Err(error) => {
                let message = format!("{error:#}");
                let mut answer = vec![REFUSED];
                answer.extend_from_slice(&(message.len() as u32).to_le_bytes());
                answer.extend_from_slice(message.as_bytes());
                control.write_all(&answer)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn obey(command: u8, volume: &Path, users: UserMap) -> Result<Option<OwnedFd>> {
    match command {
        MAKE => make(volume, users).map(|()| None),
        LEND => rootfs::detached(&volume.join(VISIBLE)).map(Some),
        FORGET => {
            umount2(volume, MntFlags::MNT_DETACH).context("unmounting the volume")?;
            fs::remove_dir(volume)?;
            Ok(None)
        }
        other => bail!("the server sent an unknown command {other}"),
    }
}

/// Mounts a new volume, whose files belong to `user` as they do in a sandbox.
fn make(volume: &Path, users: UserMap) -> Result<()> {
    fs::create_dir(volume)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), volume, Some("tmpfs"), flags, Some("mode=0700")).context("mounting a volume")?;
    DirBuilder::new().mode(0o700).create(volume.join(STAGING))?;
    let visible = volume.join(VISIBLE);
    fs::create_dir(&visible)?;
    fs::set_permissions(&visible, fs::Permissions::from_mode(0o755))?;
    if users != UserMap::Single {
        chown(&visible, Some(USER_ID), Some(USER_ID))?;
    }
    mount(NO_DATA, volume, NO_DATA, MsFlags::MS_PRIVATE, NO_DATA).context("keeping a volume to itself")
}
