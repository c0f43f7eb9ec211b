//! Frames out and in. Output that the client does not take makes the program wait; input that the program does not take makes the
//! client wait, but what else it says is heard until as much waits as may.

use std::time::Duration;

use axum::Error;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::{mpsc, watch};
use tungstenite::Error as Fault;

use super::Refusal;
use crate::envd::process::status::signal_of;
use crate::envd::process::table::{Event, Process, Subscription};
use crate::protocol::process::__buffa::oneof::process_event::data_event::Output;
use crate::protocol::process::__buffa::oneof::process_input::Input;
use crate::protocol::process::ProcessInput;
use crate::protocol::process::process_event::EndEvent;

/// How much goes to the program at once, in bytes, and how many such pieces may wait for it.
const PIECE: usize = 16 * 1024;
const PIECES: usize = 64;

/// How long the client is waited for when everything has been said.
const GOODBYE: Duration = Duration::from_secs(5);

/// What a client closes with that wants its shell to go on for a while.
const DETACH: u16 = 4000;

/// A shell's exit code is added to this; one that a signal ended has the code that shells give it.
const EXITED: u16 = 4500;
const BY_SIGNAL: u16 = 128;

/// How a connection ended.
pub(super) enum Outcome {
    /// The shell has.
    Exited(CloseFrame),
    /// The client does not want it any more.
    Left,
    /// The connection broke, or the client means to come back.
    Lost,
    /// The client has done what it may not.
    Refused(Refusal),
}

/// Connects the socket and the process until one of them is through.
pub(super) async fn run(
    socket: &mut WebSocket,
    process: &Process,
    subscription: Subscription,
    with_events: bool,
) -> Outcome {
    let (mut sink, mut stream) = socket.split();
    if with_events && say(&mut sink, &json!({ "type": "started", "pid": process.pid })).await.is_err() {
        return Outcome::Lost;
    }
    let (typed, waiting) = mpsc::channel(PIECES);
    let (hold, held) = watch::channel(false);
    tokio::select! {
        outcome = print(&mut sink, subscription, held, with_events) => outcome,
        outcome = listen(&mut stream, process, typed, hold) => outcome,
        never = feed(process, waiting) => match never {},
    }
}

/// Says goodbye, and waits until the client has heard it.
pub(super) async fn close(socket: &mut WebSocket, frame: CloseFrame) {
    let goodbye = async {
        if socket.send(Message::Close(Some(frame))).await.is_ok() {
            while let Some(Ok(_)) = socket.recv().await {}
        }
    };
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
}

type Sink<'a> = SplitSink<&'a mut WebSocket, Message>;

async fn say(sink: &mut Sink<'_>, event: &serde_json::Value) -> Result<(), Error> {
    sink.send(Message::Text(event.to_string().into())).await
}

/// Output, as it comes, unless it is held up.
async fn print(
    sink: &mut Sink<'_>,
    mut subscription: Subscription,
    mut held: watch::Receiver<bool>,
    with_events: bool,
) -> Outcome {
    loop {
        let is_held = *held.borrow_and_update();
        let event = tokio::select! {
            changed = held.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return Outcome::Lost,
            },
            event = subscription.next(), if !is_held => event,
        };
        match event {
            Event::Data(data) => {
                let Some(Output::Pty(bytes)) = data.output else { continue };
                if sink.send(Message::Binary(bytes)).await.is_err() {
                    return Outcome::Lost;
                }
            }
            Event::End(end) => {
                let signal = signal_of(&end);
                if with_events {
                    let event = match signal {
                        Some((_, name)) => json!({ "type": "exited", "signal": name }),
                        None => json!({ "type": "exited", "exitCode": end.exit_code }),
                    };
                    let _ = say(sink, &event).await;
                }
                return Outcome::Exited(farewell(&end));
            }
        }
    }
}

fn farewell(end: &EndEvent) -> CloseFrame {
    let (code, reason) = match (signal_of(end), end.exit_code) {
        (Some((number, name)), _) => (EXITED + BY_SIGNAL + number as u16, format!("signal {name}")),
        (None, 0) => (1000, "exit 0".to_owned()),
        (None, code @ 1..=255) => (EXITED + code as u16, format!("exit {code}")),
        // What ended it is not known.
        (None, _) => (1011, end.error.clone().unwrap_or_default()),
    };
    Refusal(code, reason).frame()
}

/// A text frame that is no input.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", deny_unknown_fields)]
enum Order {
    Resize { cols: u16, rows: u16 },
    Pause {},
    Resume {},
}

/// What the client says.
async fn listen(
    stream: &mut SplitStream<&mut WebSocket>,
    process: &Process,
    typed: mpsc::Sender<Bytes>,
    hold: watch::Sender<bool>,
) -> Outcome {
    loop {
        let bytes = match stream.next().await {
            Some(Ok(Message::Binary(bytes))) => bytes,
            Some(Ok(Message::Text(text))) => match order(&text) {
                None => Bytes::from(text),
                Some(order) => {
                    match order {
                        // A program that has ended says so in a moment.
                        Order::Resize { cols, rows } => drop(process.resize(cols.into(), rows.into())),
                        Order::Pause {} => drop(hold.send_replace(true)),
                        Order::Resume {} => drop(hold.send_replace(false)),
                    }
                    continue;
                }
            },
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
            Some(Ok(Message::Close(frame))) => {
                let code = frame.map_or(1005, |frame| frame.code);
                return if code == DETACH { Outcome::Lost } else { Outcome::Left };
            }
            Some(Err(error)) => return fault(error),
            None => return Outcome::Lost,
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = rest.split_to(rest.len().min(PIECE));
            let Err(mpsc::error::TrySendError::Full(piece)) = typed.try_send(piece) else { continue };
            // Who holds the output up may be what the program waits for, and what would let it go on stands behind this.
            if *hold.borrow() {
                let message = "more input than the program takes while its output is held up";
                return Outcome::Refused(Refusal(4008, message.into()));
            }
            if typed.send(piece).await.is_err() {
                return Outcome::Lost;
            }
        }
    }
}

/// What a text orders, if it is an order: everything else is typed.
fn order(text: &str) -> Option<Order> {
    // Looked at before it is parsed, because most texts are single keys.
    if !text.starts_with('{') { None } else { serde_json::from_str(text).ok() }
}

fn fault(error: Error) -> Outcome {
    match error.into_inner().downcast_ref::<Fault>() {
        Some(Fault::Capacity(_)) => Outcome::Refused(Refusal(1009, "frames have at most 1 MiB".into())),
        Some(Fault::Utf8(_)) => Outcome::Refused(Refusal(1007, "a text frame is not UTF-8".into())),
        Some(Fault::Protocol(tungstenite::error::ProtocolError::ResetWithoutClosingHandshake)) => Outcome::Lost,
        Some(Fault::Protocol(_)) => Outcome::Refused(Refusal(1002, "this is no WebSocket frame".into())),
        _ => Outcome::Lost,
    }
}

/// Types what waits, piece by piece. Never ends: that a program takes nothing more is told by its end.
async fn feed(process: &Process, mut waiting: mpsc::Receiver<Bytes>) -> std::convert::Infallible {
    while let Some(piece) = waiting.recv().await {
        let input = ProcessInput { input: Some(Input::Pty(piece)), ..Default::default() };
        if process.write(&input).await.is_err() {
            break;
        }
    }
    // What still comes is dropped, so that the client is heard on.
    while waiting.recv().await.is_some() {}
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exact_orders_are_no_input() {
        for text in
            ["{\"type\":\"resize\",\"cols\":80,\"rows\":24}", "{ \"rows\": 1, \"cols\": 1, \"type\": \"resize\" }"]
        {
            assert!(matches!(order(text), Some(Order::Resize { .. })), "{text}");
        }
        assert!(matches!(order("{\"type\":\"pause\"}"), Some(Order::Pause {})));
        assert!(matches!(order("{\"type\":\"resume\"}"), Some(Order::Resume {})));
        for text in [
            "",
            "l",
            "{",
            "{}",
            "[]",
            "ls\n",
            " {\"type\":\"pause\"}",
            "{\"type\":\"pause\"}\n{",
            "{\"type\":\"stop\"}",
            "{\"type\":\"pause\",\"x\":1}",
            "{\"type\":\"resize\"}",
            "{\"type\":\"resize\",\"cols\":80}",
            "{\"type\":\"resize\",\"cols\":70000,\"rows\":1}",
            "{\"type\":\"resize\",\"cols\":\"80\",\"rows\":24}",
        ] {
            assert!(order(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_close_code_says_how_it_ended() {
        let end = |exit_code, status: &str| EndEvent { exit_code, status: status.into(), ..Default::default() };
        for (end, code, reason) in [
            (end(0, "exit status 0"), 1000, "exit 0"),
            (end(3, "exit status 3"), 4503, "exit 3"),
            (end(255, "exit status 255"), 4755, "exit 255"),
            (end(-1, "signal: killed"), 4637, "signal SIGKILL"),
            (end(-1, "signal: segmentation fault (core dumped)"), 4639, "signal SIGSEGV"),
        ] {
            let frame = farewell(&end);
            assert_eq!((frame.code, frame.reason.as_str()), (code, reason));
        }
    }
}
