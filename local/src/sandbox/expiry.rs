//! When a sandbox ends by itself, or is paused instead.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use time::OffsetDateTime;
use tokio::time::Instant;

use super::lifecycle::{State, StateError};
use super::registry::Sandbox;

/// When a sandbox ends: for clients, and for the timer, which must not follow changes of the wall clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expiry {
    at: OffsetDateTime,
    timer: Instant,
}

impl Expiry {
    pub(super) fn after(duration: Duration) -> Self {
        Expiry { at: OffsetDateTime::now_utc() + duration, timer: Instant::now() + duration }
    }
}

impl Sandbox {
    /// When the sandbox ends if nobody asks for more time; for a paused one, when it was paused.
    pub(crate) fn end_at(&self) -> OffsetDateTime {
        match self.state() {
            State::Paused { since, .. } => since,
            _ => self.expiry().at,
        }
    }

    fn expiry(&self) -> Expiry {
        *self.expiry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the sandbox live for `duration` from now. Without `may_shorten` it never ends earlier than it would have.
    pub(crate) fn expire_in(&self, duration: Duration, may_shorten: bool) {
        let new = Expiry::after(duration);
        if may_shorten || new.timer >= self.expiry().timer {
            self.set_expiry(new);
        }
    }

    pub(super) fn set_expiry(&self, expiry: Expiry) {
        *self.expiry.lock().unwrap_or_else(PoisonError::into_inner) = expiry;
        self.expiry_changed.notify_one();
    }

    /// Waits until the time of a running sandbox is up; a paused one has all the time in the world.
    pub(super) async fn wait_for_expiry(&self) {
        let mut states = self.state.subscribe();
        loop {
            if *states.borrow_and_update() != State::Running {
                // The sender is in this very sandbox.
                let _ = states.changed().await;
                continue;
            }
            tokio::select! {
                () = tokio::time::sleep_until(self.expiry().timer) => {
                    if self.state() == State::Running && self.expiry().timer <= Instant::now() {
                        return;
                    }
                }
                () = self.expiry_changed.notified() => {}
                _ = states.changed() => {}
            }
        }
    }

    /// What happens when the time is up: true when the sandbox lives on, paused.
    pub(super) async fn times_out(self: &Arc<Self>) -> bool {
        if !self.spec.on_timeout_pause {
            return false;
        }
        match self.pause(self.spec.pause_memory).await {
            // A client was faster.
            Ok(()) | Err(StateError::Conflict(_)) => true,
            Err(StateError::Gone) => false,
            Err(StateError::Failed(error)) => {
                tracing::error!(sandbox = self.id, "cannot be paused at its timeout, and ends: {error:#}");
                false
            }
        }
    }
}
