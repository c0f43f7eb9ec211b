//! What the server itself asks of a sandbox's daemon: to put a template's files in place, and to run its commands.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::body::Body;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Buf, BytesMut};
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::UnixStream;

use crate::sandbox::registry::Sandbox;
use crate::sandbox::setup::Setup;

/// How long a template may take to become ready, and how often it is asked.
const READY_LIMIT: Duration = Duration::from_secs(120);
const READY_PAUSE: Duration = Duration::from_millis(100);

/// A shell command and its surroundings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Command<'a> {
    pub(super) script: &'a str,
    pub(super) user: &'a str,
    /// The user's home when absent.
    pub(super) cwd: Option<&'a str>,
    /// Beside those that every command of the sandbox has.
    pub(super) envs: &'a BTreeMap<String, String>,
}

/// Where a piece of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Stdout,
    Stderr,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) success: bool,
    /// Such as `exit status 3`.
    pub(super) status: String,
}

/// Sets a new sandbox up. Files that came with a snapshot are not replaced.
pub(super) async fn set_up(sandbox: &Arc<Sandbox>, setup: &Setup, with_files: bool) -> Result<()> {
    if with_files {
        put_files(sandbox, setup).await?;
    }
    // Its variables and its directory are those of every command in the sandbox.
    start_up(sandbox, setup, &BTreeMap::new(), &mut |_, _| ()).await
}

pub(super) async fn put_files(sandbox: &Sandbox, setup: &Setup) -> Result<()> {
    for file in &setup.files {
        let written = write(sandbox, &file.path, setup.commander(), file.bytes.clone().into()).await;
        written.with_context(|| format!("writing {}", file.path))?;
    }
    Ok(())
}

/// Starts what a template starts, and waits until it is ready. `output` gets what the start command says in that time.
pub(super) async fn start_up(
    sandbox: &Arc<Sandbox>,
    setup: &Setup,
    envs: &BTreeMap<String, String>,
    output: &mut (dyn FnMut(Output, &[u8]) + Send),
) -> Result<()> {
    let command = |script| Command { script, user: setup.starter(), cwd: setup.workdir.as_deref(), envs };
    let mut started = None;
    if let Some(script) = &setup.start {
        started = Some(start(sandbox, &command(script)).await.context("running the start command")?);
    }
    let Some(script) = &setup.ready else { return Ok(()) };
    let ready = async {
        while !run(sandbox, &command(script), &mut |_, _| ()).await?.success {
            tokio::time::sleep(READY_PAUSE).await;
        }
        anyhow::Ok(())
    };
    // A start command that fails will never be ready. One that ends well may have left something in the background.
    let failed = async {
        match &mut started {
            Some(events) => match events.rest(output).await {
                Ok(ended) if ended.success => std::future::pending().await,
                Ok(ended) => bail!("the start command ended with {} before it was ready", ended.status),
                Err(error) => Err(error.context("the start command")),
            },
            None => std::future::pending().await,
        }
    };
    let outcome = tokio::time::timeout(READY_LIMIT, async {
        tokio::select! {
            outcome = ready => outcome,
            outcome = failed => outcome,
        }
    });
    outcome
        .await
        .unwrap_or_else(|_| bail!("not ready after {} s", READY_LIMIT.as_secs()))
        .context("waiting until it is ready")
}

/// Writes a file as `user`, with the directories above it.
pub(super) async fn write(sandbox: &Sandbox, path: &str, user: &str, content: Body) -> Result<()> {
    let query = form_urlencoded::Serializer::new(String::new())
        .append_pair("path", path)
        .append_pair("username", user)
        .finish();
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/files?{query}"))
        .header(header::CONTENT_TYPE, "application/octet-stream");
    let response = send(sandbox, request, content).await?;
    if response.status() != StatusCode::OK {
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        bail!("{status}: {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

/// Starts a command; it goes on when the events are dropped.
async fn start(sandbox: &Sandbox, command: &Command<'_>) -> Result<Events> {
    let mut events = process(sandbox, command).await?;
    match events.next().await? {
        Some(message) if message["event"]["start"]["pid"].is_u64() => Ok(events),
        Some(message) if message.get("error").is_some() => bail!("{}", error_text(&message["error"])),
        other => bail!("it did not start: {}", other.unwrap_or_default()),
    }
}

/// Runs a command to its end.
pub(super) async fn run(
    sandbox: &Sandbox,
    command: &Command<'_>,
    output: &mut (dyn FnMut(Output, &[u8]) + Send),
) -> Result<Ended> {
    start(sandbox, command).await?.rest(output).await
}

async fn process(sandbox: &Sandbox, command: &Command<'_>) -> Result<Events> {
    let mut process = json!({ "cmd": "/bin/bash", "args": ["-l", "-c", command.script], "envs": command.envs });
    if let Some(cwd) = command.cwd {
        process["cwd"] = cwd.into();
    }
    let message = json!({ "process": process, "stdin": false }).to_string();
    let mut body = vec![0];
    body.extend_from_slice(&u32::try_from(message.len())?.to_be_bytes());
    body.extend_from_slice(message.as_bytes());
    let request = Request::builder()
        .method(Method::POST)
        .uri("/process.Process/Start")
        .header(header::AUTHORIZATION, format!("Basic {}", BASE64_STANDARD.encode(format!("{}:", command.user))))
        .header(header::CONTENT_TYPE, "application/connect+json");
    let response = send(sandbox, request, body.into()).await?;
    if response.status() != StatusCode::OK {
        let body = response.into_body().collect().await?.to_bytes();
        let error: Value = serde_json::from_slice(&body).unwrap_or_default();
        bail!("{}", error_text(&error));
    }
    Ok(Events { body: response.into_body(), buffer: BytesMut::new() })
}

fn error_text(error: &Value) -> &str {
    error["message"].as_str().unwrap_or("the daemon refused it")
}

async fn send(
    sandbox: &Sandbox,
    request: http::request::Builder,
    body: Body,
) -> Result<Response<hyper::body::Incoming>> {
    let stream = UnixStream::connect(sandbox.http_socket()).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Its errors reach the request.
    tokio::spawn(async move { connection.await.ok() });
    let mut request = request.header(header::HOST, "localhost");
    if let Some(token) = &sandbox.envd_token {
        request = request.header("X-Access-Token", token);
    }
    Ok(sender.send_request(request.body(body)?).await?)
}

/// The messages of a stream.
struct Events {
    body: hyper::body::Incoming,
    buffer: BytesMut,
}

impl Events {
    /// What is left, to the end of the process.
    async fn rest(&mut self, output: &mut (dyn FnMut(Output, &[u8]) + Send)) -> Result<Ended> {
        while let Some(message) = self.next().await? {
            let event = &message["event"];
            for (name, from) in [("stdout", Output::Stdout), ("stderr", Output::Stderr)] {
                if let Some(text) = event["data"][name].as_str() {
                    output(from, &BASE64_STANDARD.decode(text)?);
                }
            }
            if let Some(end) = event.get("end") {
                // Zero is left out.
                let success = end["exited"] == true && end["exitCode"].as_i64().unwrap_or(0) == 0;
                return Ok(Ended { success, status: end["status"].as_str().unwrap_or("an unknown status").to_owned() });
            }
            if let Some(error) = message.get("error") {
                bail!("{}", error_text(error));
            }
        }
        bail!("it ended without telling how")
    }

    async fn next(&mut self) -> Result<Option<Value>> {
        const HEAD: usize = 5;
        loop {
            if let Some(head) = self.buffer.first_chunk::<HEAD>() {
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if self.buffer.len() >= HEAD + length {
                    self.buffer.advance(HEAD);
                    return Ok(Some(serde_json::from_slice(&self.buffer.split_to(length))?));
                }
            }
            match self.body.frame().await.transpose()? {
                Some(frame) => self.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data)),
                None => return Ok(None),
            }
        }
    }
}
