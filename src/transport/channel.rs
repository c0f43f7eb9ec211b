//! A bounded queue from one task to one reader. A full queue makes the writer wait, so a slow reader slows the source and
//! memory stays bounded.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use wasm_bindgen::JsValue;

use super::Failure;

/// Cheap to clone; all clones are the same channel.
#[derive(Clone)]
pub(crate) struct Channel(Rc<RefCell<State>>);

struct State {
    queue: VecDeque<JsValue>,
    capacity: usize,
    /// How the source ended. What is queued is still read first.
    finished: Option<Result<(), Failure>>,
    /// Whether the reader has come back for more after it took everything.
    drained: bool,
    /// Whether the reader has left: what is sent is dropped.
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Channel {
    pub(crate) fn new(capacity: usize) -> Self {
        Channel(Rc::new(RefCell::new(State {
            queue: VecDeque::new(),
            capacity,
            finished: None,
            drained: false,
            closed: false,
            reader: None,
            writer: None,
        })))
    }

    /// Queues `value`, also beyond the capacity.
    pub(crate) fn push(&self, value: JsValue) {
        let mut state = self.0.borrow_mut();
        if state.closed {
            return;
        }
        state.queue.push_back(value);
        state.drained = false;
        wake(state.reader.take());
    }

    /// Waits until there is room, or nobody reads any more.
    pub(crate) async fn ready(&self) {
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            if state.closed || state.queue.len() < state.capacity {
                return Poll::Ready(());
            }
            state.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Whether the reader has taken everything and come back for more, or has left.
    pub(crate) fn is_drained(&self) -> bool {
        let state = self.0.borrow();
        state.closed || state.drained
    }

    /// Waits until [`Channel::is_drained`].
    pub(crate) async fn drained(&self) {
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            if state.closed || state.drained {
                return Poll::Ready(());
            }
            state.writer = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Ends the channel for its reader, after what is queued.
    pub(crate) fn finish(&self, result: Result<(), Failure>) {
        let mut state = self.0.borrow_mut();
        state.finished.get_or_insert(result);
        wake(state.reader.take());
    }

    /// The next value; None at the end. A failure is told once.
    pub(crate) async fn next(&self) -> Result<Option<JsValue>, Failure> {
        poll_fn(|context| {
            let mut state = self.0.borrow_mut();
            if let Some(value) = state.queue.pop_front() {
                wake(state.writer.take());
                return Poll::Ready(Ok(Some(value)));
            }
            state.drained = true;
            if let Some(result) = &mut state.finished {
                return Poll::Ready(std::mem::replace(result, Ok(())).map(|()| None));
            }
            if state.closed {
                return Poll::Ready(Ok(None));
            }
            state.reader = Some(context.waker().clone());
            wake(state.writer.take());
            Poll::Pending
        })
        .await
    }

    /// The reader leaves.
    pub(crate) fn close(&self) {
        let mut state = self.0.borrow_mut();
        state.closed = true;
        state.queue.clear();
        wake(state.writer.take());
        wake(state.reader.take());
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.borrow().closed
    }
}

/// Waking only schedules: it never runs the task inside of the caller's borrow.
fn wake(waker: Option<Waker>) {
    if let Some(waker) = waker {
        waker.wake();
    }
}
