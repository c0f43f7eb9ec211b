//! The two encodings of envd's messages, so that each message is described once: `encode` hands a `Sink` to the
//! description of a request, a `Node` hands the fields of an answer to its reader.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::json;
use super::timestamp::Timestamp;
use super::wire;
use crate::error::Error;

/// How messages are written on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Binary protobuf: a third fewer bytes, no base64.
    Proto,
    /// proto3 JSON.
    Json,
}

impl Encoding {
    /// Content type of a unary call.
    pub fn unary_type(self) -> &'static str {
        match self {
            Encoding::Proto => "application/proto",
            Encoding::Json => "application/json",
        }
    }

    /// Content type of a streaming call.
    pub fn stream_type(self) -> &'static str {
        match self {
            Encoding::Proto => "application/connect+proto",
            Encoding::Json => "application/connect+json",
        }
    }
}

/// String pairs in insertion order; keys are unique.
pub type StringMap = Vec<(String, String)>;

/// The message whose fields `describe` puts into the sink, without an envelope.
pub(crate) fn encode(encoding: Encoding, describe: &dyn Fn(&mut Sink)) -> Vec<u8> {
    let mut sink = Sink::new(encoding);
    describe(&mut sink);
    match sink {
        Sink::Proto(message) => message,
        Sink::Json(members) => Value::Object(members).to_string().into_bytes(),
    }
}

/// Takes the fields of one message. Every method writes what it is given; leaving out fields at their default is up to
/// the description.
pub(crate) enum Sink {
    Proto(Vec<u8>),
    Json(Map<String, Value>),
}

impl Sink {
    fn new(encoding: Encoding) -> Sink {
        match encoding {
            Encoding::Proto => Sink::Proto(Vec::new()),
            Encoding::Json => Sink::Json(Map::new()),
        }
    }

    pub(crate) fn string(&mut self, number: u32, name: &str, value: &str) {
        match self {
            Sink::Proto(out) => wire::put_bytes(out, number, value.as_bytes()),
            Sink::Json(out) => insert(out, name, value.into()),
        }
    }

    pub(crate) fn bytes(&mut self, number: u32, name: &str, value: &[u8]) {
        match self {
            Sink::Proto(out) => wire::put_bytes(out, number, value),
            Sink::Json(out) => insert(out, name, json::encode_base64(value).into()),
        }
    }

    pub(crate) fn uint32(&mut self, number: u32, name: &str, value: u32) {
        match self {
            Sink::Proto(out) => wire::put_varint(out, number, value.into()),
            Sink::Json(out) => insert(out, name, value.into()),
        }
    }

    pub(crate) fn bool(&mut self, number: u32, name: &str, value: bool) {
        match self {
            Sink::Proto(out) => wire::put_varint(out, number, value.into()),
            Sink::Json(out) => insert(out, name, value.into()),
        }
    }

    /// An enumeration: its number and its label.
    pub(crate) fn label(&mut self, number: u32, name: &str, value: u32, label: &str) {
        match self {
            Sink::Proto(out) => wire::put_varint(out, number, value.into()),
            Sink::Json(out) => insert(out, name, label.into()),
        }
    }

    pub(crate) fn message(&mut self, number: u32, name: &str, describe: &dyn Fn(&mut Sink)) {
        match self {
            Sink::Proto(out) => wire::put_bytes(out, number, &encode(Encoding::Proto, describe)),
            Sink::Json(out) => {
                let mut inner = Sink::new(Encoding::Json);
                describe(&mut inner);
                if let Sink::Json(members) = inner {
                    insert(out, name, Value::Object(members));
                }
            }
        }
    }

    pub(crate) fn strings(&mut self, number: u32, name: &str, values: &[String]) {
        match self {
            Sink::Proto(out) => values.iter().for_each(|value| wire::put_bytes(out, number, value.as_bytes())),
            Sink::Json(_) if values.is_empty() => {}
            Sink::Json(out) => insert(out, name, values.into()),
        }
    }

    pub(crate) fn map(&mut self, number: u32, name: &str, pairs: &StringMap) {
        match self {
            Sink::Proto(out) => {
                for (key, value) in pairs {
                    let mut entry = Vec::new();
                    wire::put_bytes(&mut entry, 1, key.as_bytes());
                    wire::put_bytes(&mut entry, 2, value.as_bytes());
                    wire::put_bytes(out, number, &entry);
                }
            }
            Sink::Json(_) if pairs.is_empty() => {}
            Sink::Json(out) => insert(out, name, string_object(pairs)),
        }
    }
}

fn insert(members: &mut Map<String, Value>, name: &str, value: Value) {
    members.insert(name.to_owned(), value);
}

/// A JSON object of strings.
pub(crate) fn string_object(pairs: &StringMap) -> Value {
    Value::Object(pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect())
}

/// Sets `key` to `value`, keeping keys unique.
pub(crate) fn set(map: &mut StringMap, key: String, value: String) {
    match map.iter_mut().find(|(name, _)| *name == key) {
        Some(pair) => pair.1 = value,
        None => map.push((key, value)),
    }
}

/// A value of an answer, in either encoding.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Node<'a> {
    Proto(wire::Value<'a>),
    Json(&'a Value),
}

/// Decodes a message with `read`, which gets its root.
pub(crate) fn decode<T>(
    payload: &[u8],
    encoding: Encoding,
    read: &dyn Fn(Node<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    match encoding {
        Encoding::Proto => read(Node::message(payload)),
        Encoding::Json => read(Node::Json(&json::parse(payload)?)),
    }
}

impl<'a> Node<'a> {
    /// The root of a binary message.
    pub(crate) fn message(payload: &'a [u8]) -> Self {
        Node::Proto(wire::Value::Bytes(payload))
    }

    /// Calls `visit` with the number and value of every field that is present, once per element of repeated ones.
    /// `names` are the JSON names of the fields 1, 2, 3 …; fields beyond them may be visited and are to be ignored.
    pub(crate) fn fields(
        self,
        names: &[&str],
        visit: &mut dyn FnMut(u32, Node<'a>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match self {
            Node::Proto(value) => {
                let mut reader = wire::Reader::new(bytes_of(value)?);
                while let Some((number, value)) = reader.field()? {
                    visit(number, Node::Proto(value))?;
                }
            }
            Node::Json(value) => {
                for (key, value) in value.as_object().ok_or_else(|| json::malformed("an object"))? {
                    let Some(index) = names.iter().position(|name| json::is_field(key, name)) else { continue };
                    let number = index as u32 + 1;
                    match value {
                        Value::Null => {}
                        Value::Array(elements) => {
                            elements.iter().try_for_each(|element| visit(number, Node::Json(element)))?;
                        }
                        value => visit(number, Node::Json(value))?,
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn string(self) -> Result<String, Error> {
        match self {
            Node::Proto(value) => Ok(String::from_utf8_lossy(bytes_of(value)?).into_owned()),
            Node::Json(value) => json::string(value),
        }
    }

    pub(crate) fn bytes(self) -> Result<Cow<'a, [u8]>, Error> {
        match self {
            Node::Proto(value) => bytes_of(value).map(Cow::Borrowed),
            Node::Json(value) => json::bytes(value).map(Cow::Owned),
        }
    }

    /// Any integer but the zigzag ones.
    pub(crate) fn integer(self) -> Result<i64, Error> {
        match self {
            Node::Proto(value) => varint_of(value).map(|value| value as i64),
            Node::Json(value) => json::integer(value),
        }
    }

    /// 0 for what does not fit, which no daemon sends.
    pub(crate) fn uint32(self) -> Result<u32, Error> {
        Ok(self.integer()?.try_into().unwrap_or(0))
    }

    pub(crate) fn sint32(self) -> Result<i32, Error> {
        match self {
            Node::Proto(value) => varint_of(value).map(wire::zigzag),
            Node::Json(value) => Ok(json::integer(value)?.try_into().unwrap_or(0)),
        }
    }

    pub(crate) fn bool(self) -> Result<bool, Error> {
        match self {
            Node::Proto(value) => Ok(varint_of(value)? != 0),
            Node::Json(value) => json::boolean(value),
        }
    }

    /// The number of an enumeration; `labels` are the names of 1, 2, 3 …. An unknown label counts as 0.
    pub(crate) fn label(self, labels: &[&str]) -> Result<i32, Error> {
        match self {
            Node::Json(Value::String(label)) if label.parse::<i32>().is_err() => {
                let index = labels.iter().position(|known| known == label);
                Ok(index.map_or(0, |index| index as i32 + 1))
            }
            node => Ok(node.integer()? as i32),
        }
    }

    /// Adds the pairs of a map field to `map`.
    pub(crate) fn pairs(self, map: &mut StringMap) -> Result<(), Error> {
        match self {
            Node::Proto(_) => {
                let (mut key, mut value) = (String::new(), String::new());
                self.fields(&[], &mut |number, node| {
                    match number {
                        1 => key = node.string()?,
                        2 => value = node.string()?,
                        _ => {}
                    }
                    Ok(())
                })?;
                set(map, key, value);
            }
            Node::Json(value) => {
                for (key, value) in value.as_object().ok_or_else(|| json::malformed("an object"))? {
                    if !value.is_null() {
                        set(map, key.clone(), json::string(value)?);
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn timestamp(self) -> Result<Timestamp, Error> {
        match self {
            Node::Proto(_) => {
                let mut time = Timestamp { seconds: 0, nanos: 0 };
                self.fields(&[], &mut |number, node| {
                    match number {
                        1 => time.seconds = node.integer()?,
                        2 => time.nanos = node.uint32()?.min(999_999_999),
                        _ => {}
                    }
                    Ok(())
                })?;
                Ok(time)
            }
            Node::Json(value) => {
                value.as_str().and_then(Timestamp::parse).ok_or_else(|| json::malformed("an RFC 3339 time"))
            }
        }
    }
}

fn bytes_of(value: wire::Value<'_>) -> Result<&[u8], Error> {
    match value {
        wire::Value::Bytes(bytes) => Ok(bytes),
        _ => Err(json::malformed("length-delimited")),
    }
}

fn varint_of(value: wire::Value<'_>) -> Result<u64, Error> {
    match value {
        wire::Value::Varint(value) => Ok(value),
        _ => Err(json::malformed("a varint")),
    }
}
