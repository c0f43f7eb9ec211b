//! `CommandHandle`: a command as its caller holds it.

use std::rc::Rc;

use js_sys::{JsString, Promise};
use wasm_bindgen::prelude::*;

use super::call::{Call, RequestOpts};
use super::durable;
use super::input;
use super::options::{self, Options};
use super::process::Process;
use super::pty;
use crate::error::{Error, Kind, code};
use crate::protocol::process::Input;
use crate::transport::{Channel, task};

/// A running command.
///
/// Its output is read from the moment the handle exists, whether or not anybody waits. Nothing that goes wrong in the
/// background is lost: `wait()` tells.
#[wasm_bindgen]
pub struct CommandHandle {
    process: Rc<Process>,
    /// Whether `wait` rejects for an exit code other than 0.
    check: bool,
}

impl CommandHandle {
    pub(super) fn new(process: Rc<Process>, check: bool) -> Self {
        CommandHandle { process, check }
    }
}

#[wasm_bindgen]
impl CommandHandle {
    /// The process id inside the sandbox; of a durable command, that of the shell that keeps its output.
    #[wasm_bindgen(getter)]
    pub fn pid(&self) -> u32 {
        self.process.pid.get()
    }

    /// Standard output so far.
    #[wasm_bindgen(getter)]
    pub fn stdout(&self) -> JsString {
        self.process.output.stdout()
    }

    /// Standard error so far.
    #[wasm_bindgen(getter)]
    pub fn stderr(&self) -> JsString {
        self.process.output.stderr()
    }

    /// The exit code: undefined while the command runs, -1 when a signal ended it.
    #[wasm_bindgen(getter, js_name = exitCode)]
    pub fn exit_code(&self) -> Option<i32> {
        self.process.outcome.get()?.ok().map(|end| end.exit_code)
    }

    /// Which output of a durable command was consumed, for `commands.attach`; undefined for other commands. A piece counts once
    /// the callbacks it was given to have finished and the loops it was given to have come back for more.
    #[wasm_bindgen(getter, unchecked_return_type = "CommandToken | undefined")]
    pub fn token(&self) -> JsValue {
        durable::token_to_js(&self.process)
    }

    /// How often the connection was lost and output may be missing, see `reconnectMs`. Always 0 for a durable command.
    #[wasm_bindgen(getter)]
    pub fn gaps(&self) -> u32 {
        self.process.gaps.get()
    }

    /// How the sandbox describes an end other than exit code 0; undefined while the command runs.
    #[wasm_bindgen(getter)]
    pub fn error(&self) -> Option<String> {
        self.process.outcome.get()?.ok()?.error
    }

    /// Waits for the command to end. May be called any number of times.
    ///
    /// Rejects with a `CommandExitError` for an exit code other than 0, with the error of a stream that failed (its
    /// `stdout` and `stderr` hold what had arrived), with what a callback threw, or, after `disconnect()`, with a
    /// `SandboxError` of code `disconnected`.
    #[wasm_bindgen(unchecked_return_type = "Promise<CommandResult>")]
    pub fn wait(&self) -> Promise {
        let (process, check) = (self.process.clone(), self.check);
        task::promise(async move { process.wait(check).await })
    }

    /// Sends a signal: SIGKILL, or what `killSignal` says. Resolves to false when the process has ended already. Does not
    /// wait for the end.
    #[wasm_bindgen(unchecked_return_type = "Promise<boolean>")]
    pub fn kill(&self, #[wasm_bindgen(unchecked_optional_param_type = "CommandKillOpts")] opts: JsValue) -> Promise {
        let process = self.process.clone();
        task::promise(async move {
            let options = Options::new(opts, "kill")?;
            let signal = input::read_signal(&options)?;
            let call = Call::begin(&RequestOpts::read(&options)?, process.envd.request_timeout_ms)?;
            Ok(process.signal(signal, &call).await?.into())
        })
    }

    /// Stops listening and leaves the process running; `commands.connect(pid)` listens again, and `commands.attach(token)` goes on
    /// with a durable command. Nothing is delivered after
    /// this call.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn disconnect(&self) -> Promise {
        let message = match &self.process.spool {
            Some(_) => {
                "disconnect() was called, so the end of the command is not known here. Go on with commands.attach(token)"
            }
            None => {
                "disconnect() was called, so the end of the command is not known here. Listen again with \
                 commands.connect(pid)"
            }
        };
        self.process.scope.end(Error::new(Kind::Sandbox, code::DISCONNECTED, message).into());
        task::promise(async { Ok(JsValue::UNDEFINED) })
    }

    /// Writes to standard input, or to the terminal. A command must have been started with `stdin: true`.
    #[wasm_bindgen(js_name = sendStdin, unchecked_return_type = "Promise<void>")]
    pub fn send_stdin(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string | Uint8Array | ArrayBuffer")] data: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let process = self.process.clone();
        task::promise(async move {
            let data = options::bytes(&data, "data", "sendStdin")?;
            let call = process.call(opts, "sendStdin")?;
            let input = if process.is_pty { Input::Pty(&data) } else { Input::Stdin(&data) };
            input::send(&process.envd, process.selector(), input, &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Ends standard input: the command reads end of file.
    #[wasm_bindgen(js_name = closeStdin, unchecked_return_type = "Promise<void>")]
    pub fn close_stdin(&self, #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue) -> Promise {
        let process = self.process.clone();
        task::promise(async move {
            let call = process.call(opts, "closeStdin")?;
            input::close_stdin(&process.envd, process.selector(), &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    /// Changes the size of the terminal. Rejects for a command without one.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn resize(
        &self,
        #[wasm_bindgen(unchecked_param_type = "PtySize")] size: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let process = self.process.clone();
        task::promise(async move {
            let size = pty::read_size(size, "resize")?;
            let call = process.call(opts, "resize")?;
            input::resize(&process.envd, process.selector(), size, &call).await?;
            Ok(JsValue::UNDEFINED)
        })
    }

    #[wasm_bindgen(js_name = _reader, skip_typescript)]
    pub fn reader(&self) -> OutputReader {
        OutputReader(self.process.output.subscribe())
    }
}

// `js/classes.js` builds these on `_reader`, `sendStdin` and `closeStdin`.
#[wasm_bindgen(typescript_custom_section)]
const STREAMS: &str = r#"
/** A piece of output: text of a command, bytes of a terminal. */
export type OutputChunk = { type: "stdout" | "stderr"; data: string } | { type: "pty"; data: Uint8Array<ArrayBuffer> };

export interface CommandHandle extends AsyncIterable<OutputChunk> {
    /**
     * Output as it comes, for `for await`; what had arrived before comes first. Ends with the command, whatever its exit
     * code, and throws what a failing stream fails with. A slow reader slows the command down; leaving the loop does not end
     * the command.
     */
    [Symbol.asyncIterator](): AsyncIterator<OutputChunk, undefined, undefined>;
    /** The same as a stream. Each call makes another. */
    readable(): ReadableStream<OutputChunk>;
    /** Standard input as a stream: closing it closes standard input. Each access makes another. */
    readonly stdin: WritableStream<string | Uint8Array>;
    /** Stops listening and leaves the process running: `await using handle = …`. */
    [Symbol.asyncDispose](): Promise<void>;
}
"#;

/// One reader of output or events; `js/classes.js` makes an iterator of it.
#[wasm_bindgen(skip_typescript)]
pub struct OutputReader(Channel);

impl OutputReader {
    pub(super) fn new(channel: Channel) -> Self {
        OutputReader(channel)
    }
}

#[wasm_bindgen]
impl OutputReader {
    #[wasm_bindgen(skip_typescript)]
    pub fn next(&self) -> Promise {
        let channel = self.0.clone();
        task::promise(async move { Ok(channel.next().await?.unwrap_or(JsValue::UNDEFINED)) })
    }

    #[wasm_bindgen(skip_typescript)]
    pub fn close(&self) {
        self.0.close();
    }
}
