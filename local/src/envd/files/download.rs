//! `GET /files`.

use std::io::{ErrorKind, SeekFrom};
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::SystemTime;

use async_compression::tokio::bufread::GzipEncoder;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use http_range_header::{RangeUnsatisfiableError, StartPosition, parse_range_header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, BufReader};
use tokio_util::io::ReaderStream;

use super::negotiate::{Encoding, accepted};
use super::{Query, find_user, resolve};
use crate::envd::error::{HttpError, reason};
use crate::envd::state::Envd;

const CHUNK: usize = 64 * 1024;

/// How much of a file is looked at to guess its type.
const SNIFFED: u64 = 512;

/// With any of these the plain bytes are meant.
const PARTIAL: [HeaderName; 4] = [header::RANGE, header::IF_MODIFIED_SINCE, header::IF_NONE_MATCH, header::IF_RANGE];

pub(super) async fn download(envd: &Envd, query: &Query, headers: &HeaderMap) -> Result<Response, HttpError> {
    let user = find_user(envd, query.username.as_deref())?;
    let raw = query.path.as_deref().unwrap_or("");
    let path = resolve(envd, raw, &user)
        .map_err(|error| HttpError::bad_request(format!("error expanding and resolving path '{raw}': {error}")))?;
    let shown = path.display();
    let meta = tokio::fs::metadata(&path).await.map_err(|error| match error.kind() {
        ErrorKind::NotFound => HttpError::new(StatusCode::NOT_FOUND, format!("path '{shown}' does not exist")),
        _ => HttpError::internal(format!("error getting file info: stat {shown}: {}", reason(&error))),
    })?;
    if meta.is_dir() {
        return Err(HttpError::bad_request(format!("path '{shown}' is a directory")));
    }
    let encoding = match encoding(headers)? {
        Some(encoding) => encoding,
        None => {
            let text = "identity encoding not acceptable for Range or conditional request";
            let mut response = HttpError::new(StatusCode::NOT_ACCEPTABLE, text).into_response();
            response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
            return Ok(response);
        }
    };
    let file = File::open(&path).await.map_err(|error| {
        HttpError::internal(format!("error opening file '{shown}': open {shown}: {}", reason(&error)))
    })?;
    let mut response = match encoding {
        Encoding::Gzip => compressed(file, &path),
        Encoding::Identity => plain(file, &path, meta.len(), meta.modified().ok(), headers).await?,
    };
    let answer = response.headers_mut();
    answer.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let disposition = disposition(&path.file_name().unwrap_or_default().to_string_lossy());
    if let Ok(value) = HeaderValue::from_str(&disposition) {
        answer.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}

/// The encoding of the answer; `None` when part of a file is asked for, but not as plain bytes.
fn encoding(headers: &HeaderMap) -> Result<Option<Encoding>, HttpError> {
    let asked = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or("");
    let accepted = accepted(asked);
    let Some(best) = accepted.best else {
        let text = "error parsing Accept-Encoding: no acceptable encoding found, supported: [gzip]";
        return Err(HttpError::new(StatusCode::NOT_ACCEPTABLE, text));
    };
    if PARTIAL.iter().any(|name| headers.contains_key(name)) {
        return Ok(accepted.identity.then_some(Encoding::Identity));
    }
    Ok(Some(best))
}

fn compressed(file: File, path: &Path) -> Response {
    let encoder = GzipEncoder::new(BufReader::with_capacity(CHUNK, file));
    let mut response = Response::new(Body::from_stream(ReaderStream::with_capacity(encoder, CHUNK)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let kind = type_by_name(path).unwrap_or_else(|| "application/octet-stream".into());
    insert_text(headers, header::CONTENT_TYPE, &kind);
    response
}

/// The ranges that a header asks for, of a file of `size` bytes. Asking for more last bytes than there are asks for all.
fn parse_ranges(range: &str, size: u64) -> Result<Vec<RangeInclusive<u64>>, RangeUnsatisfiableError> {
    let mut parsed = parse_range_header(range)?;
    for range in &mut parsed.ranges {
        if let StartPosition::FromLast(count) = &mut range.start {
            *count = (*count).min(size);
        }
    }
    parsed.validate(size)
}

async fn plain(
    mut file: File,
    path: &Path,
    size: u64,
    modified: Option<SystemTime>,
    request: &HeaderMap,
) -> Result<Response, HttpError> {
    let failed = |error: std::io::Error| HttpError::internal(format!("error reading file: {}", reason(&error)));
    let kind = match type_by_name(path) {
        Some(kind) => kind,
        None => {
            let mut start = Vec::new();
            (&mut file).take(SNIFFED).read_to_end(&mut start).await.map_err(failed)?;
            file.seek(SeekFrom::Start(0)).await.map_err(failed)?;
            sniff(&start).to_owned()
        }
    };
    let date =
        |name: HeaderName| request.get(name).and_then(|value| httpdate::parse_http_date(value.to_str().ok()?).ok());
    // Dates in headers have whole seconds.
    let modified = modified.map(httpdate::HttpDate::from);
    let newer = |than: SystemTime| modified.is_none_or(|modified| SystemTime::from(modified) > than);

    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    if let Some(modified) = modified {
        insert_text(headers, header::LAST_MODIFIED, &modified.to_string());
    }
    if date(header::IF_UNMODIFIED_SINCE).is_some_and(&newer) {
        *response.status_mut() = StatusCode::PRECONDITION_FAILED;
        return Ok(response);
    }
    let modified_since = date(header::IF_MODIFIED_SINCE).filter(|_| !request.contains_key(header::IF_NONE_MATCH));
    if modified_since.is_some_and(|since| !newer(since)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        return Ok(response);
    }
    let range = request.get(header::RANGE).and_then(|value| value.to_str().ok()).filter(|_| {
        // Of an empty file there are no parts: it is sent as a whole.
        if size == 0 {
            return false;
        }
        // There are no entity tags: a range on condition needs the very date.
        !request.contains_key(header::IF_RANGE)
            || date(header::IF_RANGE).is_some_and(|date| modified.is_some_and(|time| SystemTime::from(time) == date))
    });
    let ranges = match range {
        None => Vec::new(),
        Some(range) => match parse_ranges(range, size) {
            Ok(ranges) => ranges,
            Err(_) => {
                let mut response =
                    crate::envd::error::text(StatusCode::RANGE_NOT_SATISFIABLE, "invalid range: failed to overlap\n");
                insert_text(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
                return Ok(response);
            }
        },
    };
    let (kind, length, body) = match &ranges[..] {
        [] => (kind, size, Body::from_stream(ReaderStream::with_capacity(file.take(size), CHUNK))),
        [range] => {
            let length = range.end() - range.start() + 1;
            insert_text(headers, header::CONTENT_RANGE, &content_range(range, size));
            file.seek(SeekFrom::Start(*range.start())).await.map_err(failed)?;
            (kind, length, Body::from_stream(ReaderStream::with_capacity(file.take(length), CHUNK)))
        }
        _ => multipart(path, &kind, &ranges, size),
    };
    if !ranges.is_empty() {
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, length.into());
    insert_text(headers, header::CONTENT_TYPE, &kind);
    *response.body_mut() = body;
    Ok(response)
}

fn content_range(range: &RangeInclusive<u64>, size: u64) -> String {
    format!("bytes {}-{}/{size}", range.start(), range.end())
}

/// Several ranges as one body: its type, its length, and the stream.
fn multipart(path: &Path, kind: &str, ranges: &[RangeInclusive<u64>], size: u64) -> (String, u64, Body) {
    let boundary = format!("{:032x}", rand::random::<u128>());
    let mut parts = Vec::new();
    let mut length = 0;
    for (index, range) in ranges.iter().enumerate() {
        let lead = if index == 0 { "" } else { "\r\n" };
        let head = format!(
            "{lead}--{boundary}\r\nContent-Range: {}\r\nContent-Type: {kind}\r\n\r\n",
            content_range(range, size)
        );
        length += head.len() as u64 + range.end() - range.start() + 1;
        parts.push((head, range.clone()));
    }
    let tail = format!("\r\n--{boundary}--\r\n");
    length += tail.len() as u64;
    let path = path.to_owned();
    let body = stream::iter(parts)
        .then(move |(head, range)| {
            let path = path.clone();
            async move {
                let mut file = File::open(path).await?;
                file.seek(SeekFrom::Start(*range.start())).await?;
                let bytes = ReaderStream::with_capacity(file.take(range.end() - range.start() + 1), CHUNK);
                Ok::<_, std::io::Error>(stream::once(async { Ok(Bytes::from(head)) }).chain(bytes))
            }
        })
        .try_flatten()
        .chain(stream::once(async { Ok(Bytes::from(tail)) }));
    (format!("multipart/byteranges; boundary={boundary}"), length, Body::from_stream(body))
}

fn insert_text(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

fn type_by_name(path: &Path) -> Option<String> {
    let kind = mime_guess::from_path(path).first()?;
    let text = kind.type_() == mime_guess::mime::TEXT;
    Some(if text { format!("{kind}; charset=utf-8") } else { kind.to_string() })
}

/// The type of a file by its first bytes: a few well-known signatures, text, or unknown.
fn sniff(start: &[u8]) -> &'static str {
    const SIGNATURES: [(&[u8], &str); 9] = [
        (b"%PDF-", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF8", "image/gif"),
        (b"PK\x03\x04", "application/zip"),
        (b"\x1f\x8b\x08", "application/x-gzip"),
        (b"<!DOCTYPE HTML", "text/html; charset=utf-8"),
        (b"<html", "text/html; charset=utf-8"),
        (b"<?xml", "text/xml; charset=utf-8"),
    ];
    let found = SIGNATURES
        .iter()
        .find(|(signature, _)| start.get(..signature.len()).is_some_and(|lead| lead.eq_ignore_ascii_case(signature)));
    let binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    match found {
        Some((_, kind)) => kind,
        None if start.iter().any(binary) => "application/octet-stream",
        None => "text/plain; charset=utf-8",
    }
}

/// `inline` with the file's name: bare when it is a token, quoted when it is ASCII, percent-encoded otherwise.
fn disposition(name: &str) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'!')
        .remove(b'#')
        .remove(b'$')
        .remove(b'&')
        .remove(b'+')
        .remove(b'-')
        .remove(b'.')
        .remove(b'^')
        .remove(b'_')
        .remove(b'`')
        .remove(b'|')
        .remove(b'~');
    let token = |byte: u8| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte);
    if !name.is_empty() && name.bytes().all(token) {
        format!("inline; filename={name}")
    } else if name.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        format!("inline; filename=\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
    } else {
        format!("inline; filename*=utf-8''{}", utf8_percent_encode(name, ENCODED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_header() {
        for (name, expected) in [
            ("test.txt", "inline; filename=test.txt"),
            (".env", "inline; filename=.env"),
            ("my document.pdf", "inline; filename=\"my document.pdf\""),
            ("file\"name.txt", "inline; filename=\"file\\\"name.txt\""),
            ("文档.pdf", "inline; filename*=utf-8''%E6%96%87%E6%A1%A3.pdf"),
            ("ü b.txt", "inline; filename*=utf-8''%C3%BC%20b.txt"),
        ] {
            assert_eq!(disposition(name), expected);
        }
    }

    #[test]
    fn types_are_guessed() {
        assert_eq!(type_by_name(Path::new("/a/b.txt")).as_deref(), Some("text/plain; charset=utf-8"));
        assert_eq!(type_by_name(Path::new("/a/b")), None);
        for (start, expected) in [
            (&b"hello"[..], "text/plain; charset=utf-8"),
            (b"", "text/plain; charset=utf-8"),
            (b"a\0b", "application/octet-stream"),
            (b"%PDF-1.7", "application/pdf"),
            (b"<!doctype html><p>", "text/html; charset=utf-8"),
        ] {
            assert_eq!(sniff(start), expected);
        }
    }
}
