//! Replays exchanges that were recorded with the original daemon, and compares every answer.
//!
//! What differs on purpose is listed, with the reason, in `recorded-deviations.txt`; a check on that list that stops
//! differing fails the test too.

mod support;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use support::http::{Connection, Incoming, Request, envelope, frames};
use support::server::Server;

const TOKEN: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

/// Headers that are compared; the others belong to the HTTP library.
const COMPARED: [&str; 17] = [
    "accept-ranges",
    "access-control-allow-credentials",
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-expose-headers",
    "access-control-max-age",
    "allow",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-range",
    "content-type",
    "vary",
    "x-content-type-options",
    "x-e2b-legacy-sdk",
    "x-envd-version",
];

#[test]
fn answers_are_those_of_the_original() {
    let recording: Value = serde_json::from_slice(include_bytes!("../../tests/vectors/envd-live.json")).unwrap();
    let deviations: BTreeMap<u64, &str> = include_str!("recorded-deviations.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_once(char::is_whitespace).unwrap())
        .map(|(number, reason)| (number.parse().unwrap(), reason.trim()))
        .collect();
    let only: Option<u64> = std::env::var("CHECK").ok().map(|number| number.parse().unwrap());
    let checks: Vec<Value> = recording["checks"].as_array().unwrap().clone();
    let queue = Mutex::new(checks.into_iter().filter(|check| only.is_none_or(|only| check["number"] == only)));
    let server = Server::start();
    let differences = Mutex::new(BTreeMap::<u64, Vec<String>>::new());
    let passed = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some(check) = queue.lock().unwrap().next() else { return };
                    let number = check["number"].as_u64().unwrap();
                    let found = replay(&server, &check);
                    if found.is_empty() {
                        *passed.lock().unwrap() += 1;
                    } else {
                        differences.lock().unwrap().entry(number).or_default().extend(found);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    println!("{} checks are equal, {} differ", passed.into_inner().unwrap(), differences.len());
    let mut unexpected = String::new();
    for (number, found) in &differences {
        if !deviations.contains_key(number) {
            unexpected += &format!("check {number}:\n{}\n", found.join("\n"));
        }
    }
    assert!(unexpected.is_empty(), "answers differ from the recording\n{unexpected}");
    if only.is_none() {
        let stale: Vec<_> = deviations.keys().filter(|number| !differences.contains_key(number)).collect();
        assert!(stale.is_empty(), "listed as deviations, but equal: {stale:?}");
    }
}

/// One exchange under way, or done.
#[derive(Default)]
struct Progress {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    complete: bool,
    failed: Option<String>,
}

type Shared = Arc<Mutex<Progress>>;

fn replay(server: &Server, check: &Value) -> Vec<String> {
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 600 }));
    let socket = server.runtime_dir().unwrap().join(format!("{}.http", sandbox.id));
    let mut init = json!({ "defaultUser": "user", "defaultWorkdir": "/home/user" });
    match check["server"].as_str().unwrap() {
        "secured" => init["accessToken"] = TOKEN.into(),
        "envvars" => init["envVars"] = json!({ "G": "1" }),
        "workdir" => init["defaultWorkdir"] = "/tmp".into(),
        _ => {}
    }
    let answer = Request::new("POST", "/init").header("Host", "x").json(init).send(Connection::unix(&socket));
    assert_eq!(answer.unwrap().head.status, 204);

    let exchanges = check["exchanges"].as_array().unwrap();
    let mut renamed = HashMap::<String, String>::new();
    let mut running: Vec<(Connection, Shared)> = Vec::new();
    let mut differences = Vec::new();
    let mut started = Instant::now();
    for (index, exchange) in exchanges.iter().enumerate() {
        let connection = Connection::unix(&socket);
        let shared = send(&connection, &exchange["request"], &renamed);
        let gap = exchanges
            .get(index + 1)
            .map_or(0.0, |next| next["t_ms"].as_f64().unwrap() - exchange["t_ms"].as_f64().unwrap());
        wait(
            &shared,
            exchange,
            Duration::from_secs_f64(gap.max(0.0) / 1000.0),
            overlaps(exchange, &exchanges[index + 1..]),
        );
        learn(exchange, &shared.lock().unwrap(), &mut renamed);
        running.push((connection, shared));
        let polled = exchanges.get(index + 1).is_some_and(|next| next["request"] == exchange["request"]);
        let repeated = index > 0 && exchanges[index - 1]["request"] == exchange["request"];
        // The recorder asked again until the answer was this one, or had seen a stream end before it asked.
        let listing = exchange["request"]["head"]["text"].as_str().is_some_and(|head| head.contains("Process/List "));
        if (repeated || listing) && !polled {
            while !compare(exchange, &running[index].1.lock().unwrap(), &renamed).is_empty() {
                if started.elapsed() > Duration::from_secs(20) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
                let connection = Connection::unix(&socket);
                let shared = send(&connection, &exchange["request"], &renamed);
                wait(&shared, exchange, Duration::ZERO, false);
                running[index] = (connection, shared);
            }
        } else {
            started = Instant::now();
        }
    }
    for (index, (exchange, (connection, shared))) in exchanges.iter().zip(&running).enumerate() {
        let polled = exchanges.get(index + 1).is_some_and(|next| next["request"] == exchange["request"]);
        if exchange["fixture"] == true || polled {
            continue;
        }
        let deadline = Instant::now() + Duration::from_secs(20);
        let found = loop {
            let found = compare(exchange, &shared.lock().unwrap(), &renamed);
            if found.is_empty() || Instant::now() > deadline || shared.lock().unwrap().complete {
                break found;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let request = exchange["request"]["head"]["text"].as_str().unwrap_or("(binary)").lines().next().unwrap_or("");
        differences.extend(found.into_iter().map(|difference| format!("  {request}: {difference}")));
        connection.close();
    }
    server.api("DELETE", &format!("/sandboxes/{}", sandbox.id), None);
    differences
}

/// Whether later exchanges happened while this one was open.
fn overlaps(exchange: &Value, later: &[Value]) -> bool {
    if exchange["response"]["complete"] == false {
        return true;
    }
    let pid = exchange["response"]["frames"][0]["json"]["event"]["start"]["pid"].as_u64();
    let tag = exchange["request"]["frames"][0]["json"]["tag"].as_str();
    let text = later.iter().map(|exchange| exchange.to_string()).collect::<String>();
    pid.is_some_and(|pid| text.contains(&pid.to_string()))
        || tag.is_some_and(|tag| text.contains(&format!("\"{tag}\"")))
}

fn wait(shared: &Shared, exchange: &Value, gap: Duration, overlapping: bool) {
    let started = Instant::now();
    let expected = exchange["response"]["frames"].as_array().map_or(1, |frames| frames.len().min(1));
    loop {
        let progress = shared.lock().unwrap();
        let begun = frames(&mut progress.body.clone()).len() >= expected;
        if (progress.complete && started.elapsed() >= gap)
            || (overlapping && begun && started.elapsed() >= gap + Duration::from_millis(150))
        {
            return;
        }
        drop(progress);
        if started.elapsed() > gap + Duration::from_secs(20) {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The bytes of a recorded body or head.
fn bytes(value: &Value) -> Vec<u8> {
    if let Some(text) = value["text"].as_str() {
        return text.as_bytes().to_vec();
    }
    let hex = value["hex"].as_str().unwrap_or("");
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Numbers and ids that the recording mentions, as they are here.
fn rename(body: Vec<u8>, renamed: &HashMap<String, String>) -> Vec<u8> {
    let Ok(mut text) = String::from_utf8(body.clone()) else { return body };
    for (old, new) in renamed {
        text = text.replace(&format!("\"pid\": {old}"), &format!("\"pid\": {new}"));
        text = text.replace(&format!("\"pid\":{old}"), &format!("\"pid\":{new}"));
        text = text.replace(&format!("\"{old}\""), &format!("\"{new}\""));
    }
    text.into_bytes()
}

fn send(connection: &Connection, request: &Value, renamed: &HashMap<String, String>) -> Shared {
    use std::io::Write;
    let head = bytes(&request["head"]);
    let mut body = bytes(&request["body"]);
    if let Some(length) = request["body"]["length"].as_u64() {
        // Long bodies are recorded by their length alone: every one of them is a repeated byte.
        let first = bytes(&json!({ "hex": request["body"]["first_hex"] }));
        body = first.iter().copied().cycle().take(length as usize).collect();
    }
    // Headers are bytes: the recording has some that are no UTF-8.
    let mut head: String = head.iter().copied().map(char::from).collect::<String>().replace("<host>", "x");
    for (old, new) in renamed {
        if old.ends_with(" GMT") {
            head = head.replace(old, new);
        }
    }
    let head: Vec<u8> = head.chars().map(|letter| letter as u8).collect();
    let enveloped = request["frames"].is_array();
    if enveloped && !renamed.is_empty() {
        let mut rest = body.clone();
        body = frames(&mut rest)
            .into_iter()
            .flat_map(|(flags, payload)| {
                let mut frame = envelope(&rename(payload, renamed));
                frame[0] = flags;
                frame
            })
            .collect();
        body.extend(rest);
    } else if !enveloped {
        body = rename(body, renamed);
    }
    // The length may have changed with the numbers in it.
    let mut lines = Vec::new();
    for line in head.split(|byte| *byte == b'\n') {
        if line.to_ascii_lowercase().starts_with(b"content-length:") {
            lines.extend(format!("Content-Length: {}\r\n", body.len()).bytes());
        } else {
            lines.extend(line);
            lines.push(b'\n');
        }
    }
    lines.pop();
    let shared = Shared::default();
    let (mut writer, reader, progress) = (connection.try_clone(), connection.try_clone(), Arc::clone(&shared));
    let method = String::from_utf8_lossy(&lines).split(' ').next().unwrap_or("").to_owned();
    std::thread::spawn(move || {
        std::thread::spawn(move || {
            let _ = writer.write_all(&lines).and_then(|()| writer.write_all(&body));
        });
        let result = Incoming::read(reader, &method).and_then(|mut incoming| {
            {
                let mut progress = progress.lock().unwrap();
                progress.status = incoming.head.status;
                progress.headers = incoming.head.headers.clone();
            }
            while let Some(chunk) = incoming.next()? {
                progress.lock().unwrap().body.extend(chunk);
            }
            Ok(())
        });
        let mut progress = progress.lock().unwrap();
        progress.failed = result.err().map(|error| error.to_string());
        progress.complete = true;
    });
    shared
}

/// Remembers how the pids and ids of the recording are called here.
fn learn(exchange: &Value, progress: &Progress, renamed: &mut HashMap<String, String>) {
    let mut body = progress.body.clone();
    let ours = match serde_json::from_slice(&body) {
        Ok(ours) => ours,
        Err(_) => match frames(&mut body).into_iter().next() {
            Some((_, payload)) => serde_json::from_slice(&payload).unwrap_or_default(),
            None => Value::Null,
        },
    };
    // A file here has another time than there.
    let time = |line: &str| line.strip_prefix("Last-Modified: ").map(str::to_owned);
    let theirs = exchange["response"]["head"]["text"].as_str().unwrap().lines().find_map(time);
    let ours_modified = progress.headers.iter().find(|(name, _)| name == "last-modified");
    if let (Some(theirs), Some((_, ours))) = (theirs, ours_modified) {
        renamed.insert(theirs, ours.clone());
    }
    let theirs = &exchange["response"]["frames"][0]["json"]["event"]["start"]["pid"];
    if let (Some(theirs), Some(ours)) = (theirs.as_u64(), ours["event"]["start"]["pid"].as_u64()) {
        renamed.insert(theirs.to_string(), ours.to_string());
    }
    let recorded = recorded_body(exchange);
    let theirs: Value = serde_json::from_slice(&recorded).unwrap_or_default();
    if let (Some(theirs), Some(ours)) = (theirs["watcherId"].as_str(), ours["watcherId"].as_str()) {
        renamed.insert(theirs.to_owned(), ours.to_owned());
    }
}

fn recorded_body(exchange: &Value) -> Vec<u8> {
    exchange["response"]["chunks"].as_array().unwrap().iter().flat_map(bytes).collect()
}

fn compare(exchange: &Value, ours: &Progress, renamed: &HashMap<String, String>) -> Vec<String> {
    let theirs = &exchange["response"];
    let mut differences = Vec::new();
    if theirs["status"] != ours.status {
        differences.push(format!(
            "status {} instead of {}: {}",
            ours.status,
            theirs["status"],
            String::from_utf8_lossy(&ours.body)
        ));
        return differences;
    }
    let mut expected = HashMap::<String, String>::new();
    for line in theirs["head"]["text"].as_str().unwrap().lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else { continue };
        join(&mut expected, &name.to_ascii_lowercase(), value.trim());
    }
    let mut actual = HashMap::new();
    for (name, value) in &ours.headers {
        join(&mut actual, name, value);
    }
    for name in COMPARED {
        let of = |headers: &HashMap<String, String>| headers.get(name).filter(|value| !value.is_empty()).cloned();
        let (expected, actual) = (of(&expected), of(&actual));
        let boundary =
            |value: &Option<String>| value.as_ref().is_some_and(|value| value.starts_with("multipart/byteranges"));
        if expected != actual && !(boundary(&expected) && boundary(&actual)) {
            differences.push(format!("{name} is {actual:?} instead of {expected:?}"));
        }
    }
    let truncated = theirs["chunks"].as_array().unwrap().iter().any(|chunk| chunk["text_truncated"].is_string());
    let compressed = expected.get("content-encoding").is_some_and(|encoding| encoding == "gzip");
    let binary = expected.get("content-type").is_some_and(|kind| kind == "application/proto");
    if truncated
        || compressed
        || binary
        || expected.get("content-type").is_some_and(|kind| kind.starts_with("multipart/"))
    {
        return differences;
    }
    if let Some(recorded) = theirs["frames"].as_array() {
        let mut rest = ours.body.clone();
        let actual: Vec<Value> = frames(&mut rest)
            .into_iter()
            .map(|(flags, payload)| json!({ "flags": flags, "json": serde_json::from_slice::<Value>(&payload).unwrap_or(Value::Null) }))
            .collect();
        let (expected, actual) = (summary(recorded), summary(&actual));
        let same = if theirs["complete"] == true { expected == actual } else { begins(&actual, &expected) };
        if !same {
            differences.push(format!("events are {actual} instead of {expected}"));
        }
        return differences;
    }
    let mut recorded = recorded_body(exchange);
    for (old, new) in renamed.iter().filter(|(old, _)| old.len() > 10) {
        recorded = String::from_utf8_lossy(&recorded).replace(old.as_str(), new).into_bytes();
    }
    let json = |body: &[u8]| serde_json::from_slice::<Value>(body).map(normal);
    match (json(&recorded), json(&ours.body)) {
        (Ok(expected), Ok(actual)) if expected == actual => {}
        (Ok(expected), Ok(actual)) => differences.push(format!("body is {actual} instead of {expected}")),
        _ if recorded == ours.body => {}
        _ => differences.push(format!(
            "body is {:?} instead of {:?}",
            String::from_utf8_lossy(&ours.body),
            String::from_utf8_lossy(&recorded)
        )),
    }
    if let Some(failure) = ours.failed.as_ref().filter(|_| theirs["complete"] == true) {
        differences.push(format!("the answer was cut: {failure}"));
    }
    differences
}

fn join(headers: &mut HashMap<String, String>, name: &str, value: &str) {
    headers
        .entry(name.to_owned())
        .and_modify(|list| {
            list.push_str(", ");
            list.push_str(value);
        })
        .or_insert_with(|| value.to_owned());
}

/// JSON without what differs from run to run.
fn normal(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let directory = fields.get("type").is_some_and(|kind| kind == "FILE_TYPE_DIRECTORY");
            // An event's entry is looked at a moment later, when more may have been written.
            let event = fields.get("type").and_then(Value::as_str).is_some_and(|kind| kind.starts_with("EVENT_TYPE_"));
            let mut kept = Map::new();
            for (name, value) in fields {
                let value = match name.as_str() {
                    "pid" | "modifiedTime" | "watcherId" | "ts" | "cpu_count" | "cpu_used_pct" => json!("*"),
                    // The size of a directory is its file system's business.
                    "size" if directory => json!("*"),
                    name if name.starts_with("mem_") || name.starts_with("disk_") => json!("*"),
                    "entry" if event => {
                        let mut entry = normal(value);
                        entry["size"] = json!("*");
                        entry
                    }
                    _ => normal(value),
                };
                kept.insert(name, value);
            }
            Value::Object(kept)
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(normal).collect();
            // Processes are listed in no particular order; entries of a directory have names, and keep theirs.
            if items.iter().all(|item| item["config"].is_object()) {
                items.sort_by_key(Value::to_string);
            }
            Value::Array(items)
        }
        Value::String(text) if text.starts_with("process with pid ") => json!("process with pid * not found"),
        other => other,
    }
}

/// Whether the events recorded until the connection was given up are the first ones here.
fn begins(actual: &Value, expected: &Value) -> bool {
    let first = |actual: &[Value], expected: &[Value]| actual.starts_with(expected);
    let outputs = expected["output"].as_object().unwrap();
    first(actual["others"].as_array().unwrap(), expected["others"].as_array().unwrap())
        && outputs.iter().all(|(kind, text)| {
            kind == "pty" || actual["output"][kind].as_str().unwrap_or("").starts_with(text.as_str().unwrap())
        })
}

/// Frames with the output of each stream joined, because its division is arbitrary.
fn summary(frames: &[Value]) -> Value {
    let mut joined = BTreeMap::<String, Vec<u8>>::new();
    let mut others = Vec::new();
    let mut keepalives = false;
    for frame in frames {
        let event = &frame["json"]["event"];
        if let Some(data) = event["data"].as_object() {
            for (kind, text) in data {
                joined.entry(kind.clone()).or_default().extend(BASE64_STANDARD.decode(text.as_str().unwrap()).unwrap());
            }
        } else if event["keepalive"].is_object() || frame["json"]["keepalive"].is_object() {
            keepalives = true;
        } else {
            others.push(normal(frame.clone()));
        }
    }
    let joined: Map<String, Value> =
        joined.into_iter().map(|(kind, bytes)| (kind, String::from_utf8_lossy(&bytes).into_owned().into())).collect();
    json!({ "output": joined, "others": others, "keepalives": keepalives })
}
