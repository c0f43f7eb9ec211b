//! Jupyter's messages: parts, signature, and the little of their content that the interpreter looks at. Pure.

use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::Sha256;
use uuid::Uuid;

const DELIMITER: &[u8] = b"<IDS|MSG>";
const VERSION: &str = "5.3";

/// What both ends sign with. A kernel ignores requests without a signature by the key in its connection file.
pub(super) struct Signer {
    key: String,
    session: String,
}

/// A request on its way to a kernel.
pub(super) struct Request {
    pub(super) id: String,
    pub(super) parts: Vec<Bytes>,
}

/// A message of a kernel.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) kind: String,
    /// The id of the request that this belongs to; empty when there is none.
    pub(super) parent: String,
    pub(super) content: Box<RawValue>,
}

#[derive(Deserialize)]
struct Header {
    msg_type: String,
}

#[derive(Deserialize)]
struct ParentHeader {
    #[serde(default)]
    msg_id: String,
}

impl Signer {
    pub(super) fn new() -> Self {
        Signer { key: Uuid::new_v4().to_string(), session: Uuid::new_v4().to_string() }
    }

    /// For the connection file.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    fn mac(&self, parts: &[Bytes]) -> Hmac<Sha256> {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.key.as_bytes()) else {
            unreachable!("HMAC takes keys of any length")
        };
        for part in parts {
            mac.update(part);
        }
        mac
    }

    pub(super) fn request(&self, kind: &str, content: &Value) -> Request {
        let id = Uuid::new_v4().to_string();
        let date = super::lines::timestamp();
        let header = json!({
            "msg_id": id,
            "session": self.session,
            "username": "user",
            "date": date,
            "msg_type": kind,
            "version": VERSION,
        });
        let signed: Vec<Bytes> = [&header, &json!({}), &json!({}), content].map(|part| part.to_string().into()).into();
        let signature = hex(&self.mac(&signed).finalize().into_bytes());
        let mut parts = vec![Bytes::from_static(DELIMITER), signature.into()];
        parts.extend(signed);
        Request { id, parts }
    }

    /// The message in `parts`; `None` for anything that no kernel with our key has sent.
    pub(super) fn open(&self, parts: &[Bytes]) -> Option<Message> {
        let start = parts.iter().position(|part| part == DELIMITER)?;
        let signature = unhex(parts.get(start + 1)?)?;
        let signed = parts.get(start + 2..start + 6)?;
        self.mac(signed).verify_slice(&signature).ok()?;
        let [header, parent, _, content] = signed else { return None };
        let header: Header = serde_json::from_slice(header).ok()?;
        let parent: ParentHeader = serde_json::from_slice(parent).ok()?;
        // Programs can print what is no text; the rest of the message is still worth showing.
        let content = String::from_utf8_lossy(content);
        Some(Message {
            kind: header.msg_type,
            parent: parent.msg_id,
            content: RawValue::from_string(content.into_owned()).ok()?,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    text.chunks(2)
        .map(|pair| match pair {
            [high, low] => Some((digit(high)? * 16 + digit(low)?) as u8),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_with_our_signature_are_read() {
        let signer = Signer::new();
        let request = signer.request("execute_request", &json!({ "code": "日本語" }));
        let mut parts = vec![Bytes::from_static(b"identity")];
        parts.extend(request.parts.clone());
        let message = signer.open(&parts).unwrap();
        assert_eq!((message.kind.as_str(), message.parent.as_str()), ("execute_request", ""));
        assert_eq!(message.content.get(), r#"{"code":"日本語"}"#);

        assert!(Signer::new().open(&parts).is_none(), "another key");
        let changed = |index: usize, part: &'static [u8]| {
            let mut parts = parts.clone();
            parts[index] = Bytes::from_static(part);
            signer.open(&parts).is_none()
        };
        assert!(changed(6, b"{}"), "another content");
        for signature in [&b""[..], b"0", b"xyz", b"\xff\xff"] {
            assert!(changed(2, signature), "{signature:?}");
        }
        assert!(signer.open(&parts[..5]).is_none(), "cut");
        assert!(signer.open(&[]).is_none());
    }

    #[test]
    fn content_that_is_no_text_is_repaired() {
        let signer = Signer::new();
        let mut parts = signer.request("stream", &json!({})).parts;
        parts[5] = Bytes::from_static(b"{\"text\":\"\xff\"}");
        parts[1] = hex(&signer.mac(&parts[2..]).finalize().into_bytes()).into();
        assert_eq!(signer.open(&parts).unwrap().content.get(), "{\"text\":\"\u{fffd}\"}");
    }
}
