//! A server process of a test's own, in a runtime directory of its own.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::http::{Answer, Connection, PATIENCE, Request};
use super::sandbox::Sandbox;

pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) api_key: String,
    pub(crate) directory: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with further arguments and waits for its ready file.
    pub(crate) fn start_with(arguments: &[&str]) -> Self {
        // Unix socket paths are short.
        let directory = tempfile::Builder::new().prefix("asl").tempdir_in("/tmp").unwrap();
        let ready = directory.path().join("ready.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-sandbox-local"));
        command
            .args(["serve", "--port", "0", "--ready-file"])
            .arg(&ready)
            .args(arguments)
            .env("XDG_RUNTIME_DIR", directory.path())
            .env("RUST_LOG", "debug")
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(directory.path().join("log")).unwrap())
            .process_group(0);
        let child = command.spawn().unwrap();
        wait_until("the server is ready", || ready.exists());
        let ready: Value = serde_json::from_slice(&std::fs::read(&ready).unwrap()).unwrap();
        assert_eq!(ready["pid"], child.id());
        let port = ready["url"].as_str().unwrap().rsplit(':').next().unwrap().parse().unwrap();
        Server { child, port, api_key: ready["apiKey"].as_str().unwrap().to_owned(), directory }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.directory.path().join("log")).unwrap()
    }

    pub(crate) fn request<'a>(&self, method: &'a str, target: &'a str) -> Request<'a> {
        Request::new(method, target).header("Host", format!("localhost:{}", self.port))
    }

    /// Sends a request to the control plane, with the key.
    pub(crate) fn api(&self, method: &str, target: &str, body: Option<Value>) -> Answer {
        let mut request = self.request(method, target).header("X-API-Key", self.api_key.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        self.send(&request)
    }

    pub(crate) fn send(&self, request: &Request<'_>) -> Answer {
        request.send(Connection::tcp(self.port)).unwrap().whole().unwrap()
    }

    pub(crate) fn create(&self) -> Sandbox<'_> {
        self.create_with(json!({ "templateID": "base", "timeout": 300 }))
    }

    pub(crate) fn create_with(&self, request: Value) -> Sandbox<'_> {
        let answer = self.api("POST", "/sandboxes", Some(request));
        assert_eq!(answer.status(), 201, "{}\n{}", answer.text(), self.log());
        Sandbox::new(self, answer.json())
    }

    /// The private directory with the sockets of this server's sandboxes.
    pub(crate) fn runtime_dir(&self) -> Option<PathBuf> {
        let mut entries = std::fs::read_dir(self.directory.path()).unwrap().flatten();
        entries.find(|entry| entry.file_name().to_string_lossy().starts_with("agent-sandbox-local-")).map(|e| e.path())
    }

    /// Sends a signal to the server and waits until it is gone.
    pub(crate) fn stop(&mut self, signal: &str) {
        let status = Command::new("kill").args([&format!("-{signal}"), &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        wait_until("the server has stopped", || self.child.try_wait().unwrap().is_some());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
            let _ = self.child.wait();
        }
        if std::thread::panicking() {
            eprintln!("--- the server's log ---\n{}", self.log());
        }
    }
}

/// Descendants of `pid`, itself not included.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut pending = vec![pid];
    while let Some(pid) = pending.pop() {
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            pending.extend(children.split_whitespace().map(|child| child.parse::<u32>().unwrap()));
        }
        found.push(pid);
    }
    found.retain(|other| *other != pid);
    found
}

pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
