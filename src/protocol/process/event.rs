//! What the process service answers.

use std::borrow::Cow;

use crate::error::Error;
use crate::protocol::json;
use crate::protocol::message::{Encoding, Node, StringMap, decode};

/// Where output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
    Pty,
}

/// How a process ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EndEvent {
    /// −1 when a signal ended it.
    pub exit_code: i32,
    /// Whether it exited by itself; false when a signal ended it.
    pub exited: bool,
    /// `exit status 3`, `signal: killed` …
    pub status: String,
    /// Absent for exit status 0.
    pub error: Option<String>,
}

/// One message of a process stream. Borrows from the frame it was decoded from where it can.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessEvent<'a> {
    Start {
        pid: u32,
    },
    /// Boundaries are arbitrary: a character may be split over two events.
    Data {
        stream: Stream,
        bytes: Cow<'a, [u8]>,
    },
    End(EndEvent),
    Keepalive,
    /// Something this client does not know, or an event without content.
    Unknown,
}

impl<'a> ProcessEvent<'a> {
    /// Decodes a `StartResponse` or `ConnectResponse` (their shapes are the same).
    ///
    /// # Errors
    /// `protocol_error` when the payload is not such a message.
    pub fn decode(payload: &'a [u8], encoding: Encoding) -> Result<Self, Error> {
        match encoding {
            Encoding::Proto => match binary_output(payload) {
                Some((stream, bytes)) => Ok(ProcessEvent::Data { stream, bytes: Cow::Borrowed(bytes) }),
                None => read_event(Node::message(payload)),
            },
            Encoding::Json => match scan_json_output(payload) {
                Some((stream, text)) => {
                    Ok(ProcessEvent::Data { stream, bytes: Cow::Owned(json::decode_base64(text)?) })
                }
                None => Ok(read_event(Node::Json(&json::parse(payload)?))?.into_owned()),
            },
        }
    }

    /// The event without a borrow, copying only what is borrowed.
    pub fn into_owned(self) -> ProcessEvent<'static> {
        match self {
            ProcessEvent::Start { pid } => ProcessEvent::Start { pid },
            ProcessEvent::Data { stream, bytes } => {
                ProcessEvent::Data { stream, bytes: Cow::Owned(bytes.into_owned()) }
            }
            ProcessEvent::End(end) => ProcessEvent::End(end),
            ProcessEvent::Keepalive => ProcessEvent::Keepalive,
            ProcessEvent::Unknown => ProcessEvent::Unknown,
        }
    }
}

fn read_event(response: Node<'_>) -> Result<ProcessEvent<'_>, Error> {
    let mut event = ProcessEvent::Unknown;
    response.fields(&["event"], &mut |number, node| {
        if number != 1 {
            return Ok(());
        }
        node.fields(&["start", "data", "end", "keepalive"], &mut |number, node| {
            match number {
                1 => event = read_start(node)?,
                2 => event = read_data(node)?,
                3 => event = ProcessEvent::End(read_end(node)?),
                4 => event = ProcessEvent::Keepalive,
                _ => {}
            }
            Ok(())
        })
    })?;
    Ok(event)
}

fn read_start(start: Node<'_>) -> Result<ProcessEvent<'_>, Error> {
    let mut pid = 0;
    start.fields(&["pid"], &mut |number, node| {
        if number == 1 {
            pid = node.uint32()?;
        }
        Ok(())
    })?;
    Ok(ProcessEvent::Start { pid })
}

fn read_data(data: Node<'_>) -> Result<ProcessEvent<'_>, Error> {
    let mut event = ProcessEvent::Unknown;
    data.fields(&["stdout", "stderr", "pty"], &mut |number, node| {
        if let Some(stream) = output_stream(number) {
            event = ProcessEvent::Data { stream, bytes: node.bytes()? };
        }
        Ok(())
    })?;
    Ok(event)
}

fn read_end(end: Node<'_>) -> Result<EndEvent, Error> {
    let mut event = EndEvent::default();
    end.fields(&["exitCode", "exited", "status", "error"], &mut |number, node| {
        match number {
            1 => event.exit_code = node.sint32()?,
            2 => event.exited = node.bool()?,
            3 => event.status = node.string()?,
            4 => event.error = Some(node.string()?),
            _ => {}
        }
        Ok(())
    })?;
    // There are gateways that tell the code in words alone.
    if event.exit_code == 0
        && let Some(code) = event.status.strip_prefix("exit status ")
    {
        event.exit_code = code.parse().unwrap_or(0);
    }
    Ok(event)
}

/// The output of a binary message that holds nothing else, as nearly every message of a busy stream. `None` says nothing
/// about the message: [`ProcessEvent::decode`] reads all of them.
pub fn binary_output(payload: &[u8]) -> Option<(Stream, &[u8])> {
    let (1, event) = sole_field(payload)? else { return None };
    let (2, data) = sole_field(event)? else { return None };
    let (number, bytes) = sole_field(data)?;
    Some((output_stream(number)?, bytes))
}

/// Number and content of the one length-delimited field that fills `message`, if its number is below 16 and its length below
/// 256 MiB.
fn sole_field(message: &[u8]) -> Option<(u32, &[u8])> {
    let (&tag, rest) = message.split_first()?;
    let mut length = 0;
    for (index, &byte) in rest.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            let content = &rest[index + 1..];
            return (tag & 0x87 == 2 && content.len() == length).then_some((u32::from(tag >> 3), content));
        }
    }
    None
}

/// The stream of a field of `DataEvent`.
fn output_stream(number: u32) -> Option<Stream> {
    match number {
        1 => Some(Stream::Stdout),
        2 => Some(Stream::Stderr),
        3 => Some(Stream::Pty),
        _ => None,
    }
}

/// The same in JSON: the base64 text of `{"event":{"data":{"stdout":"…"}}}`, without building a tree. Daemons vary the white space between tokens on purpose. `None` sends the message the long way.
fn scan_json_output(payload: &[u8]) -> Option<(Stream, &[u8])> {
    let mut rest = payload;
    for token in [&b"{"[..], b"\"event\"", b":", b"{", b"\"data\"", b":", b"{"] {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    rest = rest.trim_ascii_start();
    let (stream, mut rest) =
        [(Stream::Stdout, &b"\"stdout\""[..]), (Stream::Stderr, b"\"stderr\""), (Stream::Pty, b"\"pty\"")]
            .into_iter()
            .find_map(|(stream, name)| Some((stream, rest.strip_prefix(name)?)))?;
    for token in [&b":"[..], b"\""] {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    // An escape (`\/` is a legal slash) ends the text too early for what must follow: the parser takes over.
    let (text, mut rest) = rest.split_at(rest.iter().position(|&byte| matches!(byte, b'"' | b'\\'))?);
    for token in [&b"\""[..], b"}", b"}", b"}"] {
        rest = rest.trim_ascii_start().strip_prefix(token)?;
    }
    rest.trim_ascii_start().is_empty().then_some((stream, text))
}

/// A process the daemon knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessInfo {
    pub pid: u32,
    pub tag: Option<String>,
    pub cmd: String,
    pub args: Vec<String>,
    pub envs: StringMap,
    pub cwd: Option<String>,
}

/// Decodes the answer of [`LIST`](super::LIST).
///
/// # Errors
/// `protocol_error` when the body is not a `ListResponse`.
pub fn decode_list(body: &[u8], encoding: Encoding) -> Result<Vec<ProcessInfo>, Error> {
    decode(body, encoding, &|response| {
        let mut processes = Vec::new();
        response.fields(&["processes"], &mut |number, node| {
            if number == 1 {
                processes.push(read_info(node)?);
            }
            Ok(())
        })?;
        Ok(processes)
    })
}

fn read_info(node: Node<'_>) -> Result<ProcessInfo, Error> {
    let mut info = ProcessInfo::default();
    node.fields(&["config", "pid", "tag"], &mut |number, node| {
        match number {
            1 => read_config(node, &mut info)?,
            2 => info.pid = node.uint32()?,
            3 => info.tag = Some(node.string()?),
            _ => {}
        }
        Ok(())
    })?;
    Ok(info)
}

fn read_config(config: Node<'_>, info: &mut ProcessInfo) -> Result<(), Error> {
    config.fields(&["cmd", "args", "envs", "cwd"], &mut |number, node| {
        match number {
            1 => info.cmd = node.string()?,
            2 => info.args.push(node.string()?),
            3 => node.pairs(&mut info.envs)?,
            4 => info.cwd = Some(node.string()?),
            _ => {}
        }
        Ok(())
    })
}
