//! Durable commands: their output is spooled inside of the sandbox and read from there, so that it survives the connection,
//! the page and the isolate that started them. May touch the daemon's calls, and the shell scripts of `js/durable.js`.
//!
//! Everything is made of calls that every envd has. `Start` runs a spooler, a shell script that runs the command with its
//! output going to files, and that lives on when its stream is dropped. Another `Start` runs a reader, a script that writes
//! what the files hold from given bytes on, follows them as they grow, and ends with the exit code; what it writes is taken
//! apart by [`crate::protocol::spool`]. When a reader's connection breaks, the next reader continues behind the last byte that
//! arrived here, and replaces it.
//!
//! - Each stream is numbered from byte 0. Its order is exact; that between the two streams is only roughly kept.
//! - A position is *received* when a byte has arrived, which is where this handle's next reader begins, and *consumed* when the
//!   callbacks and loops that it was given to have come back, which is what a token says.
//! - A spool keeps the last `spoolBytes` of each stream, whether read or not, so that several readers and older tokens work.
//!   Readers are told now and then what was consumed. As long as one would lose something, the command is slowed down instead;
//!   one that has not come on for a minute no longer counts, whether its client is gone or only slow.
//! - After the end a spool is removed once `wait` has told it, or when nobody read it for `spoolExpiryMs`.
//! - A process id is the spooler's. Input to it reaches the command, and when it is killed, the command is ended, with SIGTERM
//!   first. `kill` of a handle goes to the command itself.
//! - The shell tells a death by SIGINT or SIGPIPE only as exit code 130 or 141.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::Promise;
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::call::Call;
use super::collector::Collector;
use super::command_opts::CommandAttachOpts;
use super::commands::Commands;
use super::envd::{Encode, Envd, Events, Progress};
use super::handle::CommandHandle;
use super::input;
use super::options::Options;
use super::output::Sinks;
use super::process::{CLEAN_UP_MS, OnAbort, Opening, Process, launch};
use super::recovery::{self, Link};
use super::types;
use crate::error::{Error, Kind, code};
use crate::protocol::process::{self, Input, Selector, Signal, StartRequest, Stream};
use crate::transport::{Failure, Scope, host, task};

/// How much of each stream a spool keeps unless the caller says otherwise, in bytes.
const SPOOL_BYTES: u64 = 64 * 1024 * 1024;

/// The least that is accepted: less would be dropped faster than a reader can be started.
const LEAST_SPOOL_BYTES: u64 = 64 * 1024;

/// How long a spool that nobody reads is kept after the end, in milliseconds.
const SPOOL_EXPIRY_MS: u64 = 3_600_000;

/// The largest number that a JavaScript number holds exactly.
const LARGEST: f64 = 9_007_199_254_740_991.0;

/// How far a stream was consumed.
#[derive(Debug, Clone, Default)]
pub(super) struct Mark {
    /// The number of bytes.
    pub(super) bytes: u64,
    /// The last of them, when they are the beginning of a character that was not complete.
    pub(super) held: Vec<u8>,
}

/// Where the output of a durable command is.
#[derive(Default)]
pub(super) struct Spool {
    id: String,
    /// Whom it belongs to; None: the sandbox's default user.
    user: Option<String>,
    /// The id of the latest reader, which the next one replaces.
    reader: RefCell<Option<String>>,
    /// How many bytes of both streams that reader knows to be consumed.
    acknowledged: Cell<u64>,
    is_acknowledging: Cell<bool>,
    /// Where the first reader begins.
    pub(super) begin: [Mark; 2],
    /// Whether its spooler has yet to be started.
    pub(super) is_new: bool,
}

/// Which output of a durable command was consumed: with it, `commands.attach` continues behind that, in this or any other
/// program that has access to the sandbox. Plain data that JSON can express; holds no secret.
///
/// With both numbers set to 0, `attach` begins with the oldest output, which is still there as long as the command has not
/// written more than `spoolBytes`.
#[derive(Tsify, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandToken {
    pub sandbox_id: String,
    pub spool_id: String,
    /// The user that the command runs as, when it is not the sandbox's default user.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub user: Option<String>,
    /// How many bytes of standard output were consumed.
    pub stdout: f64,
    /// How many bytes of standard error were consumed.
    pub stderr: f64,
    /// The bytes, in hexadecimal, that standard output was cut behind in the middle of a character.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[tsify(optional)]
    pub stdout_held: String,
    /// The same for standard error.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[tsify(optional)]
    pub stderr_held: String,
}

impl Spool {
    /// A new spool, and the request that starts its spooler in front of the command in `message`.
    pub(super) fn new(
        options: &Options,
        user: Option<String>,
        limit_ms: u64,
        message: &mut StartRequest,
    ) -> Result<Spool, Error> {
        let bytes = options.whole("spoolBytes", 1)?.unwrap_or(SPOOL_BYTES);
        if bytes < LEAST_SPOOL_BYTES {
            return Err(Error::invalid_argument(format!(
                "Option spoolBytes of commands.run must be {LEAST_SPOOL_BYTES} or more"
            )));
        }
        let expiry_ms = options.whole("spoolExpiryMs", 1)?.unwrap_or(SPOOL_EXPIRY_MS);
        let id = host::new_id();
        let mut args = host::spooler(&id, bytes as f64, limit_ms as f64, expiry_ms as f64);
        args.push(std::mem::replace(&mut message.cmd, SHELL.to_owned()));
        args.append(&mut message.args);
        message.args = args;
        Ok(Spool { id, user, begin: Default::default(), is_new: true, ..Spool::default() })
    }

    /// The spool that a token is about, and how far that token has come.
    fn from_token(token: JsValue, sandbox_id: &str) -> Result<Spool, Error> {
        let token = Options::new(token, "commands.attach")?;
        let required = |name: &str| token.string(name)?.ok_or_else(|| wrong(name, "is missing"));
        let owner = required("sandboxId")?;
        if owner != sandbox_id {
            return Err(wrong("sandboxId", &format!("is {owner}, and this is the sandbox {sandbox_id}")));
        }
        let id = required("spoolId")?;
        if !host::is_id(&id) {
            return Err(wrong("spoolId", "is not one that this package has made"));
        }
        let begin = [read_mark(&token, "stdout", "stdoutHeld")?, read_mark(&token, "stderr", "stderrHeld")?];
        Ok(Spool { id, user: token.string("user")?, begin, ..Spool::default() })
    }

    /// Starts the spooler and waits until it is ready to be read; answers its process id. Its stream is not needed after that.
    async fn start(&self, envd: &Envd, user: Option<&str>, encode: Encode<'_>, scope: &Scope) -> Result<u32, Failure> {
        let mut events = envd.open(scope, &process::START, user, encode, None).await?;
        let mut collector = Collector::new(events.encoding);
        loop {
            let progress = events.read(scope, &mut |payload| collector.take(payload)).await;
            let progress = envd.explained(progress, Some(events.context)).await?;
            if collector.bytes_of(Stream::Stdout).ends_with(b"\n") {
                return Ok(collector.pid.unwrap_or_default());
            }
            if collector.end.is_some() || matches!(progress, Progress::Done) {
                let words = collector.bytes_of(Stream::Stderr);
                return Err(cannot_spool(&String::from_utf8_lossy(&words)).into());
            }
        }
    }

    /// Opens the stream of a reader that begins behind the received bytes.
    pub(super) async fn open(&self, envd: &Envd, scope: &Scope, received: [u64; 2]) -> Result<Events, Failure> {
        let own = host::new_id();
        let old = self.reader.replace(Some(own.clone()));
        self.acknowledged.set(received.iter().sum());
        let [stdout, stderr] = received.map(|bytes| bytes as f64);
        let args = host::reader(&self.id, &own, old.as_deref(), stdout, stderr);
        self.run(envd, scope, args, true).await
    }

    /// Signals the command; false when it has ended.
    pub(super) async fn signal(&self, envd: &Envd, signal: Signal, call: &Call) -> Result<bool, Failure> {
        let number = match signal {
            Signal::Kill => 9,
            Signal::Term => 15,
        };
        self.complete(envd, call, host::killer(&self.id, number)).await
    }

    /// Removes the spool in the background. It would also go by itself, only later, so that a failure does not matter.
    pub(super) fn remove(self: &Rc<Self>, envd: &Rc<Envd>) {
        let (spool, envd) = (self.clone(), envd.clone());
        let removal = async move {
            let call = Call::unattended(CLEAN_UP_MS)?;
            spool.complete(&envd, &call, host::remover(&spool.id)).await.map(|_| ())
        };
        task::spawn(removal, |_| {});
    }

    /// Runs a script to its end; whether it exited with 0.
    async fn complete(&self, envd: &Envd, call: &Call, args: Vec<String>) -> Result<bool, Failure> {
        let mut events = self.run(envd, &call.scope, args, false).await?;
        let mut collector = Collector::new(events.encoding);
        while collector.end.is_none() {
            let progress = events.read(&call.scope, &mut |payload| collector.take(payload)).await;
            if matches!(envd.explained(progress, Some(events.context)).await?, Progress::Done) {
                break;
            }
        }
        Ok(collector.end.is_some_and(|end| end.exited && end.exit_code == 0))
    }

    async fn run(&self, envd: &Envd, scope: &Scope, args: Vec<String>, stdin: bool) -> Result<Events, Failure> {
        let message = StartRequest { cmd: SHELL.to_owned(), args, stdin: Some(stdin), ..StartRequest::default() };
        let encode = |encoding| message.encode(encoding);
        envd.open(scope, &process::START, self.user.as_deref(), &encode, None).await
    }
}

/// Starts the spooler and the first reader. From the first request on the command may run, so that it is killed when something
/// else fails than what a lost connection explains.
pub(super) async fn begin(
    process: &Rc<Process>,
    spool: &Spool,
    user: Option<&str>,
    encode: Encode<'_>,
    collector: &mut Collector,
) -> Result<Link, Failure> {
    let begun = async {
        process.pid.set(spool.start(&process.envd, user, encode, &process.scope).await?);
        match recovery::open(process, collector, 0).await {
            Err(failure) => recovery::listen_again(process, collector, failure).await,
            opened => opened,
        }
    };
    begun.await.inspect_err(|_| process.kill_unattended())
}

const SHELL: &str = "/bin/sh";

/// What programs say about a disk without room.
const FULL: &[u8] = b"No space left";

fn cannot_spool(words: &str) -> Error {
    if words.as_bytes().windows(FULL.len()).any(|part| part == FULL) {
        return Error::new(
            Kind::NotEnoughSpace,
            code::NOT_ENOUGH_SPACE,
            "The disk of the sandbox is full, so that the output of a durable command cannot be kept. Make room in /tmp",
        );
    }
    Error::new(
        Kind::Sandbox,
        code::SPOOL_FAILED,
        format!("The sandbox cannot spool output, which needs a writable /tmp and mkfifo: {}", words.trim()),
    )
}

fn wrong(name: &str, what: &str) -> Error {
    Error::invalid_argument(format!(
        "{name} of the token of commands.attach {what}. Use the token of a durable command"
    ))
}

fn read_mark(token: &Options, name: &str, held_name: &str) -> Result<Mark, Error> {
    let number = token.get(name).and_then(|value| value.as_f64()).filter(|bytes| (0.0..=LARGEST).contains(bytes));
    let Some(number) = number.filter(|bytes| bytes.fract() == 0.0) else {
        return Err(wrong(name, "must be a number of bytes"));
    };
    let hex = token.string(held_name)?.unwrap_or_default();
    let held: Option<Vec<u8>> =
        hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    match held {
        Some(held) if held.len() <= 3 && held.len() as f64 <= number => Ok(Mark { bytes: number as u64, held }),
        _ => Err(wrong(held_name, "must be at most three bytes in hexadecimal")),
    }
}

/// Tells the reader in the background how far output was consumed, when that is `step` bytes more than it knows. If that fails
/// the next reader will know.
pub(super) fn acknowledge(process: &Rc<Process>, step: u64) {
    let due = move |process: &Process| {
        let marks = process.output.consumed();
        let spool = process.spool.as_ref()?;
        let total = marks[0].bytes + marks[1].bytes;
        (total >= spool.acknowledged.get() + step).then(|| (spool.clone(), process.reader.get(), marks, total))
    };
    match due(process) {
        Some((spool, ..)) if !spool.is_acknowledging.replace(true) => {}
        _ => return,
    }
    let process = process.clone();
    let telling = async move {
        // More may have been consumed while one line was under way, and the command may wait for exactly that.
        while let Some((spool, Some(reader), [stdout, stderr], total)) = due(&process) {
            let call = Call::unattended(CLEAN_UP_MS)?;
            let line = format!("{} {}\n", stdout.bytes, stderr.bytes);
            let sent = input::send(&process.envd, Selector::Pid(reader), Input::Stdin(line.as_bytes()), &call).await;
            if sent.is_err() {
                break;
            }
            spool.acknowledged.set(spool.acknowledged.get().max(total));
        }
        process.spool.as_ref().inspect(|spool| spool.is_acknowledging.set(false));
        Ok(())
    };
    task::spawn(telling, |_| {});
}

impl Process {
    /// How far the output of a durable command was consumed; None for other commands.
    pub(super) fn token(&self) -> Option<CommandToken> {
        let spool = self.spool.as_ref()?;
        let [stdout, stderr] = &self.output.consumed();
        let hex = |mark: &Mark| mark.held.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(CommandToken {
            sandbox_id: self.envd.sandbox_id.clone(),
            spool_id: spool.id.clone(),
            user: spool.user.clone(),
            stdout: stdout.bytes as f64,
            stderr: stderr.bytes as f64,
            stdout_held: hex(stdout),
            stderr_held: hex(stderr),
        })
    }
}

#[wasm_bindgen]
impl Commands {
    /// Continues to listen to a durable command exactly behind what its token says was consumed, also after its end.
    ///
    /// Rejects with an `InvalidArgumentError` for a token of another sandbox or of another shape, with a `NotFoundError` when
    /// the spool has been removed, and, now or in `wait()`, with a `SandboxError` of code `spool_overrun` when output was
    /// wanted that is no longer kept.
    #[wasm_bindgen(unchecked_return_type = "Promise<CommandHandle>")]
    pub fn attach(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CommandToken")] token: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "CommandAttachOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.envd();
        task::promise(async move {
            let spool = Spool::from_token(token, &envd.sandbox_id)?;
            let options = Options::new(opts, "commands.attach")?;
            let opts = CommandAttachOpts::read(&options)?;
            let opening = Opening {
                rpc: process::START,
                user: None,
                encode: Box::new(|_| Vec::new()),
                timeout_ms: 0,
                on_abort: OnAbort::Leave,
                is_pty: false,
                spool: Some(Rc::new(spool)),
                recovery: opts.reconnect,
            };
            let sinks = Sinks { token: opts.on_token, ..opts.output.into_sinks() };
            let process = launch(envd, opening, sinks, opts.request).await?;
            Ok(CommandHandle::new(process, opts.check.unwrap_or(true)).into())
        })
    }
}

/// `token` as a plain object.
pub(super) fn token_to_js(process: &Process) -> JsValue {
    process.token().map_or(JsValue::UNDEFINED, |token| types::to_js(&token))
}
