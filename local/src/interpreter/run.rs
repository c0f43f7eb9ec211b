//! One run: what the kernel says about it, as the lines of an answer.

use std::time::Duration;

use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::kernel::{Event, Kernel};
use super::lines::{self, Bundle};
use super::wire::Message;

/// After this long without a line, one is sent that says nothing.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// A kernel reports the end of a run twice, over two sockets. How long after the first report it may say nothing until the
/// second: in between comes what was printed and has waited for the reader.
const SECOND_REPORT: Duration = Duration::from_secs(5);

/// How long after an interrupt the kernel is interrupted again, and how often before it is ended: the code may have
/// something to clean up, but must not block its context for ever.
const PATIENCE: Duration = Duration::from_secs(5);
const INTERRUPTS: u32 = 4;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Regularly, with an error of the code or without.
    Done,
    /// Not yet, but its reader is gone.
    Abandoned,
    /// With its kernel.
    Died,
}

/// A run under way.
pub(super) struct Run {
    id: String,
    replied: bool,
    idle: bool,
    /// When the end is taken for certain.
    last_report: Option<Instant>,
    failed: bool,
}

impl Run {
    /// Follows the run with the request `id`.
    pub(super) fn new(id: String) -> Self {
        Run { id, replied: false, idle: false, last_report: None, failed: false }
    }

    fn is_over(&self) -> bool {
        self.replied && self.idle
    }

    /// Writes what happens to `answer` until the run is over or nobody reads any more.
    pub(super) async fn follow(&mut self, kernel: &mut Kernel, answer: &mpsc::Sender<Bytes>) -> Ended {
        let mut keepalive = Instant::now() + KEEPALIVE;
        while !self.is_over() {
            let (lines, is_said) = tokio::select! {
                event = kernel.next() => match event {
                    Event::Output(message) => (self.output(&message), true),
                    Event::Reply(message) => (self.reply(&message), true),
                    Event::Died => return self.last_words(kernel, answer).await,
                },
                () = answer.closed() => return Ended::Abandoned,
                () = sleep_until(keepalive) => (vec![lines::keepalive()], false),
                () = at(self.last_report) => return Ended::Done,
            };
            for line in lines {
                if send(answer, line).await == Ended::Abandoned {
                    return Ended::Abandoned;
                }
                keepalive = Instant::now() + KEEPALIVE;
            }
            // The reader may have taken its time: that is not the kernel's silence.
            if is_said && (self.replied || self.idle) {
                self.last_report = Some(Instant::now() + SECOND_REPORT);
            }
        }
        Ended::Done
    }

    async fn last_words(&mut self, kernel: &mut Kernel, answer: &mpsc::Sender<Bytes>) -> Ended {
        while let Some(message) = kernel.last_words().await {
            for line in self.output(&message) {
                send(answer, line).await;
            }
        }
        Ended::Died
    }

    /// Interrupts the run and waits until the kernel is free. False when the kernel had to be given up.
    pub(super) async fn stop(self, kernel: &mut Kernel) -> bool {
        // An interrupt that hits the kernel itself leaves a run without the usual reports of its end.
        let Some(question) = kernel.ask_when_free().await else { return false };
        for _ in 0..INTERRUPTS {
            kernel.interrupt().await;
            let deadline = Instant::now() + PATIENCE;
            while let Ok(event) = timeout_at(deadline, kernel.next()).await {
                match event {
                    Event::Reply(message) if message.parent == question => return true,
                    // What the run still prints is for nobody.
                    Event::Output(_) | Event::Reply(_) => {}
                    Event::Died => return false,
                }
            }
        }
        false
    }

    fn reply(&mut self, message: &Message) -> Vec<String> {
        #[derive(Deserialize)]
        struct Reply {
            status: String,
        }
        if message.parent != self.id {
            return Vec::new();
        }
        self.replied = true;
        match content::<Reply>(message) {
            Some(reply) if reply.status == "aborted" => self.error("ExecutionAborted", "Execution was aborted", ""),
            _ => Vec::new(),
        }
    }

    fn output(&mut self, message: &Message) -> Vec<String> {
        if message.parent != self.id {
            return Vec::new();
        }
        match message.kind.as_str() {
            "status" => {
                if content::<Status>(message).is_some_and(|status| status.execution_state == "idle") {
                    self.idle = true;
                }
                Vec::new()
            }
            "execute_input" => {
                content::<Input>(message).map(|input| lines::executions(input.execution_count)).into_iter().collect()
            }
            "stream" => match content::<Stream>(message) {
                Some(stream) if matches!(stream.name.as_str(), "stdout" | "stderr") => {
                    lines::output(&stream.name, &stream.text).collect()
                }
                _ => Vec::new(),
            },
            "display_data" => result(message, false),
            "execute_result" => result(message, true),
            "error" => match content::<Failure>(message) {
                Some(failure) => self.error(&failure.ename, &failure.evalue, &failure.traceback.concat()),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// At most one: a kernel reports some errors twice.
    fn error(&mut self, name: &str, value: &str, traceback: &str) -> Vec<String> {
        if std::mem::replace(&mut self.failed, true) {
            return Vec::new();
        }
        vec![lines::error(name, value, traceback)]
    }
}

#[derive(Deserialize)]
struct Status {
    execution_state: String,
}

#[derive(Deserialize)]
struct Input {
    execution_count: i64,
}

#[derive(Deserialize)]
struct Stream {
    name: String,
    text: String,
}

#[derive(Deserialize)]
struct Display {
    data: Bundle,
}

#[derive(Deserialize)]
struct Failure {
    #[serde(default)]
    ename: String,
    #[serde(default)]
    evalue: String,
    #[serde(default)]
    traceback: Vec<String>,
}

fn content<'a, T: Deserialize<'a>>(message: &'a Message) -> Option<T> {
    serde_json::from_str(message.content.get()).ok()
}

fn result(message: &Message, main: bool) -> Vec<String> {
    content::<Display>(message).map(|display| lines::result(display.data, main)).into_iter().collect()
}

/// Sends a line; waits for a reader that is slow.
pub(super) async fn send(answer: &mpsc::Sender<Bytes>, line: String) -> Ended {
    match answer.send(line.into()).await {
        Ok(()) => Ended::Done,
        Err(_) => Ended::Abandoned,
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
