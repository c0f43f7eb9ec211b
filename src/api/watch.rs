//! `files.watchDir` and `files.pollDir`: what changes in a directory.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Promise};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::call::Call;
use super::envd::{Envd, Events, Progress};
use super::filesystem::{FilesystemRequestOpts, entry_info};
use super::handle::OutputReader;
use super::options::{self, Options};
use super::types::{self, EntryInfo};
use super::unary::{self, Answer, Unary};
use crate::error::{Error, Kind, code};
use crate::protocol::filesystem::{self as wire, EventType, WatchEvent, WatchRequest, WatcherRequest};
use crate::protocol::message::Encoding;
use crate::protocol::rpc::Rpc;
use crate::protocol::version::Feature;
use crate::transport::{Channel, Clock, Failure, Scope, task};

/// How many events may wait for a reader before the stream is slowed down.
const READER_CAPACITY: usize = 256;

/// Options of `files.pollDir`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct WatchRequestOpts {
    /// Whether to watch the directories below as well. Default false.
    #[tsify(optional, type = "boolean")]
    pub recursive: Option<bool>,
    /// Whether events tell about the entry, where it still exists. Default false.
    #[tsify(optional, type = "boolean")]
    pub include_entry: Option<bool>,
    /// Whether directories on network file systems may be watched, which may miss changes. Default false.
    #[tsify(optional, type = "boolean")]
    pub allow_network_mounts: Option<bool>,
    #[serde(flatten)]
    pub request: FilesystemRequestOpts,
}

/// Options of `files.watchDir`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct WatchOpts {
    /// Called once when watching ends: with the error it ended with, or with nothing after `stop()`.
    #[tsify(optional, type = "(error?: unknown) => void | Promise<void>")]
    pub on_exit: Option<Function>,
    /// Ends watching after so many milliseconds. Default 0: no limit.
    #[tsify(optional, type = "number")]
    pub timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub request: WatchRequestOpts,
}

/// A change in a watched directory.
#[derive(Tsify, Serialize)]
pub struct FilesystemEvent {
    /// The path relative to the watched directory; `.` is the directory itself.
    pub name: String,
    #[serde(rename = "type")]
    #[tsify(type = "FilesystemEventType")]
    pub kind: &'static str,
    /// What is there now, with `includeEntry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub entry: Option<EntryInfo>,
}

// The values are in `js/classes.js`.
#[wasm_bindgen(typescript_custom_section)]
const EVENT_TYPE: &str = r#"
/** What happened to an entry of a watched directory. */
export const FilesystemEventType: {
    readonly CHMOD: "chmod";
    readonly CREATE: "create";
    readonly REMOVE: "remove";
    readonly RENAME: "rename";
    readonly WRITE: "write";
};
export type FilesystemEventType = (typeof FilesystemEventType)[keyof typeof FilesystemEventType];

export interface WatchHandle extends AsyncIterable<FilesystemEvent> {
    /**
     * Events as they come, for `for await`. Ends after `stop()`, and throws what watching failed with. Leaving the loop does
     * not stop watching.
     */
    [Symbol.asyncIterator](): AsyncIterator<FilesystemEvent, undefined, undefined>;
    /** Stops watching: `await using watch = …`. */
    [Symbol.asyncDispose](): Promise<void>;
}

export interface DirPoller {
    /** Ends the watcher: `await using poller = …`. */
    [Symbol.asyncDispose](): Promise<void>;
}
"#;

/// Checks what the sandbox can do, and makes the message.
fn read_request(envd: &Envd, path: String, options: &Options) -> Result<WatchRequest, Error> {
    let flag = |name, feature| {
        let wanted = options.boolean(name)?.unwrap_or(false);
        if wanted {
            envd.version.require(feature)?;
        }
        Ok::<bool, Error>(wanted)
    };
    Ok(WatchRequest {
        path,
        recursive: flag("recursive", Feature::RecursiveWatch)?,
        include_entry: flag("includeEntry", Feature::WatchEntries)?,
        allow_network_mounts: flag("allowNetworkMounts", Feature::WatchNetworkMounts)?,
    })
}

/// A watched directory.
#[wasm_bindgen]
pub struct WatchHandle(Rc<Watch>);

struct Watch {
    envd: Rc<Envd>,
    scope: Scope,
    on_event: Option<Function>,
    on_exit: Option<Function>,
    readers: RefCell<Vec<Channel>>,
    /// How watching ended, once it has.
    finished: RefCell<Option<Result<(), Failure>>>,
}

#[wasm_bindgen]
impl WatchHandle {
    /// Stops watching. Nothing is delivered after this call.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn stop(&self) -> Promise {
        self.0.scope.end(stopped());
        task::promise(async { Ok(JsValue::UNDEFINED) })
    }

    #[wasm_bindgen(js_name = _reader, skip_typescript)]
    pub fn reader(&self) -> OutputReader {
        let channel = Channel::new(READER_CAPACITY);
        match &*self.0.finished.borrow() {
            Some(result) => channel.finish(result.clone()),
            None => self.0.readers.borrow_mut().push(channel.clone()),
        }
        OutputReader::new(channel)
    }
}

/// Ends the scope of a watch that its owner stopped.
fn stopped() -> Failure {
    Error::new(Kind::Sandbox, code::DISCONNECTED, "stop() was called").into()
}

/// `files.watchDir`.
pub(super) async fn watch_dir(envd: Rc<Envd>, path: JsValue, on_event: JsValue, options: JsValue) -> task::Outcome {
    const OWNER: &str = "files.watchDir";
    let path = options::required_string(&path, "path", OWNER)?;
    let on_event = options::optional_function(on_event, "onEvent", OWNER)?;
    let options = Options::new(options, OWNER)?;
    let opts = FilesystemRequestOpts::read(&options)?;
    let message = read_request(&envd, path, &options)?;
    let (on_exit, timeout_ms) = (options.function("onExit")?, options.whole("timeoutMs", 0)?.unwrap_or(0));

    let scope = Scope::of(opts.signal.as_ref())?;
    let clock = scope.arm(Clock::Request(opts.request_timeout_ms.or(envd.request_timeout_ms).unwrap_or(0)));
    let limit = (timeout_ms > 0).then_some(timeout_ms);
    let encode = |encoding| message.encode(encoding);
    let mut events = envd.open(&scope, &wire::WATCH_DIR, opts.user.as_deref(), &encode, limit).await?;
    let mut batch = Batch { encoding: events.encoding, started: false, events: Vec::new() };
    while !batch.started {
        let progress = events.read(&scope, &mut |payload| batch.take(payload)).await;
        if let Progress::Done = envd.explained(progress, Some(events.context)).await?
            && !batch.started
        {
            return Err(Error::protocol("The sandbox ended the stream without saying that it watches").into());
        }
    }
    drop(clock);
    let watch =
        Rc::new(Watch { envd, scope, on_event, on_exit, readers: RefCell::default(), finished: RefCell::default() });
    let (pumped, failed) = (watch.clone(), watch.clone());
    task::spawn(
        async move {
            let _clock = pumped.scope.arm(Clock::Lifetime(timeout_ms));
            let result = pumped.pump(events, batch).await;
            pumped.finish(result).await;
            Ok(())
        },
        move |failure| failed.settle(Err(failure)),
    );
    Ok(WatchHandle(watch).into())
}

impl Watch {
    async fn pump(&self, mut events: Events, mut batch: Batch) -> Result<(), Failure> {
        loop {
            for event in batch.events.drain(..) {
                self.deliver(&event).await?;
            }
            let progress = events.read(&self.scope, &mut |payload| batch.take(payload)).await;
            if let Progress::Done = self.envd.explained(progress, Some(events.context)).await? {
                return Ok(());
            }
        }
    }

    async fn deliver(&self, event: &JsValue) -> Result<(), Failure> {
        self.readers.borrow_mut().retain(|reader| !reader.is_closed());
        let readers = self.readers.borrow().clone();
        for reader in readers {
            self.scope.run(reader.ready()).await?;
            reader.push(event.clone());
        }
        let Some(callback) = &self.on_event else { return Ok(()) };
        let answer = callback.call1(&JsValue::UNDEFINED, event).map_err(Failure::Thrown)?;
        let awaited = self.scope.run(JsFuture::from(Promise::resolve(&answer))).await?;
        awaited.map_err(Failure::Thrown)?;
        match self.scope.ended() {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    /// Ends all readers, then tells `onExit`. What `onExit` throws has nobody left to hear it.
    async fn finish(&self, result: Result<(), Failure>) {
        let result = match result {
            Err(failure) if failure.has_code(code::DISCONNECTED) => Ok(()),
            result => result,
        };
        let error = result.as_ref().err().map_or(JsValue::UNDEFINED, |failure| failure.clone().into_js());
        self.settle(result);
        if let Some(callback) = &self.on_exit
            && let Ok(answer) = callback.call1(&JsValue::UNDEFINED, &error)
        {
            let _ = JsFuture::from(Promise::resolve(&answer)).await;
        }
    }

    fn settle(&self, result: Result<(), Failure>) {
        for reader in self.readers.take() {
            reader.finish(result.clone());
        }
        *self.finished.borrow_mut() = Some(result);
    }
}

/// The events of one network chunk.
struct Batch {
    encoding: Encoding,
    started: bool,
    events: Vec<JsValue>,
}

impl Batch {
    fn take(&mut self, payload: &[u8]) -> Result<(), Error> {
        match WatchEvent::decode(payload, self.encoding)? {
            WatchEvent::Start => self.started = true,
            WatchEvent::Filesystem(event) => self.events.extend(event_to_js(event)),
            WatchEvent::Keepalive | WatchEvent::Unknown => {}
        }
        Ok(())
    }
}

/// None for a type that is newer than this client.
fn event_to_js(event: wire::FilesystemEvent) -> Option<JsValue> {
    let kind = match event.event_type {
        EventType::Create => "create",
        EventType::Write => "write",
        EventType::Remove => "remove",
        EventType::Rename => "rename",
        EventType::Chmod => "chmod",
        EventType::Unknown(_) => return None,
    };
    Some(types::to_js(&FilesystemEvent { name: event.name, kind, entry: event.entry.map(|entry| entry_info(*entry)) }))
}

/// A watched directory whose events are fetched on request.
#[wasm_bindgen]
pub struct DirPoller {
    envd: Rc<Envd>,
    id: String,
    user: Option<String>,
}

/// `files.pollDir`.
pub(super) fn poll_dir(envd: Rc<Envd>, path: JsValue, options: JsValue) -> Promise {
    const OWNER: &str = "files.pollDir";
    let watched = envd.clone();
    // Who asks is known when the call is prepared, and needed when it is answered.
    let user = Rc::new(OnceCell::new());
    let asking = user.clone();
    let prepare = move |envd: &Envd| {
        let path = options::required_string(&path, "path", OWNER)?;
        let options = Options::new(options, OWNER)?;
        let opts = FilesystemRequestOpts::read(&options)?;
        let message = read_request(envd, path, &options)?;
        let call = Call::begin(&opts.request(), envd.request_timeout_ms)?;
        let _ = asking.set(opts.user.clone());
        let message = Box::new(move |encoding| message.encode(encoding));
        Ok(Unary { call, rpc: wire::CREATE_WATCHER, user: opts.user, message })
    };
    unary::promise(envd, prepare, move |answer| {
        let (body, encoding) = answer?;
        let id = wire::decode_watcher_id(&body, encoding)?;
        Ok(DirPoller { envd: watched, id, user: user.get().cloned().flatten() }.into())
    })
}

impl DirPoller {
    fn ask(&self, rpc: Rpc, opts: JsValue, owner: &'static str, read: fn(Answer) -> task::Outcome) -> Promise {
        let (watcher_id, user) = (self.id.clone(), self.user.clone());
        let prepare = move |envd: &Envd| {
            let call = Call::start(opts, owner, envd.request_timeout_ms)?;
            let message = WatcherRequest { watcher_id };
            Ok(Unary { call, rpc, user, message: Box::new(move |encoding| message.encode(encoding)) })
        };
        unary::promise(self.envd.clone(), prepare, read)
    }
}

#[wasm_bindgen]
impl DirPoller {
    /// What has changed since the last call, or since the start.
    #[wasm_bindgen(js_name = getNewEvents, unchecked_return_type = "Promise<FilesystemEvent[]>")]
    pub fn get_new_events(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        self.ask(wire::GET_WATCHER_EVENTS, opts, "getNewEvents", |answer| {
            let (body, encoding) = answer?;
            let events = wire::decode_watcher_events(&body, encoding)?;
            Ok(events.into_iter().filter_map(event_to_js).collect::<js_sys::Array>().into())
        })
    }

    /// Ends the watcher. Until then the sandbox keeps its events, without a limit. Stopping twice is no error.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn stop(&self, #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue) -> Promise {
        self.ask(wire::REMOVE_WATCHER, opts, "stop", |answer| match answer {
            Ok(_) => Ok(JsValue::UNDEFINED),
            Err(failure) if failure.has_code(code::FILE_NOT_FOUND) => Ok(JsValue::UNDEFINED),
            Err(failure) => Err(failure),
        })
    }
}
