//! A value that is set once and awaited by any number of tasks.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// Cheap to clone; all clones are the same slot.
pub(crate) struct Slot<T>(Rc<RefCell<State<T>>>);

enum State<T> {
    Empty(Vec<Waker>),
    Full(T),
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Slot(self.0.clone())
    }
}

impl<T: Clone> Slot<T> {
    pub(crate) fn new() -> Self {
        Slot(Rc::new(RefCell::new(State::Empty(Vec::new()))))
    }

    /// Sets the value and wakes everyone who waits. Only the first value counts.
    pub(crate) fn set(&self, value: T) {
        let mut state = self.0.borrow_mut();
        let State::Empty(wakers) = &mut *state else { return };
        let wakers = std::mem::take(wakers);
        *state = State::Full(value);
        drop(state);
        for waker in wakers {
            waker.wake();
        }
    }

    /// The value, if it has been set.
    pub(crate) fn get(&self) -> Option<T> {
        match &*self.0.borrow() {
            State::Full(value) => Some(value.clone()),
            State::Empty(_) => None,
        }
    }

    /// Waits until the value is set.
    pub(crate) async fn wait(&self) -> T {
        poll_fn(|context| match &mut *self.0.borrow_mut() {
            State::Full(value) => Poll::Ready(value.clone()),
            State::Empty(wakers) => {
                if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                    wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        })
        .await
    }
}
