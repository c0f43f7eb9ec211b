//! `envd-http.json`: file contents and the health check.

use agent_sandbox_web::error::Error;
use agent_sandbox_web::protocol::files::{self, Written, WrittenKind};
use agent_sandbox_web::protocol::http::{Head, Request};
use agent_sandbox_web::protocol::message::StringMap;
use agent_sandbox_web::protocol::version::{Feature, Version};
use serde_json::{Value, json};

use crate::envd_rpc::{BASE, endpoint, version_of};
use crate::replay::{
    Miss, Outcome, check_wording, expect_eq, expect_error, expect_request, hex, replay, response, text,
};

#[test]
fn recorded_calls() {
    replay("envd-http", "cases", |case| {
        let name = text(case, "name");
        let metadata = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
        let none = StringMap::new();
        match name {
            "files_read_text" => read(case, "/a b&c.txt", None),
            "files_read_user_gzip" => read(case, "/a.txt", Some("root")),
            "get_mcp_token_read" => read(case, "/etc/mcp-gateway/.token", Some("root")),
            _ if name.starts_with("files_read_") => read(case, "/a.txt", None),
            "files_write_text_multipart" => write(case, "/home/user/a.txt", None, &none, "héllo".as_bytes()),
            "files_write_old_user" => write(case, "a.txt", None, &none, b"\x00\xff"),
            "files_write_octet" => write(case, "/a.txt", Some("root"), &metadata("Color", "red"), b"\x00\xff"),
            "files_write_octet_unsupported" => write(case, "/a.txt", None, &none, b"xy"),
            "files_write_io" => write(case, "/a.txt", None, &none, b"stream"),
            "files_write_metadata_gate" => write(case, "/a.txt", None, &metadata("a", "b"), b"hi"),
            "files_write_metadata_badkey" => write(case, "/a.txt", None, &metadata("a b", "b"), b"hi"),
            "files_write_metadata_badval" => write(case, "/a.txt", None, &metadata("a", "é"), b"hi"),
            "files_write_files_octet2" => write_many(case, &[("/x", b"1"), ("/y", b"2")]),
            "files_write_empty_response" => write(case, "/a", None, &none, b"1"),
            _ if name.starts_with("is_running") => health(case),
            _ => Err(Miss::NotCovered),
        }
    });
}

fn read(case: &Value, path: &str, user: Option<&str>) -> Outcome {
    let exchange = &case["requests"][0];
    let request = files::download(&endpoint(case), path, user).map_err(|error| error.to_string())?;
    expect_request(&request, BASE, exchange)?;
    // Both write a space in a form's way, so targets are compared as they stand too.
    expect_eq("exact target", request.url.strip_prefix(BASE), exchange["target"].as_str())?;
    let (head, chunks) = response(exchange);
    let body = chunks.concat();
    if !head.is_success() {
        return Ok(expect_error(&files::failure(&head, &body), &case["error"])?);
    }
    let theirs: Vec<u8> = match &case["result"] {
        Value::String(text) => text.clone().into_bytes(),
        Value::Array(parts) if parts[0].is_array() => parts.iter().flat_map(byte_list).collect(),
        list => byte_list(list),
    };
    Ok(expect_eq("content", body, theirs)?)
}

fn byte_list(list: &Value) -> Vec<u8> {
    list.as_array().unwrap().iter().map(|byte| byte.as_u64().unwrap() as u8).collect()
}

/// The upload as the API makes it: metadata is checked, then its version gate, then the daemon decides about the form.
fn prepare(case: &Value, path: &str, user: Option<&str>, metadata: &StringMap, data: &[u8]) -> Result<Request, Error> {
    let version: Version = version_of(case);
    files::check_metadata(metadata)?;
    if !metadata.is_empty() {
        version.require(Feature::FileMetadata)?;
    }
    if !version.supports(Feature::RawUpload) {
        return files::upload_form(&endpoint(case), path, user, metadata, data);
    }
    let mut request = files::upload(&endpoint(case), path, user, metadata)?;
    request.body = Some(data.to_vec());
    Ok(request)
}

fn write(case: &Value, path: &str, user: Option<&str>, metadata: &StringMap, data: &[u8]) -> Outcome {
    let request = match prepare(case, path, user, metadata, data) {
        Ok(request) => request,
        Err(error) => return Ok(expect_error(&error, &case["error"])?),
    };
    let exchange = &case["requests"][0];
    expect_request(&request, BASE, exchange)?;
    let theirs = match exchange["body_hex"].as_str() {
        Some(bytes) => hex(bytes),
        None => text(exchange, "body_text").as_bytes().to_vec(),
    };
    // The recorded client guesses the content type of a part; the daemon never looks at it.
    let theirs = replace(&theirs, b"Content-Type: text/plain\r\n", b"Content-Type: application/octet-stream\r\n");
    expect_eq("body", normal_form(&request), theirs)?;
    let (head, chunks) = response(exchange);
    match files::read_written(&head, &chunks.concat()) {
        Ok(written) => Ok(expect_eq("result", &written_json(&written[0]), &case["result"])?),
        Err(error) => Ok(expect_error(&error, &case["error"])?),
    }
}

/// One request per file; the recording's server answers each with two entries.
fn write_many(case: &Value, uploads: &[(&str, &[u8])]) -> Outcome {
    let mut results = Vec::new();
    for ((path, data), exchange) in uploads.iter().zip(case["requests"].as_array().unwrap()) {
        let request = prepare(case, path, None, &StringMap::new(), data).map_err(|error| error.to_string())?;
        expect_request(&request, BASE, exchange)?;
        expect_eq("body", request.body.as_deref(), exchange["body_text"].as_str().map(str::as_bytes))?;
        let (head, chunks) = response(exchange);
        let written = files::read_written(&head, &chunks.concat()).map_err(|error| error.to_string())?;
        results.extend(written.iter().map(written_json));
    }
    Ok(expect_eq("results", &Value::Array(results), &case["result"])?)
}

/// The body with the recordings' boundary.
fn normal_form(request: &Request) -> Vec<u8> {
    let body = request.body.clone().unwrap();
    match request.headers.get("content-type").and_then(|value| value.split_once("boundary=")) {
        Some((_, boundary)) => replace(&body, boundary.as_bytes(), b"BOUNDARY"),
        None => body,
    }
}

fn replace(haystack: &[u8], needle: &[u8], by: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < haystack.len() {
        if haystack[at..].starts_with(needle) {
            out.extend_from_slice(by);
            at += needle.len();
        } else {
            out.push(haystack[at]);
            at += 1;
        }
    }
    out
}

fn written_json(written: &Written) -> Value {
    let metadata: serde_json::Map<_, _> = written.metadata.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
    json!({
        "name": written.name,
        "type": match written.kind {
            Some(WrittenKind::File) => "file".into(),
            Some(WrittenKind::Dir) => "dir".into(),
            None => Value::Null,
        },
        "path": written.path,
        "metadata": if metadata.is_empty() { Value::Null } else { metadata.into() },
    })
}

fn health(case: &Value) -> Outcome {
    let exchange = &case["requests"][0];
    expect_request(&files::health(&endpoint(case)), BASE, exchange)?;
    let (head, chunks) = response(exchange);
    match files::read_health(&head, &chunks.concat()) {
        Ok(running) => Ok(expect_eq("result", &Value::from(running), &case["result"])?),
        Err(error) => Ok(expect_error(&error, &case["error"])?),
    }
}

#[test]
fn bad_arguments_are_refused() {
    let endpoint = endpoint(&json!({"call": ""}));
    let none = StringMap::new();
    for error in [
        files::download(&endpoint, "", None).unwrap_err(),
        files::upload(&endpoint, "", None, &none).unwrap_err(),
        files::upload_form(&endpoint, "", None, &none, b"").unwrap_err(),
        files::upload(&endpoint, "/a", None, &vec![(String::new(), "v".into())]).unwrap_err(),
        files::upload(&endpoint, "/a", None, &vec![("k\r\nx".into(), "v".into())]).unwrap_err(),
        files::upload(&endpoint, "/a", None, &vec![("k".into(), "v\nw".into())]).unwrap_err(),
    ] {
        assert_eq!(error.code, "invalid_argument");
        check_wording(&error);
    }
}

#[test]
fn form_survives_odd_names_and_contents() {
    let endpoint = endpoint(&json!({"call": ""}));
    let path = "/a\"b\\c\r\nd\u{7f}é/😀";
    let data = b"--form-\r\n\0\xff";
    let request = files::upload_form(&endpoint, path, None, &StringMap::new(), data).unwrap();
    let body = request.body.unwrap();
    let shown = String::from_utf8_lossy(&body);
    assert!(shown.contains("filename=\"/a%22b\\\\c%0D%0Ad%7Fé/😀\"\r\nContent-Type"), "{shown}");
    assert!(body.windows(data.len()).any(|window| window == data));
    assert!(request.url.contains("path=%2Fa%22b%5Cc%0D%0Ad%7F%C3%A9%2F%F0%9F%98%80"), "{}", request.url);
}

#[test]
fn uploads_are_read_by_content() {
    let ok = |body: &str| files::read_written(&Head { status: 200, ..Head::default() }, body.as_bytes());
    let written = ok(r#"[{"path":"/a","name":"a","type":"socket","metadata":{"k":"v"},"x":1}]"#).unwrap();
    assert_eq!((written[0].kind, written[0].metadata.len()), (None, 1));
    for body in ["", "[]", "{}", "<html>", "[", "null"] {
        let error = ok(body).unwrap_err();
        check_wording(&error);
        assert_eq!(error.code, "protocol_error", "{body}");
    }
}
