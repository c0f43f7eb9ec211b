//! `POST /files`: a raw body for one path, or a form with any number of files.

use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use async_compression::tokio::bufread::GzipDecoder;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use http::{HeaderMap, StatusCode, header};
use tokio::fs::OpenOptions;
use tokio::io::AsyncWriteExt;
use tokio_util::io::{ReaderStream, StreamReader};

use super::{Query, find_user, resolve};
use crate::envd::entry::METADATA_PREFIX;
use crate::envd::error::{HttpError, reason};
use crate::envd::filesystem::ensure_directories;
use crate::envd::state::Envd;
use crate::sandbox::users::User;

type Data = BoxStream<'static, io::Result<Bytes>>;

/// Metadata of an upload, by key without the prefix, in the order of the headers.
type Metadata = Vec<(String, String)>;

pub(super) async fn upload(envd: &Envd, query: &Query, request: Request) -> Result<Response, HttpError> {
    let (head, body) = request.into_parts();
    let text = |name| head.headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok()).unwrap_or("");
    let data = decoded(body, text(header::CONTENT_ENCODING)).await?;
    let user = find_user(envd, query.username.as_deref())?;
    let metadata = metadata(&head.headers)?;
    let content_type = text(header::CONTENT_TYPE);
    let media_type = content_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    let length = head.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    let target = Target { envd, user: &user, metadata: &metadata, length };
    let written = if media_type == "application/octet-stream" {
        let path = query
            .path
            .as_deref()
            .filter(|path| !path.is_empty())
            .ok_or_else(|| HttpError::bad_request("path query parameter is required for raw body upload"))?;
        vec![target.write(target.resolve(path)?, data).await?]
    } else if media_type.starts_with("multipart/") {
        form(&target, query.path.as_deref(), content_type, data).await?
    } else {
        return Err(HttpError::bad_request(format!(
            "unsupported content type: {content_type}, expected multipart/form-data or application/octet-stream"
        )));
    };
    let entries: Vec<_> = written
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let mut entry = serde_json::json!({ "name": name, "path": path.to_string_lossy(), "type": "file" });
            if !metadata.is_empty() {
                entry["metadata"] = metadata
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone().into()))
                    .collect::<serde_json::Map<_, _>>()
                    .into();
            }
            entry
        })
        .collect();
    let body = serde_json::Value::from(entries).to_string();
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], body).into_response())
}

/// The body without its `Content-Encoding`. The first bytes are read here, so that what is no gzip at all is refused
/// before a file is touched.
async fn decoded(body: Body, encoding: &str) -> Result<Data, HttpError> {
    let plain = body.into_data_stream().map_err(io::Error::other);
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(plain.boxed()),
        "gzip" => {
            let mut decoder = GzipDecoder::new(StreamReader::new(plain.boxed()));
            decoder.multiple_members(true);
            let mut data = ReaderStream::new(decoder);
            let first = data.next().await.transpose().map_err(|error| {
                HttpError::bad_request(match error.kind() {
                    ErrorKind::InvalidData => {
                        "error decompressing request body: failed to create gzip reader: gzip: invalid header".into()
                    }
                    _ => format!("error decompressing request body: {error}"),
                })
            })?;
            Ok(stream::iter(first.map(Ok)).chain(data).boxed())
        }
        other => Err(HttpError::bad_request(format!(
            "error decompressing request body: unsupported Content-Encoding: {other}, supported: [gzip]"
        ))),
    }
}

/// The `X-Metadata-*` headers.
fn metadata(headers: &HeaderMap) -> Result<Metadata, HttpError> {
    const LONGEST_KEY: usize = 246;
    const LARGEST: usize = 4096;
    let invalid = |text: String| HttpError::bad_request(format!("invalid metadata: {text}"));
    let mut metadata = Metadata::new();
    let mut size = 0;
    for name in headers.keys() {
        let Some(key) = name.as_str().strip_prefix("x-metadata-").filter(|key| !key.is_empty()) else { continue };
        let Some(value) = headers.get(name) else { continue };
        if key.len() > LONGEST_KEY {
            return Err(invalid(format!("metadata key \"{key}\" exceeds {LONGEST_KEY} bytes")));
        }
        if let Some(offset) = value.as_bytes().iter().position(|byte| !(0x20..0x7f).contains(byte)) {
            let byte = value.as_bytes()[offset];
            return Err(invalid(format!(
                "metadata value for key \"{key}\" contains non-printable-ASCII byte 0x{byte:02x} at offset {offset}"
            )));
        }
        size += METADATA_PREFIX.len() + key.len() + value.len();
        metadata.push((key.to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    }
    if size > LARGEST {
        return Err(invalid(format!("total metadata size {size} exceeds {LARGEST} bytes")));
    }
    metadata.sort();
    Ok(metadata)
}

async fn form(
    target: &Target<'_>,
    path: Option<&str>,
    content_type: &str,
    data: Data,
) -> Result<Vec<PathBuf>, HttpError> {
    let malformed = |error: multer::Error| HttpError::internal(format!("error parsing multipart form: {error}"));
    let boundary = multer::parse_boundary(content_type).map_err(malformed)?;
    let mut form = multer::Multipart::new(data, boundary);
    let mut written = Vec::new();
    let mut seen = HashSet::new();
    while let Some(part) = form.next_field().await.map_err(malformed)? {
        if part.name() != Some("file") {
            continue;
        }
        let name = match path.filter(|path| !path.is_empty()) {
            Some(path) => path.to_owned(),
            None => part.file_name().unwrap_or("").to_owned(),
        };
        let path = target.resolve(&name)?;
        if !seen.insert(path.clone()) {
            return Err(HttpError::bad_request(format!(
                "you cannot upload multiple files to the same path '{}' in one upload request, only the first \
                 specified file was uploaded",
                path.display()
            )));
        }
        written.push(target.write(path, part.map_err(io::Error::other)).await?);
    }
    Ok(written)
}

/// Where uploaded bytes go, and as whom.
struct Target<'a> {
    envd: &'a Envd,
    user: &'a User,
    metadata: &'a Metadata,
    /// `Content-Length` of the request, for the message about a full disk.
    length: Option<u64>,
}

impl Target<'_> {
    fn resolve(&self, path: &str) -> Result<PathBuf, HttpError> {
        resolve(self.envd, path, self.user)
            .map_err(|error| HttpError::bad_request(format!("error resolving path: {error}")))
    }

    /// Writes one file in place: parents are created, an existing file is truncated and keeps its mode.
    async fn write(
        &self,
        path: PathBuf,
        data: impl Stream<Item = io::Result<Bytes>> + Send,
    ) -> Result<PathBuf, HttpError> {
        if let Some(parent) = path.parent() {
            ensure_directories(parent, self.user)
                .map_err(|error| HttpError::internal(format!("error ensuring directories: {error}")))?;
        }
        if tokio::fs::metadata(&path).await.is_ok_and(|meta| meta.is_dir()) {
            return Err(HttpError::bad_request(format!("path is a directory: {}", path.display())));
        }
        let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o666).open(&path).await;
        let mut file = opened.map_err(|error| match error.kind() {
            ErrorKind::StorageFull => {
                HttpError::new(StatusCode::INSUFFICIENT_STORAGE, format!("not enough inodes available: {error}"))
            }
            _ => HttpError::internal(format!("error opening file: open {}: {}", path.display(), reason(&error))),
        })?;
        self.own(&path)?;
        let mut data = std::pin::pin!(data);
        while let Some(chunk) = data.next().await {
            let chunk = chunk.map_err(|error| HttpError::internal(format!("error reading form: {error}")))?;
            file.write_all(&chunk).await.map_err(|error| self.write_error(&error))?;
        }
        file.flush().await.map_err(|error| self.write_error(&error))?;
        self.describe(&path)?;
        Ok(path)
    }

    fn own(&self, path: &Path) -> Result<(), HttpError> {
        chown(path, Some(self.user.uid), Some(self.user.gid))
            .map_err(|error| HttpError::internal(format!("error changing file ownership: {}", reason(&error))))
    }

    fn write_error(&self, error: &io::Error) -> HttpError {
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                let attempt =
                    self.length.map_or(String::new(), |length| format!("attempted to write {length} bytes: "));
                let text = format!("{attempt}not enough disk space available");
                HttpError::new(StatusCode::INSUFFICIENT_STORAGE, text)
            }
            _ => HttpError::internal(format!("error writing file: {}", reason(error))),
        }
    }

    /// Replaces the metadata of the file by this upload's. File systems without extended attributes keep none.
    fn describe(&self, path: &Path) -> Result<(), HttpError> {
        for name in xattr::list(path).into_iter().flatten() {
            if name.to_string_lossy().starts_with(METADATA_PREFIX) {
                let _ = xattr::remove(path, &name);
            }
        }
        for (key, value) in self.metadata {
            match xattr::set(path, format!("{METADATA_PREFIX}{key}"), value.as_bytes()) {
                Err(error) if error.kind() == ErrorKind::StorageFull => return Err(self.write_error(&error)),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}
