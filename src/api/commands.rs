//! `sandbox.commands`: starting, finding and feeding commands.

use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::call::{Call, RequestOpts};
use super::command_opts::{CommandConnectOpts, CommandStartOpts};
use super::durable::Spool;
use super::envd::Envd;
use super::handle::CommandHandle;
use super::input;
use super::options::{self, Options};
use super::output::Sinks;
use super::process::{OnAbort, Opening, launch};
use super::types::{self, ProcessInfo, StringRecord};
use super::unary::{self, Unary};
use crate::error::Error;
use crate::protocol::process::{self, ConnectRequest, Input, ListRequest, StartRequest};
use crate::protocol::version::Feature;
use crate::transport::task;

/// How long a foreground command may run unless the caller says otherwise, in milliseconds.
const FOREGROUND_MS: u64 = 60_000;

/// The commands of a sandbox.
#[wasm_bindgen]
pub struct Commands(Rc<Envd>);

impl Commands {
    pub(super) fn new(envd: Rc<Envd>) -> Self {
        Commands(envd)
    }

    pub(super) fn envd(&self) -> Rc<Envd> {
        self.0.clone()
    }
}

#[wasm_bindgen]
impl Commands {
    #[wasm_bindgen(skip_typescript)]
    pub fn run(&self, cmd: JsValue, opts: JsValue) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let cmd = read_command(&cmd)?;
            let options = Options::new(opts, "commands.run")?;
            let opts = CommandStartOpts::read(&options)?;
            run(envd, cmd, opts, &options).await
        })
    }

    /// Listens to a process that runs already. Nothing is replayed: output is that from now on.
    ///
    /// Rejects with a `NotFoundError` when there is no such process.
    #[wasm_bindgen(unchecked_return_type = "Promise<CommandHandle>")]
    pub fn connect(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number | { tag: string }")] pid: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "CommandConnectOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let process = input::read_selector(&pid, "commands.connect")?;
            let opts = CommandConnectOpts::read(&Options::new(opts, "commands.connect")?)?;
            let message = ConnectRequest { process };
            let opening = Opening {
                rpc: process::CONNECT,
                user: None,
                encode: Box::new(move |encoding| message.encode(encoding)),
                timeout_ms: opts.timeout_ms.unwrap_or(0),
                on_abort: OnAbort::Leave,
                is_pty: false,
                spool: None,
                recovery: opts.reconnect,
            };
            let request = RequestOpts { request_timeout_ms: opts.request_timeout_ms, signal: opts.signal };
            let process = launch(envd, opening, opts.output.into_sinks(), request).await?;
            Ok(CommandHandle::new(process, true).into())
        })
    }

    /// The processes that run now, terminals and those of other clients included.
    #[wasm_bindgen(unchecked_return_type = "Promise<ProcessInfo[]>")]
    pub fn list(&self, #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue) -> Promise {
        let prepare = |envd: &Envd| {
            let call = Call::start(opts, "commands.list", envd.request_timeout_ms)?;
            let message = Box::new(|encoding| ListRequest.encode(encoding));
            Ok(Unary { call, rpc: process::LIST, user: None, message })
        };
        unary::promise(self.0.clone(), prepare, |answer| {
            let (body, encoding) = answer?;
            let processes = process::decode_list(&body, encoding)?;
            let infos: Vec<ProcessInfo> = processes.into_iter().map(process_info).collect();
            Ok(types::to_js(&infos))
        })
    }

    /// Sends a signal to a process: SIGKILL, or what `killSignal` says. Resolves to false when there is no such process.
    /// Does not wait for its end.
    #[wasm_bindgen(unchecked_return_type = "Promise<boolean>")]
    pub fn kill(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number | { tag: string }")] pid: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "CommandKillOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let process = input::read_selector(&pid, "commands.kill")?;
            let options = Options::new(opts, "commands.kill")?;
            let signal = input::read_signal(&options)?;
            let call = Call::begin(&RequestOpts::read(&options)?, envd.request_timeout_ms)?;
            Ok(input::signal(&envd, process, signal, &call).await?.into())
        })
    }

    /// Writes to the standard input of a process that was started with `stdin: true`.
    ///
    /// Rejects with a `NotFoundError` when there is no such process.
    #[wasm_bindgen(js_name = sendStdin, unchecked_return_type = "Promise<void>")]
    pub fn send_stdin(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number | { tag: string }")] pid: JsValue,
        #[wasm_bindgen(unchecked_param_type = "string | Uint8Array | ArrayBuffer")] data: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let call = Call::start(opts, "commands.sendStdin", envd.request_timeout_ms)?;
            let process = input::read_selector(&pid, "commands.sendStdin")?;
            let data = options::bytes(&data, "data", "commands.sendStdin")?;
            input::send(&envd, process, Input::Stdin(&data), &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Ends the standard input of a process: it reads end of file.
    #[wasm_bindgen(js_name = closeStdin, unchecked_return_type = "Promise<void>")]
    pub fn close_stdin(
        &self,
        #[wasm_bindgen(unchecked_param_type = "number | { tag: string }")] pid: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let envd = self.0.clone();
        task::promise(async move {
            let call = Call::start(opts, "commands.closeStdin", envd.request_timeout_ms)?;
            let process = input::read_selector(&pid, "commands.closeStdin")?;
            input::close_stdin(&envd, process, &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }
}

// Overloads and conditional results are beyond what the bindings can say.
#[wasm_bindgen(typescript_custom_section)]
const RUN: &str = r#"
export interface Commands {
    /**
     * Runs a command and waits for its end. A string is a command line for a login shell (`bash -l -c`); an array is a
     * program and its arguments, run as they are, without a shell.
     *
     * Rejects with a `CommandExitError` for an exit code other than 0 (a program that does not exist is code 127), with a
     * `TimeoutError` of code `deadline_exceeded` when `timeoutMs` ran out and the command was killed, and with an
     * `InvalidArgumentError` when `cwd` does not exist.
     */
    run(cmd: string | string[], opts?: CommandStartOpts & { background?: false }): Promise<CommandResult>;
    /** Starts a command and answers a handle as soon as it runs. */
    run(cmd: string | string[], opts: CommandStartOpts & { background: true }): Promise<CommandHandle>;
    /** The same, where `background` is only known at run time. */
    run(cmd: string | string[], opts?: CommandStartOpts): Promise<CommandResult | CommandHandle>;
}
"#;

/// The program and its arguments: a command line for a login shell, or an array that is run as it is.
fn read_command(cmd: &JsValue) -> Result<(String, Vec<String>), Error> {
    if !js_sys::Array::is_array(cmd) {
        let line = options::required_string(cmd, "cmd", "commands.run")?;
        return Ok(("/bin/bash".to_owned(), vec!["-l".to_owned(), "-c".to_owned(), line]));
    }
    let words: Option<Vec<String>> = js_sys::Array::from(cmd).iter().map(|word| word.as_string()).collect();
    let mut words = words.unwrap_or_default().into_iter();
    match words.next() {
        Some(program) if !program.is_empty() => Ok((program, words.collect())),
        _ => Err(Error::invalid_argument(
            "cmd of commands.run must be a string, or an array of strings that starts with the program",
        )),
    }
}

async fn run(
    envd: Rc<Envd>,
    (cmd, args): (String, Vec<String>),
    opts: CommandStartOpts,
    options: &Options<'_>,
) -> task::Outcome {
    if opts.stdin == Some(false) {
        envd.version.require(Feature::StdinOption)?;
    }
    let background = opts.background.unwrap_or(false);
    let timeout_ms = opts.timeout_ms.unwrap_or(if background { 0 } else { FOREGROUND_MS });
    let mut message = StartRequest {
        cmd,
        args,
        tag: opts.tag,
        envs: opts.envs.unwrap_or_default(),
        cwd: opts.cwd,
        stdin: Some(opts.stdin.unwrap_or(false)),
        ..StartRequest::default()
    };
    let spool = match opts.durable {
        Some(true) => Some(Rc::new(Spool::new(options, opts.user.clone(), timeout_ms, &mut message)?)),
        _ => None,
    };
    let opening = Opening {
        rpc: process::START,
        user: opts.user,
        encode: Box::new(move |encoding| message.encode(encoding)),
        // The spooler keeps the time of a durable command, because nothing may end the spooler itself.
        timeout_ms: if spool.is_some() { 0 } else { timeout_ms },
        on_abort: if background { OnAbort::KillUnlessHandedOver } else { OnAbort::Kill },
        is_pty: false,
        spool,
        recovery: opts.reconnect,
    };
    let check = opts.check.unwrap_or(true);
    let request = RequestOpts { request_timeout_ms: opts.request_timeout_ms, signal: opts.signal };
    let sinks = Sinks { token: opts.on_token, ..opts.output.into_sinks() };
    let process = launch(envd, opening, sinks, request).await?;
    if background { Ok(CommandHandle::new(process, check).into()) } else { process.wait(check).await }
}

fn process_info(process: process::ProcessInfo) -> ProcessInfo {
    ProcessInfo {
        pid: process.pid,
        tag: process.tag,
        cmd: process.cmd,
        args: process.args,
        envs: StringRecord(process.envs),
        cwd: process.cwd,
    }
}
