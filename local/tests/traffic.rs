//! Traffic to ports of a sandbox through the server's one port.

mod support;

use std::io::{Read, Write};

use serde_json::json;
use support::http::{Connection, Incoming, Request};
use support::sandbox::{Sandbox, Stream, shell};
use support::server::{Server, wait_until};

/// Answers every request with its request line and its host; on `Upgrade` it switches and echoes what comes.
const SERVICE: &str = r#"
import socket, sys, threading
def serve(peer):
    head = b''
    while b'\r\n\r\n' not in head:
        head += peer.recv(4096)
    if b'upgrade: echo' in head.lower():
        peer.sendall(b'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n')
        while data := peer.recv(4096):
            peer.sendall(data)
    else:
        lines = head.decode().split('\r\n')
        host = next(line for line in lines if line.lower().startswith('host:'))
        body = (lines[0] + '|' + host.split(':', 1)[1].strip()).encode()
        peer.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(body) + body)
    peer.close()
listener = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"#;

fn serve(sandbox: &Sandbox<'_>, address: &str, port: u16, delay: &str) -> Stream {
    // A file for each: an upload empties a file before it fills it, while the service before may still be starting.
    let file = format!("/tmp/service-{port}.py");
    sandbox.write_file(&file, SERVICE.as_bytes());
    let mut stream = sandbox.start(&shell(&format!("sleep {delay}; exec python3 {file} {address} {port}")), &[]);
    stream.pid();
    stream
}

#[test]
fn ports_are_reached_by_host_and_by_header() {
    let server = Server::start();
    // Sandboxes without internet have a network of their own: ports cannot collide with other tests.
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 300, "allow_internet_access": false }));
    let _services: Vec<_> = [("127.0.0.1", 8001), ("0.0.0.0", 8002), ("::1", 8003), ("::", 8004)]
        .map(|(address, port)| serve(&sandbox, address, port, "0"))
        .into();
    for port in 8001..=8004 {
        wait_until("the port is open", || server.send(&sandbox.request(port, "GET", "/")).status() == 200);
        let host = format!("{port}-{}.localhost:{}", sandbox.id, server.port);
        let answer = server.send(&sandbox.request(port, "GET", "/a%20b?c=d"));
        assert_eq!(answer.text(), format!("GET /a%20b?c=d HTTP/1.1|{host}"));
        let by_header = server
            .request("GET", "/x")
            .header("E2b-Sandbox-Id", sandbox.id.clone())
            .header("E2b-Sandbox-Port", port.to_string());
        assert_eq!(server.send(&by_header).text(), format!("GET /x HTTP/1.1|localhost:{}", server.port));
    }
}

/// Answers before it has read the body, and hangs up.
const IMPATIENT: &str = r#"
import socket
listener = socket.create_server(('127.0.0.1', 8010))
while True:
    peer = listener.accept()[0]
    peer.recv(100)
    peer.sendall(b'HTTP/1.1 413 Content Too Large\r\nContent-Length: 6\r\n\r\nenough')
    peer.close()
"#;

#[test]
fn an_answer_arrives_though_the_question_was_not_heard() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 60, "allow_internet_access": false }));
    sandbox.write_file("/tmp/impatient.py", IMPATIENT.as_bytes());
    let mut service = sandbox.start(&shell("exec python3 /tmp/impatient.py"), &[]);
    service.pid();
    wait_until("the port is open", || server.send(&sandbox.request(8010, "GET", "/")).status() == 413);
    for size in [1 << 10, 1 << 20, 1 << 25] {
        let answer = server.send(&sandbox.request(8010, "POST", "/").body(vec![0; size]));
        assert_eq!((answer.status(), answer.text()), (413, "enough"), "{size}");
    }
}

#[test]
fn a_service_that_is_just_starting_is_waited_for() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 300, "allow_internet_access": false }));
    // It is not waited for long, and this machine may be busy: of several ports one opens in time.
    let mut services = Vec::new();
    let waited = (8001..8021).any(|port| {
        services.push(serve(&sandbox, "127.0.0.1", port, "0.2"));
        server.send(&sandbox.request(port, "GET", "/")).status() == 200
    });
    assert!(waited);
}

#[test]
fn nobody_home_is_said_as_production_says_it() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 300, "allow_internet_access": false }));
    let closed = server.send(&sandbox.request(8009, "GET", "/").header("Origin", "https://page.test"));
    assert_eq!(closed.status(), 502);
    let message = "The sandbox is running but port is not open";
    assert_eq!(closed.json(), json!({ "sandboxId": sandbox.id, "message": message, "port": 8009, "code": 502 }));
    assert_eq!(closed.header("access-control-allow-origin"), Some("*"));

    let unknown = |headers: &[(&'static str, &str)]| {
        let host = format!("80-inobody.localhost:{}", server.port);
        let mut request = Request::new("GET", "/").header("Host", host);
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        server.send(&request)
    };
    let expected = json!({ "sandboxId": "inobody", "message": "The sandbox was not found", "code": 502 });
    assert_eq!(unknown(&[]).json(), expected);
    let browser = ("User-Agent", "Mozilla/5.0 (X11)");
    assert_eq!(unknown(&[browser, ("Sec-Fetch-Mode", "cors")]).json(), expected);
    let page = unknown(&[browser]);
    assert_eq!(page.status(), 502);
    assert!(page.header("content-type").unwrap().starts_with("text/html"), "{}", page.text());
}

#[test]
fn host_side_calls_are_closed_from_outside() {
    let server = Server::start();
    let sandbox = server.create();
    for target in ["/init", "//init", "/init/", "/x/../init", "/%69nit", "/freeze", "/fsfreeze", "/upgrade"] {
        for method in ["GET", "POST"] {
            let answer = server.send(&sandbox.envd(method, target));
            assert_eq!(answer.status(), 404, "{method} {target}");
            assert!(answer.text().contains("reserved for the E2B control plane"), "{target}: {}", answer.text());
        }
    }
}

#[test]
fn restricted_ports_need_the_traffic_token() {
    let server = Server::start();
    let sandbox = server.create_with(json!({
        "templateID": "base", "secure": true, "timeout": 300,
        "network": { "allowPublicTraffic": false, "maskRequestHost": "h.test:${PORT}" }, "allow_internet_access": false,
    }));
    let token = sandbox.created["trafficAccessToken"].as_str().unwrap();
    let _service = serve(&sandbox, "127.0.0.1", 8001, "0");
    let with = |token: Option<&str>| {
        let mut request = sandbox.request(8001, "GET", "/");
        request.headers.extend(token.map(|token| ("e2b-traffic-access-token", token.to_owned())));
        server.send(&request)
    };
    for (given, message) in [(None, "is missing"), (Some("wrong"), "is invalid")] {
        let refused = with(given);
        assert_eq!(refused.status(), 403);
        assert!(refused.json()["message"].as_str().unwrap().ends_with(message), "{}", refused.text());
        assert_eq!(refused.header("access-control-allow-origin"), None);
    }
    wait_until("the port is open", || with(Some(token)).status() == 200);
    assert_eq!(with(Some(token)).text(), "GET / HTTP/1.1|h.test:8001");
    assert_eq!(server.send(&sandbox.envd("GET", "/health")).status(), 204, "envd has a token of its own");
}

#[test]
fn upgrades_pass_in_both_directions() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "timeout": 300, "allow_internet_access": false }));
    let _service = serve(&sandbox, "127.0.0.1", 8001, "0");
    wait_until("the port is open", || server.send(&sandbox.request(8001, "GET", "/")).status() == 200);
    let request = sandbox.request(8001, "GET", "/").header("Connection", "Upgrade").header("Upgrade", "echo");
    let mut connection = Connection::tcp(server.port);
    let switched: Incoming = request.send(connection.try_clone()).unwrap();
    assert_eq!((switched.head.status, switched.head.get("upgrade")), (101, Some("echo")));
    for message in ["one", "two, and then some more"] {
        connection.write_all(message.as_bytes()).unwrap();
        let mut echo = vec![0; message.len()];
        connection.read_exact(&mut echo).unwrap();
        assert_eq!(echo, message.as_bytes());
    }
}
