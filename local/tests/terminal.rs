//! The plain WebSocket to a shell: who may dial it, what passes, how it ends, and what it leaves alone.

mod support;

use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use support::http::{PATIENCE, Request};
use support::sandbox::{Sandbox, shell};
use support::server::{Server, wait_until};
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Bytes, Error, Message, WebSocket};

struct Client {
    socket: WebSocket<TcpStream>,
    /// Output that came, and what was said beside it.
    output: Vec<u8>,
    said: Vec<Value>,
}

/// How a connection ended: the close code and its reason.
type End = (u16, String);

impl Client {
    /// Dials `ws://<host>/<target>`; the status of the answer when it is no upgrade.
    fn dial(server: &Server, host: &str, target: &str, headers: &[(&str, &str)]) -> Result<Client, u16> {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut request = http::Request::get(format!("ws://{host}:{}{target}", server.port))
            .header("Host", format!("{host}:{}", server.port))
            .header("Connection", "Upgrade")
            .header("Upgrade", "websocket")
            .header("Sec-WebSocket-Version", "13")
            .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        match tungstenite::client(request.body(()).unwrap(), stream) {
            Ok((socket, _)) => Ok(Client { socket, output: Vec::new(), said: Vec::new() }),
            Err(tungstenite::HandshakeError::Failure(Error::Http(answer))) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Dials the bridge of a sandbox below its own name.
    fn open(sandbox: &Sandbox<'_>, query: &str) -> Client {
        let host = format!("49983-{}.localhost", sandbox.id);
        Client::dial(sandbox.server, &host, &format!("/terminal?{query}"), &[]).unwrap()
    }

    fn send(&mut self, message: Message) {
        self.socket.send(message).unwrap();
    }

    fn type_text(&mut self, text: &str) {
        self.send(Message::text(text));
    }

    /// Reads one frame; how it ended when it did. A connection that breaks has no code.
    fn read(&mut self) -> Option<End> {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) => self.output.extend(bytes),
            Ok(Message::Text(text)) => self.said.push(serde_json::from_str(&text).unwrap()),
            Ok(Message::Close(frame)) => {
                let frame = frame.unwrap();
                // Flushes the answer.
                while self.socket.read().is_ok() {}
                return Some((frame.code.into(), frame.reason.to_string()));
            }
            Ok(_) => {}
            Err(error) => return Some((1006, error.to_string())),
        }
        None
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// Reads until the output has `text`, which is taken out with all before it.
    fn shows(&mut self, text: &str) -> String {
        loop {
            let shown = self.text();
            if let Some(at) = shown.find(text) {
                let end = at + text.len();
                self.output = shown.as_bytes()[end..].to_vec();
                return shown[..end].to_owned();
            }
            let end = self.read();
            assert!(end.is_none(), "ended with {end:?} after {shown:?}");
        }
    }

    /// The next thing that is said beside the output.
    fn event(&mut self) -> Value {
        while self.said.is_empty() {
            let end = self.read();
            assert!(end.is_none(), "ended with {end:?}");
        }
        self.said.remove(0)
    }

    fn end(&mut self) -> End {
        loop {
            if let Some(end) = self.read() {
                return end;
            }
        }
    }

    fn leave(mut self, code: u16) {
        let frame = tungstenite::protocol::CloseFrame { code: CloseCode::from(code), reason: "".into() };
        self.socket.close(Some(frame)).unwrap();
        while self.socket.read().is_ok() {}
    }
}

fn runs(sandbox: &Sandbox<'_>, pid: u64) -> bool {
    sandbox.rpc("process.Process/List", json!({})).json()["processes"]
        .as_array()
        .is_some_and(|all| all.iter().any(|process| process["pid"] == pid))
}

#[test]
fn a_stock_client_gets_a_shell_by_one_address() {
    let server = Server::start();
    let sandbox = server.create();
    let mut client = Client::open(&sandbox, "cols=100&rows=30");
    client.type_text("stty size; echo $TERM $LANG; whoami; pwd; tty\n");
    client.shows("30 100\r\nxterm-256color C.UTF-8\r\nuser\r\n/home/user\r\n/dev/pts/");
    // Bytes are input as well, whatever they are, and come back as they are.
    client.send(Message::binary(
        &b"stty raw -echo; echo rea''dy; head -c 256 | od -An -v -tu1 | tr -d ' \\n'; stty sane; echo\n"[..],
    ));
    client.shows("ready");
    client.send(Message::binary((0..=255).collect::<Vec<u8>>()));
    let expected = (0..256).map(|byte: u32| byte.to_string()).collect::<String>();
    client.shows(&expected);
    client.type_text("printf 'a\\377\\000\\342\\202'; printf '\\254.'; exit 3\n");
    let end = client.end();
    assert_eq!(end, (4503, "exit 3".into()));
    let bytes = b"a\xff\x00\xe2\x82\xac.";
    assert!(client.output.windows(bytes.len()).any(|window| window == bytes), "{:?}", client.text());
    assert!(client.said.is_empty(), "nothing is said that was not asked for: {:?}", client.said);
}

#[test]
fn the_end_is_told_and_everything_before_it() {
    let server = Server::start();
    let sandbox = server.create();
    for (script, code, reason, event) in [
        ("seq 20000; exit", 1000, "exit 0", json!({ "type": "exited", "exitCode": 0 })),
        ("exit 255", 4755, "exit 255", json!({ "type": "exited", "exitCode": 255 })),
        ("kill -9 $$", 4637, "signal SIGKILL", json!({ "type": "exited", "signal": "SIGKILL" })),
    ] {
        let mut client = Client::open(&sandbox, "events=1&user=root&cwd=/tmp");
        let started = client.event();
        assert!(started["pid"].is_u64(), "{started}");
        client.type_text(&format!("whoami; pwd; {script}\n"));
        assert_eq!(client.end(), (code, reason.to_owned()), "{}", client.text());
        assert_eq!(client.event(), event);
        let text = client.text();
        assert!(text.contains("root\r\n/tmp\r\n"), "{text}");
        assert!(!script.starts_with("seq") || text.contains("\r\n19999\r\n20000\r\n"), "all of the output");
        wait_until("it is gone", || !runs(&sandbox, started["pid"].as_u64().unwrap()));
    }
}

#[test]
fn only_the_holder_of_the_token_gets_in() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "secure": true, "timeout": 300 }));
    let token = sandbox.created["envdAccessToken"].as_str().unwrap();
    let host = format!("49983-{}.localhost", sandbox.id);
    for (query, headers, refused) in [
        (String::new(), vec![], true),
        ("token=".into(), vec![], true),
        ("token=wrong".into(), vec![], true),
        (format!("token={token}x"), vec![], true),
        (format!("token={}", &token[1..]), vec![], true),
        (format!("token={token}"), vec![("X-Access-Token", "wrong")], true),
        (format!("token={token}"), vec![], false),
        (String::new(), vec![("X-Access-Token", token)], false),
    ] {
        let mut client = Client::dial(&server, &host, &format!("/terminal?{query}"), &headers).unwrap();
        if refused {
            assert_eq!(client.end(), (4001, "Unauthorized".into()), "{query} {headers:?}");
            assert!(client.output.is_empty());
        } else {
            client.type_text("echo in-$((1+1))\n");
            client.shows("in-2\r\n");
            client.leave(1000);
        }
    }
    assert!(!server.log().contains(token), "the token is not logged");
    assert!(!sandbox_log(&server, &sandbox).contains(token), "nor told inside");
}

fn sandbox_log(server: &Server, sandbox: &Sandbox<'_>) -> String {
    server.api("GET", &format!("/sandboxes/{}/logs", sandbox.id), None).text().to_owned()
}

#[test]
fn pages_of_other_machines_are_refused_and_names_stay_exact() {
    let server = Server::start();
    let sandbox = server.create();
    let host = format!("49983-{}.localhost", sandbox.id);
    for origin in ["http://evil.example", "null", "https://localhost.evil.example", "http://127.0.0.1.evil.example:80"]
    {
        let status = Client::dial(&server, &host, "/terminal", &[("Origin", origin)]).err();
        assert_eq!(status, Some(403), "{origin}");
    }
    for origin in ["http://localhost:3000", "https://app.localhost", "http://[::1]:1", "http://127.0.0.1:8080"] {
        Client::dial(&server, &host, "/terminal", &[("Origin", origin)])
            .unwrap_or_else(|_| panic!("{origin}"))
            .leave(1000);
    }
    // A page may have bound its own name to our address.
    assert_eq!(Client::dial(&server, "evil.example", "/terminal", &[]).err(), Some(400));
}

#[test]
fn it_has_an_address_without_a_name_of_its_own() {
    let server = Server::start();
    let sandbox = server.create_with(json!({ "templateID": "base", "secure": true, "timeout": 300 }));
    let token = sandbox.created["envdAccessToken"].as_str().unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let mut client =
            Client::dial(&server, host, &format!("/terminal/{}?token={token}&cols=33", sandbox.id), &[]).unwrap();
        client.type_text("stty size\n");
        client.shows("24 33\r\n");
        client.leave(1000);
        let mut refused = Client::dial(&server, host, &format!("/terminal/{}", sandbox.id), &[]).unwrap();
        assert_eq!(refused.end().0, 4001);
    }
    assert_eq!(Client::dial(&server, "localhost", "/terminal/inobody", &[]).err(), Some(502));
    assert!(matches!(Client::dial(&server, "localhost", "/terminal/../x", &[]).err(), Some(401 | 404)));
    assert!(!server.log().contains(token));
}

#[test]
fn nothing_else_of_the_daemon_is_touched() {
    let server = Server::start();
    let sandbox = server.create();
    for target in ["/terminal", "/terminal?cols=80", "/terminal/x"] {
        for method in ["GET", "POST"] {
            let answer = server.send(&sandbox.envd(method, target));
            assert_eq!((answer.status(), answer.text()), (404, "404 page not found\n"), "{method} {target}");
        }
    }
    let secure = server.create_with(json!({ "templateID": "base", "secure": true, "timeout": 300 }));
    let host = format!("49983-{}.localhost:{}", secure.id, server.port);
    let plain = server.send(&Request::new("GET", "/terminal").header("Host", host));
    assert_eq!(plain.status(), 401, "unknown routes are told so");
    // An upgrade that is none.
    let half = sandbox.envd("GET", "/terminal").header("Connection", "Upgrade").header("Upgrade", "websocket");
    assert_eq!(server.send(&half).status(), 400);
}

#[test]
fn wrong_parameters_are_named() {
    let server = Server::start();
    let sandbox = server.create();
    let mut command = sandbox.start(&shell("sleep 300"), &[]);
    let pid = command.pid();
    for (query, code, says) in [
        ("cols=0", 4005, "cols"),
        ("cols=x", 4005, "cols"),
        ("rows=65536", 4005, "rows"),
        ("rows=-1", 4005, "rows"),
        ("pid=x", 4005, "pid"),
        ("user=nobody-here", 4005, "user"),
        ("cwd=/missing", 4005, "cwd '/missing' does not exist"),
        (&format!("cwd=/{}", "%E2%82%AC".repeat(300)), 4005, "error starting pty with command"),
        ("pid=999999", 4004, "No such terminal"),
        (&format!("pid={pid}"), 4004, "No such terminal"),
    ] {
        let (given, reason) = Client::open(&sandbox, query).end();
        assert!(given == code && reason.contains(says), "{query}: {given} {reason}");
    }
}

#[test]
fn a_lost_terminal_is_found_again_by_its_pid() {
    let server = Server::start();
    let sandbox = server.create();
    let mut first = Client::open(&sandbox, "events=1");
    let pid = first.event()["pid"].as_u64().unwrap();
    first.type_text("kept=here\n");
    first.shows("kept=here\r\n");
    // As a network breaks, and as a client that means to come back.
    first.socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap();
    drop(first);
    let mut second = Client::open(&sandbox, &format!("pid={pid}&events=1&cols=55&rows=11"));
    assert_eq!(second.event(), json!({ "type": "started", "pid": pid }));
    second.type_text("echo \"<$kept>\"; stty size\n");
    second.shows("<here>\r\n11 55\r\n");
    second.leave(4000);
    let mut third = Client::open(&sandbox, &format!("pid={pid}"));
    third.type_text("stty size\n");
    third.shows("11 55\r\n");
    // Two at a time see the same, and the shell stays while one of them does.
    let mut fourth = Client::open(&sandbox, &format!("pid={pid}"));
    fourth.type_text("echo both-$((1+1))\n");
    fourth.shows("both-2\r\n");
    third.shows("both-2\r\n");
    fourth.leave(1000);
    third.type_text("echo still-$((1+1))\n");
    third.shows("still-2\r\n");
    assert!(runs(&sandbox, pid));
    third.leave(1000);
    wait_until("the shell has ended with its last client", || !runs(&sandbox, pid));
}

#[test]
fn a_terminal_of_somebody_else_is_left_alone() {
    let server = Server::start();
    let sandbox = server.create();
    let start = json!({
        "process": { "cmd": "/bin/bash", "args": ["-i"] },
        "pty": { "size": { "cols": 80, "rows": 24 } },
    });
    let mut theirs = sandbox.start(&start, &[]);
    let pid = theirs.pid();
    let mut client = Client::open(&sandbox, &format!("pid={pid}"));
    client.type_text("echo me-$((1+1))\n");
    client.shows("me-2\r\n");
    client.leave(1000);
    let mut again = Client::open(&sandbox, &format!("pid={pid}"));
    again.type_text("exit 7\n");
    assert_eq!(again.end(), (4507, "exit 7".into()));
    // Who comes late is told as well.
    assert_eq!(Client::open(&sandbox, &format!("pid={pid}")).end(), (4507, "exit 7".into()));
}

#[test]
fn sizes_change_and_floods_wait() {
    let server = Server::start();
    let sandbox = server.create();
    let mut client = Client::open(&sandbox, "");
    client.type_text("{\"type\":\"resize\",\"cols\":77,\"rows\":33}");
    client.type_text("stty size\n");
    client.shows("33 77\r\n");
    // What only looks like it is typed.
    client.type_text("echo rea''dy; cat\n");
    client.shows("ready\r\n");
    client.type_text("{\"type\":\"resize\",\"cols\":0x1}\n");
    client.shows("{\"type\":\"resize\",\"cols\":0x1}\r\n{\"type\":\"resize\",\"cols\":0x1}\r\n");
    client.type_text("\u{4}");
    client.type_text("{\"type\":\"pause\"}");
    client.type_text("for i in $(seq 2000); do echo 0123456789012345678901234567890123456789012345678901234567890123 $i; echo $i > /tmp/count; done; echo over-$((1+1))\n");
    // It stands still while it is held up, long before its end.
    let count = || sandbox.read_file("/tmp/count").text().trim().parse::<u32>().unwrap_or(0);
    let mut seen = (0, 0);
    wait_until("it stands still", || {
        let now = count();
        std::thread::sleep(Duration::from_millis(20));
        seen = if now == seen.0 { (now, seen.1 + 1) } else { (now, 0) };
        now > 0 && seen.1 > 20
    });
    assert!(seen.0 < 2000, "{}", seen.0);
    client.type_text("{\"type\":\"resume\"}");
    let text = client.shows("over-2\r\n");
    let lost = (1..=2000).find(|number| !text.contains(&format!("890123 {number}\r\n")));
    assert_eq!(lost, None, "nothing is lost");
}

#[test]
fn input_that_is_not_taken_makes_the_client_wait() {
    let server = Server::start();
    let sandbox = server.create();
    let mut client = Client::open(&sandbox, "");
    client.type_text("stty raw -echo; echo rea''dy; sleep 0.5; head -c 3000000 | sha256sum; stty sane\n");
    client.shows("ready");
    let block = vec![b'x'; 100_000];
    for _ in 0..30 {
        client.send(Message::Binary(Bytes::from(block.clone())));
    }
    client.shows("e55b8bdf");
}

#[test]
fn hostile_frames_end_one_connection_and_nothing_else() {
    let server = Server::start();
    let sandbox = server.create();
    let mut other = Client::open(&sandbox, "");
    let mut client = Client::open(&sandbox, "");
    client.socket.send(Message::binary(vec![b'x'; 1024 * 1024 + 1])).unwrap_or(());
    assert_eq!(client.end().0, 1009);
    // An unmasked frame, which no client may send.
    let mut client = Client::open(&sandbox, "");
    std::io::Write::write_all(client.socket.get_mut(), &[0x81, 0x01, b'x']).unwrap();
    assert_eq!(client.end().0, 1002);
    let mut client = Client::open(&sandbox, "");
    std::io::Write::write_all(client.socket.get_mut(), &[0x81, 0x81, 0, 0, 0, 0, 0xff]).unwrap();
    assert_eq!(client.end().0, 1007);
    // More input than anybody takes, while the output is held up.
    let mut client = Client::open(&sandbox, "");
    client.type_text("stty raw -echo; sleep 300\n");
    client.type_text("{\"type\":\"pause\"}");
    let end = (0..100).find_map(|_| client.socket.send(Message::binary(vec![b'x'; 100_000])).err());
    assert!(end.is_some() || client.end().0 == 4008);
    other.type_text("echo alive-$((1+1))\n");
    other.shows("alive-2\r\n");
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[test]
fn a_paused_sandbox_wakes_for_the_holder_of_the_token() {
    let server = Server::start();
    let sandbox = server.create_with(json!({
        "templateID": "base", "secure": true, "timeout": 300, "autoPause": true, "autoResume": { "enabled": true },
    }));
    let token = sandbox.created["envdAccessToken"].as_str().unwrap();
    let mut first = Client::open(&sandbox, &format!("token={token}&events=1"));
    let pid = first.event()["pid"].as_u64().unwrap();
    let paused = server.api("POST", &format!("/sandboxes/{}/pause", sandbox.id), None);
    assert_eq!(paused.status(), 204, "{}", paused.text());
    assert_eq!(first.end().0, 1006, "a pause breaks connections");
    let host = format!("49983-{}.localhost", sandbox.id);
    assert_eq!(Client::dial(&server, &host, "/terminal?token=wrong", &[]).err(), Some(403));
    let mut again = Client::open(&sandbox, &format!("token={token}&pid={pid}"));
    again.type_text("echo awake-$((1+1))\n");
    again.shows("awake-2\r\n");
}
