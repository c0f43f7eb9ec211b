//! Turns process events into output: what a network chunk held, in as few pieces as the order allows.

use std::borrow::Cow;
use std::vec::Drain;

use super::durable::Mark;
use crate::error::{Error, Kind, code};
use crate::protocol::message::Encoding;
use crate::protocol::process::{EndEvent, ProcessEvent, Stream, binary_output};
use crate::protocol::spool::{Item, Parser};
use crate::protocol::text::{Utf8Splitter, excerpt};

/// Adjacent output of one stream.
pub(super) struct Piece {
    pub(super) stream: Stream,
    /// What arrived.
    pub(super) bytes: Vec<u8>,
    /// Whether it is complete, and what follows is known.
    is_cut: bool,
    /// How many of them, from the first, are whole characters; 0 for a terminal, whose bytes are its own.
    whole: usize,
    /// The text in UTF-8 where it is not a part of `bytes`, because it begins with what earlier ones have left.
    joined: Option<Vec<u8>>,
    /// Its end, when it is the beginning of a character.
    pub(super) held: Vec<u8>,
}

impl Piece {
    fn new(stream: Stream) -> Self {
        Piece { stream, bytes: Vec::new(), is_cut: false, whole: 0, joined: None, held: Vec::new() }
    }

    /// The text, in UTF-8 that may be invalid but is complete: it can be decoded by itself.
    pub(super) fn text(&self) -> &[u8] {
        self.joined.as_deref().unwrap_or(&self.bytes[..self.whole])
    }
}

/// How much is kept of what a reader complains about, in bytes.
const LONGEST_NOTE: usize = 1_000;

/// What comes from the reader of a spool.
struct Spooled {
    parser: Parser,
    /// What the shell that reads complained about.
    note: String,
}

/// Collects the events of one network chunk.
pub(super) struct Collector {
    encoding: Encoding,
    pub(super) pid: Option<u32>,
    /// The process whose events these are, when that is the reader of a spool and not the process itself.
    pub(super) reader: Option<u32>,
    /// How many bytes of standard output and error of a spool have arrived, counted from their beginning.
    pub(super) received: [u64; 2],
    /// How many bytes of a stream a spool keeps.
    pub(super) bound: u64,
    spooled: Option<Spooled>,
    pieces: Vec<Piece>,
    pub(super) end: Option<EndEvent>,
    stdout: Utf8Splitter,
    stderr: Utf8Splitter,
}

impl Collector {
    pub(super) fn new(encoding: Encoding) -> Self {
        Collector {
            encoding,
            pid: None,
            reader: None,
            received: [0, 0],
            bound: 0,
            spooled: None,
            pieces: Vec::new(),
            end: None,
            stdout: Utf8Splitter::default(),
            stderr: Utf8Splitter::default(),
        }
    }

    /// Of the readers of a spool, behind the given marks.
    pub(super) fn of_spool(begin: &[Mark; 2]) -> Self {
        let mut collector = Collector::new(Encoding::Proto);
        collector.spooled = Some(Spooled { parser: Parser::default(), note: String::new() });
        collector.received = begin.each_ref().map(|mark| mark.bytes);
        collector.stdout.split(&begin[0].held);
        collector.stderr.split(&begin[1].held);
        collector
    }

    /// Begins with the events of another stream about the same process. What a spool's next reader sends continues the
    /// characters; of other processes output is missing in between, so that an incomplete one stays incomplete.
    pub(super) fn restart(&mut self, encoding: Encoding) {
        self.encoding = encoding;
        self.pid = None;
        match &mut self.spooled {
            Some(spooled) => *spooled = Spooled { parser: Parser::default(), note: String::new() },
            None => self.flush(),
        }
    }

    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Error> {
        // Nearly every message of a busy stream.
        if self.encoding == Encoding::Proto
            && self.pid.is_some()
            && self.spooled.is_none()
            && let Some((stream, bytes)) = binary_output(payload)
        {
            self.add(stream, bytes);
            return Ok(());
        }
        let event = ProcessEvent::decode(payload, self.encoding)?;
        if let Some(mut spooled) = self.spooled.take() {
            let result = self.take_spooled(&mut spooled, event);
            self.spooled = Some(spooled);
            return result;
        }
        match event {
            ProcessEvent::Start { pid } => self.pid = Some(pid),
            ProcessEvent::Keepalive | ProcessEvent::Unknown => {}
            ProcessEvent::Data { .. } | ProcessEvent::End(_) if self.pid.is_none() => {
                return Err(Error::protocol("The sandbox sent output before saying that the process started"));
            }
            ProcessEvent::Data { stream, bytes } => self.add(stream, &bytes),
            ProcessEvent::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    /// An event of the process that reads a spool.
    fn take_spooled(&mut self, spooled: &mut Spooled, event: ProcessEvent<'_>) -> Result<(), Error> {
        match event {
            ProcessEvent::Start { pid } => self.reader = Some(pid),
            ProcessEvent::Data { stream: Stream::Stdout, bytes } => spooled.parser.push(&bytes, &mut |item| {
                match item {
                    Item::Hello { pid, bound } => (self.pid, self.bound) = (Some(pid), bound),
                    Item::Data { stream, bytes } => self.add(stream, bytes),
                    Item::End(end) => self.end = Some(end),
                }
                Ok(())
            })?,
            ProcessEvent::Data { bytes, .. } if spooled.note.len() < LONGEST_NOTE => {
                spooled.note.push_str(&String::from_utf8_lossy(&bytes));
            }
            ProcessEvent::End(_) if self.end.is_none() => {
                let message = format!(
                    "The shell that reads the output of the durable command ended early ({}). Attach again with its token",
                    excerpt(&spooled.note, 300)
                );
                return Err(Error::new(Kind::Connection, code::STREAM_TRUNCATED, message).retryable());
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, stream: Stream, bytes: &[u8]) {
        if self.pieces.last().is_none_or(|last| last.stream != stream || last.is_cut) {
            self.pieces.push(Piece::new(stream));
        }
        let Some(piece) = self.pieces.last_mut() else { return };
        piece.bytes.extend_from_slice(bytes);
        match stream {
            Stream::Stdout => self.received[0] += bytes.len() as u64,
            Stream::Stderr => self.received[1] += bytes.len() as u64,
            Stream::Pty => {}
        }
    }

    /// What has arrived of one stream since the last time, as it is.
    pub(super) fn bytes_of(&self, stream: Stream) -> Vec<u8> {
        self.pieces.iter().filter(|piece| piece.stream == stream).flat_map(|piece| &piece.bytes).copied().collect()
    }

    pub(super) fn has_pieces(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// What has arrived since the last time, cut between characters.
    pub(super) fn take_pieces(&mut self) -> Drain<'_, Piece> {
        self.cut();
        self.pieces.drain(..)
    }

    fn cut(&mut self) {
        for piece in self.pieces.iter_mut().filter(|piece| !piece.is_cut) {
            piece.is_cut = true;
            let splitter = match piece.stream {
                Stream::Stdout => &mut self.stdout,
                Stream::Stderr => &mut self.stderr,
                Stream::Pty => continue,
            };
            match splitter.split(&piece.bytes) {
                Cow::Borrowed(text) => piece.whole = text.len(),
                Cow::Owned(text) => piece.joined = Some(text),
            }
            piece.held = splitter.held().to_vec();
        }
    }

    /// Ends both texts: an incomplete character becomes U+FFFD.
    pub(super) fn flush(&mut self) {
        self.cut();
        for (stream, splitter) in [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)] {
            let rest = splitter.finish();
            if !rest.is_empty() {
                self.pieces.push(Piece { joined: Some(rest), is_cut: true, ..Piece::new(stream) });
            }
        }
    }
}
