//! `/terminal`: a plain WebSocket to a shell of the sandbox, for clients that know nothing but an address. An addition: the
//! protocol's daemon has no such route, and whatever is no WebSocket passes on to it as if this were not here.
//!
//! Bytes go both ways in binary frames, and text is input as well. Three texts are no input: JSON objects that say `resize` (with
//! `cols` and `rows`), `pause` and `resume`, which hold the output up. With `events=1` in the query the bridge says in text frames
//! which process it has `started` and how that `exited`; clients that draw what they get do not ask for it. How it ended is in
//! the close code as well.
//!
//! | module | what it is for |
//! |---|---|
//! | [`query`] | what the address asks for, and who asks |
//! | [`traffic`] | frames out and in, with bounded buffers |
//! | [`leases`] | how long a shell outlives the connection that it was started for |

mod leases;
mod query;
mod traffic;

use std::sync::Arc;

use axum::extract::ws::{CloseFrame, WebSocket, WebSocketUpgrade};
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use connectrpc::{ConnectError, ErrorCode};
use http::{HeaderMap, StatusCode, header};

pub(in crate::envd) use self::leases::Leases;
use self::query::Asked;
use self::traffic::Outcome;
use super::table::{Process, Subscription};
use super::{Selector, spawn};
use crate::envd::error::text;
use crate::envd::state::Envd;
use crate::protocol::process::pty::Size;
use crate::protocol::process::{PTY, ProcessConfig, StartRequest};

/// Where the bridge is.
const PATH: &str = "/terminal";

/// The longest frame, and the longest message, in bytes.
const LONGEST: usize = 1024 * 1024;

/// Why there is no terminal: a close code of the bridge and its reason, which pages can read, as they cannot read a status.
pub(super) struct Refusal(pub(super) u16, pub(super) String);

impl Refusal {
    fn unauthorized() -> Self {
        Refusal(4001, "Unauthorized".into())
    }

    fn not_found() -> Self {
        Refusal(4004, "No such terminal".into())
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Refusal(4005, message.into())
    }

    fn frame(self) -> CloseFrame {
        let Refusal(code, mut reason) = self;
        // A close frame has room for no more.
        reason.truncate((0..=123).rev().find(|at| reason.is_char_boundary(*at)).unwrap_or(0));
        CloseFrame { code, reason: reason.into() }
    }
}

/// Takes requests for the bridge out, and passes all others on.
pub(in crate::envd) async fn intercept(State(envd): State<Arc<Envd>>, request: Request, next: Next) -> Response {
    if request.uri().path() != PATH || !wants_websocket(request.headers()) {
        return next.run(request).await;
    }
    // Browsers apply no rule of their own to WebSockets, and a sandbox without a token asks for none.
    if !query::is_near(request.headers()) {
        let message = "terminals are open to pages of this machine only: the page's origin must be a loopback address or localhost";
        return text(StatusCode::FORBIDDEN, format!("{message}\n"));
    }
    let (mut parts, _) = request.into_parts();
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    upgrade
        .max_message_size(LONGEST)
        .max_frame_size(LONGEST)
        .on_upgrade(move |socket| async move { serve(&envd, socket, &parts).await })
}

fn wants_websocket(headers: &HeaderMap) -> bool {
    headers.get(header::UPGRADE).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

async fn serve(envd: &Arc<Envd>, mut socket: WebSocket, parts: &http::request::Parts) {
    let opened = match query::read(envd, parts) {
        Ok(asked) => open(envd, &asked).await.map(|opened| (opened, asked)),
        Err(refusal) => Err(refusal),
    };
    let ((process, subscription), asked) = match opened {
        Ok(opened) => opened,
        Err(refusal) => return traffic::close(&mut socket, refusal.frame()).await,
    };
    if asked.pid.is_none() {
        envd.leases.begin(process.pid);
    }
    envd.leases.attach(process.pid);
    let outcome = traffic::run(&mut socket, &process, subscription, asked.events).await;
    match outcome {
        Outcome::Exited(frame) => {
            envd.leases.forget(process.pid);
            traffic::close(&mut socket, frame).await;
        }
        Outcome::Left => leases::left(envd, &process),
        Outcome::Lost => leases::lost(envd, &process),
        Outcome::Refused(refusal) => {
            leases::lost(envd, &process);
            traffic::close(&mut socket, refusal.frame()).await;
        }
    }
}

/// The terminal that is asked for: one that is there, or a login shell on a new one.
async fn open(envd: &Arc<Envd>, asked: &Asked) -> Result<(Arc<Process>, Subscription), Refusal> {
    if let Some(pid) = asked.pid {
        let process = envd.processes.known(&Selector::Pid(pid)).map_err(|_| Refusal::not_found())?;
        if !process.is_terminal() {
            return Err(Refusal::not_found());
        }
        if let Some((columns, rows)) = asked.size {
            // One that has ended says so in a moment.
            let _ = process.resize(columns, rows);
        }
        let subscription = process.subscribe();
        return Ok((process, subscription));
    }
    let (cols, rows) = asked.size.unwrap_or((80, 24));
    let terminal = [("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")];
    let config = ProcessConfig {
        cmd: "/bin/bash".into(),
        args: vec!["-i".into(), "-l".into()],
        envs: terminal.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect(),
        cwd: asked.cwd.clone(),
        ..Default::default()
    };
    let pty = PTY { size: Size { cols, rows, ..Default::default() }.into(), ..Default::default() };
    let request = StartRequest { process: config.into(), pty: pty.into(), ..Default::default() };
    spawn::start(envd, &asked.user, request, None).await.map_err(refusal_of)
}

fn refusal_of(error: ConnectError) -> Refusal {
    let message = error.message.clone().unwrap_or_default();
    if error.code == ErrorCode::InvalidArgument { Refusal::invalid(message) } else { Refusal(1011, message) }
}
