//! Input nobody should send: it must be refused quickly, with an error, and without memory being set aside for it.

use agent_sandbox_web::protocol::connect::{DEFAULT_MAX_FRAME, Decoder, Frame};
use agent_sandbox_web::protocol::filesystem::{WatchEvent, decode_entries};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::{ProcessEvent, Stream, decode_list};
use agent_sandbox_web::protocol::timestamp::Timestamp;
use agent_sandbox_web::protocol::wire::{Reader, Value};

use crate::replay::check_wording;

fn header(flags: u8, length: u32) -> Vec<u8> {
    let mut bytes = vec![flags];
    bytes.extend(length.to_be_bytes());
    bytes
}

#[test]
fn refused_headers() {
    for (flags, length, code) in [
        (0, u32::MAX, "message_too_large"),
        (2, u32::MAX, "message_too_large"),
        (0, DEFAULT_MAX_FRAME as u32 + 1, "message_too_large"),
        (1, 0, "protocol_error"),
        (3, 2, "protocol_error"),
        (4, 0, "protocol_error"),
        (0xff, u32::MAX, "protocol_error"),
    ] {
        let mut decoder = Decoder::new();
        decoder.push(&header(flags, length));
        let error = decoder.next().unwrap_err();
        assert_eq!(error.code, code);
        check_wording(&error);
        // It stays refused, and nothing that follows is kept.
        decoder.push(&[0; 100]);
        assert_eq!(decoder.next().unwrap_err(), error);
        assert_eq!(decoder.finish().unwrap_err(), error);
        assert_eq!(decoder.buffered(), 0);
        assert!(!decoder.is_done());
    }
}

#[test]
fn limits_are_exact() {
    let mut decoder = Decoder::with_max_frame(3);
    decoder.push(&[0, 0, 0, 0, 3, 1, 2, 3]);
    assert_eq!(decoder.next().unwrap(), Some(Frame::Message(&[1, 2, 3])));
    decoder.push(&[0, 0, 0, 0, 4]);
    assert_eq!(decoder.next().unwrap_err().code, "message_too_large");
    // The limit itself has one, so that sums of lengths fit 32 bits.
    let mut decoder = Decoder::with_max_frame(usize::MAX);
    decoder.push(&header(0, u32::MAX));
    assert_eq!(decoder.next().unwrap_err().code, "message_too_large");
}

#[test]
fn truncation_says_where() {
    for (bytes, words) in [
        (&[][..], "without its end marker"),
        (&[0, 0], "2 of 5 bytes"),
        (&[0, 0, 0, 0, 9, 1], "1 of 9 bytes"),
        (&[0, 0, 0, 0, 0], "without its end marker"),
    ] {
        let mut decoder = Decoder::new();
        decoder.push(bytes);
        while decoder.next().unwrap().is_some() {}
        let error = decoder.finish().unwrap_err();
        assert_eq!(error.code, "stream_truncated");
        assert!(error.message.contains(words), "{error}");
        check_wording(&error);
    }
}

#[test]
fn nothing_is_read_after_the_end() {
    let mut decoder = Decoder::new();
    decoder.push(&[2, 0, 0, 0, 0, 0xff, 0xff]);
    assert_eq!(decoder.next().unwrap(), Some(Frame::End(&[])));
    assert_eq!(decoder.next().unwrap(), None);
    decoder.push(&[0xff; 100]);
    decoder.push_with(5, |_| panic!("the stream is over"));
    assert_eq!(decoder.next().unwrap(), None);
    assert_eq!((decoder.is_done(), decoder.buffered()), (true, 2));
    decoder.finish().unwrap();
}

#[test]
fn broken_protobuf() {
    let events = |bytes: &[u8]| ProcessEvent::decode(bytes, Encoding::Proto).map(ProcessEvent::into_owned);
    for bytes in [
        &b"\x0a"[..],                                        // no length
        b"\x0a\x05ab",                                       // a length beyond the message
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",     // the longest length there is
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",     // a varint of more than 64 bits
        b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", // a varint of more than ten bytes
        b"\x00\x00",                                         // field number 0
        b"\x0b\x0c",                                         // a group
        b"\x0e",                                             // wire type 6
        b"\x80",                                             // a cut tag
        b"\xff\xff\xff\xff\xff\x0f\x00",                     // a tag of more than 32 bits
        b"\x09\x00",                                         // a cut fixed64
        b"\x0d\x00",                                         // a cut fixed32
        b"\x08\x01",                                         // a number in place of a message
        b"\x0a\x04\x12\x02\x08\x01",                         // a number in place of bytes
    ] {
        let error = events(bytes).unwrap_err();
        assert_eq!(error.code, "protocol_error", "{bytes:?}");
        check_wording(&error);
    }
    // Unknown fields of every legal kind are skipped.
    let mut message =
        b"\x9a\x06\x03abc\x99\x06\x01\x02\x03\x04\x05\x06\x07\x08\x9d\x06\x01\x02\x03\x04\x98\x06\x96\x01".to_vec();
    message.extend(b"\x0a\x04\x0a\x02\x08\x07");
    assert_eq!(events(&message).unwrap(), ProcessEvent::Start { pid: 7 });
    // Output with something beside it is read like output alone; of two, the last counts.
    let output = |bytes: &'static [u8]| ProcessEvent::Data { stream: Stream::Stderr, bytes: bytes.into() };
    assert_eq!(events(b"\x0a\x05\x12\x03\x12\x01a").unwrap(), output(b"a"));
    assert_eq!(events(b"\x0a\x05\x12\x03\x12\x01a\x98\x06\x01").unwrap(), output(b"a"));
    assert_eq!(events(b"\x0a\x08\x12\x03\x12\x01a\x98\x06\x01").unwrap(), output(b"a"));
    assert_eq!(events(b"\x0a\x08\x12\x06\x12\x01a\x12\x01b").unwrap(), output(b"b"));
    let mut reader = Reader::new(&message);
    assert_eq!(reader.field().unwrap(), Some((99, Value::Bytes(b"abc"))));
    assert_eq!(reader.field().unwrap(), Some((99, Value::Fixed)));
}

#[test]
fn broken_json() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for payload in [
        "{",
        "[]",
        "7",
        "\u{feff}{}",
        r#"{"event":7}"#,
        r#"{"event":{"data":{"stdout":7}}}"#,
        r#"{"event":{"data":{"stdout":"*"}}}"#,
        r#"{"event":{"data":{"stdout":"A"}}}"#,
        r#"{"event":{"data":{"stdout":"-/"}}}"#,
        r#"{"event":{"end":{"exitCode":"x"}}}"#,
        r#"{"event":{"end":{"exitCode":1.5}}}"#,
        r#"{"event":{"end":{"exited":1}}}"#,
        r#"{"event":{"start":{"pid":{}}}}"#,
        &deep,
    ] {
        let error = ProcessEvent::decode(payload.as_bytes(), Encoding::Json).unwrap_err();
        assert_eq!(error.code, "protocol_error", "{payload:.60}");
        check_wording(&error);
    }
    assert!(decode_list(b"{\"processes\":{}}", Encoding::Json).is_ok_and(|list| list.len() == 1));
    assert!(decode_entries(br#"{"entries":[{"modifiedTime":"yesterday"}]}"#, Encoding::Json).is_err());
    assert_eq!(WatchEvent::decode(b"", Encoding::Json).unwrap(), WatchEvent::Unknown);
}

/// The short way of reading output must agree with the long one about everything it takes.
#[test]
fn output_with_odd_spelling() {
    let data = |text: &str| ProcessEvent::decode(text.as_bytes(), Encoding::Json).unwrap().into_owned();
    let plain = data(r#"{"event":{"data":{"stdout":"aGk/"}}}"#);
    for text in [
        "\n { \"event\" : {\t\"data\":\r{ \"stdout\" : \"aGk/\" } } } ",
        r#"{"event":{"data":{"stdout":"aGk\/"}}}"#,
        r#"{"event":{"data":{"stdout":"aGk_"}}}"#,
        r#"{"event":{"data":{"stdout":"aGk/","other":1}}}"#,
        r#"{"event":{"data":{"stdout":"aGk/"},"more":[]}}"#,
        r#"{"more":{},"event":{"data":{"stdout":"aGk/"}}}"#,
        r#"{"event":{"data":{"std\u006fut":"aGk/"}}}"#,
    ] {
        assert_eq!(data(text), plain, "{text}");
    }
    for text in [r#"{"event":{"data":{"stdout":"aGk/"}}}}"#, r#"{"event":{"data":{"stdout":"aGk/"}}"#] {
        assert!(ProcessEvent::decode(text.as_bytes(), Encoding::Json).is_err(), "{text}");
    }
}

#[test]
fn times() {
    let millis = |text: &str| Timestamp::parse(text).map(Timestamp::as_millis);
    assert_eq!(millis("1970-01-01T00:00:00Z"), Some(0.0));
    assert_eq!(millis("2025-01-02T03:04:05.678999999Z"), Some(1_735_787_045_678.0));
    assert_eq!(millis("2025-01-02T03:04:05+01:30"), Some(1_735_781_645_000.0));
    assert_eq!(millis("2025-01-02 03:04:05"), Some(1_735_787_045_000.0));
    assert_eq!(millis("2024-02-29T23:59:60Z"), Some(1_709_251_200_000.0));
    assert_eq!(millis("0001-01-01T00:00:00Z"), Some(-62_135_596_800_000.0));
    assert_eq!(Timestamp::parse("1969-12-31T23:59:59.5Z"), Some(Timestamp { seconds: -1, nanos: 500_000_000 }));
    for text in [
        "",
        "now",
        "2025-01-02",
        "2025-13-01T00:00:00Z",
        "2025-02-29T00:00:00Z",
        "2025-01-02T24:00:00Z",
        "2025-01-02T03:04:05.Z",
        "2025-01-02T03:04:05+1",
        "2025-01-02T03:04:05é",
        "2025-01-02T+3:04:05Z",
        "20250-1-02T03:04:05Z",
        "2025-01-02T03:04:05Zx",
        "éééééééééé",
        "2025-01-02T03:04:05+99:00",
    ] {
        assert_eq!(Timestamp::parse(text), None, "{text}");
    }
}
