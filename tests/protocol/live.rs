//! `envd-live.json`: what a real daemon answered. Every answer must be read without loss, and every refusal must become
//! the error that its status and code call for.

use agent_sandbox_web::protocol::connect::{Code, Context, Decoder, Frame, end_of_stream, read_unary_error};
use agent_sandbox_web::protocol::files;
use agent_sandbox_web::protocol::filesystem::{
    FileType, WatchEvent, decode_entries, decode_entry, decode_watcher_events,
};
use agent_sandbox_web::protocol::http::{Head, Headers};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::{ProcessEvent, decode_list};
use agent_sandbox_web::protocol::rpc;
use serde_json::{Value, json};

use crate::replay::{check_wording, hex, load, text};
use crate::schema::canonical_event;

struct Exchange {
    method: String,
    path: String,
    head: Head,
    chunks: Vec<Vec<u8>>,
    /// Decoded frames, for streams.
    frames: Option<Value>,
}

/// All exchanges whose bodies were recorded in full.
fn exchanges() -> Vec<Exchange> {
    let recorded = load("envd-live.json");
    let checks = recorded["checks"].as_array().unwrap();
    let all = checks.iter().flat_map(|check| check["exchanges"].as_array().unwrap());
    all.filter_map(|exchange| {
        let request = exchange["request"]["head"]["text"].as_str()?;
        let mut line = request.split(' ');
        let response = &exchange["response"];
        let mut headers = Headers::default();
        for field in text(&response["head"], "text").split("\r\n").skip(1) {
            if let Some((name, value)) = field.split_once(':') {
                headers.set(name.to_owned(), value.trim());
            }
        }
        // Compression was asked for there; this client never does.
        if headers.get("content-encoding").or(headers.get("connect-content-encoding")).is_some() {
            return None;
        }
        let chunks = response["chunks"].as_array()?.iter().map(|chunk| match (chunk.get("text"), chunk.get("hex")) {
            (Some(text), _) => Some(text.as_str()?.as_bytes().to_vec()),
            (None, Some(bytes)) => Some(hex(bytes.as_str()?)),
            (None, None) => None,
        });
        Some(Exchange {
            method: line.next()?.to_owned(),
            path: line.next()?.split('?').next()?.to_owned(),
            head: Head { status: response["status"].as_u64()?.try_into().ok()?, headers },
            chunks: chunks.collect::<Option<_>>()?,
            frames: response.get("frames").cloned(),
        })
    })
    .collect()
}

#[test]
fn streams_are_read_in_full() {
    let mut streams = 0;
    for exchange in exchanges() {
        let Some(recorded) = exchange.frames.filter(|_| rpc::is_stream_answer(&exchange.head, Encoding::Json)) else {
            continue;
        };
        streams += 1;
        let mut decoder = Decoder::new();
        let mut frames = Vec::new();
        for chunk in &exchange.chunks {
            decoder.push(chunk);
            while let Some(frame) = decoder.next().unwrap() {
                frames.push(match frame {
                    Frame::Message(payload) => {
                        let message: Value = serde_json::from_slice(payload).unwrap();
                        check_message(&exchange.path, payload, &message);
                        json!({"flags": 0, "json": message})
                    }
                    Frame::End(payload) => {
                        let trailer: Value = serde_json::from_slice(payload).unwrap();
                        let error = end_of_stream(payload).unwrap();
                        assert_eq!(error.map(|error| error.code.as_str()), trailer["error"]["code"].as_str());
                        json!({"flags": 2, "json": trailer})
                    }
                });
            }
        }
        let ended = frames.last().is_some_and(|frame| frame["flags"] == 2);
        assert_eq!(decoder.finish().is_ok(), ended);
        assert_eq!(Value::Array(frames), recorded, "{}", exchange.path);
    }
    assert!(streams > 100, "only {streams} streams");
}

/// The typed event must say what the message says.
fn check_message(path: &str, payload: &[u8], message: &Value) {
    if path.ends_with("/WatchDir") {
        match WatchEvent::decode(payload, Encoding::Json).unwrap() {
            WatchEvent::Filesystem(event) => assert_eq!(message["filesystem"]["name"], event.name),
            WatchEvent::Start => assert!(message.get("start").is_some()),
            WatchEvent::Keepalive => assert!(message.get("keepalive").is_some()),
            WatchEvent::Unknown => panic!("unknown: {message}"),
        }
    } else {
        let event = ProcessEvent::decode(payload, Encoding::Json).unwrap();
        assert_eq!(&canonical_event(&event), message);
    }
}

#[test]
fn unary_answers_are_read() {
    let mut answers = 0;
    for exchange in exchanges() {
        let body = exchange.chunks.concat();
        let encoding =
            if rpc::is_unary_answer(&exchange.head, Encoding::Json) { Encoding::Json } else { Encoding::Proto };
        if !rpc::is_unary_answer(&exchange.head, encoding) {
            continue;
        }
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let length = |name: &str| message[name].as_array().map_or(0, Vec::len);
        match exchange.path.rsplit('/').next().unwrap() {
            "Stat" if encoding == Encoding::Proto => {
                let entry = decode_entry(&body, encoding).unwrap();
                assert_eq!((entry.name.as_str(), entry.file_type, entry.mode), ("/", FileType::Directory, 0o755));
                assert_eq!(entry.permissions, "drwxr-xr-x");
            }
            "Stat" | "MakeDir" | "Move" => {
                let entry = decode_entry(&body, encoding).unwrap();
                assert_eq!(message["entry"]["path"], entry.path);
                assert_eq!(message["entry"]["mode"].as_u64().unwrap_or(0), u64::from(entry.mode));
            }
            "ListDir" => assert_eq!(decode_entries(&body, encoding).unwrap().len(), length("entries")),
            "List" => assert_eq!(decode_list(&body, encoding).unwrap().len(), length("processes")),
            "GetWatcherEvents" => assert_eq!(decode_watcher_events(&body, encoding).unwrap().len(), length("events")),
            _ => continue,
        }
        answers += 1;
    }
    assert!(answers > 100, "only {answers} answers");
}

#[test]
fn refusals_are_understood() {
    let mut refusals = 0;
    for exchange in exchanges().into_iter().filter(|exchange| exchange.head.status >= 400) {
        let body = exchange.chunks.concat();
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let error = if exchange.path.contains(".Filesystem/") || exchange.path.contains(".Process/") {
            let error = read_unary_error(&exchange.head, &body);
            match (&answer["code"], exchange.head.status) {
                (Value::String(name), _) => assert_eq!(error.code.as_str(), name),
                (Value::Number(_), status) => assert_eq!(error.code, Code::from_status(status)),
                (_, 404) => assert_eq!(error.code, Code::Unimplemented),
                _ => assert!(matches!(exchange.head.status, 405 | 415)),
            }
            rpc::failure(&exchange.head, &body, Context::Filesystem)
        } else if exchange.path == "/files" && exchange.method != "HEAD" {
            files::failure(&exchange.head, &body)
        } else {
            continue;
        };
        refusals += 1;
        check_wording(&error);
        if let Some(words) = answer["message"].as_str() {
            assert!(error.message.contains(&words.chars().take(250).collect::<String>()), "{error}");
        }
    }
    assert!(refusals > 60, "only {refusals} refusals");
}

#[test]
fn uploads_are_confirmed() {
    let mut uploads = 0;
    for exchange in exchanges() {
        if (exchange.method.as_str(), exchange.path.as_str(), exchange.head.status) == ("POST", "/files", 200) {
            let body = exchange.chunks.concat();
            let recorded: Value = serde_json::from_slice(&body).unwrap();
            let written = files::read_written(&exchange.head, &body).unwrap_or_default();
            let paths: Vec<&str> = written.iter().map(|written| written.path.as_str()).collect();
            let expected: Vec<&str> = recorded.as_array().unwrap().iter().map(|entry| text(entry, "path")).collect();
            assert_eq!(paths, expected);
            uploads += 1;
        }
    }
    assert!(uploads > 100, "only {uploads} uploads");
}
