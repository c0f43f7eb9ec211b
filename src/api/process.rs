//! A process whose events are being read: its set-up, its reading, its one outcome.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::Reflect;
use wasm_bindgen::prelude::*;

use super::call::{Call, RequestOpts};
use super::collector::Collector;
use super::durable::{self, Spool};
use super::envd::{Envd, Progress};
use super::input;
use super::output::{Output, Sinks};
use super::recovery::{self, CommandReconnectOpts, Link};
use super::types::{self, CommandResult};
use crate::error::{Error, code};
use crate::protocol::message::Encoding;
use crate::protocol::process::{EndEvent, Selector, Signal};
use crate::protocol::rpc::Rpc;
use crate::transport::timer::Timer;
use crate::transport::{Clock, Failure, Scope, Slot, host, task};

/// How long a stream may take to end after it told the exit code, before it is cut, in milliseconds.
const TRAILER_MS: u32 = 1_000;

/// How long ending a process that nobody waits for may take, in milliseconds.
pub(super) const CLEAN_UP_MS: u64 = 30_000;

/// What becomes of the process when the caller's signal fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnAbort {
    /// It is killed: nobody else knows of it.
    Kill,
    /// It is killed until the caller has the handle, and left running afterwards.
    KillUnlessHandedOver,
    /// It is left running.
    Leave,
}

/// A stream of process events to be opened.
pub(super) struct Opening {
    pub(super) rpc: Rpc,
    pub(super) user: Option<String>,
    pub(super) encode: Box<dyn Fn(Encoding) -> Vec<u8>>,
    /// The command lifetime clock; 0: no limit.
    pub(super) timeout_ms: u64,
    pub(super) on_abort: OnAbort,
    pub(super) is_pty: bool,
    /// Of a durable command: where its output is.
    pub(super) spool: Option<Rc<Spool>>,
    pub(super) recovery: CommandReconnectOpts,
}

/// A process whose events are being read.
pub(super) struct Process {
    pub(super) envd: Rc<Envd>,
    /// 0 until its first event.
    pub(super) pid: Cell<u32>,
    /// Ends the reading; the process goes on.
    pub(super) scope: Scope,
    pub(super) output: Output,
    pub(super) is_pty: bool,
    pub(super) spool: Option<Rc<Spool>>,
    /// The process that reads the spool.
    pub(super) reader: Cell<Option<u32>>,
    pub(super) recovery: CommandReconnectOpts,
    /// How often output may be missing.
    pub(super) gaps: Cell<u32>,
    pub(super) outcome: Slot<Result<EndEvent, Failure>>,
}

/// Opens a process stream, waits for its first event, and goes on reading it in the background.
///
/// The set-up runs in a task of its own. When the caller aborts in the middle of it, the request may have started a
/// process whose pid is not known yet, so the task waits for the pid and then does what [`OnAbort`] says.
pub(super) async fn launch(
    envd: Rc<Envd>,
    opening: Opening,
    sinks: Sinks,
    request: RequestOpts,
) -> Result<Rc<Process>, Failure> {
    let caller = Scope::of(request.signal.as_ref())?;
    let scope = Scope::new()?;
    let opened: Slot<Result<Rc<Process>, Failure>> = Slot::new();
    let abandoned: Rc<Cell<bool>> = Rc::default();
    let (on_abort, timeout_ms) = (opening.on_abort, opening.timeout_ms);

    let (result, gone, stream) = (opened.clone(), abandoned.clone(), scope.clone());
    let failed = opened.clone();
    let set_up = async move {
        let limit_ms = request.request_timeout_ms.or(envd.request_timeout_ms).unwrap_or(0);
        let clock = stream.arm(Clock::Request(limit_ms));
        let (process, link, collector) = begin(envd, opening, stream, sinks).await?;
        drop(clock);
        if gone.get() {
            // A page has six connections to a host, and the signal needs one. Some browsers keep that of a cancelled body
            // until more of it arrives, so the request is ended.
            process.scope.end(Failure::Thrown(JsValue::UNDEFINED));
            if on_abort != OnAbort::Leave {
                process.kill_unattended();
            }
            return Ok(());
        }
        if let Some(signal) = &request.signal
            && let Err(failure) = process.scope.listen(signal)
        {
            process.scope.end(failure);
        }
        let _clock = process.scope.arm(Clock::Lifetime(timeout_ms));
        result.set(Ok(process.clone()));
        let outcome = pump(&process, link, collector).await;
        if let Err(failure) = &outcome
            && wants_kill(failure, on_abort, gone.get())
        {
            process.kill_unattended();
        }
        if outcome.is_err() {
            process.end_reader();
        }
        process.settle(outcome);
        Ok(())
    };
    task::spawn(set_up, move |failure| {
        // Either the set-up failed, or a bug ended the task after the handle was given out: whoever waits is told.
        if let Some(Ok(process)) = failed.get() {
            process.settle(Err(failure));
        } else {
            failed.set(Err(failure));
        }
    });

    match caller.run(opened.wait()).await {
        Ok(opened) => opened,
        Err(reason) => {
            abandoned.set(true);
            // Without a request clock nothing else would end a set-up that hangs.
            let clock: Option<Timer> = scope.arm(Clock::Request(CLEAN_UP_MS));
            task::spawn(
                async move {
                    let _ = opened.wait().await;
                    drop(clock);
                    Ok(())
                },
                |_| {},
            );
            Err(reason)
        }
    }
}

/// Whether the failure is the caller's doing, such that nobody is left who could end the process.
fn wants_kill(failure: &Failure, on_abort: OnAbort, abandoned: bool) -> bool {
    let by_caller = matches!(failure, Failure::Thrown(_));
    match on_abort {
        OnAbort::Kill => by_caller,
        OnAbort::KillUnlessHandedOver => by_caller && abandoned,
        OnAbort::Leave => false,
    }
}

/// Opens the stream and reads up to its first event.
async fn begin(
    envd: Rc<Envd>,
    opening: Opening,
    scope: Scope,
    sinks: Sinks,
) -> Result<(Rc<Process>, Link, Collector), Failure> {
    let output = match &opening.spool {
        Some(spool) => Output::of_spool(sinks, &spool.begin),
        None => Output::new(sinks, opening.is_pty),
    };
    let Opening { spool, recovery, encode, .. } = opening;
    let process = Rc::new(Process {
        envd,
        pid: Cell::default(),
        scope,
        output,
        is_pty: opening.is_pty,
        spool,
        reader: Cell::default(),
        recovery,
        gaps: Cell::default(),
        outcome: Slot::new(),
    });
    let (rpc, user) = (opening.rpc, opening.user.as_deref());
    if let Some(spool) = &process.spool {
        let mut collector = Collector::of_spool(&spool.begin);
        let link = match spool.is_new {
            true => durable::begin(&process, spool, user, &*encode, &mut collector).await?,
            false => recovery::open(&process, &mut collector, 0).await?,
        };
        return Ok((process, link, collector));
    }
    let timeout_ms = (opening.timeout_ms > 0).then_some(opening.timeout_ms);
    let events = process.envd.open(&process.scope, &rpc, user, &*encode, timeout_ms).await?;
    let mut collector = Collector::new(events.encoding);
    let mut link = Link::only(events, process.scope.clone());
    recovery::first_event(&process, &mut link, &mut collector).await?;
    Ok((process, link, collector))
}

/// Reads the stream to its end and delivers what arrives. Goes on with another stream when the connection is lost and that
/// can help.
async fn pump(process: &Rc<Process>, mut link: Link, mut collector: Collector) -> Result<EndEvent, Failure> {
    process.tell_token().await?;
    loop {
        process.deliver(&mut collector).await?;
        if process.spool.is_some() {
            durable::acknowledge(process, collector.bound / 8);
        }
        if let Some(end) = collector.end.take() {
            collector.flush();
            process.deliver(&mut collector).await?;
            link.events.finish(TRAILER_MS);
            return Ok(end);
        }
        let progress = link.read(&process.scope, &mut collector).await;
        let failure = match progress {
            Ok(Progress::More) => continue,
            Ok(Progress::Done) if collector.end.is_some() => continue,
            Ok(Progress::Done) => Error::protocol(
                "The sandbox ended the stream without saying how the process ended. Look it up with commands.list()",
            )
            .into(),
            // The exit code is known: what went wrong after it does not matter any more.
            Err(_) if collector.end.is_some() => continue,
            Err(failure) => failure,
        };
        let failure = process.envd.explained::<()>(Err(failure), Some(link.events.context)).await.unwrap_err();
        // After an abort nothing more is delivered.
        if process.scope.ended().is_some() {
            return Err(failure);
        }
        process.deliver(&mut collector).await?;
        match recovery::listen_again(process, &mut collector, failure).await {
            Ok(next) => link = next,
            Err(failure) => {
                // What had arrived belongs to the caller, also when the rest is lost.
                if process.scope.ended().is_none() {
                    collector.flush();
                    process.deliver(&mut collector).await?;
                }
                return Err(failure);
            }
        }
    }
}

impl Process {
    async fn deliver(&self, collector: &mut Collector) -> Result<(), Failure> {
        if !collector.has_pieces() {
            return Ok(());
        }
        self.output.deliver(&self.scope, collector.take_pieces()).await?;
        self.tell_token().await
    }

    async fn tell_token(&self) -> Result<(), Failure> {
        if self.spool.is_none() {
            return Ok(());
        }
        self.output.tell_token(&self.scope, || durable::token_to_js(self)).await
    }

    /// Fixes the outcome and tells everyone who waits for it or reads.
    fn settle(&self, outcome: Result<EndEvent, Failure>) {
        self.output.finish(outcome.as_ref().map(|_| ()).map_err(Failure::clone));
        self.outcome.set(outcome);
    }

    /// Waits for the end. With `check`, a code other than 0 is a `CommandExitError`.
    pub(super) async fn wait(&self, check: bool) -> task::Outcome {
        let outcome = self.outcome.wait().await;
        let is_known = outcome.as_ref().map_or_else(|failure| failure.has_code(code::DEADLINE_EXCEEDED), |_| true);
        if let Some(spool) = &self.spool
            && is_known
        {
            spool.remove(&self.envd);
        }
        match outcome {
            Ok(end) => {
                let failed = check && end.exit_code != 0;
                let result = types::to_js(&self.result(end));
                if failed { Err(Failure::Thrown(host::create_exit_error(&result))) } else { Ok(result) }
            }
            Err(failure @ Failure::Thrown(_)) => Err(failure),
            Err(failure) => {
                let error = failure.into_js();
                // Setting a property of an error that was just made cannot fail.
                let _ = Reflect::set(&error, &"stdout".into(), &self.output.stdout());
                let _ = Reflect::set(&error, &"stderr".into(), &self.output.stderr());
                Err(Failure::Thrown(error))
            }
        }
    }

    fn result(&self, end: EndEvent) -> CommandResult {
        let signal = if end.exited { None } else { end.status.strip_prefix("signal: ").map(signal_name) };
        CommandResult {
            exit_code: end.exit_code,
            stdout: self.output.stdout(),
            stderr: self.output.stderr(),
            error: end.error,
            signal,
            truncated: self.output.is_truncated().then_some(true),
            gaps: Some(self.gaps.get()).filter(|gaps| *gaps > 0),
        }
    }

    /// A call about this process whose options hold nothing of their own.
    pub(super) fn call(&self, options: JsValue, owner: &'static str) -> Result<Call, Failure> {
        Call::start(options, owner, self.envd.request_timeout_ms)
    }

    /// The process, for calls about it.
    pub(super) fn selector(&self) -> Selector {
        Selector::Pid(self.pid.get())
    }

    /// Sends a signal to the command; false when it has ended.
    pub(super) async fn signal(&self, signal: Signal, call: &Call) -> Result<bool, Failure> {
        match &self.spool {
            Some(spool) => spool.signal(&self.envd, signal, call).await,
            None => input::signal(&self.envd, self.selector(), signal, call).await,
        }
    }

    /// Kills the command in the background.
    pub(super) fn kill_unattended(self: &Rc<Self>) {
        let process = self.clone();
        let kill = async move {
            let call = Call::unattended(CLEAN_UP_MS)?;
            process.signal(Signal::Kill, &call).await?;
            if let Some(spool) = &process.spool {
                spool.remove(&process.envd);
            }
            Ok(())
        };
        task::spawn(kill, |_| {});
    }

    /// Ends the process that reads a spool, in the background: nobody listens to it any more.
    fn end_reader(&self) {
        let Some(reader) = self.reader.take() else { return };
        let envd = self.envd.clone();
        let end = async move {
            let call = Call::unattended(CLEAN_UP_MS)?;
            input::signal(&envd, Selector::Pid(reader), Signal::Term, &call).await.map(|_| ())
        };
        task::spawn(end, |_| {});
    }
}

/// `killed` → `SIGKILL`; what is not a usual way to end stays as the sandbox says it.
fn signal_name(description: &str) -> String {
    let plain = description.trim_end_matches(" (core dumped)");
    let name = match plain {
        "killed" => "SIGKILL",
        "terminated" => "SIGTERM",
        "interrupt" => "SIGINT",
        "hangup" => "SIGHUP",
        "quit" => "SIGQUIT",
        "aborted" => "SIGABRT",
        "segmentation fault" => "SIGSEGV",
        "bus error" => "SIGBUS",
        "illegal instruction" => "SIGILL",
        "floating point exception" => "SIGFPE",
        "broken pipe" => "SIGPIPE",
        "alarm clock" => "SIGALRM",
        "trace/breakpoint trap" => "SIGTRAP",
        "CPU time limit exceeded" => "SIGXCPU",
        "file size limit exceeded" => "SIGXFSZ",
        other => other,
    };
    name.to_owned()
}
