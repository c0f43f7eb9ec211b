//! The bytes of an answer, chunk by chunk. Dropping a body that was not read to its end cancels it.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use js_sys::{Array, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::ReadableStream;

use super::host::ChunkReader;
use super::{Failure, Scope, host};
use crate::error::{Error, Kind, code};

/// A response body being read.
pub(crate) struct Body {
    /// None for an answer without a body, before it is opened, and once the end was reached.
    source: Option<Source>,
    /// Until something is read.
    response: Option<web_sys::Response>,
}

impl Drop for Body {
    fn drop(&mut self) {
        self.open();
    }
}

impl Body {
    pub(crate) fn new(stream: Option<ReadableStream>) -> Self {
        Body { source: stream.map(Source::new), response: None }
    }

    /// The body of a response of the host's own `fetch`, which ends it when the signal fires, however it is read.
    pub(crate) fn of_host(response: web_sys::Response) -> Self {
        Body { source: None, response: Some(response) }
    }

    /// The whole body as `"text"`, `"bytes"` or `"blob"`, put together by the host, which is the fastest way. None where only
    /// [`Body::next`] can read it.
    pub(crate) async fn whole(&mut self, format: &str, scope: &Scope) -> Result<Option<JsValue>, Failure> {
        let Some(response) = self.response.take() else { return Ok(None) };
        let whole = scope.run(JsFuture::from(host::whole(&response, format))).await?;
        whole.map(Some).map_err(lost)
    }

    /// The next chunk, or None at the end. `scope` may end the wait.
    pub(crate) async fn next(&mut self, scope: &Scope) -> Result<Option<Uint8Array>, Failure> {
        self.open();
        let Some(source) = &mut self.source else { return Ok(None) };
        match scope.run(source.next()).await? {
            Answer::Chunk(chunk) => Ok(Some(chunk)),
            Answer::End => {
                self.source = None;
                Ok(None)
            }
            Answer::Failure(cause) => {
                self.source = None;
                Err(lost(cause))
            }
        }
    }

    /// Reads what is left in the background and drops it, so that the connection can be used again; cancels it when that
    /// takes longer than `limit_ms`.
    pub(crate) fn finish(mut self, limit_ms: u32) {
        self.open();
        if let Some(source) = &self.source {
            source.reader.drain(limit_ms);
        }
    }

    /// From here on chunks are read.
    fn open(&mut self) {
        if let Some(response) = self.response.take() {
            self.source = response.body().map(Source::new);
        }
    }

    /// All remaining chunks, left in the host's memory.
    pub(crate) async fn chunks(mut self, scope: &Scope) -> Result<Array, Failure> {
        let chunks = Array::new();
        while let Some(chunk) = self.next(scope).await? {
            chunks.push(&chunk);
        }
        Ok(chunks)
    }

    /// All remaining bytes.
    pub(crate) async fn read_all(mut self, scope: &Scope) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        while let Some(chunk) = self.next(scope).await? {
            let start = bytes.len();
            bytes.resize(start + chunk.length() as usize, 0);
            chunk.copy_to(&mut bytes[start..]);
        }
        Ok(bytes)
    }
}

/// A stream that is read. All its chunks come through one callback: a future for each promise would cost two of them per
/// chunk, which is what a large download would mostly be busy with.
struct Source {
    reader: ChunkReader,
    /// From the first question on.
    answers: Option<Answers>,
}

struct Answers {
    state: Rc<RefCell<State>>,
    _callback: Closure<dyn FnMut(JsValue, bool)>,
}

#[derive(Default)]
struct State {
    /// Whether a chunk was asked for that has not been taken.
    asked: bool,
    answer: Option<Answer>,
    waker: Option<Waker>,
}

enum Answer {
    Chunk(Uint8Array),
    End,
    /// With what the host said.
    Failure(JsValue),
}

impl Source {
    fn new(stream: ReadableStream) -> Self {
        Source { reader: host::chunk_reader(&stream), answers: None }
    }

    /// Asks for a chunk, unless one that was asked for has not been taken, and waits for it.
    async fn next(&mut self) -> Answer {
        let reader = &self.reader;
        let state = &self.answers.get_or_insert_with(|| Answers::of(reader)).state;
        let is_new = !std::mem::replace(&mut state.borrow_mut().asked, true);
        if is_new {
            reader.ask();
        }
        poll_fn(|context| {
            let mut state = state.borrow_mut();
            match state.answer.take() {
                Some(answer) => {
                    state.asked = false;
                    Poll::Ready(answer)
                }
                None => {
                    state.waker = Some(context.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Answers {
    fn of(reader: &ChunkReader) -> Self {
        let state: Rc<RefCell<State>> = Rc::default();
        let told = state.clone();
        let callback = Closure::<dyn FnMut(JsValue, bool)>::new(move |value: JsValue, failed| {
            let mut state = told.borrow_mut();
            state.answer = Some(match value {
                cause if failed => Answer::Failure(cause),
                value if value.is_undefined() => Answer::End,
                chunk => Answer::Chunk(chunk.unchecked_into()),
            });
            // Waking only schedules.
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        });
        reader.listen(callback.as_ref().unchecked_ref());
        Answers { state, _callback: callback }
    }
}

impl Drop for Source {
    /// From here on nothing is told to the callback, which is gone.
    fn drop(&mut self) {
        self.reader.cancel();
    }
}

/// The connection broke while a body was being read.
fn lost(cause: JsValue) -> Failure {
    let error = Error::new(
        Kind::Connection,
        code::CONNECTION_LOST,
        "The connection to the sandbox was lost while its answer was being read. Check the network and try again",
    );
    Failure::with_cause(error.retryable(), cause)
}
