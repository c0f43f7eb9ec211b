//! `connect-codec.json`: frames out, frames in, leniency of the JSON reader.

use agent_sandbox_web::error::Error;
use agent_sandbox_web::protocol::connect::{Decoder, Frame, encode_envelope, end_of_stream};
use agent_sandbox_web::protocol::filesystem::{WatchEvent, WatchRequest, decode_entry};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::{
    ConnectRequest, ListRequest, ProcessEvent, PtySize, Selector, StartRequest,
};
use serde_json::{Value, json};

use crate::replay::{Outcome, expect_eq, hex, replay, text};
use crate::schema::{canonical_entry, canonical_event};

#[test]
fn encode() {
    replay("connect-codec", "encode", |case| {
        let message = match text(case, "name") {
            "connect" => ConnectRequest { process: Selector::Pid(42) }.encode(Encoding::Json),
            "watch_dir" => {
                WatchRequest { path: "/d".into(), recursive: true, ..WatchRequest::default() }.encode(Encoding::Json)
            }
            "empty" => ListRequest.encode(Encoding::Json),
            _ => start_request(&case["message"]).encode(Encoding::Json),
        };
        expect_eq("message", &serde_json::from_slice::<Value>(&message).unwrap(), &case["message"])?;
        let frame = encode_envelope(&message);
        let mut decoder = Decoder::new();
        for (whose, bytes) in [("ours", frame), ("theirs", hex(text(case, "frame_hex")))] {
            decoder.push(&bytes);
            let Ok(Some(Frame::Message(payload))) = decoder.next() else {
                return Err(format!("{whose}: no frame").into());
            };
            expect_eq(whose, &serde_json::from_slice::<Value>(payload).unwrap(), &case["message"])?;
        }
        Ok(())
    });
}

fn start_request(message: &Value) -> StartRequest {
    let process = &message["process"];
    let size = &message["pty"]["size"];
    StartRequest {
        cmd: text(process, "cmd").into(),
        args: process["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap().into()).collect(),
        envs: process["envs"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), v.as_str().unwrap().into()))
            .collect(),
        cwd: process["cwd"].as_str().map(Into::into),
        pty: size["cols"]
            .as_u64()
            .map(|cols| PtySize { cols: cols as u32, rows: size["rows"].as_u64().unwrap() as u32 }),
        tag: None,
        stdin: message["stdin"].as_bool(),
    }
}

#[test]
fn decode_stream() {
    replay("connect-codec", "decode_stream", |case| {
        let stream = hex(text(case, "stream_hex"));
        let mut expected = case["expect"].as_array().unwrap().clone();
        let raises = expected.pop_if(|last| last.get("raises").is_some()).is_some();
        let mut decoder = Decoder::new();
        let mut found = Vec::new();
        let mut failure = None;
        for chunk in chunks(&stream, &case["chunk_lengths"]) {
            decoder.push(chunk);
            if let Err(error) = drain(&mut decoder, &mut found) {
                failure = Some(error);
                break;
            }
        }
        expect_eq("messages", &found, &expected)?;
        expect_eq("failure", failure.is_some(), raises)?;
        if !raises {
            // The recorded decoder puts a complete header aside before it has the payload.
            let inside = !decoder.is_done() && decoder.buffered() >= 5;
            let leftover = decoder.buffered() - if inside { 5 } else { 0 };
            expect_eq("leftover bytes", leftover as u64, case["leftover_bytes"].as_u64().unwrap())?;
        }
        if failure.is_none() && !decoder.is_done() {
            expect_eq("truncation", decoder.finish().unwrap_err().code, "stream_truncated")?;
        }
        Ok(())
    });
}

fn chunks<'a>(stream: &'a [u8], lengths: &Value) -> Vec<&'a [u8]> {
    match lengths {
        Value::Array(lengths) => {
            let mut rest = stream;
            lengths.iter().map(|length| rest.split_off(..length.as_u64().unwrap() as usize).unwrap()).collect()
        }
        Value::String(all) => {
            assert_eq!(all, "all 1");
            stream.chunks(1).collect()
        }
        _ => vec![stream],
    }
}

fn drain(decoder: &mut Decoder, found: &mut Vec<Value>) -> Result<(), Error> {
    while let Some(frame) = decoder.next()? {
        match frame {
            Frame::Message(payload) => found.push(canonical_event(&ProcessEvent::decode(payload, Encoding::Json)?)),
            Frame::End(payload) => {
                if let Some(error) = end_of_stream(payload)? {
                    found.push(json!({"connect_error": {"code": error.code.as_str(), "message": error.message}}));
                }
            }
        }
    }
    Ok(())
}

#[test]
fn json_decode() {
    replay("connect-codec", "json_decode", |case| -> Outcome {
        let payload = text(case, "json").as_bytes();
        let decoded = match text(case, "type") {
            "process.StartResponse" => {
                ProcessEvent::decode(payload, Encoding::Json).map(|event| canonical_event(&event))
            }
            "filesystem.StatResponse" => {
                decode_entry(payload, Encoding::Json).map(|entry| json!({"entry": canonical_entry(&entry)}))
            }
            "filesystem.WatchDirResponse" => WatchEvent::decode(payload, Encoding::Json).map(|event| {
                let WatchEvent::Filesystem(event) = event else { panic!("{event:?}") };
                json!({"filesystem": {"name": event.name}})
            }),
            other => panic!("unknown type {other}"),
        };
        Ok(expect_eq("message", &decoded.map_err(|error| error.to_string())?, &case["expect"])?)
    });
}
