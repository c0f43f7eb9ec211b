//! Replays exchanges that were recorded with the original code interpreter, and compares every answer.
//!
//! What differs on purpose is listed, with the reason, in `interpreter-deviations.txt`; an item on that list that stops
//! differing fails the test too.

mod support;

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use support::http::{Connection, Request};
use support::kernels::{self, Lines, printed};
use support::sandbox::Sandbox;
use support::server::Server;

/// Headers that are compared; the others belong to the HTTP library.
const COMPARED: [&str; 7] = [
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-max-age",
    "allow",
    "content-type",
    "vary",
];

/// What ran in the context of an item before the recording of it begins. Each is one run.
const BEFORE: [(&str, &str); 8] = [
    ("dataframe", "import pandas as pd\nfrom decimal import Decimal"),
    ("chart", "import matplotlib.pyplot as plt"),
    ("traceback", "import statistics\ndef average(values):\n    return statistics.mean(values)"),
    ("image_pil", "from PIL import Image"),
    (
        "image_large",
        "from IPython.display import Image\nimport io, os, PIL.Image\nfile = io.BytesIO()\n\
         PIL.Image.frombytes('L', (1000, 1000), os.urandom(1000000)).save(file, 'PNG')\ndata = file.getvalue()",
    ),
    ("latex", "from IPython.display import *"),
    ("svg", "from IPython.display import *"),
    ("", "from IPython.display import *"),
];

/// Items whose first request is still running when the second is sent.
const OVERLAPPING: [&str; 3] = ["waiting_run", "restart_during_run", "delete_during_run"];

#[test]
fn answers_are_those_of_the_original() {
    let recording: Value = serde_json::from_slice(include_bytes!("../../tests/vectors/interpreter-live.json")).unwrap();
    let deviations: BTreeMap<&str, &str> = include_str!("interpreter-deviations.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_once(char::is_whitespace).unwrap())
        .collect();
    let only = std::env::var("ITEM").ok();
    let items = ["examples", "checks"].into_iter().flat_map(|part| recording[part].as_array().unwrap());
    let items = items.filter(|item| only.as_ref().is_none_or(|only| key(item) == only));
    let queue = Mutex::new(items);
    let server = kernels::server();
    let differences = Mutex::new(BTreeMap::<String, Vec<String>>::new());
    let equal = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let shared = new_sandbox(&server);
                loop {
                    let Some(item) = queue.lock().unwrap().next() else { return };
                    let own = uses_defaults(item).then(|| new_sandbox(&server));
                    let found = Replay::new(own.as_ref().unwrap_or(&shared), item).run();
                    if let Some(own) = own {
                        assert_eq!(server.api("DELETE", &format!("/sandboxes/{}", own.id), None).status(), 204);
                    }
                    if found.is_empty() {
                        *equal.lock().unwrap() += 1;
                    } else {
                        differences.lock().unwrap().insert(key(item).to_owned(), found);
                    }
                }
            });
        }
    });
    let differences = differences.into_inner().unwrap();
    println!("{} items are equal, {} differ", equal.into_inner().unwrap(), differences.len());
    let mut unexpected = String::new();
    for (key, found) in &differences {
        if !deviations.contains_key(key.as_str()) {
            unexpected += &format!("{key}:\n{}\n", found.join("\n"));
        }
    }
    assert!(unexpected.is_empty(), "answers differ from the recording\n{unexpected}");
    if only.is_none() {
        let stale: Vec<_> = deviations.keys().filter(|key| !differences.contains_key(**key)).collect();
        assert!(stale.is_empty(), "listed as deviations, but equal: {stale:?}");
    }
}

/// The number of a check, the name of an example.
fn key(item: &Value) -> &str {
    let name = item["name"].as_str().unwrap();
    name.strip_prefix("check ").map_or(name, |check| check.split(':').next().unwrap())
}

fn new_sandbox(server: &Server) -> Sandbox<'_> {
    server.create_with(json!({
        "templateID": "code-interpreter-v1",
        "timeout": 600,
        "envVars": { "E2B_TEST_VARIABLE": "true" },
    }))
}

/// Whether an item looks at the contexts that every sandbox has, and so needs a sandbox of its own.
fn uses_defaults(item: &Value) -> bool {
    item["requests"].as_array().unwrap().iter().any(|request| {
        let run_without = request["target"] == "/execute"
            && request["response"]["status"] == 200
            && request["json"]["context_id"].as_str().is_none_or(|id| id == "default");
        run_without || request["method"] == "GET" && request["target"] == "/contexts" || key(item) == "stale_default"
    })
}

/// One item under way.
struct Replay<'a> {
    sandbox: &'a Sandbox<'a>,
    item: &'a Value,
    /// Recorded ids of contexts, and what they are here.
    ids: HashMap<String, String>,
    differences: Vec<String>,
}

impl<'a> Replay<'a> {
    fn new(sandbox: &'a Sandbox<'a>, item: &'a Value) -> Self {
        let mut replay = Replay { sandbox, item, ids: HashMap::new(), differences: Vec::new() };
        replay.prepare();
        replay
    }

    fn requests(&self) -> &'a [Value] {
        self.item["requests"].as_array().unwrap()
    }

    /// Creates the context that the item uses without creating it, in the state that the recording found it in.
    fn prepare(&mut self) {
        let name = key(self.item);
        let created: Vec<&str> =
            self.requests().iter().filter_map(|request| request["response"]["json"]["id"].as_str()).collect();
        let used = self.requests().iter().find_map(|request| request["json"]["context_id"].as_str());
        let first_count = self.requests()[0]["response"]["body_chunks"][0]
            .as_str()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["execution_count"].clone());
        if name == "stale_default" || name == "284" {
            self.know_defaults(name);
            return;
        }
        let Some(used) = used.filter(|id| id.len() == 36 && !created.contains(id)) else { return };
        let language = ["bash", "javascript", "typescript"].into_iter().find(|language| name.starts_with(language));
        let language = if name == "r" { "r" } else { language.unwrap_or("python") };
        let answer = self.sandbox.interpreter_json("POST", "/contexts", Some(json!({ "language": language })));
        let Some(id) = answer.json_or_null()["id"].as_str().map(str::to_owned) else { return };
        if language == "python" && first_count == Some(2.into()) {
            let (_, code) = BEFORE.iter().find(|(prefix, _)| name.starts_with(prefix)).unwrap();
            let lines = self.sandbox.python(&id, code);
            assert_eq!(kernels::error(&lines), None, "{name}: {lines:?}");
        }
        self.ids.insert(used.to_owned(), id);
    }

    fn know_defaults(&mut self, name: &str) {
        let list = self.sandbox.interpreter_json("GET", "/contexts", None).json();
        let default = list[0]["id"].as_str().unwrap().to_owned();
        let recorded = if name == "284" { "2" } else { "1" };
        self.ids.insert(format!("00000000-0000-4000-8000-00000000000{recorded}"), default);
        if name == "284" {
            self.sandbox.python("", "1");
        }
    }

    fn run(mut self) -> Vec<String> {
        let requests = self.requests();
        let overlapping = OVERLAPPING.contains(&key(self.item));
        let mut first = None;
        for (index, request) in requests.iter().enumerate() {
            if overlapping && index == 0 {
                let mut lines = self.sandbox.execute(self.renamed(&request["json"]));
                // Under way, and past what it prints before it waits.
                let prints = request["response"]["body_chunks"][1].as_str().unwrap().contains("stdout");
                let seen = first_lines(&mut lines, 1 + usize::from(prints));
                first = Some((seen, lines));
                continue;
            }
            self.exchange(index, request);
        }
        if let Some((mut seen, lines)) = first {
            seen.extend(lines.rest());
            self.compare_lines(0, &requests[0], &seen);
        }
        for id in self.ids.values() {
            // Some are gone already.
            self.sandbox.interpreter_json("DELETE", &format!("/contexts/{id}"), None);
        }
        self.differences
    }

    /// A copy of `value` with the ids of contexts that exist here.
    fn renamed(&self, value: &Value) -> Value {
        let mut text = value.to_string();
        for (recorded, actual) in &self.ids {
            text = text.replace(recorded, actual);
        }
        serde_json::from_str(&text).unwrap()
    }

    fn exchange(&mut self, index: usize, recorded: &Value) {
        let target = self.renamed(&recorded["target"]).as_str().unwrap().to_owned();
        let method = recorded["method"].as_str().unwrap();
        let mut request: Request<'_> = self.sandbox.interpreter(method, &target);
        for header in recorded["headers"].as_array().unwrap() {
            request = request.header(header[0].as_str().unwrap(), header[1].as_str().unwrap());
        }
        if let Some(body) = recorded.get("json") {
            request = request.body(self.renamed(body).to_string());
        } else if let Some(body) = recorded["body_text"].as_str() {
            request = request.body(body);
        }
        if recorded["closed_by_client"] == true {
            let mut lines = self.sandbox.execute(self.renamed(&recorded["json"]));
            let count = recorded["response"]["body_chunks"].as_array().unwrap().len();
            let seen = first_lines(&mut lines, count);
            // The code itself is to be interrupted, not the kernel on its way to it.
            std::thread::sleep(Duration::from_secs(1));
            lines.connection.close();
            self.compare_lines(index, recorded, &seen);
            return;
        }
        let answer = request.send(Connection::tcp(self.sandbox.server.port)).unwrap().whole().unwrap();
        let response = &recorded["response"];
        self.compare(index, "status", &response["status"], &answer.status().into());
        for name in COMPARED {
            let expected = response["headers"].as_array().unwrap().iter().find(|header| header[0] == name);
            let expected = expected.map_or(Value::Null, |header| header[1].clone());
            self.compare(index, name, &expected, &answer.header(name).map_or(Value::Null, Value::from));
        }
        if let Some(expected) = response.get("json") {
            let actual = answer.json_or_null();
            self.learn(expected, &actual);
            let expected = self.renamed(&self.without_foreign(expected));
            self.compare(index, "body", &expected, &actual);
        } else if response.get("body_chunks").is_some() {
            let lines: Result<Vec<Value>, _> = answer.text().lines().map(serde_json::from_str).collect();
            match lines {
                Ok(lines) => self.compare_lines(index, recorded, &lines),
                Err(_) => self.compare(index, "body", &response["body_chunks"], &answer.text().into()),
            }
        } else {
            let expected = self.renamed(&response["body_text"]);
            self.compare(index, "body", &expected, &answer.text().into());
        }
    }

    /// Ids that are new in an answer stand for those at the same place in the recording.
    fn learn(&mut self, recorded: &Value, actual: &Value) {
        match (recorded, actual) {
            (Value::Array(recorded), Value::Array(actual)) => {
                let count = if key(self.item) == "274" { actual.len() } else { 2 };
                recorded.iter().zip(actual).take(count).for_each(|(recorded, actual)| self.learn(recorded, actual));
            }
            (Value::Object(recorded), Value::Object(actual)) => {
                if let (Some(recorded), Some(actual)) = (recorded.get("id"), actual.get("id")) {
                    let ids = [recorded, actual].map(|id| id.as_str().unwrap().to_owned());
                    let [recorded, actual] = ids;
                    self.ids.entry(recorded).or_insert(actual);
                }
            }
            _ => {}
        }
    }

    /// The recorded server had contexts from earlier items, which its lists show.
    fn without_foreign(&self, body: &Value) -> Value {
        match body {
            Value::Array(entries) => {
                let known = |entry: &&Value| entry["id"].as_str().is_none_or(|id| self.ids.contains_key(id));
                entries.iter().filter(known).cloned().collect()
            }
            other => other.clone(),
        }
    }

    fn compare(&mut self, index: usize, what: &str, expected: &Value, actual: &Value) {
        if expected != actual {
            self.differences
                .push(format!("  request {index}, {what}:\n    expected {expected}\n    found    {actual}"));
        }
    }

    /// Compares answers line by line, without what is different each time. What a program prints is compared as a whole:
    /// it may be cut anywhere, and the two streams are not ordered.
    fn compare_lines(&mut self, index: usize, recorded: &Value, actual: &[Value]) {
        let expected: Vec<Value> = recorded["response"]["body_chunks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| serde_json::from_str(line.as_str().unwrap()).unwrap())
            .collect();
        for stream in ["stdout", "stderr"] {
            let texts = [&expected[..], actual].map(|lines| stable_text(&printed(lines, stream)));
            let [expected, actual] = texts;
            self.compare(index, stream, &expected.into(), &actual.into());
        }
        // A busy machine is silent for longer.
        let silences = [&expected[..], actual].map(|lines| lines.iter().filter(|line| is_keepalive(line)).count());
        if silences[1] < silences[0] {
            self.compare(index, "keepalives", &silences[0].into(), &silences[1].into());
        }
        let rest = |lines: &[Value]| -> Vec<Value> {
            let other = |line: &&Value| line["type"] != "stdout" && line["type"] != "stderr" && !is_keepalive(line);
            lines.iter().filter(other).map(|line| stable(line.clone())).collect()
        };
        let (expected, actual) = (rest(&expected), rest(actual));
        if expected.len() == actual.len() {
            for (expected, actual) in expected.iter().zip(&actual) {
                self.compare(index, "line", expected, actual);
            }
        } else {
            self.compare(index, "lines", &expected.into(), &actual.into());
        }
    }
}

fn is_keepalive(line: &Value) -> bool {
    line["type"] == "keepalive"
}

/// Reads `count` lines that say something.
fn first_lines(lines: &mut Lines, count: usize) -> Vec<Value> {
    let mut seen: Vec<Value> = Vec::new();
    while seen.iter().filter(|line| !is_keepalive(line)).count() < count {
        seen.push(lines.next().unwrap().unwrap());
    }
    seen
}

/// A line without what is different each time.
fn stable(mut line: Value) -> Value {
    for image in ["png", "jpeg"] {
        if let Some(data) = line.get(image).and_then(Value::as_str) {
            let start: String = data.chars().take(4).collect();
            line[image] = start.into();
        }
    }
    if let Some(text) = line.get("text").and_then(Value::as_str) {
        if text.parse::<f64>().is_ok_and(|number| number > 1e9) {
            line["text"] = "a time".into();
        } else if text.len() == 36 && text.matches('-').count() == 4 {
            line["text"] = "a random id".into();
        }
    }
    if line["type"] == "error" {
        // Paths, line numbers and the library's own source are in it.
        line["traceback"] = line["traceback"].as_str().is_some_and(|text| !text.is_empty()).into();
        let value = line["value"].as_str().unwrap_or_default();
        line["value"] = value.split(".py, line").next().unwrap().trim_end_matches(|c: char| c.is_ascii_digit()).into();
    }
    line
}

/// Text without lines that name files: warnings of libraries.
fn stable_text(text: &str) -> String {
    if text.contains("Warning: ") { "a warning".into() } else { text.into() }
}
