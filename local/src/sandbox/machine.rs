//! Finds out what this machine can do for sandboxes, by starting one, and says what it cannot.

use std::sync::Arc;

use anyhow::Result;
use ipnet::Ipv4Net;

use super::boot::{EnvdConfig, Isolation, Network};
use super::cgroup::Cgroups;
use super::isolation::{self, Choice};
use super::launch::Provisions;
use super::limits::Limits;
use super::reach::Reach;
use super::registry::{Registry, end, new_id};
use super::uplink::{self, Provider};

impl Registry {
    /// How sandboxes are isolated; refuses or warns as `choice` says.
    pub(super) async fn choose(&self, choice: Choice) -> Result<Isolation> {
        if choice == Choice::None {
            tracing::warn!(
                "ISOLATION IS OFF: commands in sandboxes run as your own user, and can read, change and delete all \
                 your files and end your processes"
            );
            return Ok(Isolation::None);
        }
        let mut failure = anyhow::anyhow!("this machine offers no namespaces");
        for isolation in isolation::candidates() {
            match self.probe(isolation, None).await {
                Ok(()) => {
                    tracing::info!("isolation: {}", isolation::describe(isolation));
                    return Ok(isolation);
                }
                Err(error) => {
                    tracing::warn!("cannot use {}: {error:#}", isolation::describe(isolation));
                    failure = error;
                }
            }
        }
        if choice == Choice::Namespaces {
            return Err(failure.context(
                "sandboxes cannot be isolated on this machine; allow unprivileged user namespaces, or accept the risk \
                 with --isolation none",
            ));
        }
        tracing::warn!(
            "THERE IS NO ISOLATION on this machine ({failure:#}): commands in sandboxes run as your own user, and can \
             read, change and delete all your files and end your processes. Start with --isolation namespaces to \
             refuse this"
        );
        Ok(Isolation::None)
    }

    /// How sandboxes can have a network of their own and still go out; says so when they cannot.
    pub(super) async fn find_provider(&self, opened: &[Ipv4Net]) -> Option<Provider> {
        if self.isolation == Isolation::None {
            return None;
        }
        let mut lack = "the program slirp4netns is not installed".to_owned();
        if let Some(provider) = Provider::find(opened.to_vec()) {
            for confinement in uplink::confinements() {
                let provider = provider.confined(confinement);
                match self.probe(self.isolation, Some(provider.clone())).await {
                    Ok(()) => {
                        tracing::info!("network: each sandbox has its own");
                        return Some(provider);
                    }
                    Err(error) => lack = format!("{error:#}"),
                }
            }
        }
        tracing::warn!(
            "SANDBOXES SHARE THIS MACHINE'S NETWORK ({lack}): they reach its local services, and each other's ports. \
             Those created without internet access have a network of their own all the same"
        );
        None
    }

    /// How processes and memory can be limited; says what is limited, and what cannot be.
    pub(super) fn find_cgroups(&self) -> Option<Arc<Cgroups>> {
        if self.isolation == Isolation::None {
            return None;
        }
        const MIB: u64 = 1024 * 1024;
        let Limits { processes, memory, files } = self.limits;
        let cgroups = Cgroups::find(&self.limits);
        let counted = if cgroups.limits_processes() { "" } else { " for each user inside" };
        let held = format!("{processes} processes{counted}, {} MiB of files", files / MIB);
        if cgroups.limits_memory() {
            tracing::info!("limits of a sandbox: {held}, {} MiB of memory", memory / MIB);
        } else {
            tracing::warn!(
                "limits of a sandbox: {held}; its MEMORY IS NOT LIMITED, because no control group can be made here (as a \
                 user, start the server with `systemd-run --user --scope`)"
            );
        }
        Some(Arc::new(cgroups))
    }

    /// Whether a sandbox can be started this way, and whether its way out works.
    async fn probe(&self, isolation: Isolation, provider: Option<Provider>) -> Result<()> {
        let id = new_id();
        let envd = EnvdConfig { sandbox_id: id.clone(), default_user: "user".into(), ..Default::default() };
        let network = if provider.is_some() { Network::Own } else { Network::Shared };
        let way_out = provider.map(|provider| (provider, Reach::default()));
        let boot = self.boot(isolation, envd, network, false);
        let provisions = Provisions { way_out, ..Provisions::default() };
        let running = self.nursery.launch(self.runtime_dir.path(), boot, provisions).await?;
        let works = match &running.uplink {
            Some(uplink) => uplink.answers().await,
            None => Ok(()),
        };
        end(running).await;
        works
    }
}
