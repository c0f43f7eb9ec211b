//! Ends an operation early: the caller's `AbortSignal` and the operation's clocks come together here and nowhere else.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::{Poll, Waker};

use wasm_bindgen::prelude::*;
use web_sys::{AbortController, AbortSignal};

use super::timer::{Alarm, Timer};
use super::{Failure, Slot};
use crate::error::{Error, Kind, code};

/// The clocks that can end an operation. They are never mixed: each has its own option and its own error code.
/// All values are milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// `requestTimeoutMs`: a whole unary call, or the set-up of a stream.
    Request(u64),
    /// `streamIdleTimeoutMs`: no bytes arrived for this long.
    Idle(u64),
    /// `timeoutMs` of a command. The server has the same clock and fires first; this one covers for a lost answer.
    Lifetime(u64),
    /// `timeoutMs` of a run of code. Nobody else has it: when it fires, the connection is closed, which interrupts the code.
    Execution(u64),
}

impl Clock {
    fn error(self) -> Error {
        let (code, message) = match self {
            Clock::Request(ms) => (
                code::REQUEST_TIMEOUT,
                format!(
                    "The server did not answer within {ms} ms (requestTimeoutMs). Raise requestTimeoutMs, or pass 0 to wait without a limit"
                ),
            ),
            Clock::Idle(ms) => (
                code::IDLE_TIMEOUT,
                format!(
                    "No data arrived for {ms} ms (streamIdleTimeoutMs). Raise streamIdleTimeoutMs, or pass 0 to wait without a limit"
                ),
            ),
            Clock::Lifetime(ms) => (
                code::COMMAND_TIMEOUT,
                format!(
                    "The command ran longer than {ms} ms (timeoutMs) and the sandbox did not report its end. Raise timeoutMs, or pass 0 for no limit"
                ),
            ),
            Clock::Execution(ms) => (
                code::EXECUTION_TIMEOUT,
                format!(
                    "The code ran longer than {ms} ms (timeoutMs) and was interrupted. Raise timeoutMs, or pass 0 for no limit"
                ),
            ),
        };
        Error::new(Kind::Timeout, code, message).retryable()
    }

    /// How long until it fires; None: never.
    fn duration_ms(self) -> Option<u64> {
        match self {
            Clock::Request(0) | Clock::Idle(0) | Clock::Lifetime(0) | Clock::Execution(0) => None,
            Clock::Request(ms) | Clock::Idle(ms) | Clock::Execution(ms) => Some(ms),
            // The server kills the process at `ms` and says so; only when that message is lost is this clock needed.
            Clock::Lifetime(ms) => Some(ms.saturating_add(LIFETIME_GRACE_MS)),
        }
    }
}

/// How much later than the server the local copy of the command's lifetime clock fires.
const LIFETIME_GRACE_MS: u64 = 5_000;

/// One operation's way to end early. Cheap to clone; all clones are the same scope.
///
/// Contract: create one per operation, give [`Scope::signal`] to every `fetch` of it, and wait for the host only through
/// [`Scope::run`], which returns at once when the scope has ended, even if the host ignores the signal.
#[derive(Clone)]
pub(crate) struct Scope(Rc<Inner>);

struct Inner {
    controller: AbortController,
    ended: RefCell<Option<Failure>>,
    wakers: RefCell<Vec<Waker>>,
    caller: RefCell<Option<Listener>>,
}

/// The listener on the caller's signal, removed on drop so that a long-lived signal does not collect dead operations.
struct Listener {
    signal: AbortSignal,
    callback: Closure<dyn FnMut()>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = self.signal.remove_event_listener_with_callback("abort", self.callback.as_ref().unchecked_ref());
    }
}

impl Scope {
    /// A scope that only its clocks can end, until [`Scope::listen`] binds it to a caller's signal.
    pub(crate) fn new() -> Result<Scope, Failure> {
        let controller = AbortController::new().map_err(Failure::Thrown)?;
        Ok(Scope(Rc::new(Inner {
            controller,
            ended: RefCell::new(None),
            wakers: RefCell::default(),
            caller: RefCell::new(None),
        })))
    }

    /// A scope bound to the caller's signal. Fails with the signal's reason when it has fired already.
    pub(crate) fn of(signal: Option<&AbortSignal>) -> Result<Scope, Failure> {
        let scope = Scope::new()?;
        if let Some(signal) = signal {
            scope.listen(signal)?;
        }
        Ok(scope)
    }

    /// Binds the scope to the caller's signal. Fails with the signal's reason when it has fired already.
    pub(crate) fn listen(&self, signal: &AbortSignal) -> Result<(), Failure> {
        if signal.aborted() {
            return Err(Failure::Thrown(signal.reason()));
        }
        let weak = Rc::downgrade(&self.0);
        let source = signal.clone();
        let callback = Closure::<dyn FnMut()>::new(move || end(&weak, Failure::Thrown(source.reason())));
        signal.add_event_listener_with_callback("abort", callback.as_ref().unchecked_ref()).map_err(Failure::Thrown)?;
        *self.0.caller.borrow_mut() = Some(Listener { signal: signal.clone(), callback });
        Ok(())
    }

    /// The signal to hand to the host.
    pub(crate) fn signal(&self) -> AbortSignal {
        self.0.controller.signal()
    }

    /// Starts a clock that ends the scope when it fires; dropping the answer stops it. A duration of 0 never fires.
    pub(crate) fn arm(&self, clock: Clock) -> Option<Timer> {
        let duration_ms = clock.duration_ms()?;
        let weak = Rc::downgrade(&self.0);
        Some(Timer::after(duration_ms, move || end(&weak, clock.error().into())))
    }

    /// A clock for many waits, each of which starts and stops it. A duration of 0 needs none.
    pub(crate) fn alarm(&self, clock: Clock) -> Option<Alarm> {
        let duration_ms = clock.duration_ms()?;
        let weak = Rc::downgrade(&self.0);
        Some(Alarm::new(duration_ms, move || end(&weak, clock.error().into())))
    }

    /// Ends the scope with `failure`, unless it has ended before.
    pub(crate) fn end(&self, failure: Failure) {
        end(&Rc::downgrade(&self.0), failure);
    }

    /// What ended the scope, if anything has.
    pub(crate) fn ended(&self) -> Option<Failure> {
        self.0.ended.borrow().clone()
    }

    /// Waits for so many milliseconds, but not beyond the end of the scope.
    pub(crate) async fn pause(&self, ms: u64) -> Result<(), Failure> {
        let done: Slot<()> = Slot::new();
        let fired = done.clone();
        let _timer = Timer::after(ms, move || fired.set(()));
        self.run(done.wait()).await
    }

    /// Waits for `future`, but not beyond the end of the scope.
    pub(crate) async fn run<T>(&self, future: impl Future<Output = T>) -> Result<T, Failure> {
        let mut future = pin!(future);
        // A task waits in one `run` at a time, so registering once and refreshing the waker in place is enough.
        let slot = Cell::new(None);
        poll_fn(|context| {
            if let Some(failure) = self.ended() {
                return Poll::Ready(Err(failure));
            }
            let polled = future.as_mut().poll(context);
            let mut wakers = self.0.wakers.borrow_mut();
            if let Poll::Ready(value) = polled {
                // A scope may live for as many waits as a stream has chunks. Those that wait now stand before this one.
                if slot.get().is_some_and(|index| index + 1 == wakers.len()) {
                    wakers.pop();
                }
                return Poll::Ready(Ok(value));
            }
            match slot.get().and_then(|index: usize| wakers.get_mut(index)) {
                Some(waker) => waker.clone_from(context.waker()),
                None => {
                    slot.set(Some(wakers.len()));
                    wakers.push(context.waker().clone());
                }
            }
            Poll::Pending
        })
        .await
    }
}

fn end(inner: &Weak<Inner>, failure: Failure) {
    let Some(inner) = inner.upgrade() else { return };
    if inner.ended.borrow().is_some() {
        return;
    }
    let reason = match &failure {
        Failure::Thrown(reason) => reason.clone(),
        Failure::Error { error, .. } => JsValue::from_str(&error.message),
    };
    // The outcome is fixed before the host is told, because its listeners run inside of `abort`.
    *inner.ended.borrow_mut() = Some(failure);
    inner.controller.abort_with_reason(&reason);
    let wakers = inner.wakers.take();
    for waker in wakers {
        waker.wake();
    }
}
