//! How long a shell outlives the connection that it was started for: not at all when the client left, for a while when the
//! connection was lost. Shells that were started by other means are nobody's here, and are left alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::envd::process::table::Process;
use crate::envd::state::Envd;

/// How many seconds a shell waits for its client. Counted one by one, so that the time of a pause does not count.
const GRACE: u32 = 60;

/// How long a shell may take to go when it is told to.
const HANGUP: Duration = Duration::from_secs(2);

/// The shells that were started for a connection, by pid.
#[derive(Default)]
pub(in crate::envd) struct Leases(Mutex<HashMap<u32, Lease>>);

#[derive(Default)]
struct Lease {
    connections: u32,
    /// Grows whenever somebody comes, so that who waited for nobody to come knows.
    visits: u64,
}

impl Leases {
    fn leases(&self) -> MutexGuard<'_, HashMap<u32, Lease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A shell of ours begins; who had its pid before is forgotten.
    pub(super) fn begin(&self, pid: u32) {
        self.leases().insert(pid, Lease::default());
    }

    pub(super) fn attach(&self, pid: u32) {
        if let Some(lease) = self.leases().get_mut(&pid) {
            lease.connections += 1;
            lease.visits += 1;
        }
    }

    pub(super) fn forget(&self, pid: u32) {
        self.leases().remove(&pid);
    }

    /// One connection fewer. The number of visits so far when it was the last one of a shell of ours.
    fn detach(&self, pid: u32) -> Option<u64> {
        let mut leases = self.leases();
        let lease = leases.get_mut(&pid)?;
        lease.connections = lease.connections.saturating_sub(1);
        (lease.connections == 0).then_some(lease.visits)
    }

    /// Ends the lease if nobody has come since.
    fn expire(&self, pid: u32, visits: u64) -> bool {
        let mut leases = self.leases();
        let is_left = leases.get(&pid).is_some_and(|lease| lease.connections == 0 && lease.visits == visits);
        if is_left {
            leases.remove(&pid);
        }
        is_left
    }
}

/// The client does not want the shell any more.
pub(super) fn left(envd: &Arc<Envd>, process: &Arc<Process>) {
    let visits = envd.leases.detach(process.pid);
    if visits.is_some_and(|visits| envd.leases.expire(process.pid, visits)) {
        tokio::spawn(hang_up(Arc::clone(process)));
    }
}

/// The connection was lost: its client may come back.
pub(super) fn lost(envd: &Arc<Envd>, process: &Arc<Process>) {
    let Some(visits) = envd.leases.detach(process.pid) else { return };
    let (envd, process) = (Arc::clone(envd), Arc::clone(process));
    tokio::spawn(async move {
        for _ in 0..GRACE {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        if envd.leases.expire(process.pid, visits) {
            hang_up(process).await;
        }
    });
}

/// As a modem would, and then for good.
async fn hang_up(process: Arc<Process>) {
    process.signal(libc::SIGHUP);
    tokio::time::sleep(HANGUP).await;
    process.signal(libc::SIGKILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_ended_once_when_the_last_has_left() {
        let leases = Leases::default();
        leases.attach(1);
        assert_eq!(leases.detach(1), None, "it is not ours");
        leases.begin(2);
        leases.attach(2);
        leases.attach(2);
        assert_eq!(leases.detach(2), None, "one is still there");
        let visits = leases.detach(2).unwrap();
        leases.attach(2);
        assert!(!leases.expire(2, visits), "somebody is there");
        let later = leases.detach(2).unwrap();
        assert!(!leases.expire(2, visits), "somebody has been there");
        assert!(leases.expire(2, later));
        assert!(!leases.expire(2, later), "once");
    }
}
