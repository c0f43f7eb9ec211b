//! The sandboxes that exist. Each has a task that ends it: at its timeout, on request, or when its process is gone.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use anyhow::{Context, Result};
use hmac::{Hmac, KeyInit, Mac};
use ipnet::Ipv4Net;
use rand::Rng;
use serde_json::Value;
use sha2::Sha256;
use time::OffsetDateTime;
use tokio::sync::{Notify, OnceCell, watch};
use tokio_util::sync::CancellationToken;

use super::boot::{Boot, EnvdConfig, Isolation, Network, Role};
use super::cgroup::Cgroups;
use super::etc;
use super::expiry::Expiry;
use super::fds;
use super::isolation::Choice;
use super::journal::Journal;
use super::launch::{Nursery, Provisions, Running};
use super::leash::{self, Leash};
use super::lifecycle::State;
use super::limits::{self, Limits};
use super::metrics::{self, Metrics};
use super::reach::Reach;
use super::runtime_dir::RuntimeDir;
use super::setup::Setup;
use super::uplink::{Provider, Uplink};
use super::volumes::{LendError, Mount, Volumes};

/// How long a sandbox may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// What a sandbox is created from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spec {
    pub(crate) template_id: String,
    /// What its template puts into it and starts.
    pub(crate) setup: Arc<Setup>,
    /// Belongs to the server itself, which builds a template in it: clients do not see it.
    pub(crate) internal: bool,
    pub(crate) alias: Option<String>,
    pub(crate) timeout: Duration,
    pub(crate) secure: bool,
    pub(crate) metadata: Option<BTreeMap<String, String>>,
    pub(crate) env_vars: BTreeMap<String, String>,
    pub(crate) network: NetworkSettings,
    /// Ports other than envd's need a token.
    pub(crate) restricted: bool,
    /// What services inside see as their host; `${PORT}` stands for the port.
    pub(crate) masked_host: Option<String>,
    pub(crate) on_timeout_pause: bool,
    /// Whether processes survive the pause at the timeout.
    pub(crate) pause_memory: bool,
    pub(crate) auto_resume: bool,
    /// The files to begin with: what [`Sandbox::archive`] wrote.
    pub(crate) snapshot: Option<Arc<File>>,
    pub(crate) mounts: Vec<Mount>,
}

/// What clients said about the network, echoed, and what of it can be enforced.
#[derive(Debug, Clone, Default)]
pub(crate) struct NetworkSettings {
    /// Which addresses outside the sandbox may reach.
    pub(crate) reach: Reach,
    pub(crate) allow_internet: Option<bool>,
    pub(crate) network: Option<Value>,
}

/// One sandbox.
pub(crate) struct Sandbox {
    pub(crate) id: String,
    pub(crate) spec: Spec,
    pub(crate) started_at: OffsetDateTime,
    pub(crate) envd_token: Option<String>,
    traffic_token: Option<String>,
    http_socket: PathBuf,
    ports_socket: PathBuf,
    /// The process outside of its namespaces.
    pub(super) process: u32,
    pub(crate) journal: Arc<Journal>,
    pub(crate) metrics: Metrics,
    network: Mutex<NetworkSettings>,
    /// Its way out, when it has a network of its own that has one.
    pub(super) uplink: Option<Arc<Uplink>>,
    pub(super) expiry: Mutex<Expiry>,
    pub(super) expiry_changed: Notify,
    pub(super) state: watch::Sender<State>,
    pub(super) leash: Arc<tokio::sync::Mutex<Leash>>,
    pub(super) connections: Mutex<CancellationToken>,
    stop: CancellationToken,
    pub(super) ended: CancellationToken,
}

impl Sandbox {
    pub(crate) fn network(&self) -> NetworkSettings {
        self.network.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes the settings, and what the sandbox may reach. False when that cannot be enforced while it runs.
    pub(crate) fn update_network(&self, update: impl FnOnce(&mut NetworkSettings)) -> Result<bool> {
        let mut settings = self.network.lock().unwrap_or_else(PoisonError::into_inner);
        let mut new = settings.clone();
        update(&mut new);
        if let Some(uplink) = &self.uplink {
            uplink.limit(&new.reach)?;
        }
        *settings = new;
        Ok(self.uplink.is_some())
    }

    pub(crate) fn traffic_token(&self) -> Option<&str> {
        self.traffic_token.as_deref()
    }

    /// The host that a service on `port` is told, when it is to be another than the client's.
    pub(crate) fn masked_host(&self, port: u16) -> Option<String> {
        self.spec.masked_host.as_ref().map(|host| host.replace("${PORT}", &port.to_string()))
    }

    pub(crate) fn http_socket(&self) -> &Path {
        &self.http_socket
    }

    pub(crate) fn ports_socket(&self) -> &Path {
        &self.ports_socket
    }
}

/// What the operator decides about all sandboxes.
pub(crate) struct Config {
    pub(crate) isolation: Choice,
    pub(crate) max_sandboxes: usize,
    /// What the daemon calls itself.
    pub(crate) envd_version: String,
    /// Where the kernels of the code interpreter are, or would be.
    pub(crate) kernels: PathBuf,
    /// Private addresses, and this machine's, that sandboxes may reach all the same.
    pub(crate) opened: Vec<Ipv4Net>,
    pub(crate) limits: Limits,
}

/// Why there is no new sandbox.
#[derive(Debug)]
pub(crate) enum CreateError {
    /// As many as the operator allows exist.
    TooMany {
        limit: usize,
    },
    /// A volume of this name was to be mounted, and has been deleted.
    NoVolume {
        name: String,
    },
    Failed(anyhow::Error),
}

impl std::fmt::Display for CreateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CreateError::TooMany { limit } => write!(
                f,
                "you have reached the maximum number of concurrent sandboxes ({limit}); --max-sandboxes sets it"
            ),
            CreateError::NoVolume { name } => write!(f, "volume '{name}' not found"),
            CreateError::Failed(error) => write!(f, "{error:#}"),
        }
    }
}

/// All sandboxes of a server.
pub(crate) struct Registry {
    sandboxes: RwLock<HashMap<String, Arc<Sandbox>>>,
    /// Creations under way count against the limit.
    slots: Arc<tokio::sync::Semaphore>,
    limit: usize,
    pub(super) nursery: Arc<Nursery>,
    pub(super) isolation: Isolation,
    /// The way out of sandboxes with a network of their own; without it, those that may go out share the machine's. Whether
    /// there is one takes a while to find out, which the first sandbox waits for and the server's start does not.
    provider: OnceCell<Option<Provider>>,
    opened: Vec<Ipv4Net>,
    pub(super) limits: Limits,
    cgroups: Option<Arc<Cgroups>>,
    pub(super) volumes: Volumes,
    hidden_etc: Vec<PathBuf>,
    envd_version: String,
    kernels: PathBuf,
    seed: [u8; 32],
    closing: CancellationToken,
    pub(super) runtime_dir: RuntimeDir,
}

impl Registry {
    /// Finds out what this machine can do, by starting a sandbox, and refuses or warns as `choice` says.
    pub(crate) async fn new(config: Config) -> Result<Arc<Self>> {
        let Config { isolation, max_sandboxes, envd_version, kernels, opened, limits } = config;
        limits::raise_open_files();
        fds::close_inherited_on_exec().context("looking at what is open")?;
        let runtime_dir = RuntimeDir::create().context("creating the runtime directory")?;
        let mut registry = Registry {
            sandboxes: RwLock::default(),
            slots: Arc::new(tokio::sync::Semaphore::new(max_sandboxes)),
            limit: max_sandboxes,
            nursery: Arc::new(Nursery::new()?),
            isolation: Isolation::None,
            volumes: Volumes::default(),
            provider: OnceCell::new(),
            opened,
            closing: CancellationToken::new(),
            limits,
            cgroups: None,
            hidden_etc: etc::private_entries(),
            envd_version,
            kernels,
            seed: rand::random(),
            runtime_dir,
        };
        registry.isolation = registry.choose(isolation).await?;
        registry.cgroups = registry.find_cgroups();
        let registry = Arc::new(registry);
        let (finder, closing) = (Arc::clone(&registry), registry.closing.clone());
        tokio::spawn(async move { closing.run_until_cancelled(finder.provider()).await.is_some() });
        tokio::spawn(metrics::measure(Arc::downgrade(&registry)));
        Ok(registry)
    }

    async fn provider(&self) -> Option<&Provider> {
        self.provider.get_or_init(|| self.find_provider(&self.opened)).await.as_ref()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn boot(&self, isolation: Isolation, envd: EnvdConfig, network: Network, interpreter: bool) -> Boot {
        Boot {
            role: Role::Sandbox,
            isolation,
            network,
            limits: self.limits,
            hidden_etc: self.hidden_etc.clone(),
            private_dir: self.runtime_dir.path().join(&envd.sandbox_id),
            interpreter,
            // Looked for each time: they may be installed while the server runs.
            kernels: (interpreter && self.kernels.is_dir()).then(|| self.kernels.clone()),
            volumes: Vec::new(),
            envd,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.sandboxes.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<String, Arc<Sandbox>>> {
        self.sandboxes.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Sandbox>> {
        self.read().get(id).cloned()
    }

    pub(crate) fn all(&self) -> Vec<Arc<Sandbox>> {
        self.read().values().cloned().collect()
    }

    /// Whether sandboxes are kept apart from this machine.
    pub(crate) fn is_isolated(&self) -> bool {
        !matches!(self.isolation, Isolation::None)
    }

    pub(crate) fn envd_version(&self) -> &str {
        &self.envd_version
    }

    /// Starts a sandbox; it serves when this returns.
    pub(crate) async fn create(self: &Arc<Self>, mut spec: Spec) -> Result<Arc<Sandbox>, CreateError> {
        let slot =
            Arc::clone(&self.slots).try_acquire_owned().map_err(|_| CreateError::TooMany { limit: self.limit })?;
        let id = new_id();
        let envd_token = spec.secure.then(|| self.token(&id));
        let traffic_token = spec.restricted.then(|| self.token(&format!("traffic:{id}")));
        let envd = EnvdConfig {
            version: self.envd_version.clone(),
            sandbox_id: id.clone(),
            template_id: spec.template_id.clone(),
            access_token: envd_token.clone(),
            default_user: spec.setup.commander().into(),
            default_workdir: spec.setup.workdir.clone(),
            env_vars: spec.env_vars.clone(),
        };
        let volumes = self.lend(&spec.mounts).await.map_err(|error| match error {
            LendError::NoVolume(volume) => CreateError::NoVolume { name: volume.name.clone() },
            LendError::Failed(error) => CreateError::Failed(error.context("borrowing a volume")),
        })?;
        let way_out = self.provider().await.map(|provider| (provider.clone(), spec.network.reach.clone()));
        let network = match &way_out {
            Some(_) => Network::Own,
            None if spec.network.reach.is_closed() => Network::Loopback,
            None => Network::Shared,
        };
        let boot = Boot {
            volumes: spec.mounts.iter().map(|mount| mount.path.clone().into()).collect(),
            ..self.boot(self.isolation, envd, network, spec.setup.interpreter)
        };
        let snapshot = spec.snapshot.take().map(|archive| reopen(&archive)).transpose().map_err(CreateError::Failed)?;
        let journal = Arc::<Journal>::default();
        let cgroups = self.cgroups.clone();
        let provisions = Provisions { snapshot, volumes, way_out, cgroups, journal: Arc::clone(&journal) };
        let running = self.nursery.launch(self.runtime_dir.path(), boot, provisions).await;
        let running = running.map_err(CreateError::Failed)?;
        journal.info("sandbox started");
        let sandbox = Arc::new(Sandbox {
            id: id.clone(),
            started_at: OffsetDateTime::now_utc(),
            envd_token,
            traffic_token,
            http_socket: running.sockets.http.clone(),
            ports_socket: running.sockets.ports.clone(),
            process: running.child.id().unwrap_or_default(),
            journal,
            metrics: Metrics::default(),
            network: Mutex::new(spec.network.clone()),
            uplink: running.uplink.clone(),
            expiry: Mutex::new(Expiry::after(spec.timeout)),
            expiry_changed: Notify::new(),
            state: watch::Sender::new(State::Running),
            leash: Arc::clone(&running.leash),
            connections: Mutex::default(),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            spec,
        });
        self.write().insert(id, Arc::clone(&sandbox));
        tokio::spawn(Arc::clone(self).follow(Arc::clone(&sandbox), running, slot));
        Ok(sandbox)
    }

    /// The life of one sandbox, to its end.
    async fn follow(
        self: Arc<Self>,
        sandbox: Arc<Sandbox>,
        mut running: Running,
        slot: tokio::sync::OwnedSemaphorePermit,
    ) {
        let why = loop {
            tokio::select! {
                () = sandbox.stop.cancelled() => break "killed",
                () = sandbox.wait_for_expiry() => if !sandbox.times_out().await { break "timeout" },
                _ = running.child.wait() => break "its process ended",
            }
        };
        self.write().remove(&sandbox.id);
        end(running).await;
        if matches!(self.isolation, Isolation::None) {
            let _ = tokio::fs::remove_dir_all(self.runtime_dir.path().join(&sandbox.id)).await;
        }
        drop(slot);
        tracing::info!(sandbox = sandbox.id, "ended: {why}");
        sandbox.ended.cancel();
    }

    /// Ends a sandbox and waits until nothing of it is left. False when there is none.
    pub(crate) async fn kill(&self, id: &str) -> bool {
        // Removed at once: no request finds a sandbox that is about to end.
        let Some(sandbox) = self.write().remove(id) else { return false };
        sandbox.stop.cancel();
        sandbox.ended.cancelled().await;
        true
    }

    /// Ends all sandboxes, and allows no new ones.
    pub(crate) async fn close(&self) {
        self.slots.close();
        self.closing.cancel();
        let sandboxes = std::mem::take(&mut *self.write());
        for sandbox in sandboxes.values() {
            sandbox.stop.cancel();
        }
        for sandbox in sandboxes.values() {
            sandbox.ended.cancelled().await;
        }
        self.volumes.close().await;
    }

    /// A token that belongs to `text` and cannot be guessed: hex HMAC-SHA256 with this server's seed.
    pub(super) fn token(&self, text: &str) -> String {
        use std::fmt::Write;
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.seed) else {
            unreachable!("HMAC takes keys of any length")
        };
        mac.update(text.as_bytes());
        mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

/// Ends the process tree: first by asking, which lets the kernel take down the pid namespace and tells us when it has.
pub(super) async fn end(running: Running) {
    let Running { mut child, leash, helper, group, sockets, .. } = running;
    if let Some(helper) = helper {
        helper.end().await;
    }
    // Whatever is under way comes first: nobody gets half a snapshot.
    let _ = leash::with(&leash, |leash| {
        leash.release();
        Ok(())
    })
    .await;
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        // Its first process dies with it.
        let _ = child.kill().await;
    }
    drop((sockets, group));
}

/// The same file with a position of its own: several sandboxes may start from it at a time.
fn reopen(archive: &File) -> Result<File> {
    File::open(format!("/proc/self/fd/{}", archive.as_raw_fd())).context("opening the snapshot")
}

/// `i` and twenty letters and digits.
pub(super) fn new_id() -> String {
    const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut random = rand::rng();
    std::iter::once('i').chain((0..20).map(|_| char::from(LETTERS[random.random_range(0..LETTERS.len())]))).collect()
}
