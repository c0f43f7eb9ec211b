//! What the daemon knows: the token, the defaults, the users, the processes.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use anyhow::Result;
use connectrpc::{ConnectError, RequestContext};
use time::OffsetDateTime;

use super::filesystem::Watchers;
use super::metrics::CpuMeter;
use super::process::table::Processes;
use super::process::terminal::Leases;
use crate::sandbox::boot::{Boot, Isolation, UserMap};
use crate::sandbox::users::{User, Users};

/// The daemon's state, shared by all requests.
pub(super) struct Envd {
    pub(super) version: String,
    pub(super) users: Users,
    pub(super) processes: Processes,
    pub(super) leases: Leases,
    pub(super) watchers: Watchers,
    pub(super) cpu: CpuMeter,
    /// Whether commands can be given another identity than the daemon's.
    pub(super) switches_users: bool,
    settings: RwLock<Settings>,
}

/// What `/init` may change.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) access_token: Option<String>,
    pub(super) default_user: String,
    pub(super) default_workdir: Option<String>,
    /// Set by `/init`, replaced as a whole.
    pub(super) env_vars: BTreeMap<String, String>,
    /// Set by the daemon; `/init` cannot change them.
    pub(super) protected_env: BTreeMap<String, String>,
    /// The time of the newest `/init` that named one.
    pub(super) applied: Option<OffsetDateTime>,
}

impl Settings {
    /// All default variables.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&String, &String)> {
        self.env_vars.iter().filter(|(name, _)| !self.protected_env.contains_key(*name)).chain(&self.protected_env)
    }
}

impl Envd {
    pub(super) fn new(boot: &Boot) -> Result<Self> {
        let config = &boot.envd;
        let mut protected_env = BTreeMap::from([("E2B_SANDBOX".to_owned(), "false".to_owned())]);
        for (name, value) in [("E2B_SANDBOX_ID", &config.sandbox_id), ("E2B_TEMPLATE_ID", &config.template_id)] {
            if !value.is_empty() {
                protected_env.insert(name.into(), value.clone());
            }
        }
        let (users, switches_users) = match boot.isolation {
            Isolation::Namespaces { users: UserMap::Single } => {
                let id = crate::sandbox::users::USER_ID;
                (Users::One { uid: id, gid: id, user_home: "/home/user".into(), root_home: "/root".into() }, false)
            }
            Isolation::Namespaces { .. } => (Users::Files, true),
            Isolation::None => {
                let home = boot.private_dir.join("home");
                fs::create_dir_all(&home)?;
                let (uid, gid) = (nix::unistd::geteuid().as_raw(), nix::unistd::getegid().as_raw());
                (Users::One { uid, gid, user_home: home.clone(), root_home: home }, false)
            }
        };
        if !matches!(boot.isolation, Isolation::None) {
            // Programs look at this file to find out where they run; a sandbox without it works as well.
            let _ = fs::write("/run/e2b/.E2B_SANDBOX", "false");
        }
        Ok(Envd {
            version: config.version.clone(),
            users,
            processes: Processes::default(),
            leases: Leases::default(),
            watchers: Watchers::default(),
            cpu: CpuMeter::default(),
            switches_users,
            settings: RwLock::new(Settings {
                access_token: config.access_token.clone(),
                default_user: config.default_user.clone(),
                default_workdir: config.default_workdir.clone(),
                env_vars: config.env_vars.clone(),
                protected_env,
                applied: None,
            }),
        })
    }

    pub(super) fn settings(&self) -> RwLockReadGuard<'_, Settings> {
        self.settings.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn settings_mut(&self) -> RwLockWriteGuard<'_, Settings> {
        self.settings.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user of an RPC: the one named by Basic authentication, or the default.
    pub(super) fn caller(&self, context: &RequestContext) -> Result<User, ConnectError> {
        if let Some(Caller(user)) = context.extensions().get() {
            return Ok(user.clone());
        }
        let name = self.settings().default_user.clone();
        if name.is_empty() {
            return Err(ConnectError::unauthenticated("no user specified"));
        }
        self.users
            .by_name(&name)
            .ok_or_else(|| ConnectError::unauthenticated(format!("invalid default user: '{name}'")))
    }
}

/// The user that a request named, left in its extensions by [`super::front`].
#[derive(Debug, Clone)]
pub(super) struct Caller(pub(super) User);
