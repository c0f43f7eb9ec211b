//! A minimal protobuf reader and writer: varints and length-delimited fields, which is all that envd's messages use.
//! Fields of other types are skipped.

use crate::error::Error;

/// A field's value as it stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Varint(u64),
    /// A string, bytes, or a nested message.
    Bytes(&'a [u8]),
    /// A fixed-width number, which no known field has.
    Fixed,
}

/// Walks over the fields of one message.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Reader { rest: message }
    }

    /// Number and value of the next field, or `None` at the end of the message.
    ///
    /// # Errors
    /// `protocol_error` for a cut or overlong varint, a length beyond the message, field number 0, or a group (which
    /// proto3 does not have).
    pub fn field(&mut self) -> Result<Option<(u32, Value<'a>)>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = u32::try_from(self.varint()?).map_err(|_| malformed())?;
        let number = tag >> 3;
        if number == 0 {
            return Err(malformed());
        }
        let value = match tag & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                self.take(8)?;
                Value::Fixed
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| malformed())?;
                Value::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Value::Fixed
            }
            _ => return Err(malformed()),
        };
        Ok(Some((number, value)))
    }

    /// Whether all fields were read.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, Error> {
        let mut value = 0;
        for (index, &byte) in self.rest.iter().enumerate().take(10) {
            // The tenth byte holds the topmost bit alone.
            if index == 9 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                self.rest = &self.rest[index + 1..];
                return Ok(value);
            }
        }
        Err(malformed())
    }
}

/// Appends a varint field.
pub fn put_varint(out: &mut Vec<u8>, number: u32, value: u64) {
    varint(out, u64::from(number) << 3);
    varint(out, value);
}

/// Appends a length-delimited field: a string, bytes, or a nested message.
pub fn put_bytes(out: &mut Vec<u8>, number: u32, value: &[u8]) {
    varint(out, (u64::from(number) << 3) | 2);
    varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The number behind the zigzag form of a `sint32`.
pub fn zigzag(value: u64) -> i32 {
    let value = value as u32;
    ((value >> 1) as i32) ^ -((value & 1) as i32)
}

fn malformed() -> Error {
    Error::protocol(
        "The server sent a message that is not valid protobuf. Check proxies and gateways, or set encoding: \"json\".",
    )
}
