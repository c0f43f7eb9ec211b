//! `files.write`: one request per file, a few at a time.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::envd::Envd;
use super::filesystem::{FilesystemWriteOpts, metadata};
use super::options::{self, Options};
use super::types::WriteInfo;
use crate::error::Error;
use crate::protocol::files;
use crate::protocol::message::StringMap;
use crate::protocol::rpc::Endpoint;
use crate::protocol::version::Feature;
use crate::transport::{Clock, Failure, Payload, Scope, host, progress, task};

/// How many files are written at the same time. Browsers open six connections to a host, and other calls want some.
const WRITERS: usize = 4;

/// A file to be written.
pub(super) struct File {
    path: String,
    data: Data,
}

/// What a file is to hold.
pub(super) struct Data {
    value: JsValue,
    is_stream: bool,
}

impl Data {
    /// `owner` is the function whose argument this is.
    pub(super) fn new(value: JsValue, owner: &str) -> Result<Self, Error> {
        let kind = host::data_kind(&value);
        let value = match kind.as_deref() {
            Some("view" | "buffer") => host::bytes_of(&value).into(),
            Some(_) => value,
            None => {
                return Err(Error::invalid_argument(format!(
                    "data of {owner} must be a string, bytes, Blob or ReadableStream, not {}",
                    options::kind(&value)
                )));
            }
        };
        Ok(Data { value, is_stream: kind.as_deref() == Some("stream") })
    }

    /// As a request sends it. Pages cannot stream a request body over HTTP/1.1, so there a stream is collected first.
    pub(super) async fn payload(&self, scope: &Scope) -> Result<Payload, Failure> {
        if !self.is_stream {
            Ok(Payload::Value(self.value.clone()))
        } else if host::in_page() {
            self.collected(scope).await
        } else {
            Ok(Payload::Stream(self.value.clone()))
        }
    }

    /// As one Blob. Browsers keep large ones on disk.
    async fn collected(&self, scope: &Scope) -> Result<Payload, Failure> {
        let blob = scope.run(JsFuture::from(host::to_blob(&self.value))).await?;
        Ok(Payload::Value(blob.map_err(Failure::Thrown)?))
    }
}

impl File {
    pub(super) fn new(path: &JsValue, data: JsValue) -> Result<Self, Error> {
        let path = options::required_string(path, "path", "files.write")?;
        Ok(File { path, data: Data::new(data, "files.write")? })
    }

    pub(super) fn of_entry(entry: &JsValue) -> Result<Self, Error> {
        let entry = Options::new(entry.clone(), "a file of files.write")?;
        let path = entry.get("path").unwrap_or(JsValue::UNDEFINED);
        File::new(&path, entry.get("data").unwrap_or(JsValue::UNDEFINED))
    }
}

/// What the writers of one `files.write` share.
struct Upload {
    envd: Rc<Envd>,
    scope: Scope,
    user: Option<String>,
    metadata: StringMap,
    gzip: bool,
    on_progress: Option<Function>,
    /// The request clock of each file.
    limit_ms: u64,
    files: RefCell<std::vec::IntoIter<File>>,
    written: RefCell<Vec<Option<WriteInfo>>>,
}

/// Writes `files`, a few at a time. The first failure ends the others.
pub(super) async fn write_all(
    envd: Rc<Envd>,
    files: Vec<File>,
    opts: FilesystemWriteOpts,
) -> Result<Vec<WriteInfo>, Failure> {
    let metadata = opts.metadata.unwrap_or_default();
    files::check_metadata(&metadata)?;
    if !metadata.is_empty() {
        envd.version.require(Feature::FileMetadata)?;
    }
    let count = files.len();
    let upload = Rc::new(Upload {
        scope: Scope::of(opts.request.signal.as_ref())?,
        user: opts.request.user,
        metadata,
        gzip: opts.gzip.unwrap_or(false),
        on_progress: opts.on_progress,
        limit_ms: opts.request.request_timeout_ms.or(envd.request_timeout_ms).unwrap_or(0),
        written: RefCell::new((0..count).map(|_| None).collect()),
        files: RefCell::new(files.into_iter()),
        envd,
    });
    let writers = Array::new();
    for _ in 0..WRITERS.min(count) {
        let upload = upload.clone();
        writers.push(&task::promise(async move { upload.work().await }));
    }
    JsFuture::from(Promise::all(&writers)).await.map_err(Failure::Thrown)?;
    let written = upload.written.take();
    Ok(written.into_iter().flatten().collect())
}

impl Upload {
    /// Writes one file after the other until none is left.
    async fn work(&self) -> task::Outcome {
        loop {
            let next = {
                let mut files = self.files.borrow_mut();
                let index = self.written.borrow().len() - files.len();
                files.next().map(|file| (index, file))
            };
            let Some((index, file)) = next else { return Ok(JsValue::UNDEFINED) };
            match self.write(file).await {
                Ok(info) => self.written.borrow_mut()[index] = Some(info),
                Err(failure) => {
                    self.scope.end(failure.clone());
                    return Err(failure);
                }
            }
        }
    }

    async fn write(&self, file: File) -> Result<WriteInfo, Failure> {
        let _clock = self.scope.arm(Clock::Request(self.limit_ms));
        let (envd, user) = (&self.envd, self.user.as_deref());
        let response = if envd.version.supports(Feature::RawUpload) {
            let (payload, is_compressed) = self.payload(&file).await?;
            let request = |endpoint: &Endpoint| {
                let mut request = files::upload(endpoint, &file.path, user, &self.metadata)?;
                if is_compressed {
                    request.headers.set("content-encoding", "gzip");
                }
                Ok(request)
            };
            envd.http(&self.scope, &request, &self.reported(payload, &file)).await?
        } else {
            let bytes = self.scope.run(JsFuture::from(host::to_bytes(&file.data.value))).await?;
            let bytes = bytes.map_err(Failure::Thrown)?.unchecked_into::<Uint8Array>().to_vec();
            let request = |endpoint: &_| files::upload_form(endpoint, &file.path, user, &self.metadata, &bytes);
            envd.http(&self.scope, &request, &self.reported(Payload::Request, &file)).await?
        };
        let head = response.head;
        let body = envd.explained(response.body.read_all(&self.scope).await, None).await?;
        let written = files::read_written(&head, &body)?.into_iter().next();
        let written = written.ok_or_else(|| Error::protocol("The sandbox did not say what it wrote"))?;
        Ok(write_info(written))
    }

    /// What to send, and whether it is compressed. What is compressed and could be sent again is collected first.
    async fn payload(&self, file: &File) -> Result<(Payload, bool), Failure> {
        let compressed = if self.gzip { host::gzipped(&file.data.value, &self.scope.signal()) } else { None };
        let Some(compressed) = compressed else { return Ok((file.data.payload(&self.scope).await?, false)) };
        let data = Data { value: compressed.into(), is_stream: true };
        let payload =
            if file.data.is_stream { data.payload(&self.scope).await? } else { data.collected(&self.scope).await? };
        Ok((payload, true))
    }

    fn reported(&self, payload: Payload, file: &File) -> Payload {
        match &self.on_progress {
            Some(callback) => {
                let report = progress::reporter(callback, Some(&file.path), &self.scope);
                Payload::Reported(Box::new(payload), report)
            }
            None => payload,
        }
    }
}

fn write_info(written: files::Written) -> WriteInfo {
    let kind = written.kind.map(|kind| match kind {
        files::WrittenKind::File => "file",
        files::WrittenKind::Dir => "dir",
    });
    WriteInfo { name: written.name, kind, path: written.path, metadata: metadata(written.metadata) }
}
