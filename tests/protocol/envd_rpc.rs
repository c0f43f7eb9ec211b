//! `envd-rpc.json`: commands, terminals and the filesystem service, in the JSON encoding of the recordings.

use agent_sandbox_web::config::{Config, Options, Origin, Sources};
use agent_sandbox_web::error::Error;
use agent_sandbox_web::protocol::connect::{Context, Decoder, Frame};
use agent_sandbox_web::protocol::filesystem::{self, EventType, FileType, FilesystemEvent, WatchEvent};
use agent_sandbox_web::protocol::http::Request;
use agent_sandbox_web::protocol::message::{Encoding, StringMap};
use agent_sandbox_web::protocol::process::{self, Input, PtySize, Selector, Signal, StartRequest};
use agent_sandbox_web::protocol::rpc::{self, Endpoint, Rpc};
use agent_sandbox_web::protocol::secret::Secret;
use agent_sandbox_web::protocol::version::{Feature, Version};
use serde_json::{Value, json};

use crate::driver::{Run, read_run};
use crate::replay::{Miss, Outcome, expect_eq, expect_error, expect_request, replay, response, text};
use crate::schema::rfc3339;

pub(crate) const BASE: &str = "http://envd.test";
const JSON: Encoding = Encoding::Json;

/// The daemon's version of a case: 0.6.5 unless the call is prefixed with another.
pub(crate) fn version_of(case: &Value) -> Version {
    let call = text(case, "call");
    let version =
        call.strip_prefix("envd ").and_then(|rest| rest.split_once(':')).map_or("0.6.5", |(version, _)| version);
    Version::parse(version)
}

/// The recordings were made with a sandbox URL, behind which the routing headers are sent.
pub(crate) fn endpoint(case: &Value) -> Endpoint {
    let options = Options { sandbox_url: Some(BASE.into()), ..Options::default() };
    let config = Config::resolve(&options, &Sources::default()).unwrap();
    let (base_url, routing) = config.sandbox("sbx123", None, Origin::Runtime).unwrap().envd();
    Endpoint {
        base_url,
        access_token: Some(Secret::new("tok")),
        traffic_token: None,
        routing,
        default_user: version_of(case).default_user(),
    }
}

#[test]
fn recorded_calls() {
    replay("envd-rpc", "cases", |case| {
        let name = text(case, "name");
        if name.starts_with("run_") {
            return run(case);
        }
        let pid = |pid| Selector::Pid(pid);
        match name {
            "commands_connect" | "pty_connect" => attach(case),
            "commands_list" => {
                let body = process::ListRequest.encode(JSON);
                let processes = unary(case, 0, &process::LIST, None, body, |body| process::decode_list(body, JSON));
                settle(case, processes, |processes| processes.iter().map(process_json).collect())
            }
            "commands_kill" | "commands_kill_404" => kill(case, 42),
            "pty_kill" => kill(case, 9),
            "commands_send_stdin" => send(case, 42, Input::Stdin("hé\n".as_bytes())),
            "pty_send_stdin" => send(case, 9, Input::Pty(b"ls\n")),
            "commands_close_stdin" | "commands_close_stdin_old" => {
                if let Err(error) = version_of(case).require(Feature::CloseStdin) {
                    return Ok(expect_error(&error, &case["error"])?);
                }
                let body = process::CloseStdinRequest { process: pid(42) }.encode(JSON);
                settle(case, unary(case, 0, &process::CLOSE_STDIN, None, body, ignore), |()| Value::Null)
            }
            "pty_create" => terminal(case),
            "pty_resize" | "pty_resize_404" => {
                let size = PtySize { cols: 100, rows: 30 };
                let body = process::UpdateRequest { process: pid(9), pty: Some(size) }.encode(JSON);
                settle(case, unary(case, 0, &process::UPDATE, None, body, ignore), |()| Value::Null)
            }
            "files_list" | "files_list_unknown_enum" | "files_list_old" => list(case, Some(1), None),
            "files_list_depth0" => list(case, Some(0), None),
            "files_list_depth_none" => list(case, None, None),
            "files_list_depth2_user" => list(case, Some(2), Some("root")),
            "files_get_info" | "files_get_info_404" => settle(case, stat(case), |entry| entry_json(&entry)),
            "files_exists" | "files_exists_404" => {
                settle(case, forgive(stat(case).map(|_| true), "file_not_found"), Value::from)
            }
            "files_make_dir" | "files_make_dir_exists" => {
                let body = filesystem::MakeDirRequest { path: "/d".into() }.encode(JSON);
                let made = unary(case, 0, &filesystem::MAKE_DIR, None, body, |b| filesystem::decode_entry(b, JSON));
                settle(case, forgive(made.map(|_| true), "already_exists"), Value::from)
            }
            "files_remove" => {
                let body = filesystem::RemoveRequest::new("/d").unwrap().encode(JSON);
                settle(case, unary(case, 0, &filesystem::REMOVE, None, body, ignore), |()| Value::Null)
            }
            "files_rename" => {
                let body = filesystem::MoveRequest { source: "/x".into(), destination: "/a.txt".into() }.encode(JSON);
                let moved = unary(case, 0, &filesystem::MOVE, None, body, |b| filesystem::decode_entry(b, JSON));
                settle(case, moved, |entry| entry_json(&entry))
            }
            "files_watch_dir" => watch(case),
            "files_watch_recursive_gate" => gate(case, Feature::WatchEntries),
            "files_watch_netmount_gate" => gate(case, Feature::WatchNetworkMounts),
            "watch_polling" => poll(case),
            _ => Err(Miss::NotCovered),
        }
    });
}

/// A failed call: ours, or a difference in the request.
enum Failed {
    Call(Error),
    Request(String),
}

/// Sends the case's exchange number `index`: checks the request, reads the recorded answer.
fn unary<T>(
    case: &Value,
    index: usize,
    rpc: &Rpc,
    user: Option<&str>,
    message: Vec<u8>,
    decode: impl Fn(&[u8]) -> Result<T, Error>,
) -> Result<T, Failed> {
    let mut exchange = case["requests"][index].clone();
    // Asking an answer that is one message for keepalive messages has no effect; it is one header more to permit.
    exchange["headers"].as_array_mut().unwrap().retain(|header| header[0] != "keepalive-ping-interval");
    let exchange = &exchange;
    let request = endpoint(case).unary(rpc, user, message, JSON);
    let body: Value = serde_json::from_slice(request.body.as_deref().unwrap()).unwrap();
    expect_request(&request, BASE, exchange).map_err(Failed::Request)?;
    expect_eq("body", &body, &exchange["json"]).map_err(Failed::Request)?;
    let (head, chunks) = response(exchange);
    let body = chunks.concat();
    if rpc::is_unary_answer(&head, JSON) {
        decode(&body).map_err(Failed::Call)
    } else {
        Err(Failed::Call(rpc::failure(&head, &body, rpc.context)))
    }
}

fn ignore(_: &[u8]) -> Result<(), Error> {
    Ok(())
}

/// `false` in place of the failure with `code`, as several calls have it.
fn forgive(result: Result<bool, Failed>, code: &str) -> Result<bool, Failed> {
    match result {
        Err(Failed::Call(error)) if error.code == code => Ok(false),
        other => other,
    }
}

fn settle<T>(case: &Value, result: Result<T, Failed>, show: impl Fn(T) -> Value) -> Outcome {
    match result {
        Ok(value) if case["error"].is_null() => Ok(expect_eq("result", &show(value), &case["result"])?),
        Ok(_) => Err(format!("ours succeeds, theirs fails with {}", case["error"]).into()),
        Err(Failed::Call(error)) => Ok(expect_error(&error, &case["error"])?),
        Err(Failed::Request(difference)) => Err(difference.into()),
    }
}

fn gate(case: &Value, feature: Feature) -> Outcome {
    let error = version_of(case).require(feature).expect_err("the daemon is older than the feature");
    Ok(expect_error(&error, &case["error"])?)
}

/// The arguments of `commands.run`, in order: command, environment, directory, user, standard input, limit in ms.
fn run(case: &Value) -> Outcome {
    let name = text(case, "name");
    if name == "run_stdin_false_vold" {
        return gate(case, Feature::StdinOption);
    }
    let command = match name {
        "run_foreground" => "echo \"hi $X\"",
        "run_stdin_true" => "cat",
        _ if text(case, "call").contains("'true'") => "true",
        _ => "x",
    };
    let special = name == "run_foreground";
    let request = StartRequest {
        cmd: "/bin/bash".into(),
        args: vec!["-l".into(), "-c".into(), command.into()],
        envs: if special { vec![("X".into(), "1".into())] } else { StringMap::new() },
        cwd: special.then(|| "/home/user".into()),
        stdin: Some(name == "run_stdin_true"),
        ..StartRequest::default()
    };
    let timeout = match name {
        "run_timeout0" => Some(0),
        "run_timeout_none" => None,
        "run_timeout_frac" => Some(1500),
        _ => Some(60_000),
    };
    let user = special.then_some("root");
    let exchange = &case["requests"][0];
    check_stream(&endpoint(case).streaming(&process::START, user, &request.encode(JSON), JSON, timeout), exchange)?;
    let (head, chunks) = response(exchange);
    let (run, result) = read_run(&head, &chunks, JSON);
    judge_run(case, run, result)
}

fn judge_run(case: &Value, run: Run, result: Result<(), Error>) -> Outcome {
    let theirs = &case["error"];
    if let Err(error) = result {
        if let Some(pieces) = case["callbacks"].as_array() {
            let ours: Vec<Value> = run.pieces.into_iter().map(|(_, text)| text.into()).collect();
            expect_eq("callbacks", &ours, pieces)?;
        }
        return Ok(expect_error(&error, theirs)?);
    }
    let end = run.end.expect("a success has an end");
    let ours = json!({
        "pid": run.pid, "stdout": run.stdout, "stderr": run.stderr, "exit_code": end.exit_code, "error": end.error.unwrap_or_default(),
        "callbacks": run.pieces.iter().map(|(stream, text)| json!([stream, text])).collect::<Value>(),
    });
    // A command that failed is a result with an exit code; the recorded client throws it.
    let theirs = if theirs.is_null() { &case["result"] } else { theirs };
    expect_eq("thrown", end.exit_code != 0, theirs["class"] == "CommandExitException")?;
    for (name, value) in theirs.as_object().ok_or_else(|| format!("ours succeeds, theirs: {theirs}"))? {
        if name != "class" {
            expect_eq(name, &ours[name], value)?;
        }
    }
    Ok(())
}

/// Compares a streaming request and the one message in it.
fn check_stream(request: &Request, exchange: &Value) -> Result<(), String> {
    expect_request(request, BASE, exchange)?;
    let message = |frame: &[u8]| {
        let mut decoder = Decoder::new();
        decoder.push(frame);
        let Ok(Some(Frame::Message(payload))) = decoder.next() else { panic!("no frame") };
        let message: Value = serde_json::from_slice(payload).unwrap();
        assert_eq!(decoder.buffered(), 0);
        message
    };
    let theirs = crate::replay::hex(text(exchange, "body_hex"));
    expect_eq("message", message(request.body.as_deref().unwrap()), message(&theirs))
}

fn attach(case: &Value) -> Outcome {
    let message = process::ConnectRequest { process: Selector::Pid(42) }.encode(JSON);
    let exchange = &case["requests"][0];
    // The user header is not sent: the process already has its user.
    let request = endpoint(case).streaming(&process::CONNECT, Some("root"), &message, JSON, Some(60_000));
    check_stream(&request, exchange)?;
    let (head, chunks) = response(exchange);
    let (run, result) = read_run(&head, &chunks, JSON);
    if case["result"].is_number() {
        return Ok(expect_eq("pid", Some(u64::from(run.pid)), case["result"].as_u64())?);
    }
    judge_run(case, run, result)
}

fn terminal(case: &Value) -> Outcome {
    let envs = [("TERM", "vt100"), ("A", "b"), ("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")];
    let request = StartRequest {
        cmd: "/bin/bash".into(),
        args: vec!["-i".into(), "-l".into()],
        envs: envs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        cwd: Some("/w".into()),
        pty: Some(PtySize { cols: 80, rows: 24 }),
        ..StartRequest::default()
    };
    let exchange = &case["requests"][0];
    let request = endpoint(case).streaming(&process::START, Some("u"), &request.encode(JSON), JSON, Some(60_000));
    check_stream(&request, exchange)?;
    let (head, chunks) = response(exchange);
    let (run, result) = read_run(&head, &chunks, JSON);
    result.map_err(|error| error.to_string())?;
    Ok(expect_eq("result", &json!({"pid": run.pid, "pty": run.pty, "stdout": run.stdout}), &case["result"])?)
}

fn kill(case: &Value, pid: u32) -> Outcome {
    let message = process::SendSignalRequest { process: Selector::Pid(pid), signal: Signal::Kill }.encode(JSON);
    let killed = unary(case, 0, &process::SEND_SIGNAL, None, message, ignore).map(|()| true);
    settle(case, forgive(killed, "not_found"), Value::from)
}

fn send(case: &Value, pid: u32, input: Input<'_>) -> Outcome {
    let message = process::SendInputRequest { process: Selector::Pid(pid), input }.encode(JSON);
    settle(case, unary(case, 0, &process::SEND_INPUT, None, message, ignore), |()| Value::Null)
}

fn process_json(info: &process::ProcessInfo) -> Value {
    let envs: serde_json::Map<_, _> = info.envs.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    json!({"pid": info.pid, "tag": info.tag, "cmd": info.cmd, "args": info.args, "envs": envs, "cwd": info.cwd})
}

fn stat(case: &Value) -> Result<filesystem::EntryInfo, Failed> {
    let message = filesystem::StatRequest { path: "/a.txt".into() }.encode(JSON);
    unary(case, 0, &filesystem::STAT, None, message, |body| filesystem::decode_entry(body, JSON))
}

fn list(case: &Value, depth: Option<u32>, user: Option<&str>) -> Outcome {
    let message = match filesystem::ListDirRequest::new("/", depth) {
        Ok(request) => request.encode(JSON),
        Err(error) => return Ok(expect_error(&error, &case["error"])?),
    };
    let entries = unary(case, 0, &filesystem::LIST_DIR, user, message, |b| filesystem::decode_entries(b, JSON));
    // The recorded client drops entries that are neither files nor directories; ours leaves that to the API.
    let is_known = |entry: &&filesystem::EntryInfo| matches!(entry.file_type, FileType::File | FileType::Directory);
    settle(case, entries, |entries| entries.iter().filter(is_known).map(entry_json).collect())
}

fn entry_json(entry: &filesystem::EntryInfo) -> Value {
    let metadata: serde_json::Map<_, _> = entry.metadata.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    let time =
        entry.modified_time.unwrap_or(agent_sandbox_web::protocol::timestamp::Timestamp { seconds: 0, nanos: 0 });
    // The recorded client drops what is finer than a microsecond.
    let time = agent_sandbox_web::protocol::timestamp::Timestamp { nanos: time.nanos / 1000 * 1000, ..time };
    json!({
        "name": entry.name,
        "type": match entry.file_type {
            FileType::File => "file".into(),
            FileType::Directory => "dir".into(),
            FileType::Symlink => "symlink".into(),
            FileType::Unknown(_) => Value::Null,
        },
        "path": entry.path,
        "metadata": if metadata.is_empty() { Value::Null } else { metadata.into() },
        "size": entry.size,
        "mode": entry.mode,
        "permissions": entry.permissions,
        "owner": entry.owner,
        "group": entry.group,
        "modified_time": rfc3339(time),
        "symlink_target": entry.symlink_target,
    })
}

fn event_name(event: &FilesystemEvent) -> Option<&'static str> {
    match event.event_type {
        EventType::Create => Some("create"),
        EventType::Write => Some("write"),
        EventType::Remove => Some("remove"),
        EventType::Rename => Some("rename"),
        EventType::Chmod => Some("chmod"),
        EventType::Unknown(_) => None,
    }
}

fn watch(case: &Value) -> Outcome {
    let message = filesystem::WatchRequest {
        path: "/d".into(),
        recursive: true,
        include_entry: true,
        allow_network_mounts: true,
    };
    let exchange = &case["requests"][0];
    let request = endpoint(case).streaming(&filesystem::WATCH_DIR, None, &message.encode(JSON), JSON, Some(30_000));
    check_stream(&request, exchange)?;
    let (head, chunks) = response(exchange);
    assert!(rpc::is_stream_answer(&head, JSON));
    let mut decoder = Decoder::new();
    decoder.push(&chunks.concat());
    let mut shown = Vec::new();
    while let Some(Frame::Message(payload)) = decoder.next().map_err(|error| error.to_string())? {
        if let WatchEvent::Filesystem(event) = WatchEvent::decode(payload, JSON).map_err(|error| error.to_string())? {
            shown.push(json!([event.name, event_name(&event), event.entry.map(|entry| entry.name)]));
        }
    }
    decoder.finish().map_err(|error| error.to_string())?;
    Ok(expect_eq("events", &Value::Array(shown), &case["result"]["events"])?)
}

fn poll(case: &Value) -> Outcome {
    let user = Some("root");
    let watch = filesystem::WatchRequest { path: "/d".into(), recursive: true, ..filesystem::WatchRequest::default() };
    let result = (|| {
        let decode = |body: &[u8]| filesystem::decode_watcher_id(body, JSON);
        let watcher_id = unary(case, 0, &filesystem::CREATE_WATCHER, user, watch.encode(JSON), decode)?;
        let message = filesystem::WatcherRequest { watcher_id }.encode(JSON);
        let decode = |body: &[u8]| filesystem::decode_watcher_events(body, JSON);
        let events = unary(case, 1, &filesystem::GET_WATCHER_EVENTS, user, message.clone(), decode)?;
        unary(case, 2, &filesystem::REMOVE_WATCHER, user, message, ignore)?;
        Ok(events)
    })();
    let events = match result {
        Ok(events) => events,
        Err(Failed::Request(difference)) => return Err(difference.into()),
        Err(Failed::Call(error)) => return Err(error.to_string().into()),
    };
    let shown: Vec<Value> = events.iter().filter_map(|event| Some(json!([event.name, event_name(event)?]))).collect();
    Ok(expect_eq("events", &Value::Array(shown), &case["events"])?)
}

/// What the recordings say about the JSON encoding holds for the binary one: the same headers but for the content type.
#[test]
fn binary_calls_differ_in_content_type_only() {
    let endpoint = endpoint(&json!({"call": ""}));
    let calls = |encoding| {
        [
            endpoint.unary(&filesystem::STAT, Some("u"), Vec::new(), encoding),
            endpoint.streaming(&process::START, Some("u"), b"", encoding, Some(1)),
        ]
    };
    let types = [("application/json", "application/proto"), ("application/connect+json", "application/connect+proto")];
    for ((mut json, proto), (json_type, proto_type)) in calls(JSON).into_iter().zip(calls(Encoding::Proto)).zip(types) {
        assert_eq!(json.headers.get("content-type"), Some(json_type));
        json.headers.set("content-type", proto_type);
        assert_eq!(json, proto);
    }
}

#[test]
fn header_edge_cases() {
    let plain = Endpoint {
        base_url: "https://h".into(),
        access_token: None,
        traffic_token: Some(Secret::new("tt")),
        routing: None,
        default_user: Some("user"),
    };
    // A limit too large for the header is sent as the largest one; less than a millisecond does not exist here.
    let request = plain.streaming(&process::START, Some(""), b"", JSON, Some(u64::MAX));
    assert_eq!(request.headers.get("connect-timeout-ms"), Some("9999999999"));
    // An empty user is the daemon's default, even for daemons that would be told one.
    assert_eq!(request.headers.get("authorization"), None);
    assert_eq!(request.headers.get("e2b-traffic-access-token"), Some("tt"));
    assert_eq!(request.headers.iter().count(), 5);
    let request = plain.unary(&process::LIST, Some("root"), Vec::new(), JSON);
    assert_eq!(request.headers.get("authorization"), None);
    assert!(request.url == "https://h/process.Process/List" && !format!("{request:?}").contains("tt\""));
    assert_eq!(process::START.context, Context::ProcessStart);
}
