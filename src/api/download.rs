//! Bodies for the caller: `files.read` with whole files and parts of them, as one value or as a stream, and streams of others.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise, Uint8Array};
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::call::Call;
use super::envd::Envd;
use super::filesystem::FilesystemRequestOpts;
use super::options::Options;
use crate::error::{Error, code};
use crate::protocol::files;
use crate::protocol::http::Head;
use crate::protocol::range::{ByteRange, Window};
use crate::protocol::rpc::Endpoint;
use crate::transport::timer::Alarm;
use crate::transport::{Body, Clock, Failure, Payload, Response, Scope, host, progress, task};

/// Options of `files.read`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct FilesystemReadOpts {
    /// What to answer. Default `"text"`.
    #[tsify(optional, type = "\"text\" | \"bytes\" | \"blob\" | \"stream\"")]
    pub format: Option<String>,
    /// Which bytes to read. Default: all.
    #[tsify(optional, type = "FileRange")]
    pub range: Option<ByteRange>,
    /// Whether the sandbox may compress the transfer. Default: as the runtime asks for by itself, but not with `onProgress`,
    /// which could not tell `total` then. Ranges are never compressed.
    #[tsify(optional, type = "boolean")]
    pub gzip: Option<bool>,
    /// Called when the answer begins and with each piece of it. What it throws ends the call, which rejects with it.
    #[tsify(optional, type = "(progress: TransferProgress) => void")]
    pub on_progress: Option<Function>,
    /// With `format: "stream"`: ends the stream when no bytes arrive for so many milliseconds. Default: as
    /// `requestTimeoutMs`, which then limits only the time to the first answer. 0 means no limit.
    #[tsify(optional, type = "number")]
    pub stream_idle_timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub request: FilesystemRequestOpts,
}

impl FilesystemReadOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        Ok(FilesystemReadOpts {
            format: options.string("format")?,
            range: options.get("range").map(read_range).transpose()?,
            gzip: options.boolean("gzip")?,
            on_progress: options.function("onProgress")?,
            stream_idle_timeout_ms: options.whole("streamIdleTimeoutMs", 0)?,
            request: FilesystemRequestOpts::read(options)?,
        })
    }

    /// What is asked for by range.
    fn asked(&self) -> Option<ByteRange> {
        let plain = match self.gzip {
            Some(gzip) => !gzip,
            None => self.on_progress.is_some(),
        };
        self.range.or(plain.then_some(ByteRange::WHOLE))
    }
}

fn read_range(range: JsValue) -> Result<ByteRange, Error> {
    let range = Options::new(range, "range")?;
    let number = |name: &str| match range.get(name).map(|value| value.as_f64()) {
        None => Ok(None),
        Some(Some(number)) if number.fract() == 0.0 && number.abs() <= js_sys::Number::MAX_SAFE_INTEGER => {
            Ok(Some(number as i64))
        }
        Some(_) => Err(Error::invalid_argument(format!("range.{name} of files.read must be a whole number"))),
    };
    ByteRange::new(number("start")?.unwrap_or(0), number("end")?)
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** Bytes of a file, counted as `slice` counts. */
export interface FileRange {
    /** The first byte. A negative number counts from the end: `{ start: -100 }` is the last 100 bytes. Default 0. */
    start?: number | undefined;
    /** The byte after the last. Not together with a negative `start`. Default: the end of the file. */
    end?: number | undefined;
}

/** How far a transfer is. */
export interface TransferProgress {
    /** Bytes that have arrived, or that have been sent. */
    loaded: number;
    /** How many there are, where that is known. */
    total?: number;
    /** The file, for `files.write`. */
    path?: string;
}
"#;

/// A file on its way: what arrives is cut to the range that was asked for, counted and told.
struct Download {
    /// Explains a lost connection by what became of the sandbox.
    envd: Option<Rc<Envd>>,
    body: Body,
    window: Option<Window>,
    loaded: f64,
    total: Option<f64>,
    report: Option<Function>,
}

impl Download {
    /// The next piece, or None at the end.
    async fn next(&mut self, scope: &Scope) -> Result<Option<Uint8Array>, Failure> {
        loop {
            if self.window.is_some_and(|window| window.is_full()) {
                // The server does not know ranges and would send the rest of the file.
                self.body = Body::new(None);
                return Ok(None);
            }
            let chunk = self.body.next(scope).await;
            let chunk = match &self.envd {
                Some(envd) => envd.explained(chunk, None).await?,
                None => chunk?,
            };
            let Some(chunk) = chunk else {
                self.window.map_or(Ok(()), |window| window.finish())?;
                return Ok(None);
            };
            let (from, to) = match &mut self.window {
                Some(window) => window.cut(u64::from(chunk.length())),
                None => (0, u64::from(chunk.length())),
            };
            if from < to {
                self.loaded += (to - from) as f64;
                self.tell();
                // What the callback threw has ended the scope.
                return match scope.ended() {
                    Some(failure) => Err(failure),
                    None => Ok(Some(chunk.subarray(from as u32, to as u32))),
                };
            }
        }
    }

    fn tell(&self) {
        if let Some(report) = &self.report {
            let total = self.total.map_or(JsValue::UNDEFINED, JsValue::from);
            let _ = report.call2(&JsValue::UNDEFINED, &self.loaded.into(), &total);
        }
    }
}

pub(super) async fn read(envd: Rc<Envd>, path: String, opts: FilesystemReadOpts) -> task::Outcome {
    let format = opts.format.as_deref().unwrap_or("text");
    if !["text", "bytes", "blob", "stream"].contains(&format) {
        return Err(Error::invalid_argument(
            r#"Option format of files.read must be "text", "bytes", "blob" or "stream""#,
        )
        .into());
    }
    let range = opts.asked();
    let request = |endpoint: &Endpoint| {
        let mut request = files::download(endpoint, &path, opts.request.user.as_deref())?;
        if let Some(range) = range {
            request.headers.set("range", range.header());
        }
        Ok(request)
    };
    let call = Call::begin(&opts.request.request(), envd.request_timeout_ms)?;
    let response = match envd.http(&call.scope, &request, &Payload::Request).await {
        Err(failure)
            if failure.has_code(code::RANGE_NOT_SATISFIABLE) && range.is_some_and(|range| range.is_from_start()) =>
        {
            let mut head = Head { status: 206, ..Head::default() };
            head.headers.set("content-length", "0");
            Response { head, body: Body::new(None) }
        }
        response => response?,
    };
    let window = match &range {
        Some(range) => Some(Window::of(range, &response.head)?),
        None => None,
    };
    let media_type = response.head.headers.get("content-type").unwrap_or_default().to_owned();
    let mut download = Download {
        envd: Some(envd.clone()),
        body: response.body,
        window,
        loaded: 0.0,
        total: length(&response.head, opts.range.is_some()),
        report: opts.on_progress.map(|callback| progress::reporter(&callback, None, &call.scope)),
    };
    download.tell();
    if format == "stream" {
        let limit_ms = opts.request.request_timeout_ms.or(envd.request_timeout_ms).unwrap_or(0);
        return Ok(stream(download, call.scope.clone(), opts.stream_idle_timeout_ms.unwrap_or(limit_ms)));
    }
    if download.window.is_none() && download.report.is_none() {
        let whole = download.body.whole(format, &call.scope).await;
        if let Some(whole) = envd.explained(whole, None).await? {
            return Ok(whole);
        }
    }
    let chunks = Array::new();
    while let Some(chunk) = download.next(&call.scope).await? {
        chunks.push(&chunk);
    }
    Ok(host::merge(&chunks, format, &media_type))
}

/// How many bytes will come, where the head says so. A length of compressed bytes says nothing, and pages cannot see whether it
/// is one; what was asked for by range is not compressed.
fn length(head: &Head, is_part: bool) -> Option<f64> {
    let is_plain = !host::in_page() && head.headers.get("content-encoding").is_none() && !is_part;
    // Nothing is never compressed.
    let is_sure = |length: &str| head.status == 206 || is_plain || length == "0";
    let length = head.headers.get("content-length").filter(|length| is_sure(length))?;
    length.parse::<u64>().ok().map(|length| length as f64)
}

/// A `ReadableStream` of a body that no sandbox sent.
pub(super) fn stream_of(body: Body, scope: Scope, idle_ms: u64) -> JsValue {
    stream(Download { envd: None, body, window: None, loaded: 0.0, total: None, report: None }, scope, idle_ms)
}

/// A `ReadableStream` of the download. It reads only when its own reader asks.
fn stream(download: Download, scope: Scope, idle_ms: u64) -> JsValue {
    let clock = scope.alarm(Clock::Idle(idle_ms));
    let download = Rc::new(RefCell::new(Some((download, clock))));
    let source = download.clone();
    let pull = Closure::<dyn FnMut() -> Promise>::new(move || {
        // The download is taken out while it is being read, so that no borrow is held across the wait.
        let (source, scope) = (source.clone(), scope.clone());
        task::promise(async move {
            let Some((mut download, clock)) = source.borrow_mut().take() else { return Ok(JsValue::UNDEFINED) };
            clock.iter().for_each(Alarm::start);
            let chunk = download.next(&scope).await?;
            clock.iter().for_each(Alarm::stop);
            let Some(chunk) = chunk else { return Ok(JsValue::UNDEFINED) };
            *source.borrow_mut() = Some((download, clock));
            Ok(chunk.into())
        })
    });
    let cancel = Closure::<dyn FnMut()>::new(move || drop(download.borrow_mut().take()));
    host::readable(pull.into_js_value(), cancel.into_js_value()).into()
}
