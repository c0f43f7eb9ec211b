//! Parts of files: which bytes are asked for, and what of an answer they are.

use super::http::Head;
use crate::error::{Error, Kind, code};

/// Bytes of a file, counted as `slice` counts: `end` is not part of it, a negative `start` counts from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteRange {
    start: i64,
    end: Option<i64>,
}

impl ByteRange {
    /// Everything. Asked for like any other range, it keeps the server from compressing the answer, whose length is then known.
    pub const WHOLE: ByteRange = ByteRange { start: 0, end: None };

    /// # Errors
    /// `invalid_argument` for a range that is empty, or that counts both from the end and to an end.
    pub fn new(start: i64, end: Option<i64>) -> Result<Self, Error> {
        match end {
            Some(_) if start < 0 => Err(Error::invalid_argument(
                "range.end cannot be combined with a negative range.start, which asks for the last bytes of the file",
            )),
            Some(end) if end <= start => Err(Error::invalid_argument(
                "range.end must be greater than range.start: the byte at range.end is not part of the range",
            )),
            _ => Ok(ByteRange { start, end }),
        }
    }

    /// The value of the header `Range`.
    pub fn header(&self) -> String {
        match self.end {
            // The wire counts the last byte in.
            Some(end) => format!("bytes={}-{}", self.start, end - 1),
            None if self.start < 0 => format!("bytes={}", self.start),
            None => format!("bytes={}-", self.start),
        }
    }

    /// Whether a server that finds no byte in the range (416) has an empty file, of which nothing is missing.
    pub fn is_from_start(&self) -> bool {
        self.start == 0
    }
}

/// What of an answer's body belongs to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    skip: u64,
    left: u64,
    /// Whether the range has begun.
    begun: bool,
}

impl Window {
    /// For the answer to a request with the header of `range`: all of it when the server sent the range (206), a part of it
    /// when the server does not know ranges and sent the file.
    ///
    /// # Errors
    /// `unsupported` for the last bytes of a file whose server does not know ranges: where they begin is not known before the
    /// end. `protocol_error` when the server sent another range, as far as it can be seen.
    pub fn of(range: &ByteRange, head: &Head) -> Result<Window, Error> {
        const ALL: Window = Window { skip: 0, left: u64::MAX, begun: true };
        let start = u64::try_from(range.start);
        // Some servers do not look at the range when the file is empty.
        if head.status != 206 && !(range.start < 0 && head.headers.get("content-length") == Some("0")) {
            let start = start.map_err(|_| {
                let message = "This server does not send parts of files, so a negative range.start cannot be met. Ask for \
                               the size with getInfo and pass a range.start of 0 or more, or read the whole file.";
                Error::new(Kind::Unsupported, code::UNSUPPORTED, message)
            })?;
            let left = range.end.map_or(u64::MAX, |end| (end - range.start).unsigned_abs());
            return Ok(Window { skip: start, left, begun: start == 0 });
        }
        // Pages cannot read this header of most servers.
        let sent = head.headers.get("content-range").and_then(|sent| sent.strip_prefix("bytes ")?.split('-').next());
        match (sent.and_then(|first| first.parse::<u64>().ok()), start) {
            (Some(first), Ok(start)) if first != start => Err(head.describe(Error::protocol(format!(
                "The server was asked for the bytes of a file from {start} on and sent those from {first} on."
            )))),
            _ => Ok(ALL),
        }
    }

    /// Which part of the next `length` bytes belongs to the range.
    pub fn cut(&mut self, length: u64) -> (u64, u64) {
        let from = self.skip.min(length);
        self.skip -= from;
        let to = from + self.left.min(length - from);
        self.begun |= from < to;
        if self.left != u64::MAX {
            self.left -= to - from;
        }
        (from, to)
    }

    /// Whether everything has arrived.
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// # Errors
    /// `range_not_satisfiable` when the body has ended before the range began.
    pub fn finish(&self) -> Result<(), Error> {
        if self.begun { Ok(()) } else { Err(not_satisfiable()) }
    }
}

/// The file ends before the range begins.
pub fn not_satisfiable() -> Error {
    let message = "The file ends before range.start. Ask for its size with getInfo.";
    Error::new(Kind::InvalidArgument, code::RANGE_NOT_SATISFIABLE, message)
}

#[cfg(test)]
mod tests {
    use super::{ByteRange, Window};
    use crate::error::{Error, code};
    use crate::protocol::http::Head;

    fn head(status: u16, content_range: Option<&str>) -> Head {
        let mut head = Head { status, ..Head::default() };
        if let Some(value) = content_range {
            head.headers.set("content-range", value);
        }
        head
    }

    /// What of `body`, in chunks of `size`, belongs to the range when the server ignores it.
    fn cut(start: i64, end: Option<i64>, body: &[u8], size: usize) -> Result<Vec<u8>, Error> {
        let mut window = Window::of(&ByteRange::new(start, end)?, &head(200, None))?;
        let mut kept = Vec::new();
        for chunk in body.chunks(size) {
            if window.is_full() {
                return Ok(kept);
            }
            let (from, to) = window.cut(chunk.len() as u64);
            kept.extend(&chunk[from as usize..to as usize]);
        }
        window.finish().map(|()| kept)
    }

    #[test]
    fn headers_count_the_last_byte_in() {
        for (start, end, expected) in
            [(0, None, "bytes=0-"), (5, None, "bytes=5-"), (5, Some(9), "bytes=5-8"), (-3, None, "bytes=-3")]
        {
            assert_eq!(ByteRange::new(start, end).unwrap().header(), expected);
        }
        for (start, end) in [(5, 5), (5, 4), (-5, 2), (0, 0)] {
            let error = ByteRange::new(start, Some(end)).unwrap_err();
            assert_eq!(error.code, code::INVALID_ARGUMENT, "{start} to {end}");
        }
    }

    #[test]
    fn a_whole_file_is_cut_like_a_slice() {
        let body: Vec<u8> = (0..20).collect();
        for size in 1..=20 {
            for start in 0..20usize {
                assert_eq!(cut(start as i64, None, &body, size).unwrap(), &body[start..]);
                for end in start + 1..25 {
                    let kept = cut(start as i64, Some(end as i64), &body, size).unwrap();
                    assert_eq!(kept, &body[start..end.min(20)], "{start} to {end} in chunks of {size}");
                }
            }
            for start in [20, 21] {
                assert_eq!(cut(start, None, &body, size).unwrap_err().code, code::RANGE_NOT_SATISFIABLE);
            }
        }
        assert_eq!(cut(-1, None, &body, 5).unwrap_err().code, code::UNSUPPORTED);
        let mut empty = head(200, None);
        empty.headers.set("content-length", "0");
        assert!(Window::of(&ByteRange::new(-1, None).unwrap(), &empty).unwrap().finish().is_ok());
    }

    #[test]
    fn another_range_than_asked_for_is_noticed() {
        let range = ByteRange::new(5, Some(9)).unwrap();
        for fine in [None, Some("bytes 5-8/20"), Some("bytes 5-8/*"), Some("nonsense")] {
            let mut window = Window::of(&range, &head(206, fine)).unwrap();
            assert_eq!(window.cut(4), (0, 4));
        }
        let error = Window::of(&range, &head(206, Some("bytes 0-8/20"))).unwrap_err();
        assert_eq!(error.code, code::PROTOCOL_ERROR);
        let last = ByteRange::new(-3, None).unwrap();
        assert!(Window::of(&last, &head(206, Some("bytes 17-19/20"))).is_ok());
    }
}
