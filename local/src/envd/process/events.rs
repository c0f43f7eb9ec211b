//! The stream of events that one subscriber sees.

use std::sync::Arc;
use std::time::Duration;

use connectrpc::ConnectError;
use futures::Stream;
use futures::stream;
use tokio::time::Instant;

use super::table::{Event, Process, Subscription};
use crate::protocol::process::__buffa::oneof::process_event::Event as Kind;
use crate::protocol::process::ProcessEvent;
use crate::protocol::process::process_event::{KeepAlive, StartEvent};

struct State {
    process: Arc<Process>,
    subscription: Subscription,
    keepalive: Duration,
    deadline: Option<Instant>,
    phase: Phase,
}

enum Phase {
    Start,
    Running,
    Over,
}

/// `start`, then what the subscription brings, with a `keepalive` after each `keepalive` of silence. When `deadline`
/// passes the stream ends with `deadline_exceeded`, whatever the process does.
pub(super) fn stream(
    process: &Arc<Process>,
    subscription: Subscription,
    keepalive: Duration,
    deadline: Option<Instant>,
) -> impl Stream<Item = Result<ProcessEvent, ConnectError>> + Send + use<> {
    let process = Arc::clone(process);
    let state = State { process, subscription, keepalive, deadline, phase: Phase::Start };
    stream::unfold(state, |mut state| async move {
        let kind = match state.phase {
            Phase::Over => return None,
            Phase::Start => {
                state.phase = Phase::Running;
                Kind::from(StartEvent { pid: state.process.pid, ..Default::default() })
            }
            Phase::Running => match state.next().await {
                Ok(kind) => kind,
                Err(error) => {
                    state.phase = Phase::Over;
                    return Some((Err(error), state));
                }
            },
        };
        if matches!(kind, Kind::End(_)) {
            state.phase = Phase::Over;
        }
        Some((Ok(ProcessEvent { event: Some(kind), ..Default::default() }), state))
    })
}

impl State {
    async fn next(&mut self) -> Result<Kind, ConnectError> {
        let expired = || ConnectError::deadline_exceeded("context deadline exceeded");
        let silence = Instant::now() + self.keepalive;
        let wake = self.deadline.map_or(silence, |deadline| deadline.min(silence));
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(wake) => {
                if self.deadline == Some(wake) {
                    return Err(expired());
                }
                Ok(Kind::from(KeepAlive::default()))
            }
            event = self.subscription.next() => match event {
                Event::Data(data) => Ok(Kind::from(data)),
                // The process may have been killed for the same deadline a moment before our own clock fired.
                Event::End(_) if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) => Err(expired()),
                Event::End(end) => Ok(Kind::from(end)),
            }
        }
    }
}
