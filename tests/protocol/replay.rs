//! Replaying a file of recorded cases and holding the outcome against the list of known differences.

use std::collections::BTreeMap;
use std::path::Path;

use agent_sandbox_web::error::{Error, Kind};
use agent_sandbox_web::protocol::http::{Head, Headers, Request};
use serde_json::Value;

/// What became of a case. An error says how it differs.
pub(crate) type Outcome = Result<(), Miss>;

pub(crate) enum Miss {
    /// Ours is not theirs.
    Differs(String),
    /// This client has nothing to compare.
    NotCovered,
}

impl From<String> for Miss {
    fn from(difference: String) -> Self {
        Miss::Differs(difference)
    }
}

pub(crate) fn load(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(file);
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Runs every case of `file`'s `list`. Fails when a case differs without being listed, when a listed one matches after
/// all, and when a listed one does not exist.
pub(crate) fn replay(file: &str, list: &str, run: impl Fn(&Value) -> Outcome) {
    let vectors = load(&format!("{file}.json"));
    let cases = vectors[list].as_array().unwrap_or_else(|| panic!("{file} has no list {list}"));
    let differences = load("known-differences.json");
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for entry in differences[file][list].as_array().into_iter().flatten() {
        let name = text(entry, "case");
        assert!(!text(entry, "reason").is_empty(), "{name} is listed without a reason");
        assert!(known.insert(name, text(entry, "outcome")).is_none(), "{name} is listed twice");
    }
    let mut complaints = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let name = case_name(case, index);
        let expected = known.remove(name.as_str()).unwrap_or("same");
        let (outcome, detail) = match run(case) {
            Ok(()) => ("same", String::new()),
            Err(Miss::Differs(detail)) => ("differs", detail),
            Err(Miss::NotCovered) => ("not covered", String::new()),
        };
        if outcome != expected {
            complaints.push(format!("{name}: listed as {expected:?}, but is {outcome:?}. {detail}"));
        }
    }
    complaints.extend(known.keys().map(|name| format!("{name}: listed, but there is no such case")));
    assert!(complaints.is_empty(), "{file}, {list}:\n{}", complaints.join("\n"));
    assert!(!cases.is_empty());
}

/// What a case is called in the list of differences.
pub(crate) fn case_name(case: &Value, index: usize) -> String {
    let named = ["name", "desc", "key", "id"].iter().find_map(|field| case[*field].as_str());
    named.map_or_else(|| index.to_string(), str::to_owned)
}

pub(crate) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("{name} is not a string in {value}"))
}

pub(crate) fn expect_eq<T: PartialEq + std::fmt::Debug>(what: &str, ours: T, theirs: T) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{what}: ours {ours:?}, theirs {theirs:?}")) }
}

/// Headers of the recordings that this client leaves out on purpose. Both encodings announce that nothing is compressed,
/// which is the default; the others belong to the HTTP library.
fn is_left_out(name: &str, value: &str) -> bool {
    matches!(
        (name, value),
        ("connect-content-encoding" | "content-encoding", "identity") | ("accept-encoding" | "transfer-encoding", _)
    )
}

/// Compares a request with a recorded one: method, path, query pairs (decoded, in any order), headers (in any order).
pub(crate) fn expect_request(ours: &Request, base: &str, theirs: &Value) -> Result<(), String> {
    expect_eq("method", ours.method.as_str(), text(theirs, "method"))?;
    let target = ours.url.strip_prefix(base).ok_or_else(|| format!("{} is not below {base}", ours.url))?;
    expect_eq("target", split_target(target), split_target(text(theirs, "target")))?;
    let mut recorded: Vec<(String, String)> = Vec::new();
    for header in theirs["headers"].as_array().into_iter().flatten() {
        let (name, value) = (header[0].as_str().unwrap(), header[1].as_str().unwrap());
        if !is_left_out(name, value) {
            recorded.push((name.to_owned(), without_boundary(value)));
        }
    }
    recorded.sort();
    let mut sent: Vec<(String, String)> =
        ours.headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), without_boundary(value))).collect();
    sent.sort();
    expect_eq("headers", sent, recorded)
}

fn without_boundary(content_type: &str) -> String {
    match content_type.split_once("boundary=") {
        Some((before, _)) => format!("{before}boundary=BOUNDARY"),
        None => content_type.to_owned(),
    }
}

/// Path, and sorted pairs of the query, decoded once.
fn split_target(target: &str) -> (String, Vec<(String, String)>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut pairs: Vec<_> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (percent_decode(name), percent_decode(value))
        })
        .collect();
    pairs.sort();
    (path.to_owned(), pairs)
}

pub(crate) fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                bytes.push(u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
                rest = &after[2..];
                continue;
            }
            byte => bytes.push(byte),
        }
        rest = after;
    }
    String::from_utf8(bytes).unwrap()
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Head and body chunks of a recorded response.
pub(crate) fn response(exchange: &Value) -> (Head, Vec<Vec<u8>>) {
    let response = &exchange["response"];
    let mut headers = Headers::default();
    for (name, value) in response["headers"].as_object().into_iter().flatten() {
        headers.set(name.clone(), value.as_str().unwrap());
    }
    let head = Head { status: response["status"].as_u64().unwrap().try_into().unwrap(), headers };
    let body = if let Some(chunks) = response["body_chunks_hex"].as_array() {
        chunks.iter().map(|chunk| hex(chunk.as_str().unwrap())).collect()
    } else if let Some(text) = response["body_text"].as_str() {
        vec![text.as_bytes().to_vec()]
    } else if let Some(json) = response.get("json") {
        vec![json.to_string().into_bytes()]
    } else {
        Vec::new()
    };
    (head, body)
}

/// Whether an error of `kind` is caught by a handler of the recorded client's `class`. Classes outside its error tree stand
/// for failures that leaked; any typed error is right there.
fn is_a(kind: Kind, class: &str) -> bool {
    match class {
        "TimeoutException" => kind == Kind::Timeout,
        "InvalidArgumentException" => kind == Kind::InvalidArgument,
        "AuthenticationException" => kind == Kind::Authentication,
        "NotFoundException" => matches!(kind, Kind::NotFound | Kind::FileNotFound | Kind::SandboxNotFound),
        "FileNotFoundException" => kind == Kind::FileNotFound,
        "SandboxNotFoundException" => kind == Kind::SandboxNotFound,
        "RateLimitException" => kind == Kind::RateLimit,
        "NotEnoughSpaceException" => kind == Kind::NotEnoughSpace,
        "TemplateException" => kind == Kind::Template,
        // The base class: right for all that have no class of their own there.
        "SandboxException" => {
            matches!(
                kind,
                Kind::Sandbox | Kind::InvalidArgument | Kind::ServiceBusy | Kind::Connection | Kind::Protocol
            )
        }
        "Exception" | "StopAsyncIteration" | "KeyError" | "ValueError" | "JSONDecodeError" | "ConnectException" => true,
        other => panic!("unknown class {other}"),
    }
}

/// Holds a failure against the recorded `error`; every error must also be fit for people.
pub(crate) fn expect_error(ours: &Error, theirs: &Value) -> Result<(), String> {
    check_wording(ours);
    let class = theirs["class"].as_str().ok_or_else(|| format!("ours fails ({ours}), theirs does not"))?;
    if !is_a(ours.kind, class) {
        return Err(format!("ours is {:?} ({ours}), theirs {class}", ours.kind));
    }
    match theirs["message_contains"].as_str() {
        Some(words) if !ours.message.contains(words) => Err(format!("{:?} does not contain {words:?}", ours.message)),
        _ => Ok(()),
    }
}

/// A sentence that is not too long, and a code in snake case.
pub(crate) fn check_wording(error: &Error) {
    let message = &error.message;
    assert!(message.chars().count() <= 700, "too long: {message}");
    assert!(message.ends_with('.'), "no sentence: {message}");
    assert!(error.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{}", error.code);
    if let Some(status) = error.status {
        assert!(message.contains(&status.to_string()), "{status} is missing in: {message}");
    }
}
