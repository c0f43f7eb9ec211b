//! The answer of a run: events in order, and whether it was complete.

use super::event::{Event, is_complete};
use super::lines::Lines;
use crate::error::{Error, Kind, code};

/// Reads the body of an answer to `/execute`.
///
/// Feed it with [`push_with`](Self::push_with), then call [`next`](Self::next) until it returns `None`. When the body is
/// over, [`close`](Self::close) it, call `next` again, and ask [`finish`](Self::finish) whether the answer was complete.
/// [`Event::End`] is the last event: what follows it is ignored.
#[derive(Debug, Default)]
pub struct Answer {
    lines: Lines,
    ended: bool,
}

impl Answer {
    /// An answer whose lines have at most `max` bytes.
    pub fn with_max_line(max: usize) -> Self {
        Answer { lines: Lines::with_max_line(max), ended: false }
    }

    /// Appends a network chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.push_with(chunk.len(), |buffer| buffer.copy_from_slice(chunk));
    }

    /// Appends a network chunk of `len` bytes that `fill` writes.
    pub fn push_with(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) {
        if !self.ended {
            self.lines.push_with(len, fill);
        }
    }

    /// The body is over.
    pub fn close(&mut self) {
        self.lines.close();
    }

    /// Whether the end marker was read.
    pub fn is_ended(&self) -> bool {
        self.ended
    }

    /// The next event, or `None` until more bytes are pushed.
    ///
    /// # Errors
    /// `protocol_error` for a line that is no event (a result is only looked into when it is decoded), `message_too_large`, and `stream_truncated` for a line that the end of
    /// the body cut, or when the server says itself that it lost the kernel.
    #[allow(clippy::should_implement_trait)] // An iterator cannot lend from its own buffer.
    pub fn next(&mut self) -> Result<Option<Event<'_>>, Error> {
        if self.ended {
            return Ok(None);
        }
        let Some(line) = self.lines.next()? else { return Ok(None) };
        if !line.is_terminated && !is_complete(line.text) {
            return Err(cut());
        }
        match Event::decode(line.text) {
            Ok(Event::UnexpectedEnd) => Err(truncated("The code interpreter lost its kernel in the middle of the run")),
            Ok(event) => {
                self.ended = event == Event::End;
                Ok(Some(event))
            }
            Err(error) => Err(error),
        }
    }

    /// To be called when the body is over and `next` has returned `None`.
    ///
    /// # Errors
    /// `stream_truncated` when the end marker never came. The code may still be running, or may have been interrupted.
    pub fn finish(&self) -> Result<(), Error> {
        if self.ended { Ok(()) } else { Err(cut()) }
    }
}

fn cut() -> Error {
    truncated("The answer of the code interpreter stopped without its end marker")
}

fn truncated(what: &str) -> Error {
    let message = format!(
        "{what}, so the code may not have run to its end. What arrived is in the error's execution. Check whether the sandbox \
         still runs, and run the code again if it may run twice."
    );
    Error::new(Kind::Connection, code::STREAM_TRUNCATED, message)
}
