//! Text: where a stream of UTF-8 may be cut, and excerpts fit for error messages.

use std::borrow::Cow;

/// Cuts a stream of UTF-8 between characters, however it arrives, so that each part can be decoded by itself: the parts
/// together become what the stream as a whole would. Bytes that are no UTF-8 are left to the decoder.
#[derive(Debug, Clone, Default)]
pub struct Utf8Splitter {
    /// The beginning of a character whose rest has not arrived: at most three bytes.
    held: Vec<u8>,
}

impl Utf8Splitter {
    /// `bytes` after what was held back, without an incomplete character at the end, which is held back in turn.
    pub fn split<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        if self.held.is_empty() {
            let (whole, held) = bytes.split_at(bytes.len() - incomplete(bytes));
            self.held.extend_from_slice(held);
            return Cow::Borrowed(whole);
        }
        let mut joined = std::mem::take(&mut self.held);
        joined.extend_from_slice(bytes);
        self.held = joined.split_off(joined.len() - incomplete(&joined));
        Cow::Owned(joined)
    }

    /// What is held back.
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Ends the stream: what was held back, which will stay incomplete.
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// How many bytes at the end of `bytes` are a character that lacks its end.
fn incomplete(bytes: &[u8]) -> usize {
    // The longest beginning of a character has three bytes, and only its first is no continuation.
    let last = bytes.iter().rev().take(3).position(|byte| byte & 0xc0 != 0x80);
    let Some(length) = last.map(|position| position + 1) else { return 0 };
    match std::str::from_utf8(&bytes[bytes.len() - length..]) {
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_none() => length,
        _ => 0,
    }
}

/// At most `limit` characters of `text`, with `…` in place of the rest.
pub fn excerpt(text: &str, limit: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// An excerpt of a body that should have been a message and may be anything, such as a gateway's page: at most 300
/// characters.
pub fn body_excerpt(body: &[u8]) -> String {
    // 300 characters have at most 1200 bytes, so the rest need not be decoded.
    let head = &body[..body.len().min(1204)];
    excerpt(&String::from_utf8_lossy(head), 300)
}
