//! A sandbox, and what a test does with it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::http::{Answer, Connection, Incoming, Request, envelope, frames};
use super::server::{Server, wait_until};

pub(crate) struct Sandbox<'a> {
    pub(crate) server: &'a Server,
    pub(crate) id: String,
    pub(crate) created: Value,
}

/// What a command did.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    pub(crate) pid: u64,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) end: Value,
    /// The error of the end-of-stream frame.
    pub(crate) error: Value,
}

impl Finished {
    pub(crate) fn out(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub(crate) fn exit_code(&self) -> i64 {
        assert!(self.end.is_object(), "the command did not end: {self:?}");
        self.end["exitCode"].as_i64().unwrap_or(0)
    }
}

impl<'a> Sandbox<'a> {
    pub(crate) fn new(server: &'a Server, created: Value) -> Self {
        Sandbox { server, id: created["sandboxID"].as_str().unwrap().to_owned(), created }
    }

    /// A request to a port of the sandbox, with the access token if there is one.
    pub(crate) fn request<'r>(&self, port: u16, method: &'r str, target: &'r str) -> Request<'r> {
        let host = format!("{port}-{}.localhost:{}", self.id, self.server.port);
        let mut request = Request::new(method, target).header("Host", host);
        if let Some(token) = self.created["envdAccessToken"].as_str() {
            request = request.header("X-Access-Token", token);
        }
        request
    }

    pub(crate) fn envd<'r>(&self, method: &'r str, target: &'r str) -> Request<'r> {
        self.request(49983, method, target)
    }

    pub(crate) fn rpc(&self, method: &str, body: Value) -> Answer {
        self.server.send(&self.envd("POST", &format!("/{method}")).json(body))
    }

    /// Starts a stream and leaves it to the caller.
    pub(crate) fn stream(&self, method: &str, message: &Value, headers: &[(&'static str, &str)]) -> Stream {
        let target = format!("/{method}");
        let mut request = self.envd("POST", &target).header("Content-Type", "application/connect+json");
        for (name, value) in headers {
            request = request.header(name, *value);
        }
        let request = request.body(envelope(message.to_string().as_bytes()));
        let connection = Connection::tcp(self.server.port);
        let incoming = request.send(connection.try_clone()).unwrap();
        Stream { connection, incoming, buffer: Vec::new(), pending: Vec::new().into_iter() }
    }

    pub(crate) fn start(&self, message: &Value, headers: &[(&'static str, &str)]) -> Stream {
        self.stream("process.Process/Start", message, headers)
    }

    /// Runs a shell command as the default user.
    pub(crate) fn run(&self, script: &str) -> Finished {
        self.run_with(script, &[])
    }

    pub(crate) fn run_as(&self, user: &str, script: &str) -> Finished {
        self.run_with(script, &[("Authorization", &format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:"))))])
    }

    pub(crate) fn run_with(&self, script: &str, headers: &[(&'static str, &str)]) -> Finished {
        self.start(&shell(script), headers).finish()
    }

    /// Runs a shell command again and again until it prints `expected`: for what is on its way, like a program that its
    /// shell has not become yet.
    pub(crate) fn settle(&self, script: &str, expected: &str) {
        let mut last = Finished::default();
        wait_until(&format!("`{script}` prints {expected:?}"), || {
            last = self.run(script);
            last.out() == expected
        });
    }

    pub(crate) fn upload(&self, path: &str, content: &[u8]) -> Answer {
        let target = format!("/files?path={path}");
        let request = self.envd("POST", &target).header("Content-Type", "application/octet-stream").body(content);
        self.server.send(&request)
    }

    pub(crate) fn write_file(&self, path: &str, content: &[u8]) {
        let answer = self.upload(path, content);
        assert_eq!(answer.status(), 200, "{}", answer.text());
    }

    pub(crate) fn read_file(&self, path: &str) -> Answer {
        let target = format!("/files?path={path}");
        self.server.send(&self.envd("GET", &target))
    }
}

/// The request that runs `script` in a shell.
pub(crate) fn shell(script: &str) -> Value {
    json!({ "process": { "cmd": "/bin/bash", "args": ["-c", script] } })
}

/// An open stream of envelopes.
pub(crate) struct Stream {
    pub(crate) connection: Connection,
    pub(crate) incoming: Incoming,
    buffer: Vec<u8>,
    pending: std::vec::IntoIter<(u8, Vec<u8>)>,
}

impl Stream {
    /// The next message with its flags; `None` when the body is over.
    pub(crate) fn next(&mut self) -> Option<(u8, Value)> {
        loop {
            if let Some((flags, payload)) = self.pending.next() {
                return Some((flags, serde_json::from_slice(&payload).unwrap()));
            }
            self.buffer.extend(self.incoming.next().unwrap()?);
            self.pending = frames(&mut self.buffer).into_iter();
        }
    }

    /// The pid of a process whose start event comes next.
    pub(crate) fn pid(&mut self) -> u64 {
        let (flags, message) = self.next().unwrap();
        assert_eq!(flags, 0, "{message}");
        message["event"]["start"]["pid"].as_u64().unwrap()
    }

    /// Reads to the end of the stream, which must be an orderly one.
    pub(crate) fn finish(mut self) -> Finished {
        let mut finished = Finished::default();
        while let Some((flags, message)) = self.next() {
            if flags & 2 != 0 {
                finished.error = message["error"].clone();
                assert!(self.next().is_none(), "something follows the end of the stream");
                return finished;
            }
            let event = &message["event"];
            let bytes = |kind: &str| {
                event["data"][kind].as_str().map_or_else(Vec::new, |text| BASE64_STANDARD.decode(text).unwrap())
            };
            finished.stdout.extend(bytes("stdout"));
            finished.stdout.extend(bytes("pty"));
            finished.stderr.extend(bytes("stderr"));
            if let Some(pid) = event["start"]["pid"].as_u64() {
                finished.pid = pid;
            }
            if event["end"].is_object() {
                finished.end = event["end"].clone();
            }
        }
        panic!("the stream was cut: {finished:?}");
    }
}
