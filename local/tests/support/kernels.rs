//! The code interpreter's side of a sandbox.

use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::http::{Answer, Connection, Incoming, Request};
use super::sandbox::Sandbox;
use super::server::Server;

const PORT: u16 = 49999;

/// Fails when the kernels are missing: a test that cannot run is no success.
pub(crate) fn installed() -> PathBuf {
    let folder = std::env::var_os("AGENT_SANDBOX_KERNELS").map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../build/kernels"));
    for kernel in ["python/.installed", "node/.installed"] {
        assert!(
            folder.join(kernel).exists(),
            "the kernels are not installed in {}: run `cargo xtask setup --kernels`",
            folder.display()
        );
    }
    folder
}

/// A server that finds the kernels.
pub(crate) fn server() -> Server {
    Server::start_with(&["--kernels", installed().to_str().unwrap()])
}

/// An answer that is read line by line.
pub(crate) struct Lines {
    pub(crate) connection: Connection,
    pub(crate) incoming: Incoming,
    buffer: Vec<u8>,
}

impl Lines {
    /// The next line; `None` at the proper end.
    pub(crate) fn next(&mut self) -> io::Result<Option<Value>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                assert!(line.is_ascii());
                return Ok(Some(serde_json::from_slice(&line)?));
            }
            match self.incoming.next()? {
                Some(chunk) => self.buffer.extend(chunk),
                None => {
                    assert!(self.buffer.is_empty(), "the last line is cut");
                    return Ok(None);
                }
            }
        }
    }

    pub(crate) fn rest(mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.next().unwrap() {
            lines.push(line);
        }
        lines
    }
}

impl<'a> Sandbox<'a> {
    pub(crate) fn interpreter<'r>(&self, method: &'r str, target: &'r str) -> Request<'r> {
        self.request(PORT, method, target)
    }

    pub(crate) fn interpreter_json(&self, method: &str, target: &str, body: Option<Value>) -> Answer {
        let mut request = self.interpreter(method, target);
        if let Some(body) = body {
            request = request.json(body);
        }
        self.server.send(&request)
    }

    /// Starts a run and leaves its answer to the caller.
    pub(crate) fn execute(&self, body: Value) -> Lines {
        let request = self.interpreter("POST", "/execute").json(body);
        let connection = Connection::tcp(self.server.port);
        let incoming = request.send(connection.try_clone()).unwrap();
        assert_eq!(incoming.head.status, 200);
        assert_eq!(incoming.head.get("content-type"), None);
        Lines { connection, incoming, buffer: Vec::new() }
    }

    /// Runs Python in `context` (the default one when empty) to its end.
    pub(crate) fn python(&self, context: &str, code: &str) -> Vec<Value> {
        self.execute(json!({ "code": code, "context_id": context })).rest()
    }

    pub(crate) fn new_context(&self, body: Value) -> String {
        let answer = self.interpreter_json("POST", "/contexts", Some(body));
        assert_eq!(answer.status(), 200, "{}", answer.text());
        answer.json()["id"].as_str().unwrap().to_owned()
    }
}

/// All that was printed to `stream`.
pub(crate) fn printed(lines: &[Value], stream: &str) -> String {
    lines.iter().filter(|line| line["type"] == stream).filter_map(|line| line["text"].as_str()).collect()
}

/// The text of the value of the last expression.
pub(crate) fn value(lines: &[Value]) -> Option<&str> {
    lines.iter().find(|line| line["is_main_result"] == true)?["text"].as_str()
}

/// The name of the error, if there was one.
pub(crate) fn error(lines: &[Value]) -> Option<&str> {
    lines.iter().find(|line| line["type"] == "error")?["name"].as_str()
}
