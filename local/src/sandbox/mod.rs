//! Sandboxes as process trees: how they are kept apart, started, known and ended.
//!
//! | module | what it is for |
//! |---|---|
//! | `isolation`, `machine` | what this machine can do |
//! | `launch` | server side of a start |
//! | `boot` | what both sides say to each other |
//! | `init`, `rootfs`, `kernels`, `caps`, `net`, `fds` | child side of a start |
//! | `limits`, `cgroup` | how much of the machine a sandbox may use |
//! | `reach`, `uplink` | which addresses a sandbox may reach, and the way there |
//! | `warden` | what the first process does afterwards |
//! | `leash` | the server's hold on it |
//! | `lifecycle`, `expiry` | pausing, resuming, copying; the time that is left |
//! | `journal`, `log`, `metrics` | what its owner can read about it |
//! | `archive` | the files of a sandbox as one stream |
//! | `setup` | what a template puts into it and starts |
//! | `users` | the password database inside |
//! | `registry` | the sandboxes that exist, and their ends |
//! | `volumes` | what they can share |

mod archive;
pub(crate) mod boot;
mod caps;
mod cgroup;
mod etc;
mod expiry;
pub(crate) mod fds;
pub(crate) mod init;
pub(crate) mod isolation;
pub(crate) mod journal;
pub(crate) mod kernels;
pub(crate) mod launch;
mod leash;
pub(crate) mod lifecycle;
pub(crate) mod limits;
mod log;
mod machine;
pub(crate) mod metrics;
mod net;
pub(crate) mod reach;
pub(crate) mod registry;
pub(crate) mod rootfs;
mod runtime_dir;
pub(crate) mod setup;
mod uplink;
pub(crate) mod users;
pub(crate) mod volumes;
mod warden;
