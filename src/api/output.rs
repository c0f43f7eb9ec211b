//! Where the output of a process goes: kept text, callbacks, readers.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::vec::Drain;

use js_sys::{Function, JsString, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::collector::Piece;
use super::durable::Mark;
use crate::protocol::process::Stream;
use crate::transport::{Channel, Failure, Scope, host};

/// How many pieces may wait for a reader before the process is slowed down.
const READER_CAPACITY: usize = 64;

/// Who is told about output, and how much of it is kept.
#[derive(Default)]
pub(super) struct Sinks {
    pub(super) stdout: Option<Function>,
    pub(super) stderr: Option<Function>,
    pub(super) stdout_bytes: Option<Function>,
    pub(super) stderr_bytes: Option<Function>,
    pub(super) pty: Option<Function>,
    /// Told the token of a durable command.
    pub(super) token: Option<Function>,
    /// How many of the latest UTF-16 units of each stream are kept; None: all.
    pub(super) limit: Option<u32>,
}

/// The output of one process.
pub(super) struct Output {
    sinks: Sinks,
    stdout: Kept,
    stderr: Kept,
    readers: RefCell<Vec<Channel>>,
    /// Of a terminal without a callback: what came before its first reader, which would otherwise be lost. None once there
    /// was one, and for everything else.
    early: RefCell<Option<VecDeque<JsValue>>>,
    finished: RefCell<Option<Result<(), Failure>>>,
    /// How much of standard output and error was consumed, apart from what is in `backlog`.
    consumed: RefCell<[Mark; 2]>,
    /// Where the output of a durable command began.
    begin: [Mark; 2],
    /// The readers of a durable command that have yet to see what had come before them.
    backlog: RefCell<Vec<Channel>>,
    /// Whether a piece counts as dealt with only when each reader has come back for the next.
    is_acknowledged: bool,
}

impl Output {
    pub(super) fn new(sinks: Sinks, is_pty: bool) -> Self {
        let limit = sinks.limit;
        let early = is_pty && sinks.pty.is_none();
        Output {
            sinks,
            stdout: Kept::new(limit),
            stderr: Kept::new(limit),
            readers: RefCell::default(),
            early: RefCell::new(early.then(VecDeque::new)),
            finished: RefCell::default(),
            consumed: RefCell::default(),
            begin: Default::default(),
            backlog: RefCell::default(),
            is_acknowledged: false,
        }
    }

    /// Of a durable command: what is consumed is told to its token, so it must be exact.
    pub(super) fn of_spool(sinks: Sinks, begin: &[Mark; 2]) -> Self {
        let output = Output::new(sinks, false);
        Output { consumed: RefCell::new(begin.clone()), begin: begin.clone(), is_acknowledged: true, ..output }
    }

    /// Tells who wants to know it the token that `make` makes.
    pub(super) async fn tell_token(&self, scope: &Scope, make: impl FnOnce() -> JsValue) -> Result<(), Failure> {
        if self.sinks.token.is_some() { call(scope, &self.sinks.token, &make()).await } else { Ok(()) }
    }

    /// How much of standard output and error everybody has dealt with.
    pub(super) fn consumed(&self) -> [Mark; 2] {
        self.forget_backlog();
        if self.backlog.borrow().is_empty() { self.consumed.borrow().clone() } else { self.begin.clone() }
    }

    fn forget_backlog(&self) {
        self.backlog.borrow_mut().retain(|reader| !reader.is_drained());
    }

    /// Standard output, as far as it is kept.
    pub(super) fn stdout(&self) -> JsString {
        self.stdout.text()
    }

    /// Standard error, as far as it is kept.
    pub(super) fn stderr(&self) -> JsString {
        self.stderr.text()
    }

    /// Whether some of it was not kept.
    pub(super) fn is_truncated(&self) -> bool {
        self.stdout.truncated.get() || self.stderr.truncated.get()
    }

    /// Hands `pieces` to everybody, one at a time and in order; waits for callbacks and for slow readers.
    pub(super) async fn deliver(&self, scope: &Scope, pieces: Drain<'_, Piece>) -> Result<(), Failure> {
        for piece in pieces {
            let (text_callback, bytes_callback) = match piece.stream {
                Stream::Stdout => (&self.sinks.stdout, &self.sinks.stdout_bytes),
                Stream::Stderr => (&self.sinks.stderr, &self.sinks.stderr_bytes),
                Stream::Pty => (&None, &self.sinks.pty),
            };
            if !piece.text().is_empty() {
                let text = host::to_text(piece.text());
                match piece.stream {
                    Stream::Stderr => self.stderr.add(&text),
                    Stream::Stdout | Stream::Pty => self.stdout.add(&text),
                }
                self.send(scope, piece.stream, &text).await?;
                call(scope, text_callback, &text).await?;
            }
            if !piece.bytes.is_empty() && (piece.stream == Stream::Pty || bytes_callback.is_some()) {
                let bytes = Uint8Array::from(piece.bytes.as_slice());
                if piece.stream == Stream::Pty {
                    self.send(scope, piece.stream, &bytes).await?;
                }
                call(scope, bytes_callback, &bytes).await?;
            }
            let mut consumed = self.consumed.borrow_mut();
            let mark = &mut consumed[usize::from(piece.stream == Stream::Stderr)];
            mark.bytes += piece.bytes.len() as u64;
            mark.held = piece.held;
        }
        Ok(())
    }

    /// A reader of everything from now on. What is kept comes first: as one piece of each stream, or, for the first reader of
    /// a terminal without a callback, as it came.
    pub(super) fn subscribe(&self) -> Channel {
        let channel = Channel::new(READER_CAPACITY);
        for (stream, text) in [(Stream::Stdout, self.stdout()), (Stream::Stderr, self.stderr())] {
            if text.length() > 0 {
                channel.push(chunk(stream, &text));
            }
        }
        if self.is_acknowledged {
            self.backlog.borrow_mut().push(channel.clone());
        }
        for piece in self.early.take().into_iter().flatten() {
            channel.push(piece);
        }
        match &*self.finished.borrow() {
            Some(result) => channel.finish(result.clone()),
            None => self.readers.borrow_mut().push(channel.clone()),
        }
        channel
    }

    /// Ends all readers.
    pub(super) fn finish(&self, result: Result<(), Failure>) {
        for reader in self.readers.take() {
            reader.finish(result.clone());
        }
        *self.finished.borrow_mut() = Some(result);
    }

    async fn send(&self, scope: &Scope, stream: Stream, data: &JsValue) -> Result<(), Failure> {
        self.readers.borrow_mut().retain(|reader| !reader.is_closed());
        let readers = self.readers.borrow().clone();
        if readers.is_empty() {
            if let Some(early) = &mut *self.early.borrow_mut() {
                early.push_back(chunk(stream, data));
                if early.len() > READER_CAPACITY {
                    early.pop_front();
                }
            }
            return Ok(());
        }
        // Before a reader gets something new.
        self.forget_backlog();
        let chunk = chunk(stream, data);
        for reader in readers {
            scope.run(reader.ready()).await?;
            reader.push(chunk.clone());
            if self.is_acknowledged {
                scope.run(reader.drained()).await?;
            }
        }
        Ok(())
    }
}

/// Calls `callback` and waits for what it answers. What it throws is passed on as it is.
pub(super) async fn call(scope: &Scope, callback: &Option<Function>, argument: &JsValue) -> Result<(), Failure> {
    let Some(callback) = callback else { return Ok(()) };
    let answer = callback.call1(&JsValue::UNDEFINED, argument).map_err(Failure::Thrown)?;
    // Most callbacks answer nothing, and waiting for nothing would cost a turn of the event loop each time.
    if is_thenable(&answer) {
        let awaited = scope.run(JsFuture::from(Promise::resolve(&answer))).await?;
        awaited.map_err(Failure::Thrown)?;
    }
    match scope.ended() {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

fn is_thenable(value: &JsValue) -> bool {
    value.is_object() && Reflect::get(value, &"then".into()).is_ok_and(|then| then.is_function())
}

/// An `OutputChunk`.
fn chunk(stream: Stream, data: &JsValue) -> JsValue {
    let name = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
        Stream::Pty => "pty",
    };
    let chunk = Object::new();
    // Setting a property of a fresh plain object cannot fail.
    let _ = Reflect::set(&chunk, &"type".into(), &name.into());
    let _ = Reflect::set(&chunk, &"data".into(), data);
    chunk.into()
}

/// Text that is kept, up to a limit.
struct Kept {
    text: RefCell<JsString>,
    limit: Option<u32>,
    truncated: Cell<bool>,
}

impl Kept {
    fn new(limit: Option<u32>) -> Self {
        Kept { text: RefCell::new(JsString::from("")), limit, truncated: Cell::new(false) }
    }

    fn add(&self, more: &JsString) {
        let mut joined = self.text.borrow().concat(more);
        if let Some(limit) = self.limit {
            if joined.length() > limit {
                self.truncated.set(true);
            }
            // Cutting only now and then keeps the cost linear.
            if joined.length() > limit.saturating_mul(2) {
                joined = tail(&joined, limit);
            }
        }
        self.text.replace(joined);
    }

    fn text(&self) -> JsString {
        let text = self.text.borrow();
        match self.limit {
            Some(limit) => tail(&text, limit),
            None => text.clone(),
        }
    }
}

/// The last `limit` units of `text`.
fn tail(text: &JsString, limit: u32) -> JsString {
    let length = text.length();
    if length <= limit { text.clone() } else { text.slice(length - limit, length) }
}
