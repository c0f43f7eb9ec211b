//! Reads process streams the way the API does: events decoded, text decoded, the end judged.

use agent_sandbox_web::error::Error;
use agent_sandbox_web::protocol::connect::{Context, Decoder, Frame, end_of_stream};
use agent_sandbox_web::protocol::http::Head;
use agent_sandbox_web::protocol::message::Encoding;
use agent_sandbox_web::protocol::process::{EndEvent, ProcessEvent, Stream};
use agent_sandbox_web::protocol::rpc;
use agent_sandbox_web::protocol::text::Utf8Splitter;

#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) pid: u32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) pty: Vec<Vec<u8>>,
    /// What callbacks would have been given.
    pub(crate) pieces: Vec<(&'static str, String)>,
    pub(crate) end: Option<EndEvent>,
}

/// The events of an answer to `Start` or `Connect`; what arrived before a failure comes with it.
pub(crate) fn read_run(head: &Head, chunks: &[Vec<u8>], encoding: Encoding) -> (Run, Result<(), Error>) {
    let mut run = Run::default();
    let result = if rpc::is_stream_answer(head, encoding) {
        read_frames(&mut run, chunks, encoding)
    } else {
        Err(rpc::failure(head, &chunks.concat(), Context::ProcessStart))
    };
    (run, result)
}

fn read_frames(run: &mut Run, chunks: &[Vec<u8>], encoding: Encoding) -> Result<(), Error> {
    let mut decoder = Decoder::new();
    let mut texts = [Utf8Splitter::default(), Utf8Splitter::default()];
    let mut result = Ok(());
    'stream: for chunk in chunks {
        decoder.push(chunk);
        loop {
            match decoder.next() {
                Ok(Some(Frame::Message(payload))) => run.event(ProcessEvent::decode(payload, encoding)?, &mut texts),
                Ok(Some(Frame::End(payload))) => {
                    if let Some(error) = end_of_stream(payload)? {
                        result = Err(error.into_error(Context::Process));
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    result = Err(error);
                    break 'stream;
                }
            }
        }
    }
    // An unfinished character is text too.
    for (index, text) in texts.iter_mut().enumerate() {
        run.add(index, &text.finish());
    }
    // Once the end of the process is known, nothing that follows can take the result away.
    if run.end.is_some() { Ok(()) } else { result.and(decoder.finish()).and(Err(no_end())) }
}

fn no_end() -> Error {
    Error::protocol("The stream ended without the end of the process.")
}

impl Run {
    fn event(&mut self, event: ProcessEvent<'_>, texts: &mut [Utf8Splitter; 2]) {
        match event {
            ProcessEvent::Start { pid } => self.pid = pid,
            ProcessEvent::Data { stream: Stream::Pty, bytes } => self.pty.push(bytes.into_owned()),
            ProcessEvent::Data { stream, bytes } => {
                let index = usize::from(stream == Stream::Stderr);
                self.add(index, &texts[index].split(&bytes));
            }
            ProcessEvent::End(end) => self.end = Some(end),
            ProcessEvent::Keepalive | ProcessEvent::Unknown => {}
        }
    }

    fn add(&mut self, index: usize, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        let text = String::from_utf8_lossy(text).into_owned();
        let (name, all) = [("out", &mut self.stdout), ("err", &mut self.stderr)].into_iter().nth(index).unwrap();
        all.push_str(&text);
        self.pieces.push((name, text));
    }
}
