//! SHA-256 for the JavaScript side, piece by piece: the host's own digest wants everything at once, and is missing in pages
//! that were not loaded securely. Not part of the public API.

use sha2::Digest;
use wasm_bindgen::prelude::*;

/// A digest under way.
#[wasm_bindgen(skip_typescript)]
#[derive(Default)]
pub struct Sha256 {
    state: sha2::Sha256,
}

#[wasm_bindgen]
impl Sha256 {
    #[wasm_bindgen(constructor, skip_typescript)]
    pub fn new() -> Sha256 {
        Sha256::default()
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn update(&mut self, bytes: &[u8]) {
        self.state.update(bytes);
    }

    /// The digest in hexadecimal. Ends this object.
    #[wasm_bindgen(skip_typescript)]
    pub fn hex(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = String::new();
        for byte in self.state.finalize() {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        text
    }
}
