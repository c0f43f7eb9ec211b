//! Arbitrary bytes as the body of a process stream: cut into frames, decoded into events, decoded into text.
//!
//! The first byte chooses the encoding (bit 0) and the size of the chunks; the others are the stream. Beside not panicking:
//! the frames do not depend on the chunks, the decoder holds nothing but what it was given, and text is that of the whole.

#![no_main]

use agent_sandbox_web::error::Error;
use agent_sandbox_web::protocol::connect::{Context, Decoder, Frame, end_of_stream};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::ProcessEvent;
use agent_sandbox_web::protocol::text::Utf8Decoder;
use libfuzzer_sys::fuzz_target;

/// Larger frames are refused, so that the limit is met often.
const MAX_FRAME: usize = 1 << 16;

#[derive(Debug, PartialEq)]
struct Stream {
    frames: Vec<(bool, Vec<u8>)>,
    end: Result<(), Error>,
}

fn read(stream: &[u8], chunk_size: usize) -> Stream {
    let mut decoder = Decoder::with_max_frame(MAX_FRAME);
    let mut frames = Vec::new();
    let mut given = 0;
    for chunk in stream.chunks(chunk_size) {
        decoder.push(chunk);
        given += chunk.len();
        loop {
            assert!(decoder.buffered() <= given);
            match decoder.next() {
                Ok(Some(Frame::Message(payload))) => frames.push((false, payload.to_vec())),
                Ok(Some(Frame::End(payload))) => frames.push((true, payload.to_vec())),
                Ok(None) => break,
                Err(error) => return Stream { frames, end: Err(error) },
            }
        }
    }
    Stream { frames, end: decoder.finish() }
}

fn check_events(frames: &[(bool, Vec<u8>)], encoding: Encoding) {
    let mut decoder = Utf8Decoder::new();
    let (mut bytes, mut text) = (Vec::new(), String::new());
    for (is_end, payload) in frames {
        if *is_end {
            if let Ok(Some(error)) = end_of_stream(payload) {
                assert!(!error.into_error(Context::Process).message.is_empty());
            }
        } else if let Ok(ProcessEvent::Data { bytes: data, .. }) = ProcessEvent::decode(payload, encoding) {
            decoder.push(&data, &mut text);
            bytes.extend_from_slice(&data);
        }
    }
    decoder.finish(&mut text);
    assert_eq!(text, String::from_utf8_lossy(&bytes));
}

fuzz_target!(|data: &[u8]| {
    let Some((&control, stream)) = data.split_first() else { return };
    let encoding = if control & 1 == 0 { Encoding::Json } else { Encoding::Proto };
    let whole = read(stream, stream.len().max(1));
    assert_eq!(read(stream, usize::from(control >> 1) + 1), whole);
    check_events(&whole.frames, encoding);
});
