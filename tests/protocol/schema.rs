//! Both encodings against the schema as others' code understands it: every message this client writes is read by a
//! protobuf library, and every message it reads is written by one.

use std::path::Path;
use std::sync::LazyLock;

use agent_sandbox_web::protocol::filesystem::{
    EntryInfo, EventType, FileType, FilesystemEvent, ListDirRequest, MakeDirRequest, MoveRequest, RemoveRequest,
    StatRequest, WatchEvent, WatchRequest, WatcherRequest, decode_entries, decode_entry, decode_watcher_events,
    decode_watcher_id,
};
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::{
    CloseStdinRequest, ConnectRequest, EndEvent, Input, ListRequest, ProcessEvent, PtySize, Selector, SendInputRequest,
    SendSignalRequest, Signal, StartRequest, Stream, UpdateRequest, decode_list,
};
use agent_sandbox_web::protocol::timestamp::Timestamp;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::{Map, Value, json};

static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("local/proto");
    let files = protox::compile(["process.proto", "filesystem.proto"], [protos]).expect("the schema compiles");
    DescriptorPool::from_file_descriptor_set(files).expect("the schema is complete")
});

/// `binary` as the JSON that a protobuf library makes of it.
pub(crate) fn to_json(message: &str, binary: &[u8]) -> Value {
    let descriptor = POOL.get_message_by_name(message).unwrap_or_else(|| panic!("no message {message}"));
    let decoded = DynamicMessage::decode(descriptor, binary).unwrap_or_else(|error| panic!("{message}: {error}"));
    decoded.serialize_with_options(serde_json::value::Serializer, &SerializeOptions::new()).unwrap()
}

/// `json` as the bytes that a protobuf library makes of it.
pub(crate) fn to_binary(message: &str, json: &Value) -> Vec<u8> {
    use prost_reflect::prost::Message as _;
    let descriptor = POOL.get_message_by_name(message).unwrap_or_else(|| panic!("no message {message}"));
    DynamicMessage::deserialize(descriptor, json).unwrap_or_else(|error| panic!("{message}: {error}")).encode_to_vec()
}

/// Checks that both encodings of a request mean `expected`. Fields at their default may be written or left out.
fn check_request(message: &str, encode: impl Fn(Encoding) -> Vec<u8>, expected: &Value) {
    let by_library = to_json(message, &to_binary(message, expected));
    assert_eq!(to_json(message, &encode(Encoding::Proto)), by_library, "{message}, binary");
    let ours: Value = serde_json::from_slice(&encode(Encoding::Json)).unwrap();
    assert_eq!(to_json(message, &to_binary(message, &ours)), by_library, "{message}, JSON");
}

#[test]
fn requests_mean_what_the_schema_says() {
    let pid = || Selector::Pid(300);
    let start = StartRequest {
        cmd: "/bin/sh".into(),
        args: vec!["-c".into(), String::new(), "é".into()],
        envs: vec![("A".into(), "1".into()), ("B".into(), String::new())],
        cwd: Some(String::new()),
        pty: Some(PtySize { cols: 80, rows: 0 }),
        tag: Some("t".into()),
        stdin: Some(false),
    };
    check_request(
        "process.StartRequest",
        |encoding| start.encode(encoding),
        &json!({
            "process": {"cmd": "/bin/sh", "args": ["-c", "", "é"], "envs": {"A": "1", "B": ""}, "cwd": ""},
            "pty": {"size": {"cols": 80}}, "tag": "t", "stdin": false,
        }),
    );
    check_request("process.StartRequest", |encoding| StartRequest::default().encode(encoding), &json!({"process": {}}));
    check_request(
        "process.ConnectRequest",
        |encoding| ConnectRequest { process: Selector::Tag("x".into()) }.encode(encoding),
        &json!({"process": {"tag": "x"}}),
    );
    check_request("process.ListRequest", |encoding| ListRequest.encode(encoding), &json!({}));
    check_request(
        "process.UpdateRequest",
        |encoding| UpdateRequest { process: pid(), pty: Some(PtySize { cols: 1, rows: 2 }) }.encode(encoding),
        &json!({"process": {"pid": 300}, "pty": {"size": {"cols": 1, "rows": 2}}}),
    );
    check_request(
        "process.SendInputRequest",
        |encoding| SendInputRequest { process: pid(), input: Input::Stdin(b"\x00\xff") }.encode(encoding),
        &json!({"process": {"pid": 300}, "input": {"stdin": "AP8="}}),
    );
    check_request(
        "process.SendInputRequest",
        |encoding| SendInputRequest { process: pid(), input: Input::Pty(b"") }.encode(encoding),
        &json!({"process": {"pid": 300}, "input": {"pty": ""}}),
    );
    for (signal, name) in [(Signal::Kill, "SIGNAL_SIGKILL"), (Signal::Term, "SIGNAL_SIGTERM")] {
        check_request(
            "process.SendSignalRequest",
            |encoding| SendSignalRequest { process: pid(), signal }.encode(encoding),
            &json!({"process": {"pid": 300}, "signal": name}),
        );
    }
    check_request(
        "process.CloseStdinRequest",
        |encoding| CloseStdinRequest { process: pid() }.encode(encoding),
        &json!({"process": {"pid": 300}}),
    );

    let path = String::from("/a b");
    let just_path = json!({"path": "/a b"});
    check_request("filesystem.StatRequest", |e| StatRequest { path: path.clone() }.encode(e), &just_path);
    check_request("filesystem.MakeDirRequest", |e| MakeDirRequest { path: path.clone() }.encode(e), &just_path);
    check_request("filesystem.RemoveRequest", |e| RemoveRequest::new(&path).unwrap().encode(e), &just_path);
    check_request(
        "filesystem.MoveRequest",
        |e| MoveRequest { source: path.clone(), destination: "/b".into() }.encode(e),
        &json!({"source": "/a b", "destination": "/b"}),
    );
    check_request("filesystem.ListDirRequest", |e| ListDirRequest::new(&path, None).unwrap().encode(e), &just_path);
    check_request(
        "filesystem.ListDirRequest",
        |e| ListDirRequest::new(&path, Some(200)).unwrap().encode(e),
        &json!({"path": "/a b", "depth": 200}),
    );
    let watch = WatchRequest { path, recursive: false, include_entry: true, allow_network_mounts: true };
    let watched = json!({"path": "/a b", "includeEntry": true, "allowNetworkMounts": true});
    for message in ["filesystem.WatchDirRequest", "filesystem.CreateWatcherRequest"] {
        check_request(message, |e| watch.encode(e), &watched);
    }
    for message in ["filesystem.GetWatcherEventsRequest", "filesystem.RemoveWatcherRequest"] {
        check_request(message, |e| WatcherRequest { watcher_id: "w1".into() }.encode(e), &json!({"watcherId": "w1"}));
    }
}

/// Checks that an answer is read alike from both encodings.
fn check_answer<T: PartialEq + std::fmt::Debug>(
    message: &str,
    json: &Value,
    decode: impl Fn(&[u8], Encoding) -> T,
    expected: &T,
) {
    assert_eq!(&decode(json.to_string().as_bytes(), Encoding::Json), expected, "{message}, JSON");
    assert_eq!(&decode(&to_binary(message, json), Encoding::Proto), expected, "{message}, binary");
}

fn full_entry() -> (Value, EntryInfo) {
    let json = json!({
        "name": "a", "type": "FILE_TYPE_FILE", "path": "/a", "size": "9007199254740993", "mode": 420,
        "permissions": "-rw-r--r--", "owner": "o", "group": "g", "modifiedTime": "1969-12-31T23:59:59.250Z",
        "symlinkTarget": "/b", "metadata": {"k": "v"},
    });
    let entry = EntryInfo {
        name: "a".into(),
        file_type: FileType::File,
        path: "/a".into(),
        size: 9_007_199_254_740_993,
        mode: 0o644,
        permissions: "-rw-r--r--".into(),
        owner: "o".into(),
        group: "g".into(),
        modified_time: Some(Timestamp { seconds: -1, nanos: 250_000_000 }),
        symlink_target: Some("/b".into()),
        metadata: vec![("k".into(), "v".into())],
    };
    (json, entry)
}

#[test]
fn answers_are_read_as_the_schema_says() {
    let decode_event = |bytes: &[u8], encoding| ProcessEvent::decode(bytes, encoding).unwrap().into_owned();
    let end = EndEvent { exit_code: -1, exited: false, status: "signal: killed".into(), error: Some(String::new()) };
    let data = |stream| ProcessEvent::Data { stream, bytes: b"\x00\xff".to_vec().into() };
    for message in ["process.StartResponse", "process.ConnectResponse"] {
        for (event, expected) in [
            (json!({"start": {"pid": 4_000_000_000_u32}}), ProcessEvent::Start { pid: 4_000_000_000 }),
            (json!({"data": {"stdout": "AP8="}}), data(Stream::Stdout)),
            (json!({"data": {"stderr": "AP8="}}), data(Stream::Stderr)),
            (json!({"data": {"pty": "AP8="}}), data(Stream::Pty)),
            (json!({"keepalive": {}}), ProcessEvent::Keepalive),
            (json!({"end": {"exitCode": -1, "status": "signal: killed", "error": ""}}), ProcessEvent::End(end.clone())),
            (json!({"data": {}}), ProcessEvent::Unknown),
        ] {
            check_answer(message, &json!({ "event": event }), decode_event, &expected);
        }
        check_answer(message, &json!({}), decode_event, &ProcessEvent::Unknown);
    }
    let processes = json!({"processes": [
        {"pid": 7, "tag": "", "config": {"cmd": "c", "args": ["", "x"], "envs": {"A": "1"}, "cwd": "/"}}, {},
    ]});
    let decoded = decode_list(processes.to_string().as_bytes(), Encoding::Json).unwrap();
    assert_eq!((decoded.len(), decoded[0].tag.as_deref(), decoded[1].tag.as_deref()), (2, Some(""), None));
    assert_eq!((decoded[0].args.len(), decoded[0].cwd.as_deref()), (2, Some("/")));
    check_answer("process.ListResponse", &processes, |b, e| decode_list(b, e).unwrap(), &decoded);

    let (json, entry) = full_entry();
    let one = json!({ "entry": json });
    for message in ["filesystem.StatResponse", "filesystem.MakeDirResponse", "filesystem.MoveResponse"] {
        check_answer(message, &one, |b, e| decode_entry(b, e).unwrap(), &entry);
    }
    let listing = json!({"entries": [json, {"name": "d", "type": "FILE_TYPE_DIRECTORY"}]});
    let directory = EntryInfo { name: "d".into(), file_type: FileType::Directory, ..EntryInfo::default() };
    let both = vec![entry.clone(), directory];
    check_answer("filesystem.ListDirResponse", &listing, |b, e| decode_entries(b, e).unwrap(), &both);

    let change = |event_type, entry| FilesystemEvent { name: "n".into(), event_type, entry };
    let decode_watch = |b: &[u8], e| WatchEvent::decode(b, e).unwrap();
    let message = "filesystem.WatchDirResponse";
    check_answer(message, &json!({"start": {}}), decode_watch, &WatchEvent::Start);
    check_answer(message, &json!({"keepalive": {}}), decode_watch, &WatchEvent::Keepalive);
    for (label, event_type) in [
        ("CREATE", EventType::Create),
        ("WRITE", EventType::Write),
        ("REMOVE", EventType::Remove),
        ("RENAME", EventType::Rename),
        ("CHMOD", EventType::Chmod),
    ] {
        let event = json!({"filesystem": {"name": "n", "type": format!("EVENT_TYPE_{label}"), "entry": json}});
        let expected = WatchEvent::Filesystem(change(event_type, Some(Box::new(entry.clone()))));
        check_answer(message, &event, decode_watch, &expected);
    }
    check_answer(
        "filesystem.CreateWatcherResponse",
        &json!({"watcherId": "w"}),
        |b, e| decode_watcher_id(b, e).unwrap(),
        &"w".to_owned(),
    );
    check_answer(
        "filesystem.GetWatcherEventsResponse",
        &json!({"events": [{"name": "n", "type": "EVENT_TYPE_REMOVE"}, {"name": "n"}]}),
        |b, e| decode_watcher_events(b, e).unwrap(),
        &vec![change(EventType::Remove, None), change(EventType::Unknown(0), None)],
    );
}

/// An event in proto3 JSON with defaults left out.
pub(crate) fn canonical_event(event: &ProcessEvent<'_>) -> Value {
    let event = match event {
        ProcessEvent::Start { pid } => json!({"start": object([("pid", non_zero(*pid))])}),
        ProcessEvent::Data { stream, bytes } => {
            let name = match stream {
                Stream::Stdout => "stdout",
                Stream::Stderr => "stderr",
                Stream::Pty => "pty",
            };
            json!({"data": {name: base64(bytes)}})
        }
        ProcessEvent::End(end) => json!({"end": object([
            ("exitCode", non_zero(end.exit_code)),
            ("exited", end.exited.then_some(Value::Bool(true))),
            ("status", non_empty(&end.status)),
            ("error", end.error.as_deref().map(Value::from)),
        ])}),
        ProcessEvent::Keepalive => json!({"keepalive": {}}),
        ProcessEvent::Unknown => json!("unknown"),
    };
    json!({ "event": event })
}

/// An entry in proto3 JSON with defaults left out.
pub(crate) fn canonical_entry(entry: &EntryInfo) -> Value {
    object([
        ("name", non_empty(&entry.name)),
        (
            "type",
            match entry.file_type {
                FileType::File => Some("FILE_TYPE_FILE".into()),
                FileType::Directory => Some("FILE_TYPE_DIRECTORY".into()),
                FileType::Symlink => Some("FILE_TYPE_SYMLINK".into()),
                FileType::Unknown(number) => non_zero(number),
            },
        ),
        ("path", non_empty(&entry.path)),
        ("size", (entry.size > 0).then(|| entry.size.to_string().into())),
        ("modifiedTime", entry.modified_time.map(rfc3339)),
    ])
}

/// The test's own way to print a time: the library prints what it is given as seconds.
pub(crate) fn rfc3339(time: Timestamp) -> Value {
    let timestamp = prost_types_json(time.seconds, time.nanos);
    to_json("filesystem.EntryInfo", &timestamp)["modifiedTime"].clone()
}

/// An `EntryInfo` that holds nothing but a time, in binary.
fn prost_types_json(seconds: i64, nanos: u32) -> Vec<u8> {
    use prost_reflect::prost::encoding;
    let mut time = Vec::new();
    encoding::int64::encode(1, &seconds, &mut time);
    encoding::int32::encode(2, &(nanos as i32), &mut time);
    let mut entry = Vec::new();
    encoding::bytes::encode(9, &time, &mut entry);
    entry
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    let present = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(present.collect::<Map<_, _>>())
}

fn non_zero(number: impl Into<i64>) -> Option<Value> {
    Some(number.into()).filter(|number| *number != 0).map(Value::from)
}

fn non_empty(text: &str) -> Option<Value> {
    (!text.is_empty()).then(|| text.into())
}

/// Base64 by definition, so that no code of the crate under test is used.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for index in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * index) & 63) as usize] as char;
            text.push(if index <= group.len() { letter } else { '=' });
        }
    }
    text
}
