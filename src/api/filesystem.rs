//! `sandbox.files`: contents in and out, entries and directories.

use std::rc::Rc;

use js_sys::{Array, Function, Promise};
use tsify::Tsify;
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

use super::call::{Call, RequestOpts};
use super::download::{self, FilesystemReadOpts};
use super::envd::Envd;
use super::options::{self, Options};
use super::types::{self, EntryInfo, StringRecord};
use super::unary::{self, Answer, Message, Unary};
use super::upload::{File, write_all};
use super::watch;
use crate::error::{Error, code};
use crate::protocol::filesystem::{self, FileType};
use crate::protocol::message::StringMap;
use crate::protocol::rpc::Rpc;
use crate::transport::task;

/// Options of the calls about files that need nothing else.
#[derive(Tsify, Default)]
#[serde(rename_all = "camelCase")]
pub struct FilesystemRequestOpts {
    /// The user whose home directory relative paths start from, and who owns what is made. Default: the sandbox's
    /// default user.
    #[tsify(optional, type = "string")]
    pub user: Option<String>,
    /// Limits the whole call, in milliseconds. Default 60 000; 0 means no limit.
    #[tsify(optional, type = "number")]
    pub request_timeout_ms: Option<u64>,
    /// Ends the call early: it then rejects with `signal.reason`.
    #[tsify(optional, type = "AbortSignal")]
    pub signal: Option<AbortSignal>,
}

impl FilesystemRequestOpts {
    pub(super) fn read(options: &Options) -> Result<Self, Error> {
        let RequestOpts { request_timeout_ms, signal } = RequestOpts::read(options)?;
        Ok(FilesystemRequestOpts { user: options.string("user")?, request_timeout_ms, signal })
    }

    pub(super) fn request(&self) -> RequestOpts {
        RequestOpts { request_timeout_ms: self.request_timeout_ms, signal: self.signal.clone() }
    }
}

/// Options of `files.list`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct FilesystemListOpts {
    /// How many levels to list. Default 1: the directory's own entries.
    #[tsify(optional, type = "number")]
    pub depth: Option<u32>,
    #[serde(flatten)]
    pub request: FilesystemRequestOpts,
}

impl FilesystemListOpts {
    fn read(options: &Options) -> Result<Self, Error> {
        Ok(FilesystemListOpts {
            depth: options.count("depth", u32::MAX)?,
            request: FilesystemRequestOpts::read(options)?,
        })
    }
}

/// Options of `files.write`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct FilesystemWriteOpts {
    /// Small values to be stored beside the file: keys are HTTP tokens, values printable ASCII.
    #[tsify(optional, type = "Record<string, string>")]
    pub metadata: Option<StringMap>,
    /// Whether to compress what is sent. Sent as it is where the runtime cannot compress or the sandbox cannot unpack. Default
    /// false.
    #[tsify(optional, type = "boolean")]
    pub gzip: Option<bool>,
    /// Called when the transfer of a file begins and with each piece of it; with `gzip`, the bytes are compressed ones. What
    /// it throws ends the call, which rejects with it. A page with its own `fetch`, and a service worker, only learn of
    /// the beginning and the end.
    #[tsify(optional, type = "(progress: TransferProgress) => void")]
    pub on_progress: Option<Function>,
    /// Has no effect: files are always sent as they are, unless the sandbox only takes forms.
    #[tsify(optional, type = "boolean")]
    pub use_octet_stream: Option<bool>,
    #[serde(flatten)]
    pub request: FilesystemRequestOpts,
}

impl FilesystemWriteOpts {
    fn read(options: JsValue) -> Result<Self, Error> {
        let options = Options::new(options, "files.write")?;
        Ok(FilesystemWriteOpts {
            metadata: options.string_map("metadata")?,
            gzip: options.boolean("gzip")?,
            on_progress: options.function("onProgress")?,
            use_octet_stream: options.boolean("useOctetStream")?,
            request: FilesystemRequestOpts::read(&options)?,
        })
    }
}

#[wasm_bindgen(typescript_custom_section)]
const FILE_TYPES: &str = r#"
/** What can be written to a file. Streams are sent as they are produced where the runtime can, and collected first in pages. */
export type FileData = string | ArrayBuffer | ArrayBufferView | Blob | ReadableStream<Uint8Array>;

/** One file of `files.write`. */
export interface WriteEntry {
    /** Absolute, or relative to the user's home directory. */
    path: string;
    data: FileData;
}

export interface Filesystem {
    /**
     * Reads a file as text: UTF-8, where invalid bytes become U+FFFD.
     *
     * Rejects with a `FileNotFoundError` when there is none, and with an `InvalidArgumentError` for a directory.
     */
    read(path: string, opts?: FilesystemReadOpts & { format?: "text" }): Promise<string>;
    /** Reads a file as bytes. */
    read(path: string, opts: FilesystemReadOpts & { format: "bytes" }): Promise<Uint8Array<ArrayBuffer>>;
    /** Reads a file as a `Blob`. */
    read(path: string, opts: FilesystemReadOpts & { format: "blob" }): Promise<Blob>;
    /** Reads a file as a stream, which holds one chunk at a time. Cancelling it ends the transfer. */
    read(path: string, opts: FilesystemReadOpts & { format: "stream" }): Promise<ReadableStream<Uint8Array<ArrayBuffer>>>;
    /**
     * Writes a file. Missing directories are made, an existing file is overwritten.
     *
     * Rejects with an `InvalidArgumentError` for a directory, and with a `NotEnoughSpaceError` when the disk is full.
     */
    write(path: string, data: FileData, opts?: FilesystemWriteOpts): Promise<WriteInfo>;
    /** Writes several files, up to four at a time; answers in the order given. The first failure ends the rest. */
    write(files: WriteEntry[], opts?: FilesystemWriteOpts): Promise<WriteInfo[]>;
    /** The same as `write` with several files. */
    writeFiles(files: WriteEntry[], opts?: FilesystemWriteOpts): Promise<WriteInfo[]>;
}
"#;

/// The files of a sandbox.
#[wasm_bindgen]
pub struct Filesystem(Rc<Envd>);

impl Filesystem {
    pub(super) fn new(envd: Rc<Envd>) -> Self {
        Filesystem(envd)
    }
}

/// A call about a path.
struct Method {
    /// Its name in errors.
    owner: &'static str,
    rpc: Rpc,
    /// What is sent about the path; the second argument of the call is whatever the method takes there.
    message: fn(String, &JsValue, &Options<'_>) -> Result<Message, Error>,
    read: fn(Answer) -> task::Outcome,
}

const LIST: Method = Method {
    owner: "files.list",
    rpc: filesystem::LIST_DIR,
    message: |path, _, options| {
        let depth = FilesystemListOpts::read(options)?.depth.unwrap_or(1);
        let message = filesystem::ListDirRequest::new(&path, Some(depth))?;
        Ok(Box::new(move |encoding| message.encode(encoding)))
    },
    read: |answer| {
        let (body, encoding) = answer?;
        let found = filesystem::decode_entries(&body, encoding)?;
        Ok(types::to_js(&found.into_iter().map(entry_info).collect::<Vec<EntryInfo>>()))
    },
};

const EXISTS: Method = Method {
    owner: "files.exists",
    rpc: filesystem::STAT,
    message: stat,
    read: |answer| match answer {
        Ok(_) => Ok(true.into()),
        Err(failure) if failure.has_code(code::FILE_NOT_FOUND) => Ok(false.into()),
        Err(failure) => Err(failure),
    },
};

const GET_INFO: Method = Method { owner: "files.getInfo", rpc: filesystem::STAT, message: stat, read: read_entry };

const MAKE_DIR: Method = Method {
    owner: "files.makeDir",
    rpc: filesystem::MAKE_DIR,
    message: |path, _, _| {
        let message = filesystem::MakeDirRequest { path };
        Ok(Box::new(move |encoding| message.encode(encoding)))
    },
    read: |answer| match answer {
        Ok(_) => Ok(true.into()),
        Err(failure) if failure.has_code(code::ALREADY_EXISTS) => Ok(false.into()),
        Err(failure) => Err(failure),
    },
};

const RENAME: Method = Method {
    owner: "files.rename",
    rpc: filesystem::MOVE,
    message: |source, new_path, _| {
        let destination = options::required_string(new_path, "newPath", "files.rename")?;
        let message = filesystem::MoveRequest { source, destination };
        Ok(Box::new(move |encoding| message.encode(encoding)))
    },
    read: read_entry,
};

const REMOVE: Method = Method {
    owner: "files.remove",
    rpc: filesystem::REMOVE,
    message: |path, _, _| {
        let message = filesystem::RemoveRequest::new(&path)?;
        Ok(Box::new(move |encoding| message.encode(encoding)))
    },
    read: |answer| answer.map(|_| JsValue::UNDEFINED),
};

fn stat(path: String, _: &JsValue, _: &Options<'_>) -> Result<Message, Error> {
    let message = filesystem::StatRequest { path };
    Ok(Box::new(move |encoding| message.encode(encoding)))
}

fn read_entry(answer: Answer) -> task::Outcome {
    let (body, encoding) = answer?;
    Ok(types::to_js(&entry_info(filesystem::decode_entry(&body, encoding)?)))
}

impl Filesystem {
    fn about(&self, method: &'static Method, path: JsValue, second: JsValue, opts: JsValue) -> Promise {
        let prepare = move |envd: &Envd| {
            let options = Options::new(opts, method.owner)?;
            let path = options::required_string(&path, "path", method.owner)?;
            let message = (method.message)(path, &second, &options)?;
            let opts = FilesystemRequestOpts::read(&options)?;
            let call = Call::begin(&opts.request(), envd.request_timeout_ms)?;
            Ok(Unary { call, rpc: method.rpc, user: opts.user, message })
        };
        unary::promise(self.0.clone(), prepare, method.read)
    }
}

#[wasm_bindgen]
impl Filesystem {
    #[wasm_bindgen(skip_typescript)]
    pub fn read(&self, path: JsValue, opts: JsValue) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let path = options::required_string(&path, "path", "files.read")?;
            let opts = FilesystemReadOpts::read(&Options::new(opts, "files.read")?)?;
            download::read(envd, path, opts).await
        })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn write(&self, path_or_files: JsValue, data_or_opts: JsValue, opts: JsValue) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            if Array::is_array(&path_or_files) {
                let opts = FilesystemWriteOpts::read(data_or_opts)?;
                let entries: Array = path_or_files.unchecked_into();
                let files: Result<Vec<File>, Error> = entries.iter().map(|entry| File::of_entry(&entry)).collect();
                return write_all(envd, files?, opts).await.map(|infos| types::to_js(&infos));
            }
            let file = File::new(&path_or_files, data_or_opts)?;
            let infos = write_all(envd, vec![file], FilesystemWriteOpts::read(opts)?).await?;
            Ok(infos.first().map_or(JsValue::UNDEFINED, types::to_js))
        })
    }

    /// Watches a directory. Resolves when the watch is armed: every change from then on is told to `onEvent`, one at a time
    /// and in order, and to everyone who iterates over the handle. If `onEvent` throws, watching ends and `onExit` is told.
    ///
    /// Rejects with a `FileNotFoundError` when the directory does not exist, with an `InvalidArgumentError` when it is a
    /// file, and with a `TemplateError` when the sandbox is too old for an option. A browser opens six connections to a
    /// host, of which each watch takes one: `pollDir` takes none.
    #[wasm_bindgen(js_name = watchDir, unchecked_return_type = "Promise<WatchHandle>")]
    pub fn watch_dir(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(js_name = onEvent, unchecked_optional_param_type = "((event: FilesystemEvent) => void | Promise<void>) | undefined")]
        on_event: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "WatchOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move { watch::watch_dir(envd, path, on_event, opts).await })
    }

    /// Watches a directory without keeping a connection: events are fetched with `getNewEvents()`. Call `stop()` in the
    /// end.
    #[wasm_bindgen(js_name = pollDir, unchecked_return_type = "Promise<DirPoller>")]
    pub fn poll_dir(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "WatchRequestOpts")] opts: JsValue,
    ) -> Promise {
        watch::poll_dir(self.0.clone(), path, opts)
    }

    /// The entries of a directory, depth first and sorted by name.
    ///
    /// Rejects with a `FileNotFoundError` when it does not exist, and with an `InvalidArgumentError` when it is a file.
    #[wasm_bindgen(unchecked_return_type = "Promise<EntryInfo[]>")]
    pub fn list(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FilesystemListOpts")] opts: JsValue,
    ) -> Promise {
        self.about(&LIST, path, JsValue::UNDEFINED, opts)
    }

    /// Whether there is something at the path.
    #[wasm_bindgen(unchecked_return_type = "Promise<boolean>")]
    pub fn exists(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FilesystemRequestOpts")] opts: JsValue,
    ) -> Promise {
        self.about(&EXISTS, path, JsValue::UNDEFINED, opts)
    }

    /// What is at the path.
    ///
    /// Rejects with a `FileNotFoundError` when there is nothing.
    #[wasm_bindgen(js_name = getInfo, unchecked_return_type = "Promise<EntryInfo>")]
    pub fn get_info(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FilesystemRequestOpts")] opts: JsValue,
    ) -> Promise {
        self.about(&GET_INFO, path, JsValue::UNDEFINED, opts)
    }

    /// Makes a directory and the ones above it. Resolves to false when it was there already.
    ///
    /// Rejects with an `InvalidArgumentError` when a file has that path.
    #[wasm_bindgen(js_name = makeDir, unchecked_return_type = "Promise<boolean>")]
    pub fn make_dir(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FilesystemRequestOpts")] opts: JsValue,
    ) -> Promise {
        self.about(&MAKE_DIR, path, JsValue::UNDEFINED, opts)
    }

    /// Moves or renames a file or directory; replaces a file that is there. Resolves to the entry at its new path.
    ///
    /// Rejects with a `FileNotFoundError` when `oldPath` does not exist.
    #[wasm_bindgen(unchecked_return_type = "Promise<EntryInfo>")]
    pub fn rename(
        &self,
        #[wasm_bindgen(js_name = oldPath, unchecked_param_type = "string")] old_path: JsValue,
        #[wasm_bindgen(js_name = newPath, unchecked_param_type = "string")] new_path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FilesystemRequestOpts")] opts: JsValue,
    ) -> Promise {
        self.about(&RENAME, old_path, new_path, opts)
    }

    /// Removes a file, or a directory with all it holds. Removing what is not there succeeds.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn remove(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "FilesystemRequestOpts")] opts: JsValue,
    ) -> Promise {
        self.about(&REMOVE, path, JsValue::UNDEFINED, opts)
    }
}

pub(super) fn entry_info(entry: filesystem::EntryInfo) -> EntryInfo {
    let kind = match entry.file_type {
        FileType::File => Some("file"),
        FileType::Directory => Some("dir"),
        FileType::Symlink => Some("symlink"),
        FileType::Unknown(_) => None,
    };
    let modified_time = match entry.modified_time {
        None => JsValue::UNDEFINED,
        time => types::date(time).into(),
    };
    EntryInfo {
        name: entry.name,
        kind,
        path: entry.path,
        size: entry.size as f64,
        mode: entry.mode,
        permissions: entry.permissions,
        owner: entry.owner,
        group: entry.group,
        modified_time,
        symlink_target: entry.symlink_target,
        metadata: metadata(entry.metadata),
    }
}

pub(super) fn metadata(map: StringMap) -> Option<StringRecord> {
    if map.is_empty() { None } else { Some(StringRecord(map)) }
}
