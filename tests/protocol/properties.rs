//! Properties that must hold for all input.

use agent_sandbox_web::protocol::connect::{Decoder, Frame, encode_envelope};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::{Input, ProcessEvent, PtySize, Selector, SendInputRequest, StartRequest};
use agent_sandbox_web::protocol::text::Utf8Splitter;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::replay::{hex, load};
use crate::schema::{canonical_event, to_binary, to_json};

/// A frame that does not borrow: whether it is the end, and its payload.
type Owned = (bool, Vec<u8>);

/// The frames of `stream` cut into `chunks`, whether it was complete, and what was left over.
fn frames<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Owned>, Result<(), &'static str>, usize) {
    let mut decoder = Decoder::new();
    let mut found = Vec::new();
    for (index, chunk) in chunks.into_iter().enumerate() {
        if index % 2 == 0 {
            decoder.push(chunk);
        } else {
            decoder.push_with(chunk.len(), |room| room.copy_from_slice(chunk));
        }
        loop {
            match decoder.next() {
                Ok(Some(Frame::Message(payload))) => found.push((false, payload.to_vec())),
                Ok(Some(Frame::End(payload))) => found.push((true, payload.to_vec())),
                Ok(None) => break,
                Err(error) => return (found, Err(error.code), 0),
            }
        }
    }
    // Bytes after the end are dropped as they come, so how many are still there depends on the chunks.
    let rest = if decoder.is_done() { 0 } else { decoder.buffered() };
    (found, decoder.finish().map_err(|error| error.code), rest)
}

fn recorded_streams() -> Vec<Vec<u8>> {
    let codec = load("connect-codec.json");
    let rpc = load("envd-rpc.json");
    let mut streams: Vec<Vec<u8>> = codec["decode_stream"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| hex(case["stream_hex"].as_str().unwrap()))
        .collect();
    for case in rpc["cases"].as_array().unwrap() {
        for exchange in case["requests"].as_array().unwrap() {
            if let Some(chunks) = exchange["response"]["body_chunks_hex"].as_array() {
                streams.push(chunks.iter().flat_map(|chunk| hex(chunk.as_str().unwrap())).collect());
            }
        }
    }
    assert!(streams.len() > 40);
    streams
}

#[test]
fn recorded_streams_split_anywhere() {
    for stream in recorded_streams() {
        let whole = frames([&stream[..]]);
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(frames([head, tail]), whole, "split at {at}");
        }
        assert_eq!(frames(stream.chunks(1)), whole);
        assert_eq!(frames(stream.chunks(7)), whole);
    }
}

/// `bytes` cut at the given places (taken modulo the length).
pub(crate) fn cut<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut chunks = Vec::new();
    let mut from = 0;
    for place in places.into_iter().chain([bytes.len()]) {
        chunks.push(&bytes[from..place]);
        from = place;
    }
    chunks
}

fn string_map() -> impl Strategy<Value = Vec<(String, String)>> {
    proptest::collection::btree_map(any::<String>(), any::<String>(), 0..4).prop_map(|map| map.into_iter().collect())
}

prop_compose! {
    fn start_request()(
        cmd in any::<String>(),
        args in vec(any::<String>(), 0..4),
        envs in string_map(),
        cwd in any::<Option<String>>(),
        size in any::<Option<(u32, u32)>>(),
        tag in any::<Option<String>>(),
        stdin in any::<Option<bool>>(),
    ) -> StartRequest {
        StartRequest { cmd, args, envs, cwd, pty: size.map(|(cols, rows)| PtySize { cols, rows }), tag, stdin }
    }
}

/// An event in proto3 JSON.
fn event() -> impl Strategy<Value = Value> {
    let output = prop_oneof![Just("stdout"), Just("stderr"), Just("pty")];
    prop_oneof![
        any::<u32>().prop_map(|pid| json!({"start": {"pid": pid}})),
        (output, vec(any::<u8>(), 0..80)).prop_map(|(name, bytes)| {
            canonical_event(&ProcessEvent::Data {
                stream: match name {
                    "stdout" => agent_sandbox_web::protocol::process::Stream::Stdout,
                    "stderr" => agent_sandbox_web::protocol::process::Stream::Stderr,
                    _ => agent_sandbox_web::protocol::process::Stream::Pty,
                },
                bytes: bytes.into(),
            })["event"]
                .clone()
        }),
        (any::<i32>(), any::<bool>(), any::<String>(), any::<Option<String>>()).prop_map(
            |(code, exited, status, error)| {
                json!({"end": {"exitCode": code, "exited": exited, "status": status, "error": error}})
            }
        ),
        Just(json!({"keepalive": {}})),
    ]
}

proptest! {
    #[test]
    fn envelopes_survive_any_split(
        payloads in vec(vec(any::<u8>(), 0..200), 0..12),
        ended in any::<bool>(),
        cuts in vec(any::<usize>(), 0..20),
    ) {
        let mut stream: Vec<u8> = payloads.iter().flat_map(|payload| encode_envelope(payload)).collect();
        let mut expected: Vec<Owned> = payloads.into_iter().map(|payload| (false, payload)).collect();
        if ended {
            stream.extend([2, 0, 0, 0, 2, b'{', b'}', 0xff]);
            expected.push((true, b"{}".to_vec()));
        }
        let (found, end, rest) = frames(cut(&stream, &cuts));
        prop_assert_eq!(found, expected);
        prop_assert_eq!(end, if ended { Ok(()) } else { Err("stream_truncated") });
        prop_assert_eq!(rest, 0);
    }

    #[test]
    fn any_bytes_give_the_same_frames_however_cut(
        stream in vec(prop_oneof![4 => 0_u8..4, 1 => any::<u8>()], 0..200),
        cuts in vec(any::<usize>(), 0..20),
    ) {
        prop_assert_eq!(frames(cut(&stream, &cuts)), frames([&stream[..]]));
    }

    #[test]
    fn start_requests_mean_the_same_in_both_encodings(request in start_request()) {
        let binary = request.encode(Encoding::Proto);
        let json: Value = serde_json::from_slice(&request.encode(Encoding::Json)).unwrap();
        prop_assert_eq!(to_json("process.StartRequest", &binary), to_json("process.StartRequest", &to_binary("process.StartRequest", &json)));
        prop_assert_eq!(&to_json("process.StartRequest", &binary)["process"]["args"], &if request.args.is_empty() { Value::Null } else { json!(request.args) });
    }

    #[test]
    fn input_arrives_as_it_was(data in vec(any::<u8>(), 0..300), pid in any::<u32>()) {
        let request = SendInputRequest { process: Selector::Pid(pid), input: Input::Stdin(&data) };
        let json: Value = serde_json::from_slice(&request.encode(Encoding::Json)).unwrap();
        prop_assert_eq!(to_binary("process.SendInputRequest", &json), {
            let seen = to_json("process.SendInputRequest", &request.encode(Encoding::Proto));
            to_binary("process.SendInputRequest", &seen)
        });
    }

    #[test]
    fn events_are_read_alike_from_both_encodings(event in event()) {
        let message = json!({ "event": event });
        let text = message.to_string();
        let from_json = ProcessEvent::decode(text.as_bytes(), Encoding::Json).unwrap();
        let pretty = serde_json::to_string_pretty(&message).unwrap();
        prop_assert_eq!(&ProcessEvent::decode(pretty.as_bytes(), Encoding::Json).unwrap(), &from_json);
        let binary = to_binary("process.StartResponse", &message);
        prop_assert_eq!(&ProcessEvent::decode(&binary, Encoding::Proto).unwrap(), &from_json);
        // And it means what the library says it means.
        let library = to_json("process.StartResponse", &binary);
        let ours = to_json("process.StartResponse", &to_binary("process.StartResponse", &canonical_event(&from_json)));
        prop_assert_eq!(ours, library);
    }

    #[test]
    fn arbitrary_payloads_never_panic(payload in vec(any::<u8>(), 0..100)) {
        for encoding in [Encoding::Proto, Encoding::Json] {
            let _ = ProcessEvent::decode(&payload, encoding);
            let _ = agent_sandbox_web::protocol::process::decode_list(&payload, encoding);
            let _ = agent_sandbox_web::protocol::filesystem::decode_entries(&payload, encoding);
            let _ = agent_sandbox_web::protocol::filesystem::WatchEvent::decode(&payload, encoding);
        }
    }

    #[test]
    fn text_is_decoded_as_a_whole_however_cut(
        bytes in vec(prop_oneof![
            Just(b"a".to_vec()), Just("é".into()), Just("€".into()), Just("😀".into()),
            Just(vec![0xf0, 0x9f]), Just(vec![0xe2]), Just(vec![0xed, 0xa0, 0x80]), Just(vec![0xf4, 0x90]), Just(vec![0xc0, 0xaf]),
            vec(any::<u8>(), 0..5),
        ], 0..30).prop_map(|parts| parts.concat()),
        cuts in vec(any::<usize>(), 0..20),
    ) {
        let text = decoded(cut(&bytes, &cuts));
        prop_assert_eq!(text, String::from_utf8_lossy(&bytes).into_owned());
    }
}

/// Each part decoded by itself, and that together.
fn decoded<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut splitter = Utf8Splitter::default();
    let mut text = String::new();
    for part in parts {
        text += &String::from_utf8_lossy(&splitter.split(part));
        assert!(splitter.held().len() <= 3, "{:?} is held back", splitter.held());
    }
    text + &String::from_utf8_lossy(&splitter.finish())
}

#[test]
fn text_split_at_every_byte() {
    let samples: [&[u8]; 6] = [
        "aé€😀z".as_bytes(),
        b"\xf0\x9f\x98",
        b"\xf0\x9fa\x80\xe2\x82",
        b"\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xff\xfe",
        b"\xe2\xe2\x82\xac\xc3",
        b"\xef\xbb\xbfbom",
    ];
    for bytes in samples {
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                let text = decoded([&bytes[..first], &bytes[first..second], &bytes[second..]]);
                assert_eq!(text, String::from_utf8_lossy(bytes), "{bytes:?} cut at {first} and {second}");
            }
        }
    }
}
