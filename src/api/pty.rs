//! `sandbox.pty`: terminals.

use std::rc::Rc;

use js_sys::{Function, Promise};
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::call::{Call, RequestOpts};
use super::envd::Envd;
use super::handle::CommandHandle;
use super::input;
use super::options::{self, Options};
use super::output::Sinks;
use super::process::{OnAbort, Opening, launch};
use super::recovery::CommandReconnectOpts;
use crate::error::Error;
use crate::protocol::message::StringMap;
use crate::protocol::process::{self, ConnectRequest, Input, Selector, Signal, StartRequest};
use crate::transport::{Failure, task};

/// The size of a terminal in character cells.
#[derive(Tsify)]
pub struct PtySize {
    pub cols: u32,
    pub rows: u32,
}

/// The largest size a terminal can have in either direction: the kernel keeps 16 bits.
const LARGEST: u32 = u16::MAX as u32;

pub(super) fn read_size(size: JsValue, owner: &'static str) -> Result<process::PtySize, Error> {
    let size = Options::new(size, owner)?;
    let read = |name| {
        size.count(name, LARGEST)?
            .ok_or_else(|| Error::invalid_argument(format!("{owner} needs {name}: the size of the terminal")))
    };
    Ok(process::PtySize { cols: read("cols")?, rows: read("rows")? })
}

/// Options of `pty.create`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct PtyCreateOpts {
    pub cols: u32,
    pub rows: u32,
    /// Called with each piece of output, in order. Awaited before the next piece, which slows a flood down.
    #[tsify(optional, type = "(data: Uint8Array<ArrayBuffer>) => void | Promise<void>")]
    pub on_data: Option<Function>,
    /// The user whose shell it is. Default: the sandbox's default user.
    #[tsify(optional, type = "string")]
    pub user: Option<String>,
    /// Working directory. Default: the user's home directory.
    #[tsify(optional, type = "string")]
    pub cwd: Option<String>,
    /// Environment variables. `TERM` is `xterm-256color`, `LANG` and `LC_ALL` are `C.UTF-8` unless given.
    #[tsify(optional, type = "Record<string, string>")]
    pub envs: Option<StringMap>,
    /// Kills the shell after so many milliseconds. Default 0: no limit.
    #[tsify(optional, type = "number")]
    pub timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub request: RequestOpts,
}

/// Options of `pty.connect`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct PtyConnectOpts {
    /// Called with each piece of output from now on, in order.
    #[tsify(optional, type = "(data: Uint8Array<ArrayBuffer>) => void | Promise<void>")]
    pub on_data: Option<Function>,
    /// Stops listening after so many milliseconds; the shell is left running. Default 0: no limit.
    #[tsify(optional, type = "number")]
    pub timeout_ms: Option<u64>,
    #[serde(flatten)]
    pub request: RequestOpts,
}

/// What a shell on a terminal needs to know, unless the caller says otherwise.
const ENVIRONMENT: [(&str, &str); 3] = [("TERM", "xterm-256color"), ("LANG", "C.UTF-8"), ("LC_ALL", "C.UTF-8")];

/// The terminals of a sandbox.
#[wasm_bindgen]
pub struct Pty(Rc<Envd>);

impl Pty {
    pub(super) fn new(envd: Rc<Envd>) -> Self {
        Pty(envd)
    }
}

#[wasm_bindgen]
impl Pty {
    /// Starts a login shell on a terminal. Output goes to `onData`, or to whoever iterates over the handle. The handle's `sendStdin` and `resize` work on it, and so do `for await` and
    /// `wait()`, which rejects with a `CommandExitError` when the shell ends with a code other than 0.
    #[wasm_bindgen(unchecked_return_type = "Promise<CommandHandle>")]
    pub fn create(&self, #[wasm_bindgen(unchecked_param_type = "PtyCreateOpts")] opts: JsValue) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let size = read_size(opts.clone(), "pty.create")?;
            let options = Options::new(opts, "pty.create")?;
            let mut envs = options.string_map("envs")?.unwrap_or_default();
            for (name, value) in ENVIRONMENT {
                if !envs.iter().any(|(given, _)| given == name) {
                    envs.push((name.to_owned(), value.to_owned()));
                }
            }
            let message = StartRequest {
                cmd: "/bin/bash".to_owned(),
                args: vec!["-i".to_owned(), "-l".to_owned()],
                envs,
                cwd: options.string("cwd")?,
                pty: Some(size),
                ..StartRequest::default()
            };
            let opening = Opening {
                rpc: process::START,
                user: options.string("user")?,
                encode: Box::new(move |encoding| message.encode(encoding)),
                timeout_ms: options.whole("timeoutMs", 0)?.unwrap_or(0),
                on_abort: OnAbort::KillUnlessHandedOver,
                is_pty: true,
                spool: None,
                recovery: CommandReconnectOpts::default(),
            };
            open(envd, opening, &options).await
        })
    }

    /// Listens to a terminal that is open already. Nothing is replayed; resize it to have the program draw again.
    #[wasm_bindgen(unchecked_return_type = "Promise<CommandHandle>")]
    pub fn connect(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number")] pid: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "PtyConnectOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let message = ConnectRequest { process: read_pid(&pid, "pty.connect")? };
            let options = Options::new(opts, "pty.connect")?;
            let opening = Opening {
                rpc: process::CONNECT,
                user: None,
                encode: Box::new(move |encoding| message.encode(encoding)),
                timeout_ms: options.whole("timeoutMs", 0)?.unwrap_or(0),
                on_abort: OnAbort::Leave,
                is_pty: true,
                spool: None,
                recovery: CommandReconnectOpts::default(),
            };
            open(envd, opening, &options).await
        })
    }

    /// Types into a terminal.
    #[wasm_bindgen(js_name = sendInput, unchecked_return_type = "Promise<void>")]
    pub fn send_input(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number")] pid: JsValue,
        #[wasm_bindgen(unchecked_param_type = "string | Uint8Array | ArrayBuffer")] data: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let process = read_pid(&pid, "pty.sendInput")?;
            let data = options::bytes(&data, "data", "pty.sendInput")?;
            let call = Call::start(opts, "pty.sendInput", envd.request_timeout_ms)?;
            input::send(&envd, process, Input::Pty(&data), &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Changes the size of a terminal.
    ///
    /// Rejects with a `NotFoundError` when there is no such process.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn resize(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number")] pid: JsValue,
        #[wasm_bindgen(unchecked_param_type = "PtySize")] size: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let process = read_pid(&pid, "pty.resize")?;
            let size = read_size(size, "pty.resize")?;
            let call = Call::start(opts, "pty.resize", envd.request_timeout_ms)?;
            input::resize(&envd, process, size, &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Kills the shell. Resolves to false when there is no such process.
    #[wasm_bindgen(unchecked_return_type = "Promise<boolean>")]
    pub fn kill(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number")] pid: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let process = read_pid(&pid, "pty.kill")?;
            let call = Call::start(opts, "pty.kill", envd.request_timeout_ms)?;
            Ok(input::signal(&envd, process, Signal::Kill, &call).await?.into())
        })
    }
}

async fn open(envd: Rc<Envd>, opening: Opening, options: &Options<'_>) -> task::Outcome {
    let sinks = Sinks { pty: options.function("onData")?, ..Sinks::default() };
    let process = launch(envd, opening, sinks, RequestOpts::read(options)?).await?;
    Ok(CommandHandle::new(process, true).into())
}

fn read_pid(pid: &JsValue, owner: &'static str) -> Result<Selector, Failure> {
    Ok(Selector::Pid(options::required_whole(pid, "pid", owner, u32::MAX)?))
}
