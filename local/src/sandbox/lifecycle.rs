//! Pausing, resuming and copying a sandbox: which of them may follow which, and what callers that come at the same
//! time are told. What the processes go through is [`super::leash`]'s business.

use std::fs::File;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;
use tokio_util::sync::CancellationToken;

use super::expiry::Expiry;
use super::leash;
use super::registry::Sandbox;

/// What a sandbox is doing. Every change but the end of the sandbox passes through here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Pausing,
    Paused {
        /// Whether there are processes to go on.
        memory: bool,
        since: OffsetDateTime,
    },
    Resuming,
    Snapshotting,
}

impl State {
    /// The word for it in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Pausing => "pausing",
            State::Paused { .. } => "paused",
            State::Resuming => "resuming",
            State::Snapshotting => "snapshotting",
        }
    }

    /// Clients know two states only.
    pub(crate) fn looks_paused(self) -> bool {
        matches!(self, State::Pausing | State::Paused { .. } | State::Resuming)
    }

    fn settled(self) -> bool {
        matches!(self, State::Running | State::Paused { .. })
    }
}

/// Why a sandbox did not change its state.
#[derive(Debug)]
pub(crate) enum StateError {
    /// It cannot do so from this state.
    Conflict(State),
    /// It has ended.
    Gone,
    Failed(anyhow::Error),
}

impl Sandbox {
    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Enters `to` if `from` allows it: the state before, either way.
    fn enter(&self, from: impl Fn(State) -> bool, to: State) -> Result<State, State> {
        let mut found = to;
        let entered = self.state.send_if_modified(|state| {
            found = *state;
            let may = from(found);
            if may {
                *state = to;
            }
            may
        });
        if entered { Ok(found) } else { Err(found) }
    }

    /// Waits until nothing is under way.
    pub(crate) async fn settled(&self) -> Result<State, StateError> {
        let mut states = self.state.subscribe();
        tokio::select! {
            state = states.wait_for(|state| state.settled()) => state.map(|state| *state).map_err(|_| StateError::Gone),
            () = self.ended.cancelled() => Err(StateError::Gone),
        }
    }

    /// Cancelled when connections into the sandbox break, which they do at a pause.
    pub(crate) fn connections(&self) -> CancellationToken {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn break_connections(&self) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *connections).cancel();
    }

    /// Stops the sandbox: with `memory` its processes go on later, without they are killed. Several callers at a time
    /// all succeed.
    pub(crate) async fn pause(self: &Arc<Self>, memory: bool) -> Result<(), StateError> {
        let mut waited = false;
        loop {
            match self.enter(|state| state == State::Running, State::Pausing) {
                Ok(_) => return self.complete(Self::do_pause, memory).await,
                // Who asked before the sandbox was paused has got what it asked for.
                Err(State::Paused { .. }) if waited => return Ok(()),
                Err(paused @ State::Paused { .. }) => return Err(StateError::Conflict(paused)),
                Err(_) => self.settled().await?,
            };
            waited = true;
        }
    }

    async fn do_pause(self: Arc<Self>, memory: bool) -> Result<(), StateError> {
        let stopped = leash::with(&self.leash, move |leash| if memory { leash.freeze() } else { leash.park() }).await;
        if let Err(error) = stopped {
            self.state.send_replace(State::Running);
            return Err(StateError::Failed(error));
        }
        self.break_connections();
        if let Some(uplink) = &self.uplink {
            uplink.set_paused(true);
        }
        let since = OffsetDateTime::now_utc();
        self.state.send_replace(State::Paused { memory, since });
        self.journal.info("sandbox paused");
        tracing::info!(sandbox = self.id, memory, "paused");
        Ok(())
    }

    /// Lets a paused sandbox go on, for `timeout` from now. One caller succeeds.
    pub(crate) async fn resume(self: &Arc<Self>, timeout: Duration) -> Result<(), StateError> {
        loop {
            match self.enter(|state| matches!(state, State::Paused { .. }), State::Resuming) {
                Ok(paused) => return self.complete(Self::do_resume, (paused, timeout)).await,
                Err(State::Pausing) => self.settled().await?,
                Err(other) => return Err(StateError::Conflict(other)),
            };
        }
    }

    async fn do_resume(self: Arc<Self>, (paused, timeout): (State, Duration)) -> Result<(), StateError> {
        let memory = matches!(paused, State::Paused { memory: true, .. });
        let woken = leash::with(&self.leash, move |leash| if memory { leash.thaw() } else { leash.revive() }).await;
        if let Err(error) = woken {
            self.state.send_replace(paused);
            return Err(StateError::Failed(error));
        }
        if let Some(uplink) = &self.uplink {
            uplink.set_paused(false);
        }
        self.set_expiry(Expiry::after(timeout));
        self.state.send_replace(State::Running);
        self.journal.info("sandbox resumed");
        tracing::info!(sandbox = self.id, "resumed");
        Ok(())
    }

    /// Makes sure that the sandbox runs, for at least `timeout` from now. True when it had to be resumed.
    pub(crate) async fn connect(self: &Arc<Self>, timeout: Duration) -> Result<bool, StateError> {
        loop {
            match self.state() {
                State::Running | State::Snapshotting => {
                    self.expire_in(timeout, false);
                    return Ok(false);
                }
                State::Pausing | State::Resuming => {
                    self.settled().await?;
                }
                State::Paused { .. } => match self.resume(timeout).await {
                    Ok(()) => return Ok(true),
                    // Somebody else was faster.
                    Err(StateError::Conflict(_)) => {}
                    Err(error) => return Err(error),
                },
            }
        }
    }

    /// Copies the files of the running sandbox, which stands still for as long as that takes.
    pub(crate) async fn archive(self: &Arc<Self>) -> Result<File, StateError> {
        self.enter(|state| state == State::Running, State::Snapshotting).map_err(StateError::Conflict)?;
        self.complete(Self::do_archive, ()).await
    }

    async fn do_archive(self: Arc<Self>, (): ()) -> Result<File, StateError> {
        let copied = leash::with(&self.leash, |leash| {
            // Without a name: it is gone with the last descriptor, whatever happens to the server.
            let file = tempfile::tempfile()?;
            leash.freeze()?;
            let copied = leash.archive(&file);
            leash.thaw()?;
            copied.map(|()| file)
        });
        let copied = copied.await;
        self.state.send_replace(State::Running);
        copied.map_err(StateError::Failed)
    }

    /// Runs a change to its end even when the client that asked for it goes away in the middle.
    async fn complete<A, T, F>(
        self: &Arc<Self>,
        change: impl FnOnce(Arc<Self>, A) -> F,
        argument: A,
    ) -> Result<T, StateError>
    where
        F: Future<Output = Result<T, StateError>> + Send + 'static,
        T: Send + 'static,
    {
        let outcome = tokio::spawn(change(Arc::clone(self), argument)).await;
        outcome.unwrap_or_else(|error| Err(StateError::Failed(error.into())))
    }
}
