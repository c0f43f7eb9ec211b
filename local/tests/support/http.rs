//! A blocking HTTP/1.1 client that does nothing by itself: no redirects, no cookies, no header that was not asked for.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

/// Long enough for a busy machine, short enough to notice what hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) enum Connection {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Connection {
    pub(crate) fn tcp(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection::Tcp(stream)
    }

    pub(crate) fn unix(path: &Path) -> Self {
        let stream = UnixStream::connect(path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Connection::Unix(stream)
    }

    pub(crate) fn try_clone(&self) -> Self {
        match self {
            Connection::Tcp(stream) => Connection::Tcp(stream.try_clone().unwrap()),
            Connection::Unix(stream) => Connection::Unix(stream.try_clone().unwrap()),
        }
    }

    /// Ends the connection for all clones of it.
    pub(crate) fn close(&self) {
        let _ = match self {
            Connection::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Connection::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(stream) => stream.read(buffer),
            Connection::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Connection::Tcp(stream) => stream.write(buffer),
            Connection::Unix(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Status and headers of an answer, names in lower case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A whole answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.status
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.get(name)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// The body as JSON, or null when it is something else.
    pub(crate) fn json_or_null(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {:?}", self.text()))
    }
}

/// An answer that is still arriving.
pub(crate) struct Incoming {
    pub(crate) head: Head,
    framing: Framing,
    input: BufReader<Connection>,
}

enum Framing {
    Length(usize),
    Chunked,
    ToEnd,
    Done,
}

impl Incoming {
    /// Reads the head of the answer to a request with `method`.
    pub(crate) fn read(connection: Connection, method: &str) -> io::Result<Self> {
        let mut input = BufReader::new(connection);
        let mut line = String::new();
        input.read_line(&mut line)?;
        let status =
            line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let mut head = Head { status, headers: Vec::new() };
        loop {
            line.clear();
            input.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let framing = if method == "HEAD" || matches!(status, 204 | 304) || (100..200).contains(&status) {
            Framing::Done
        } else if head.get("transfer-encoding") == Some("chunked") {
            Framing::Chunked
        } else if let Some(length) = head.get("content-length") {
            Framing::Length(length.parse().unwrap())
        } else {
            Framing::ToEnd
        };
        Ok(Incoming { head, framing, input })
    }

    /// The next piece of the body; `None` at its proper end. A body that is cut is an error.
    pub(crate) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.framing {
            Framing::Done => Ok(None),
            Framing::Length(length) => {
                let mut body = vec![0; length];
                self.input.read_exact(&mut body)?;
                self.framing = Framing::Done;
                Ok((length > 0).then_some(body))
            }
            Framing::ToEnd => {
                let mut body = Vec::new();
                self.input.read_to_end(&mut body)?;
                self.framing = Framing::Done;
                Ok((!body.is_empty()).then_some(body))
            }
            Framing::Chunked => {
                let mut line = String::new();
                self.input.read_line(&mut line)?;
                let size = usize::from_str_radix(line.trim(), 16).map_err(|_| io::ErrorKind::UnexpectedEof)?;
                let mut chunk = vec![0; size + 2];
                self.input.read_exact(&mut chunk)?;
                chunk.truncate(size);
                if size == 0 {
                    self.framing = Framing::Done;
                    return Ok(None);
                }
                Ok(Some(chunk))
            }
        }
    }

    pub(crate) fn whole(mut self) -> io::Result<Answer> {
        let mut body = Vec::new();
        while let Some(chunk) = self.next()? {
            body.extend(chunk);
        }
        Ok(Answer { head: self.head, body })
    }
}

/// A request, spelled out.
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) headers: Vec<(&'a str, String)>,
    pub(crate) body: Vec<u8>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: &'a str, target: &'a str) -> Self {
        Request { method, target, headers: Vec::new(), body: Vec::new() }
    }

    pub(crate) fn header(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn json(self, body: Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Sends the request and reads the head of the answer.
    pub(crate) fn send(&self, mut connection: Connection) -> io::Result<Incoming> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(format!("{name}: {value}\r\n").bytes());
        }
        if !self.body.is_empty() || self.method == "POST" {
            bytes.extend(format!("Content-Length: {}\r\n", self.body.len()).bytes());
        }
        bytes.extend(b"\r\n");
        connection.write_all(&bytes)?;
        // A server may answer, and stop listening, before the body is through.
        let sent = connection.write_all(&self.body);
        Incoming::read(connection, self.method).map_err(|error| sent.err().unwrap_or(error))
    }
}

/// One enveloped message.
pub(crate) fn envelope(message: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((message.len() as u32).to_be_bytes());
    bytes.extend(message);
    bytes
}

/// The complete frames at the start of `bytes`, which are removed.
pub(crate) fn frames(bytes: &mut Vec<u8>) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 5) {
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let Some(payload) = bytes.get(at + 5..at + 5 + length) else { break };
        found.push((head[0], payload.to_vec()));
        at += 5 + length;
    }
    bytes.drain(..at);
    found
}
