//! What a line of the answer says.

use std::borrow::Cow;

use serde_json::Value;

use super::result::RichResult;
use crate::error::Error;
use crate::protocol::json;
use crate::protocol::timestamp::Timestamp;

/// One line of the answer.
#[derive(Debug, PartialEq)]
pub enum Event<'a> {
    Stdout(Output),
    Stderr(Output),
    /// A displayed object, or the value of the last expression.
    Result(ResultLine<'a>),
    /// The code failed, or its kernel did.
    Error(ExecutionError),
    /// The number of the run in its context.
    Count(u64),
    /// Nothing has happened for a while.
    Keepalive,
    /// The last line of a complete answer.
    End,
    /// The server has lost the kernel.
    UnexpectedEnd,
    /// A type that is newer than this client, or an event without content.
    Unknown,
}

/// Text that the code wrote: any piece of the stream, not a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    pub text: String,
    /// When the kernel wrote it, in nanoseconds since the epoch, where the server says so.
    pub timestamp_ns: Option<f64>,
}

/// How a run failed. This is an outcome of the code, not of the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutionError {
    /// The class of the exception; empty for a shell command that failed, whose `value` is its exit status.
    pub name: String,
    pub value: String,
    pub traceback: String,
}

/// A line that holds a result, not looked into: copying images of megabytes through typed values costs more than it gives to
/// a host that has a JSON parser of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResultLine<'a>(Cow<'a, str>);

impl ResultLine<'_> {
    /// The line, which should be JSON.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The line as a strict parser takes it, if it was written by a lenient serialiser.
    pub fn repaired(&self) -> String {
        repair(&self.0)
    }

    /// The line as typed values.
    ///
    /// # Errors
    /// `protocol_error` when it is no JSON, or nests deeper than 128 levels.
    pub fn decode(&self) -> Result<RichResult, Error> {
        Ok(RichResult::from_json(parse(&self.0)?))
    }
}

impl<'a> Event<'a> {
    /// Reads a line. Invalid UTF-8 becomes U+FFFD; non-finite numbers, which JSON lacks and some servers send, become null;
    /// missing and foreign members are forgiven.
    ///
    /// # Errors
    /// `protocol_error` for a line that is no JSON object; of a result, only when it is decoded.
    pub fn decode(line: &'a [u8]) -> Result<Event<'a>, Error> {
        let text = String::from_utf8_lossy(line);
        let kind = kind_of(&text);
        if kind == Some("result") {
            return Ok(Event::Result(ResultLine(text)));
        }
        if matches!(kind, Some("stdout" | "stderr"))
            && let Some(output) = scan_output(&text)
        {
            return Ok(if kind == Some("stderr") { Event::Stderr(output) } else { Event::Stdout(output) });
        }
        let line: Value = parse(&text)?;
        if !line.is_object() {
            return Err(json::malformed("an event"));
        }
        let text = |name| plain(&line[name]);
        Ok(match line["type"].as_str().unwrap_or("") {
            "stdout" => Event::Stdout(output(&line)),
            "stderr" => Event::Stderr(output(&line)),
            "error" => {
                Event::Error(ExecutionError { name: text("name"), value: text("value"), traceback: text("traceback") })
            }
            "number_of_executions" => {
                let count = json::integer(&line["execution_count"]).ok().and_then(|count| count.try_into().ok());
                count.map_or(Event::Unknown, Event::Count)
            }
            "keepalive" => Event::Keepalive,
            "end_of_execution" => Event::End,
            "unexpected_end_of_execution" => Event::UnexpectedEnd,
            _ => Event::Unknown,
        })
    }
}

/// Whether `line` is complete, for one that nothing ended.
pub(super) fn is_complete(line: &[u8]) -> bool {
    parse(&String::from_utf8_lossy(line)).is_ok()
}

/// The type of a line, found without looking into the other members. Servers write it first.
fn kind_of(text: &str) -> Option<&str> {
    let mut depth = 0_u32;
    let mut at = 0;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b'"' => {
                let end = end_of_string(text, at)?;
                let after = text[end + 1..].trim_start();
                if depth == 1 && &text[at + 1..end] == "type" && after.starts_with(':') {
                    let value = after[1..].trim_start();
                    return if value.starts_with('"') { value.get(1..end_of_string(value, 0)?) } else { None };
                }
                at = end;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the string that begins at `start` has its closing quote.
fn end_of_string(text: &str, start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.as_bytes().get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

fn output(line: &Value) -> Output {
    Output { text: plain(&line["text"]), timestamp_ns: timestamp(&line["timestamp"]) }
}

fn timestamp(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => Timestamp::parse(text).map(Timestamp::as_nanos),
        other => other.as_f64(),
    }
}

/// The output of a line as servers write nearly all of them, `{"type": "stdout", "text": "…", "timestamp": …}`, without
/// building a tree. `None` sends the line the long way.
fn scan_output(line: &str) -> Option<Output> {
    let rest = after(line, &["{", "\"type\"", ":", "\""])?;
    // Which of the two names it is, is known; they are equally long.
    let rest = after(rest.get("stdout".len()..)?, &["\"", ",", "\"text\"", ":", "\""])?;
    let (text, rest) = scan_text(rest)?;
    if after(rest, &["}"]) == Some("") {
        return Some(Output { text, timestamp_ns: None });
    }
    // Anything but one value in between is no JSON, and is looked at again.
    let value = after(rest, &[",", "\"timestamp\"", ":"])?.strip_suffix('}')?;
    let value: Value = json::parse(value.as_bytes()).ok()?;
    Some(Output { text, timestamp_ns: timestamp(&value) })
}

/// What follows the tokens, which must come next.
fn after<'a>(text: &'a str, tokens: &[&str]) -> Option<&'a str> {
    tokens.iter().try_fold(text, |rest, token| rest.trim_start_matches(' ').strip_prefix(token))
}

/// A string whose opening quote was read, if its escapes are simple, and what follows it.
fn scan_text(mut rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    loop {
        let at = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
        let piece = &rest[..at];
        if piece.bytes().any(|byte| byte < b' ') {
            return None;
        }
        text.push_str(piece);
        let escaped = match &rest.as_bytes()[at..] {
            [b'"', ..] => return Some((text, &rest[at + 1..])),
            [_, b'n', ..] => '\n',
            [_, b't', ..] => '\t',
            [_, b'r', ..] => '\r',
            [_, quoted @ (b'"' | b'\\' | b'/'), ..] => char::from(*quoted),
            _ => return None,
        };
        text.push(escaped);
        rest = &rest[at + 2..];
    }
}

/// Text, however it is written: kernels send tracebacks as lists of lines, too.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().map(plain).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// Parses `text`, after a repair if it needs one.
fn parse(text: &str) -> Result<Value, Error> {
    json::parse(text.as_bytes()).or_else(|error| serde_json::from_str(&repair(text)).map_err(|_| error))
}

/// `text` with null for the bare words `NaN`, `Infinity` and `-Infinity`, and U+FFFD for escapes of half characters: both
/// are written by lenient serialisers and refused by strict parsers.
fn repair(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_string = false;
    while let Some(at) = rest.find(if in_string { &['"', '\\'][..] } else { &['"', 'N', 'I', '-'][..] }) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (written, length) = if in_string { in_text(rest) } else { outside_text(rest) };
        in_string ^= rest.starts_with('"');
        out.push_str(written);
        rest = &rest[length..];
    }
    out + rest
}

/// What to write for the beginning of `rest`, and how many bytes of it that stands for.
fn outside_text(rest: &str) -> (&str, usize) {
    let word = ["NaN", "Infinity", "-Infinity"].into_iter().find(|word| rest.starts_with(word));
    word.map_or((&rest[..1], 1), |word| ("null", word.len()))
}

/// As [`outside_text`]; `rest` begins with a quote or a backslash.
fn in_text(rest: &str) -> (&str, usize) {
    if rest.starts_with('"') {
        return (&rest[..1], 1);
    }
    match (code_unit(rest), rest.get(6..).and_then(code_unit)) {
        (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => (&rest[..12], 12),
        (Some(0xd800..0xe000), _) => ("\\ufffd", 6),
        (Some(_), _) => (&rest[..6], 6),
        // Another escape: the character after the backslash goes with it, for it may be a quote.
        (None, _) => {
            let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            (&rest[..length], length)
        }
    }
}

/// The value of an escape `\uXXXX` at the beginning of `text`.
fn code_unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}
