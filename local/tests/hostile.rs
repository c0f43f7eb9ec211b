//! Nonsense over HTTP: each piece gets the answer it deserves or a closed connection, and nobody else notices.

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::json;
use support::http::{PATIENCE, envelope};
use support::server::Server;

/// Writes `bytes`, then nothing more; the status of the answer, 0 when the connection was closed without one, and the
/// rest of what arrived.
fn exchange(port: u16, bytes: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may have answered, and hung up, before the end.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

struct Case {
    name: &'static str,
    bytes: Vec<u8>,
    status: u16,
    /// What the answer contains.
    says: &'static str,
}

fn case(name: &'static str, bytes: impl Into<Vec<u8>>, status: u16, says: &'static str) -> Case {
    Case { name, bytes: bytes.into(), status, says }
}

fn check(server: &Server, cases: Vec<Case>) {
    let mut wrong = Vec::new();
    for Case { name, bytes, status, says } in cases {
        let (given, answer) = exchange(server.port, &bytes);
        if given != status || !answer.contains(says) {
            wrong.push(format!(
                "{name}: wanted {status} {says:?}, got {}",
                answer.chars().take(400).collect::<String>()
            ));
        }
        assert_eq!(server.api("GET", "/sandboxes", None).status(), 200, "after {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn the_api_refuses_nonsense_by_name() {
    let server = Server::start();
    let key = &server.api_key;
    let head = |request: &str, headers: &str| {
        format!("{request} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\nConnection: close\r\n{headers}\r\n")
    };
    let get = |path: &str| head(&format!("GET {path}"), "");
    let with_body = |request: &str, headers: &str, body: &[u8]| {
        let mut bytes = head(request, &format!("{headers}Content-Length: {}\r\n", body.len())).into_bytes();
        bytes.extend_from_slice(body);
        bytes
    };
    let post = |body: &[u8]| with_body("POST /sandboxes", "Content-Type: application/json\r\n", body);
    let chunked = |body: &str| head("POST /sandboxes", "Transfer-Encoding: chunked\r\n") + body;
    let bare = |lines: &str| format!("{lines}\r\nConnection: close\r\n\r\n");
    let many_headers: String = (0..200).map(|number| format!("X-{number}: x\r\n")).collect();
    let deep = format!("{{\"templateID\":\"base\",\"network\":{{\"x\":{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let syntax = "Error when parsing request";
    check(
        &server,
        vec![
            // Bodies.
            case("cut JSON", post(b"{\"templateID\":"), 400, syntax),
            case("no JSON", post(b"templateID=base"), 400, syntax),
            case("not even text", post(b"\xff\xfe\x00"), 400, syntax),
            case("deep JSON", post(deep.as_bytes()), 400, syntax),
            case("no body", post(b""), 400, "validation error"),
            case("a list", post(b"[]"), 400, "validation error"),
            case("a number for a name", post(b"{\"templateID\":5}"), 400, "validation error"),
            case("a huge number", post(b"{\"templateID\":\"base\",\"timeout\":1e400}"), 400, syntax),
            case("a template that does not exist", post(b"{\"templateID\":\"../../etc\"}"), 404, "not found"),
            case("null in a name", post(b"{\"templateID\":\"base\\u0000\"}"), 400, "message"),
            case("a body that is too long", post(&vec![b' '; 17 << 20]), 400, "too long"),
            case(
                "a type that is not JSON's",
                with_body("POST /sandboxes/inobody/timeout", "Content-Type: text/plain\r\n", b"{\"timeout\":1}"),
                404,
                "inobody",
            ),
            case("a chunk without a size", chunked("ZZZ\r\nx\r\n"), 400, ""),
            case("a chunk larger than numbers", chunked("fffffffffffffffff\r\nx"), 400, ""),
            case("a chunk without an end", chunked("1\r\nxyz\r\n0\r\n\r\n"), 400, ""),
            case("lengths that differ", head("POST /sandboxes", "Content-Length: 1\r\nContent-Length: 2\r\n"), 400, ""),
            case("a negative length", head("POST /sandboxes", "Content-Length: -1\r\n"), 400, ""),
            case(
                "a length larger than numbers",
                head("POST /sandboxes", "Content-Length: 99999999999999999999\r\n"),
                400,
                "",
            ),
            case("an unknown transfer coding", head("POST /sandboxes", "Transfer-Encoding: gzip\r\n"), 400, ""),
            // Paths and ids.
            case("an id that climbs", get("/sandboxes/..%2f..%2fetc"), 400, "Invalid sandbox ID"),
            case("an id with null", get("/sandboxes/i%00"), 400, "Invalid sandbox ID"),
            case("an id that is no text", get("/sandboxes/%ff"), 400, ""),
            case("an id that nobody has", get("/sandboxes/inobody"), 404, "inobody"),
            case("an id without end", get(&format!("/sandboxes/{}", "i".repeat(8000))), 404, "doesn't exist"),
            case("a path that climbs", get("/sandboxes/../../etc/passwd"), 404, ""),
            case("an unknown path", get("/nothing"), 404, "404 page not found"),
            case("a method that is not there", head("PATCH /sandboxes", ""), 405, ""),
            case("a broken query", get("/v2/sandboxes?limit=%zz&nextToken=%00"), 400, "message"),
            case("no key", bare("GET /sandboxes HTTP/1.1\r\nHost: localhost"), 401, "message"),
            case(
                "a key that is no text",
                bare("GET /sandboxes HTTP/1.1\r\nHost: localhost\r\nX-API-Key: \u{e9}"),
                401,
                "message",
            ),
            // Heads.
            case(
                "a header that is too long",
                head("GET /sandboxes", &format!("X: {}\r\n", "x".repeat(600_000))),
                431,
                "",
            ),
            case("too many headers", head("GET /sandboxes", &many_headers), 431, ""),
            case("a target that is too long", get(&format!("/{}", "x".repeat(200_000))), 414, ""),
            case("two hosts", bare("GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.test"), 400, "Invalid host"),
            case("a foreign host", bare("GET /health HTTP/1.1\r\nHost: evil.test"), 400, "Invalid host"),
            case(
                "a foreign host that looks like ours",
                bare("GET /health HTTP/1.1\r\nHost: localhost.evil.test"),
                400,
                "Invalid host",
            ),
            case("a host that is no text", bare("GET /health HTTP/1.1\r\nHost: localhost\u{e9}"), 400, "Invalid host"),
            case(
                "routed to nonsense",
                head("GET /", "E2b-Sandbox-Id: ../x\r\nE2b-Sandbox-Port: 80\r\n"),
                400,
                "Invalid sandbox ID",
            ),
            case(
                "routed to no port",
                head("GET /", "E2b-Sandbox-Id: ix\r\nE2b-Sandbox-Port: 99999\r\n"),
                400,
                "Invalid sandbox port",
            ),
            case("half a route", head("GET /", "E2b-Sandbox-Id: ix\r\n"), 400, "missing header"),
            case("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, ""),
            case("HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0, ""),
            case("no version", "GET /health\r\n\r\n", 400, ""),
            case("another version", "GET /health HTTP/9.9\r\n\r\n", 400, ""),
            case("a space in a header's name", bare("GET /health HTTP/1.1\r\nHost : localhost"), 400, ""),
            case("a proxy's request", bare("CONNECT localhost:22 HTTP/1.1\r\nHost: localhost"), 404, ""),
        ],
    );
}

#[test]
fn a_sandbox_refuses_nonsense_by_name() {
    let server = Server::start();
    let sandbox = server.create();
    let head = |request: &str, headers: &str| {
        format!("{request} HTTP/1.1\r\nHost: 49983-{}.localhost\r\nConnection: close\r\n{headers}\r\n", sandbox.id)
    };
    let get = |path: &str| head(&format!("GET {path}"), "");
    let post = |path: &str, kind: &str, body: &[u8]| {
        let headers = format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
        let mut bytes = head(&format!("POST {path}"), &headers).into_bytes();
        bytes.extend_from_slice(body);
        bytes
    };
    let unary = |method: &str, body: &[u8]| post(method, "application/json", body);
    let stream = |body: &[u8]| post("/process.Process/Start", "application/connect+json", body);
    let start = |process: serde_json::Value| stream(&envelope(json!({ "process": process }).to_string().as_bytes()));
    let null = json!({ "cmd": "/bin/echo", "args": ["a\u{0}b"] });
    let list = "/filesystem.Filesystem/ListDir";
    check(
        &server,
        vec![
            case("a path with null", get("/files?path=/tmp/a%00b"), 500, "invalid argument"),
            case(
                "null, written",
                post("/files?path=/tmp/a%00b", "application/octet-stream", b"x"),
                500,
                "invalid argument",
            ),
            case("a path that climbs", get("/files?path=../../../../../etc/nothing"), 404, "message"),
            case(
                "a path that is too long",
                get(&format!("/files?path=/{}", "x".repeat(5000))),
                500,
                "file name too long",
            ),
            case("a user that nobody is", get("/files?path=x&username=nobody-here"), 401, "message"),
            case("a directory, read", get("/files?path=/tmp"), 400, "message"),
            case(
                "a form without parts",
                post("/files?path=x", "multipart/form-data", b"x"),
                500,
                "error parsing multipart form",
            ),
            case(
                "a form that is cut",
                post("/files?path=x", "multipart/form-data; boundary=b", b"--b\r\nContent-Di"),
                500,
                "error parsing multipart form",
            ),
            case("a range that is none", head("GET /files?path=/etc/passwd", "Range: bytes=9-1\r\n"), 416, ""),
            case("JSON that is cut", unary(list, b"{\"path\":"), 400, "invalid_argument"),
            case("JSON of another shape", unary(list, b"{\"path\":5}"), 400, "invalid_argument"),
            case("null in a path", unary(list, b"{\"path\":\"/tmp/\\u0000\"}"), 500, "invalid argument"),
            case("no such directory", unary(list, b"{\"path\":\"/nowhere\"}"), 404, "not_found"),
            case(
                "a depth beyond numbers",
                unary(list, b"{\"path\":\"/tmp\",\"depth\":99999999999}"),
                400,
                "invalid_argument",
            ),
            case("another type", post(list, "text/plain", b"{}"), 415, ""),
            case("a stream as a call", post("/process.Process/Start", "application/json", b"{}"), 415, ""),
            case("an envelope longer than the body", stream(b"\x00\xff\xff\xff\xffxx"), 200, "error"),
            case("half an envelope's head", stream(b"\x00\x00"), 200, "error"),
            case("an envelope with unknown flags", stream(b"\xff\x00\x00\x00\x02{}"), 200, "error"),
            case("no envelope", stream(b""), 200, "error"),
            case("null in an argument", start(null), 200, "invalid_argument"),
            case(
                "a directory that is not there",
                start(json!({ "cmd": "ls", "cwd": "/nowhere" })),
                200,
                "invalid_argument",
            ),
            case("no such call", unary("/process.Process/Nothing", b"{}"), 404, ""),
            case(
                "chunks that are none",
                head("POST /files?path=x", "Transfer-Encoding: chunked\r\n") + "ZZ\r\n",
                400,
                "",
            ),
        ],
    );
    assert_eq!(sandbox.run("echo fine").out(), "fine\n");
}

#[test]
fn half_a_request_is_nobody_s_problem() {
    let server = Server::start();
    let sandbox = server.create();
    let envd = format!("49983-{}.localhost", sandbox.id);
    for (host, text) in [
        ("localhost", "GET /sand"),
        ("localhost", "POST /sandboxes HTTP/1.1\r\nHost: HOST\r\n"),
        ("localhost", "POST /sandboxes HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100\r\n\r\n{\"templ"),
        (&envd, "POST /files?path=half HTTP/1.1\r\nHost: HOST\r\nContent-Length: 100\r\n\r\nhalf"),
        (&envd, "POST /files?path=half HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhal"),
        (
            &envd,
            "POST /process.Process/Start HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/connect+json\r\nContent-Length: 100\r\n\r\n",
        ),
    ] {
        let text = text.replace("HOST", host);
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // An answer or none: but an end, at once.
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{text}"),
        }
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{text}: {}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(sandbox.run("echo fine").out(), "fine\n");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}
