//! Envelopes: how messages are framed in a stream.
//!
//! ```text
//! byte 0      flags: 0x01 compressed, 0x02 end of stream, all others must be 0
//! bytes 1..4  payload length, unsigned, big-endian
//! bytes 5..   payload
//! ```
//!
//! Envelopes know nothing of the network chunks they arrive in: a header or payload may be cut anywhere, and one chunk
//! may hold many of them.

use crate::error::{Error, Kind, code};

/// Frames above this many payload bytes are refused unless [`Decoder::with_max_frame`] says otherwise: 64 MiB.
pub const DEFAULT_MAX_FRAME: usize = 64 << 20;

const HEADER: usize = 5;
const COMPRESSED: u8 = 0x01;
const END_STREAM: u8 = 0x02;

/// An emptied buffer that grew beyond this is given back, so that one large frame does not pin its memory.
const KEEP_CAPACITY: usize = 1 << 20;

/// One frame of a stream, borrowed from the decoder's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A message. An empty payload is the empty message in either encoding.
    Message(&'a [u8]),
    /// The end of the stream; read it with [`end_of_stream`](super::end_of_stream). Always JSON.
    End(&'a [u8]),
}

/// Cuts a byte stream into frames.
///
/// Feed it with [`push`](Self::push) (or [`push_with`](Self::push_with)), then call [`next`](Self::next) until it
/// returns `None`. When the body is over, [`finish`](Self::finish) tells whether the stream was complete. After the end
/// frame everything is ignored; after an error every call of `next` and `finish` returns that error again.
///
/// Memory: at most twice what was pushed and not yet returned. A length announced by the peer is never allocated ahead.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    /// Start of the first unreturned byte in `buffer`.
    start: usize,
    max_frame: usize,
    state: State,
}

#[derive(Debug)]
enum State {
    Reading,
    Done,
    Failed(Error),
}

impl Decoder {
    /// A decoder with the limit of [`DEFAULT_MAX_FRAME`].
    pub fn new() -> Self {
        Self::with_max_frame(DEFAULT_MAX_FRAME)
    }

    /// A decoder that refuses frames of more than `max` payload bytes (code `message_too_large`). More than 1 GiB counts
    /// as 1 GiB.
    pub fn with_max_frame(max: usize) -> Self {
        Decoder { buffer: Vec::new(), start: 0, max_frame: max.min(1 << 30), state: State::Reading }
    }

    /// Appends a network chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        if self.make_room() {
            self.buffer.extend_from_slice(chunk);
        }
    }

    /// Appends `len` bytes that `fill` writes straight into the buffer, which saves a copy when the chunk lives in
    /// another memory, as a JavaScript `Uint8Array` does. `fill` is not called when the stream is over already.
    pub fn push_with(&mut self, len: usize, fill: impl FnOnce(&mut [u8])) {
        if self.make_room() {
            let at = self.buffer.len();
            self.buffer.resize(at + len, 0);
            fill(&mut self.buffer[at..]);
        }
    }

    /// Drops what was returned already; false when nothing more will be read.
    ///
    /// The rest is moved only when it is not longer than what is dropped. So the bytes moved in a whole stream are at most
    /// the bytes dropped in it, and its cost is linear whatever its chunks.
    fn make_room(&mut self) -> bool {
        if !matches!(self.state, State::Reading) {
            return false;
        }
        let rest = self.buffer.len() - self.start;
        if rest <= self.start {
            self.buffer.copy_within(self.start.., 0);
            self.buffer.truncate(rest);
            self.start = 0;
            if rest == 0 && self.buffer.capacity() > KEEP_CAPACITY {
                self.buffer = Vec::new();
            }
        }
        true
    }

    /// The next complete frame, or `None` until more bytes are pushed.
    ///
    /// # Errors
    /// `protocol_error` for a compressed frame (none was agreed on) or unknown flags; `message_too_large` as soon as a
    /// header announces more than the limit.
    #[allow(clippy::should_implement_trait)] // An iterator cannot lend from its own buffer.
    pub fn next(&mut self) -> Result<Option<Frame<'_>>, Error> {
        match &self.state {
            State::Reading => {}
            State::Done => return Ok(None),
            State::Failed(error) => return Err(error.clone()),
        }
        let Some((flags, length)) = self.header() else { return Ok(None) };
        if let Err(error) = self.check(flags, length) {
            self.state = State::Failed(error.clone());
            self.buffer = Vec::new();
            self.start = 0;
            return Err(error);
        }
        let from = self.start + HEADER;
        // `start` is below 2 GiB and `length` at most 1 GiB: the sum fits even 32 bits.
        let to = from + length;
        if self.buffer.len() < to {
            return Ok(None);
        }
        self.start = to;
        let payload = &self.buffer[from..to];
        if flags & END_STREAM == 0 {
            Ok(Some(Frame::Message(payload)))
        } else {
            self.state = State::Done;
            Ok(Some(Frame::End(payload)))
        }
    }

    /// Flags and payload length of the frame at the cursor, once its header is complete.
    fn header(&self) -> Option<(u8, usize)> {
        let header: &[u8; HEADER] = self.buffer[self.start..].first_chunk()?;
        let [flags, length @ ..] = *header;
        // Targets of this crate have 32 bits or more.
        Some((flags, u32::from_be_bytes(length) as usize))
    }

    fn check(&self, flags: u8, length: usize) -> Result<(), Error> {
        if flags & !(COMPRESSED | END_STREAM) != 0 {
            return Err(Error::protocol(format!(
                "The stream holds a frame with unknown flags (0x{flags:02x}). Something between this client and the \
                 sandbox may have changed the body; check proxies and gateways."
            )));
        }
        if flags & COMPRESSED != 0 {
            return Err(Error::protocol(
                "The server compressed a message although no compression was agreed on. Update the sandbox's template, \
                 or check gateways that compress on their own.",
            ));
        }
        if length > self.max_frame {
            return Err(Error::new(
                Kind::Protocol,
                code::MESSAGE_TOO_LARGE,
                format!(
                    "The server announced a message of {length} bytes, more than the limit of {} bytes. Read large data \
                     through files, or raise the limit.",
                    self.max_frame
                ),
            ));
        }
        Ok(())
    }

    /// Bytes that were pushed and not returned as a frame.
    pub fn buffered(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Whether the end frame was returned.
    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// To be called when the body is over.
    ///
    /// # Errors
    /// `stream_truncated` when the end frame never came. A caller that has already seen a process end may forgive it.
    pub fn finish(&self) -> Result<(), Error> {
        match &self.state {
            State::Done => Ok(()),
            State::Failed(error) => Err(error.clone()),
            State::Reading => {
                let what = match (self.buffered(), self.header()) {
                    (0, _) => String::from("without its end marker"),
                    (rest, None) => format!("inside a frame header ({rest} of {HEADER} bytes)"),
                    (rest, Some((_, length))) => {
                        format!("inside a message ({} of {length} bytes arrived)", rest - HEADER)
                    }
                };
                Err(Error::new(
                    Kind::Connection,
                    code::STREAM_TRUNCATED,
                    format!(
                        "The stream stopped {what}: the connection was cut. What arrived before is complete; connect \
                         again to see what became of the process."
                    ),
                ))
            }
        }
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Wraps `payload` in an envelope without flags.
///
/// # Panics
/// If `payload` has 4 GiB or more, which the format cannot express.
pub fn encode_envelope(payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("an envelope holds less than 4 GiB");
    let mut frame = Vec::with_capacity(HEADER + payload.len());
    frame.push(0);
    frame.extend_from_slice(&length.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}
