//! Lenient accessors for proto3 JSON: numbers may be strings and strings numbers, base64 may use either alphabet and may
//! lack its padding, names may be written in snake case, `null` is absence.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

use crate::error::Error;

const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Parses a message. Empty input is the empty message.
pub fn parse(text: &[u8]) -> Result<Value, Error> {
    if text.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    // The parser's own words may quote the input, which can hold secrets; its position says enough.
    serde_json::from_slice(text).map_err(|error| {
        Error::protocol(format!(
            "The server sent a message that is not valid JSON (at line {}, column {}). Check proxies and gateways between \
             this client and the sandbox.",
            error.line(),
            error.column()
        ))
    })
}

/// Whether a member called `key` is the field `name`: both spellings of a field, `exitCode` and `exit_code`, are accepted.
pub fn is_field(key: &str, name: &str) -> bool {
    letters(key).eq(letters(name))
}

fn letters(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|&byte| byte != b'_').map(|byte| byte.to_ascii_lowercase())
}

pub fn string(value: &Value) -> Result<String, Error> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(malformed("a string")),
    }
}

/// A 32 or 64 bit integer, signed or not.
pub fn integer(value: &Value) -> Result<i64, Error> {
    let parsed = match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.parse().ok().or_else(|| float(text).and_then(whole)),
        _ => None,
    };
    parsed.ok_or_else(|| malformed("an integer"))
}

/// A number as JSON writes it. The parser of the standard library would bring ten kilobytes of tables along.
fn float(text: &str) -> Option<f64> {
    serde_json::from_str::<Value>(text).ok()?.as_f64()
}

/// `number` as an integer, if it is one: JSON does not tell 7 from 7.0.
fn whole(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
}

pub fn boolean(value: &Value) -> Result<bool, Error> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        Value::String(text) if text == "true" => Ok(true),
        Value::String(text) if text == "false" => Ok(false),
        _ => Err(malformed("a boolean")),
    }
}

pub fn bytes(value: &Value) -> Result<Vec<u8>, Error> {
    decode_base64(value.as_str().ok_or_else(|| malformed("base64 text"))?.as_bytes())
}

/// Base64 of either alphabet, with or without padding.
pub fn decode_base64(text: &[u8]) -> Result<Vec<u8>, Error> {
    let engine = if text.iter().any(|byte| matches!(byte, b'-' | b'_')) { URL_SAFE } else { STANDARD };
    engine.decode(text).map_err(|_| malformed("base64 text"))
}

/// Standard base64 with padding, as proto3 JSON is written.
pub fn encode_base64(data: &[u8]) -> String {
    STANDARD.encode(data)
}

pub fn malformed(expected: &str) -> Error {
    Error::protocol(format!(
        "The server sent a message with a field that is not {expected}, as the protocol asks. Update this package or the \
         sandbox's template, so that both speak the same version."
    ))
}
