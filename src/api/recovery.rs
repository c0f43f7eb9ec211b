//! Listening to a command again after its connection was lost: when, how often, and who is told.

use std::future::Future;

use js_sys::{Date, Function, Object, Reflect};
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::collector::Collector;
use super::envd::{Events, Progress};
use super::options::Options;
use super::output;
use super::process::Process;
use crate::error::{Error, code};
use crate::protocol::process::{self, ConnectRequest, Selector};
use crate::transport::{Clock, Failure, Scope};

/// How long a durable command is tried to be reached again unless the caller says otherwise, in milliseconds.
const DURABLE_MS: u64 = 30_000;

/// The first pause between two tries, and the longest, in milliseconds: each is twice as long as the one before.
const FIRST_PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 5_000;

/// How long one try may take, in milliseconds.
const TRY_MS: u64 = 15_000;

/// A stream that says nothing for so many milliseconds is dead: the sandbox was asked for a sign of life every 50 seconds.
const SILENCE_MS: u64 = 130_000;

/// What failed by the network or by a sandbox that is not there at the moment; everything else is final.
const PASSING: [&str; 10] = [
    code::CONNECTION_FAILED,
    code::CONNECTION_LOST,
    code::STREAM_TRUNCATED,
    code::IDLE_TIMEOUT,
    code::REQUEST_TIMEOUT,
    code::UNAVAILABLE,
    // A paused sandbox looks like one that is gone.
    code::SANDBOX_GONE,
    code::PORT_CLOSED,
    code::CANCELED,
    code::RATE_LIMITED,
];

/// What to do when the connection of a command is lost.
#[derive(Tsify, Default)]
#[serde(rename_all = "camelCase")]
pub struct CommandReconnectOpts {
    /// How many milliseconds to try to listen again after the connection was lost; 0: a lost connection is an error. Default
    /// 30 000 for durable commands, which lose nothing by it, and 0 for others: what they write until they are listened to
    /// again is lost, which `gaps` of the handle and of the result tells.
    #[tsify(optional, type = "number")]
    pub reconnect_ms: Option<u64>,
    /// Called when the connection was lost, before each try, and when the command is listened to again. Awaited. If it throws,
    /// listening ends with what it threw.
    #[tsify(optional, type = "(event: CommandReconnectEvent) => void | Promise<void>")]
    pub on_reconnect: Option<Function>,
}

// Written by hand because its `error` is of a class that is not of the bindings.
#[wasm_bindgen(typescript_custom_section)]
const EVENT: &str = r#"
/** What `onReconnect` is told. */
export interface CommandReconnectEvent {
    state: "lost" | "attached";
    /** Which try to listen again this is about; 1 for the first after a loss. */
    attempt: number;
    /** Why the connection was lost, or why the try before failed. */
    error?: SandboxError;
}
"#;

impl CommandReconnectOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        Ok(CommandReconnectOpts {
            reconnect_ms: options.whole("reconnectMs", 0)?,
            on_reconnect: options.function("onReconnect")?,
        })
    }

    async fn tell(&self, scope: &Scope, state: &str, attempt: u32, error: &JsValue) -> Result<(), Failure> {
        if self.on_reconnect.is_none() {
            return Ok(());
        }
        let event = Object::new();
        // Setting a property of a fresh plain object cannot fail.
        let set = |name: &str, value: &JsValue| Reflect::set(&event, &name.into(), value).is_ok();
        set("state", &state.into());
        set("attempt", &attempt.into());
        if !error.is_undefined() {
            set("error", error);
        }
        output::call(scope, &self.on_reconnect, &event).await
    }
}

/// An open stream and its own way to end, so that it can be given up while the process is listened to again.
pub(super) struct Link {
    pub(super) events: Events,
    scope: Scope,
    /// Whether silence means that the connection is dead.
    is_watched: bool,
}

impl Link {
    /// A stream that ends with the process's scope only.
    pub(super) fn only(events: Events, scope: Scope) -> Self {
        Link { events, scope, is_watched: false }
    }

    /// Waits for the next network chunk, see [`Events::read`].
    pub(super) async fn read(&mut self, outer: &Scope, collector: &mut Collector) -> Result<Progress, Failure> {
        let _clock = if self.is_watched { self.scope.arm(Clock::Idle(SILENCE_MS)) } else { None };
        let mut take = |payload: &[u8]| collector.take(payload);
        let reading = self.events.read(&self.scope, &mut take);
        if self.is_watched { within(outer, &self.scope, reading).await } else { reading.await }
    }
}

/// Waits for `work`, which `inner` can end, but not beyond the end of `outer`, which then ends `inner` too.
async fn within<T>(outer: &Scope, inner: &Scope, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    match outer.run(work).await {
        Ok(result) => result,
        Err(failure) => {
            inner.end(failure.clone());
            Err(failure)
        }
    }
}

/// Listens again after `lost`, with growing pauses. Fails with `lost` when that cannot help, otherwise with what the last try
/// failed with.
pub(super) async fn listen_again(process: &Process, collector: &mut Collector, lost: Failure) -> Result<Link, Failure> {
    let recovery = &process.recovery;
    let is_passing = |failure: &Failure| PASSING.iter().any(|code| failure.has_code(code));
    let limit_ms = recovery.reconnect_ms.unwrap_or(if process.spool.is_some() { DURABLE_MS } else { 0 });
    if limit_ms == 0 || process.is_pty || !is_passing(&lost) {
        return Err(lost);
    }
    let (begun, mut pause_ms, mut attempt, mut latest) = (Date::now(), FIRST_PAUSE_MS, 1, lost.clone());
    loop {
        recovery.tell(&process.scope, "lost", attempt, &latest.clone().into_js()).await?;
        process.scope.pause(pause_ms).await?;
        latest = match open(process, collector, TRY_MS).await {
            Ok(link) => {
                if process.spool.is_none() {
                    process.gaps.set(process.gaps.get() + 1);
                }
                recovery.tell(&process.scope, "attached", attempt, &JsValue::UNDEFINED).await?;
                return Ok(link);
            }
            Err(failure) if process.scope.ended().is_some() => return Err(failure),
            Err(failure) if is_passing(&failure) => failure,
            // Without a spool nobody knows how a process ended that is not there any more.
            Err(failure) if process.spool.is_none() && failure.has_code(code::NOT_FOUND) => return Err(lost),
            Err(failure) => return Err(failure),
        };
        if Date::now() - begun >= limit_ms as f64 {
            return Err(latest);
        }
        attempt += 1;
        pause_ms = (pause_ms * 2).min(LONGEST_PAUSE_MS);
    }
}

/// Opens a stream and reads up to its first event, all within `limit_ms`; 0: no limit.
pub(super) async fn open(process: &Process, collector: &mut Collector, limit_ms: u64) -> Result<Link, Failure> {
    let scope = Scope::new()?;
    let _clock = scope.arm(Clock::Request(limit_ms));
    let work = async {
        let events = match &process.spool {
            Some(spool) => spool.open(&process.envd, &scope, collector.received).await?,
            None => {
                let message = ConnectRequest { process: Selector::Pid(process.pid.get()) };
                let encode = |encoding| message.encode(encoding);
                process.envd.open(&scope, &process::CONNECT, None, &encode, None).await?
            }
        };
        let mut link = Link { events, scope: scope.clone(), is_watched: true };
        collector.restart(link.events.encoding);
        first_event(process, &mut link, collector).await?;
        Ok(link)
    };
    within(&process.scope, &scope, work).await
}

/// Reads up to the event that tells the process id.
pub(super) async fn first_event(process: &Process, link: &mut Link, collector: &mut Collector) -> Result<(), Failure> {
    while collector.pid.is_none() {
        let progress = link.events.read(&link.scope, &mut |payload| collector.take(payload)).await;
        let progress = process.envd.explained(progress, Some(link.events.context)).await?;
        if collector.pid.is_none() && matches!(progress, Progress::Done) {
            return Err(Error::protocol(
                "The sandbox ended the stream without saying that the process started. Update the sandbox's template",
            )
            .into());
        }
    }
    process.pid.set(collector.pid.unwrap_or_default());
    process.reader.set(collector.reader);
    link.events.begun();
    Ok(())
}
