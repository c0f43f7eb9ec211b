//! Cuts a byte stream into lines.

use crate::error::{Error, Kind, code};

/// Lines above this many bytes are refused unless [`Lines::with_max_line`] says otherwise: 256 MiB. One line holds a
/// whole result, with its images.
pub const DEFAULT_MAX_LINE: usize = 256 << 20;

/// An emptied buffer that grew beyond this is given back, so that one large line does not pin its memory.
const KEEP_CAPACITY: usize = 1 << 20;

/// One line, borrowed from the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Without its end; never blank.
    pub text: &'a [u8],
    /// Whether a line feed ended it. Only the last line of a body may lack it, and may then be incomplete.
    pub is_terminated: bool,
}

/// Cuts a byte stream into lines.
///
/// Lines end with a line feed and nothing else: U+0085, U+2028 and their like may stand unescaped in JSON. A carriage
/// return before it belongs to the line end; blank lines are skipped.
///
/// Feed it with [`push`](Self::push) (or [`push_with`](Self::push_with)), then call [`next`](Self::next) until it returns
/// `None`. When the body is over, [`close`](Self::close) it and call `next` again: the last line may lack its line feed.
///
/// Every byte is searched once and moved at most twice, so the cost is linear in the stream whatever its chunks and lines.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Start of the first unreturned line in `buffer`.
    start: usize,
    /// Everything before holds no line feed that was not returned.
    searched: usize,
    max_line: usize,
    closed: bool,
    failed: Option<Error>,
}

impl Default for Lines {
    fn default() -> Self {
        Self::with_max_line(DEFAULT_MAX_LINE)
    }
}

impl Lines {
    /// Refuses lines of more than `max` bytes (code `message_too_large`).
    pub fn with_max_line(max: usize) -> Self {
        Lines { buffer: Vec::new(), start: 0, searched: 0, max_line: max, closed: false, failed: None }
    }

    /// Appends a network chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.push_with(chunk.len(), |buffer| buffer.copy_from_slice(chunk));
    }

    /// Appends `len` bytes that `fill` writes straight into the buffer, which saves a copy when the chunk lives in another
    /// memory, as a JavaScript `Uint8Array` does.
    pub fn push_with(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) {
        if self.failed.is_some() {
            return;
        }
        self.make_room();
        let at = self.buffer.len();
        self.buffer.resize(at + len, 0);
        fill(&mut self.buffer[at..]);
    }

    /// Drops what was returned already. The rest is moved only when it is not longer than what is dropped, so the bytes
    /// moved in a whole stream are at most the bytes dropped in it.
    fn make_room(&mut self) {
        let rest = self.buffer.len() - self.start;
        if rest > self.start {
            return;
        }
        self.buffer.copy_within(self.start.., 0);
        self.buffer.truncate(rest);
        self.searched -= self.start;
        self.start = 0;
        if rest == 0 && self.buffer.capacity() > KEEP_CAPACITY {
            self.buffer = Vec::new();
        }
    }

    /// The body is over: what is left is a line too.
    pub fn close(&mut self) {
        self.closed = true;
    }

    /// The next line, or `None` until more bytes are pushed.
    ///
    /// # Errors
    /// `message_too_large` as soon as more bytes than the limit have arrived without a line end. Nothing that follows is
    /// kept or returned.
    #[allow(clippy::should_implement_trait)] // An iterator cannot lend from its own buffer.
    pub fn next(&mut self) -> Result<Option<Line<'_>>, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        loop {
            let found = memchr::memchr(b'\n', &self.buffer[self.searched..]).map(|at| self.searched + at);
            let (end, next) = match found {
                Some(at) => (at, at + 1),
                None => (self.buffer.len(), self.buffer.len()),
            };
            self.searched = next;
            if end - self.start > self.max_line {
                return Err(self.refuse());
            }
            if found.is_none() && !(self.closed && end > self.start) {
                return Ok(None);
            }
            let from = std::mem::replace(&mut self.start, next);
            if self.buffer[from..end].iter().any(|byte| !byte.is_ascii_whitespace()) {
                let line = &self.buffer[from..end];
                let text = line.strip_suffix(b"\r").unwrap_or(line);
                return Ok(Some(Line { text, is_terminated: found.is_some() }));
            }
        }
    }

    fn refuse(&mut self) -> Error {
        let error = Error::new(
            Kind::Protocol,
            code::MESSAGE_TOO_LARGE,
            format!(
                "The code interpreter sent an event of more than {} bytes, the limit on this side. Write large data to a \
                 file and read it through files, or raise maxEventBytes.",
                self.max_line
            ),
        );
        self.buffer = Vec::new();
        (self.start, self.searched) = (0, 0);
        self.failed = Some(error.clone());
        error
    }

    /// Bytes that were pushed and not returned as a line.
    pub fn buffered(&self) -> usize {
        self.buffer.len() - self.start
    }
}
