//! What the reader of a durable command writes to its standard output (pure).
//!
//! A reader is a shell script that runs inside of the sandbox, see `js/durable.js`. It writes lines of ASCII, and after some
//! of them bytes:
//!
//! | line | what it means |
//! |---|---|
//! | `hello PID BOUND` | the first line, unless there is no spool: the process id of the command's spooler, and how many bytes of a stream it keeps |
//! | `out LENGTH`, `err LENGTH` | so many bytes of standard output or error follow |
//! | `exit CODE.SIGNAL.WHY` | the end: all output was before this line |
//! | `late STREAM FIRST` | the wanted bytes have been dropped; the oldest that is kept is number FIRST |
//! | `beyond STREAM SIZE` | the wanted byte is not there yet: only SIZE have been written |
//! | `full STREAM` | the disk of the sandbox took no more |
//! | `lost` | spooler and command are gone, and nobody knows how they ended |
//! | `none` | there is no such spool |

use super::connect::{Code, Context, RpcError};
use super::process::{EndEvent, Stream};
use crate::error::{Error, Kind, code};

/// No line is longer.
const LONGEST_LINE: usize = 100;

/// What a reader wrote.
#[derive(Debug, PartialEq, Eq)]
pub enum Item<'a> {
    Hello { pid: u32, bound: u64 },
    Data { stream: Stream, bytes: &'a [u8] },
    End(EndEvent),
}

/// Takes what a reader writes apart, wherever it was cut.
#[derive(Debug)]
pub struct Parser {
    line: Vec<u8>,
    stream: Stream,
    /// How many bytes of `stream` are still to come before the next line.
    left: usize,
}

impl Default for Parser {
    fn default() -> Self {
        Parser { line: Vec::new(), stream: Stream::Stdout, left: 0 }
    }
}

impl Parser {
    /// Hands what `bytes` complete to `each`. Output comes as it arrives, not when all that was announced is there.
    ///
    /// # Errors
    /// What the reader reports: `spool_overrun`, `spool_lost`, `not_enough_space`, `not_found`, `invalid_argument` and, for a
    /// command that was killed by its time limit, `deadline_exceeded`; `protocol_error` for anything else than its lines; what
    /// `each` fails with.
    pub fn push(&mut self, mut bytes: &[u8], each: &mut dyn FnMut(Item<'_>) -> Result<(), Error>) -> Result<(), Error> {
        while !bytes.is_empty() {
            if self.left > 0 {
                let (data, rest) = bytes.split_at(self.left.min(bytes.len()));
                self.left -= data.len();
                bytes = rest;
                each(Item::Data { stream: self.stream, bytes: data })?;
                continue;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            self.line.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if self.line.len() > LONGEST_LINE {
                return Err(malformed());
            }
            let Some(end) = end else { return Ok(()) };
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take(std::str::from_utf8(&line).unwrap_or_default(), each)?;
        }
        Ok(())
    }

    fn take(&mut self, line: &str, each: &mut dyn FnMut(Item<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let mut words = line.split(' ');
        let (verb, first, second) = (words.next().unwrap_or_default(), words.next(), words.next());
        match verb {
            "hello" => each(Item::Hello { pid: number(first)?, bound: number(second)? }),
            "out" | "err" => {
                self.stream = if verb == "out" { Stream::Stdout } else { Stream::Stderr };
                self.left = number(first)?;
                Ok(())
            }
            "exit" => each(Item::End(read_end(first.unwrap_or_default())?)),
            "late" | "beyond" | "full" => {
                let stream = if first == Some("err") { "stderr" } else { "stdout" };
                Err(failure(verb, stream, second.unwrap_or_default()))
            }
            "lost" => Err(Error::new(
                Kind::Sandbox,
                code::SPOOL_LOST,
                "The durable command and its spooler are gone, so that its exit code is not known: they were killed, or \
                 the sandbox was resumed without its memory. Run the command again",
            )),
            "none" => Err(Error::new(
                Kind::NotFound,
                code::NOT_FOUND,
                "The sandbox keeps no output of that durable command: its end has been told by wait() before, nobody read \
                 it for spoolExpiryMs after its end, or it runs as another user than the one in the token",
            )),
            _ => Err(malformed()),
        }
    }
}

/// `CODE.SIGNAL.WHY`.
fn read_end(words: &str) -> Result<EndEvent, Error> {
    let mut words = words.split('.');
    let exit_code: i32 = number(words.next())?;
    let signal: u32 = number(words.next())?;
    if words.next() == Some("deadline") && signal != 0 {
        let message = "the command was killed".to_owned();
        let error = RpcError { code: Code::DeadlineExceeded, message, status: None, proxy: None };
        return Err(error.into_error(Context::Process));
    }
    if signal == 0 {
        let status = format!("exit status {exit_code}");
        let error = (exit_code != 0).then(|| status.clone());
        return Ok(EndEvent { exit_code, exited: true, status, error });
    }
    let status = format!("signal: {}", describe_signal(signal));
    Ok(EndEvent { exit_code: -1, exited: false, error: Some(status.clone()), status })
}

/// The words that the sandbox's daemon uses.
fn describe_signal(number: u32) -> &'static str {
    match number {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        5 => "trace/breakpoint trap",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        14 => "alarm clock",
        15 => "terminated",
        24 => "CPU time limit exceeded",
        25 => "file size limit exceeded",
        _ => "unknown",
    }
}

fn failure(verb: &str, stream: &str, number: &str) -> Error {
    match verb {
        "late" => Error::new(
            Kind::Sandbox,
            code::SPOOL_OVERRUN,
            format!(
                "This reader is too late: the sandbox keeps {stream} from byte {number} on, and what was wanted is before \
                 that. Raise spoolBytes of commands.run or read sooner; to go on with what is kept, attach with a token \
                 whose {stream} is {number}"
            ),
        ),
        "full" => Error::new(
            Kind::NotEnoughSpace,
            code::NOT_ENOUGH_SPACE,
            format!(
                "The sandbox could not keep {stream} from here on, usually because its disk is full, so that it is lost. Lower \
                 spoolBytes of commands.run, or make room in /tmp"
            ),
        ),
        _ => Error::invalid_argument(format!(
            "The token's {stream} is beyond what the command has written, which is {number} bytes. Use a token as it was given"
        )),
    }
}

fn number<T: std::str::FromStr>(word: Option<&str>) -> Result<T, Error> {
    word.and_then(|word| word.parse().ok()).ok_or_else(malformed)
}

fn malformed() -> Error {
    Error::protocol(
        "The shell that reads the output of a durable command wrote something else. Check /bin/sh of the sandbox",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out, as text: data of a stream joined until something else comes.
    fn read(input: &[u8], cut: usize) -> Result<String, Error> {
        let mut parser = Parser::default();
        let mut seen = String::new();
        for part in input.chunks(cut) {
            parser.push(part, &mut |item| {
                match item {
                    Item::Hello { pid, bound } => seen.push_str(&format!("hello {pid} {bound};")),
                    Item::Data { stream, bytes } => {
                        for byte in bytes {
                            seen.push_str(&format!("{stream:?} {byte};"));
                        }
                    }
                    Item::End(end) => seen.push_str(&format!("end {} {}", end.exit_code, end.status)),
                }
                Ok(())
            })?;
        }
        Ok(seen)
    }

    #[test]
    fn frames_may_be_cut_anywhere() {
        let input = b"hello 42 65536\nout 3\na\n\0err 1\n\xffout 0\nexit 3.0.\n";
        for cut in 1..=input.len() {
            assert_eq!(
                read(input, cut).unwrap(),
                "hello 42 65536;Stdout 97;Stdout 10;Stdout 0;Stderr 255;end 3 exit status 3",
                "{cut}"
            );
        }
    }

    #[test]
    fn signals_and_limits_are_told() {
        assert_eq!(read(b"exit 137.9.by\n", 99).unwrap(), "end -1 signal: killed");
        assert_eq!(read(b"exit 137.0.\n", 99).unwrap(), "end 137 exit status 137");
        assert_eq!(read(b"exit 0.0.deadline\n", 99).unwrap(), "end 0 exit status 0");
        assert_eq!(read(b"exit 137.9.deadline\n", 99).unwrap_err().code, code::DEADLINE_EXCEEDED);
    }

    #[test]
    fn what_the_reader_reports_becomes_typed_errors() {
        let codes = [
            ("late out 4096\n", code::SPOOL_OVERRUN),
            ("beyond err 7\n", code::INVALID_ARGUMENT),
            ("full err\n", code::NOT_ENOUGH_SPACE),
            ("lost\n", code::SPOOL_LOST),
            ("none\n", code::NOT_FOUND),
        ];
        for (line, code) in codes {
            assert_eq!(read(line.as_bytes(), 99).unwrap_err().code, code, "{line}");
        }
        assert!(read(b"late err 4096\n", 99).unwrap_err().message.contains("stderr from byte 4096"));
    }

    #[test]
    fn anything_else_is_a_protocol_error() {
        let long = [b'x'; 300];
        let inputs: [&[u8]; 7] =
            [b"\n", b"hello 1\n", b"out -1\n", b"out 99999999999999999999\n", b"exit 1\n", b"\xff\xfe\n", &long];
        for input in inputs {
            assert_eq!(read(input, 7).unwrap_err().code, code::PROTOCOL_ERROR, "{input:?}");
        }
    }
}
