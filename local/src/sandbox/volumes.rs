//! The volumes that exist, and the server's hold on the process that keeps them ([`crate::volumes`]).

use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::boot::{Boot, EnvdConfig, Isolation, Network, Role};
use super::fds::{receive_with_fds, send_with_fds};
use super::launch::Keeper;
use super::registry::Registry;
use crate::volumes::keeper::{DONE, FORGET, ID_LENGTH, LEND, MAKE};

/// The name of the keeper's socket.
const NAME: &str = "volumes";

/// Mounting takes microseconds; a keeper that needs longer than this is stuck.
const LIMIT: Duration = Duration::from_secs(20);

/// A volume.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// A volume and where a sandbox sees it.
#[derive(Debug, Clone)]
pub(crate) struct Mount {
    pub(crate) volume: Arc<Volume>,
    pub(crate) path: String,
}

/// Why there is no new volume.
#[derive(Debug)]
pub(crate) enum VolumeError {
    /// One of that name exists.
    Taken,
    Failed(anyhow::Error),
}

/// All volumes of a server.
#[derive(Default)]
pub(super) struct Volumes {
    known: RwLock<Vec<Arc<Volume>>>,
    /// Started by the first volume. Whoever has the lock changes what exists.
    keeper: tokio::sync::Mutex<Option<Keeper>>,
}

impl Volumes {
    fn change<T>(&self, change: impl FnOnce(&mut Vec<Arc<Volume>>) -> T) -> T {
        change(&mut self.known.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Ends the keeper, and with it every volume that no sandbox has mounted.
    pub(super) async fn close(&self) {
        self.change(Vec::clear);
        if let Some(mut keeper) = self.keeper.lock().await.take() {
            drop(keeper.control);
            // Closing its socket ends it; this makes sure.
            let _ = keeper.child.kill().await;
        }
    }

    /// Has the keeper carry out `command`. One that does not is gone or of no use, and its volumes with it.
    async fn ask(&self, keeper: &mut Option<Keeper>, command: u8, id: &str) -> Result<Option<OwnedFd>> {
        let Some(mut asked) = keeper.take() else { bail!("there is no process that keeps volumes") };
        let id = id.to_owned();
        let (asked, answer) = tokio::task::spawn_blocking(move || {
            let answer = exchange(&mut asked, command, &id);
            (asked, answer)
        })
        .await?;
        match answer {
            Ok(answer) => {
                *keeper = Some(asked);
                answer
            }
            Err(error) => {
                self.change(Vec::clear);
                tracing::error!("the process that keeps volumes is gone, and all volumes with it: {error:#}");
                Err(error)
            }
        }
    }
}

/// One request. The outer error says that the keeper is of no use any more, the inner one that it refused.
fn exchange(keeper: &mut Keeper, command: u8, id: &str) -> Result<Result<Option<OwnedFd>>> {
    debug_assert_eq!(id.len(), ID_LENGTH);
    let mut request = vec![command];
    request.extend_from_slice(id.as_bytes());
    keeper.control.set_read_timeout(Some(LIMIT))?;
    send_with_fds(&keeper.control, &request, &[])?;
    let mut answer = [0];
    let (_, fds) = receive_with_fds(&keeper.control, &mut answer)?;
    if answer[0] == DONE {
        return Ok(Ok(fds.into_iter().next()));
    }
    let mut length = [0; 4];
    keeper.control.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_le_bytes(length) as usize];
    keeper.control.read_exact(&mut message)?;
    Ok(Err(anyhow::anyhow!("{}", String::from_utf8_lossy(&message))))
}

impl Registry {
    /// Whether there can be volumes: only sandboxes with mounts of their own can have them.
    pub(crate) fn has_volumes(&self) -> bool {
        matches!(self.isolation, Isolation::Namespaces { .. })
    }

    /// In the order in which they were made.
    pub(crate) fn volumes(&self) -> Vec<Arc<Volume>> {
        self.volumes.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn volume(&self, id: &str) -> Option<Arc<Volume>> {
        self.volumes().into_iter().find(|volume| volume.id == id)
    }

    /// Where the keeper serves the volumes' content.
    pub(crate) fn volumes_socket(&self) -> PathBuf {
        self.runtime_dir.path().join(format!("{NAME}.http"))
    }

    /// The token that gives access to a volume's content.
    pub(crate) fn volume_token(&self, id: &str) -> String {
        self.token(&format!("volume:{id}"))
    }

    /// Makes a volume, with an id of [`ID_LENGTH`] bytes.
    pub(crate) async fn create_volume(self: &Arc<Self>, id: String, name: String) -> Result<Arc<Volume>, VolumeError> {
        let registry = Arc::clone(self);
        // To its end, even when the client that asked for it goes away in the middle: what the keeper has must be known
        // here. The same goes for whatever else it is asked.
        let made = tokio::spawn(async move { registry.do_create_volume(id, name).await }).await;
        made.unwrap_or_else(|error| Err(VolumeError::Failed(error.into())))
    }

    async fn do_create_volume(&self, id: String, name: String) -> Result<Arc<Volume>, VolumeError> {
        let mut keeper = self.volumes.keeper.lock().await;
        if self.volumes().iter().any(|volume| volume.name == name) {
            return Err(VolumeError::Taken);
        }
        if keeper.is_none() {
            *keeper = Some(self.start_keeper().await.map_err(VolumeError::Failed)?);
        }
        self.volumes.ask(&mut keeper, MAKE, &id).await.map_err(VolumeError::Failed)?;
        let volume = Arc::new(Volume { id, name });
        self.volumes.change(|known| known.push(Arc::clone(&volume)));
        Ok(volume)
    }

    async fn start_keeper(&self) -> Result<Keeper> {
        let envd = EnvdConfig { sandbox_id: NAME.into(), ..Default::default() };
        let boot = Boot { role: Role::Volumes, ..self.boot(self.isolation, envd, Network::Loopback, false) };
        let started = self.nursery.launch_keeper(self.runtime_dir.path(), NAME, boot).await;
        started.context("starting the process that keeps volumes")
    }

    /// Forgets a volume; sandboxes that have it mounted keep it until they end. False when there is none.
    pub(crate) async fn delete_volume(self: &Arc<Self>, id: String) -> Result<bool> {
        let registry = Arc::clone(self);
        tokio::spawn(async move { registry.do_delete_volume(&id).await }).await?
    }

    async fn do_delete_volume(&self, id: &str) -> Result<bool> {
        let mut keeper = self.volumes.keeper.lock().await;
        let known = self.volumes.change(|known| {
            let before = known.len();
            known.retain(|volume| volume.id != id);
            known.len() < before
        });
        if known {
            self.volumes.ask(&mut keeper, FORGET, id).await?;
        }
        Ok(known)
    }

    /// A mount of each volume, to be given to a new sandbox. The error is the first that is gone.
    pub(super) async fn lend(self: &Arc<Self>, mounts: &[Mount]) -> Result<Vec<OwnedFd>, LendError> {
        if mounts.is_empty() {
            return Ok(Vec::new());
        }
        let (registry, mounts) = (Arc::clone(self), mounts.to_vec());
        let lent = tokio::spawn(async move { registry.do_lend(&mounts).await }).await;
        lent.unwrap_or_else(|error| Err(LendError::Failed(error.into())))
    }

    async fn do_lend(&self, mounts: &[Mount]) -> Result<Vec<OwnedFd>, LendError> {
        let mut keeper = self.volumes.keeper.lock().await;
        let mut lent = Vec::new();
        for Mount { volume, .. } in mounts {
            if self.volume(&volume.id).is_none() {
                return Err(LendError::NoVolume(Arc::clone(volume)));
            }
            let mount = self.volumes.ask(&mut keeper, LEND, &volume.id).await.map_err(LendError::Failed)?;
            lent.push(mount.context("the keeper lent nothing").map_err(LendError::Failed)?);
        }
        Ok(lent)
    }
}

/// Why a sandbox cannot have its volumes.
#[derive(Debug)]
pub(super) enum LendError {
    /// It was deleted.
    NoVolume(Arc<Volume>),
    Failed(anyhow::Error),
}
