//! `runCode` and `streamCode`: one run of code, from its request to its `Execution`.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Function, Object, Promise, Reflect};
use tsify::Tsify;
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

use super::call::RequestOpts;
use super::execution::{Recorder, Step, StepKind};
use super::interpreter::{self, Interpreter};
use super::options::{self, Options};
use super::output;
use super::sandbox::Sandbox;
use crate::error::{Error, Kind, code};
use crate::protocol::interpreter::{self as wire, Answer, DEFAULT_MAX_LINE, Execute};
use crate::protocol::message::StringMap;
use crate::protocol::rpc::Endpoint;
use crate::transport::{Channel, Clock, Failure, Response, Scope, Slot, host, task};

/// How long code may run unless the caller says otherwise, in milliseconds.
const DEFAULT_TIMEOUT_MS: u64 = 60_000;

/// How long a body may take to end after its end marker, before it is cut, in milliseconds.
const TRAILER_MS: u32 = 1_000;

/// How many events may wait for a reader before no more are read.
const READER_CAPACITY: usize = 64;

/// Options of `runCode` and `streamCode`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct RunCodeOpts {
    /// Runs in the default context of this language. Default `"python"`. Not together with `context`.
    #[tsify(optional, type = "RunCodeLanguage")]
    pub language: Option<String>,
    /// Runs in this context, of `createCodeContext`.
    #[tsify(optional, type = "Context | string")]
    pub context: Option<String>,
    /// Environment variables of this run alone.
    #[tsify(optional, type = "Record<string, string>")]
    pub envs: Option<StringMap>,
    /// Called with each piece of standard output. All callbacks are called in order and awaited one at a time; one that
    /// throws ends the run, and the call rejects with what it threw.
    #[tsify(optional, type = "(output: OutputMessage) => void | Promise<void>")]
    pub on_stdout: Option<Function>,
    /// Called with each piece of standard error.
    #[tsify(optional, type = "(output: OutputMessage) => void | Promise<void>")]
    pub on_stderr: Option<Function>,
    /// Called with everything that is displayed, and with the value of the last expression.
    #[tsify(optional, type = "(result: Result) => void | Promise<void>")]
    pub on_result: Option<Function>,
    /// Called when the code fails.
    #[tsify(optional, type = "(error: ExecutionError) => void | Promise<void>")]
    pub on_error: Option<Function>,
    /// Whether the execution keeps output and results. With false it has only the error and the count, and memory stays flat
    /// however much the code writes. Default true.
    #[tsify(optional, type = "boolean")]
    pub collect: Option<bool>,
    /// The longest event that is accepted, in bytes: a whole result with its images is one. Default 268 435 456 (256 MiB).
    #[tsify(optional, type = "number")]
    pub max_event_bytes: Option<u32>,
    /// Interrupts the code after so many milliseconds; 0 means no limit. Default 60 000.
    #[tsify(optional, type = "number")]
    pub timeout_ms: Option<u64>,
    /// Limits how long the answer may take to begin, in milliseconds. Default 60 000; 0 means no limit.
    #[tsify(optional, type = "number")]
    pub request_timeout_ms: Option<u64>,
    /// Interrupts the code: the call rejects with `signal.reason`. The context stays usable.
    #[tsify(optional, type = "AbortSignal")]
    pub signal: Option<AbortSignal>,
}

impl RunCodeOpts {
    fn read(options: &Options) -> Result<Self, Error> {
        let RequestOpts { request_timeout_ms, signal } = RequestOpts::read(options)?;
        let context = options.get("context").map(|context| interpreter::context_id(&context)).transpose()?;
        Ok(RunCodeOpts {
            language: options.string("language")?,
            context,
            envs: options.string_map("envs")?,
            on_stdout: options.function("onStdout")?,
            on_stderr: options.function("onStderr")?,
            on_result: options.function("onResult")?,
            on_error: options.function("onError")?,
            collect: options.boolean("collect")?,
            max_event_bytes: options.count("maxEventBytes", i32::MAX as u32)?,
            timeout_ms: options.whole("timeoutMs", 0)?,
            request_timeout_ms,
            signal,
        })
    }
}

/// Who is told about events.
struct Callbacks {
    stdout: Option<Function>,
    stderr: Option<Function>,
    result: Option<Function>,
    error: Option<Function>,
}

impl Callbacks {
    fn of(&self, kind: StepKind) -> &Option<Function> {
        match kind {
            StepKind::Stdout => &self.stdout,
            StepKind::Stderr => &self.stderr,
            StepKind::Result => &self.result,
            StepKind::Error => &self.error,
            StepKind::Count => &None,
        }
    }
}

/// A run whose arguments were checked.
struct Run {
    execute: Execute,
    interpreter: Rc<Interpreter>,
    scope: Scope,
    signal: Option<AbortSignal>,
    recorder: Recorder,
    callbacks: Callbacks,
    /// Where `streamCode` takes its events from.
    channel: Option<Channel>,
    max_line: usize,
    /// Until the answer begins; 0: no limit.
    request_timeout_ms: u64,
    /// From then on; 0: no limit.
    timeout_ms: u64,
}

impl Run {
    /// Checks the arguments. `owner` names the method in errors.
    fn prepare(
        interpreter: Rc<Interpreter>,
        scope: Scope,
        code: &JsValue,
        opts: JsValue,
        owner: &'static str,
        channel: Option<Channel>,
    ) -> Result<Run, Error> {
        let Some(code) = code.as_string() else {
            let kind = options::kind(code);
            return Err(Error::invalid_argument(format!("code of {owner} must be a string, not {kind}")));
        };
        let opts = RunCodeOpts::read(&Options::new(opts, owner)?)?;
        let execute = Execute { code, context_id: opts.context, language: opts.language, envs: opts.envs };
        execute.check()?;
        let request_timeout_ms = opts.request_timeout_ms.or(interpreter.envd.request_timeout_ms).unwrap_or(0);
        Ok(Run {
            execute,
            interpreter,
            scope,
            signal: opts.signal,
            recorder: Recorder::new(opts.collect.unwrap_or(true)),
            callbacks: Callbacks {
                stdout: opts.on_stdout,
                stderr: opts.on_stderr,
                result: opts.on_result,
                error: opts.on_error,
            },
            channel,
            max_line: opts.max_event_bytes.map_or(DEFAULT_MAX_LINE, |bytes| bytes as usize),
            request_timeout_ms,
            timeout_ms: opts.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS),
        })
    }

    /// Sends the request and delivers everything. Answers the `Execution`, or fails with an error that holds it.
    async fn drive(&self) -> task::Outcome {
        if let Some(signal) = &self.signal {
            self.scope.listen(signal)?;
        }
        self.interpreter.calm(&self.scope).await?;
        let clock = self.scope.arm(Clock::Request(self.request_timeout_ms));
        let request = |endpoint: &Endpoint| wire::execute(endpoint, &self.execute);
        let opened = self.interpreter.open(&self.scope, &request).await;
        if self.scope.ended().is_some() {
            self.interpreter.interrupted();
        }
        let response = opened?;
        drop(clock);
        let _clock = self.scope.arm(Clock::Execution(self.timeout_ms));
        match self.read(response).await {
            Ok(()) => Ok(self.recorder.execution.clone()),
            Err(failure) => {
                // There is no other way to interrupt the kernel than to close the connection.
                self.scope.end(failure.clone());
                self.interpreter.interrupted();
                Err(self.with_execution(failure))
            }
        }
    }

    async fn read(&self, response: Response) -> Result<(), Failure> {
        let mut body = response.body;
        let mut answer = Answer::with_max_line(self.max_line);
        loop {
            let chunk = self.interpreter.explained(body.next(&self.scope).await).await?;
            match &chunk {
                Some(chunk) => answer.push_with(chunk.length() as usize, |buffer| chunk.copy_to(buffer)),
                None => answer.close(),
            }
            loop {
                let event = match answer.next() {
                    Ok(Some(event)) => event,
                    Ok(None) => break,
                    Err(error) => return self.interpreter.explained(Err(error.into())).await,
                };
                if let Some(step) = self.recorder.take(event)? {
                    self.deliver(step).await?;
                }
            }
            if answer.is_ended() {
                body.finish(TRAILER_MS);
                return Ok(());
            }
            if chunk.is_none() {
                return self.interpreter.explained(answer.finish().map_err(Failure::from)).await;
            }
        }
    }

    async fn deliver(&self, step: Step) -> Result<(), Failure> {
        output::call(&self.scope, self.callbacks.of(step.kind), &step.data).await?;
        if let Some(channel) = self.channel.as_ref().filter(|channel| !channel.is_closed()) {
            self.scope.run(channel.ready()).await?;
            channel.push(event(step));
        }
        Ok(())
    }

    /// Puts what arrived on our own error. A value of the caller's own stays as it is.
    fn with_execution(&self, failure: Failure) -> Failure {
        if let Failure::Thrown(_) = failure {
            return failure;
        }
        let error = failure.into_js();
        // Setting a property of an error that was just made cannot fail.
        let _ = Reflect::set(&error, &"execution".into(), &self.recorder.execution);
        Failure::Thrown(error)
    }
}

/// An `ExecutionEvent`.
fn event(step: Step) -> JsValue {
    let event = Object::new();
    // Setting a property of a fresh plain object cannot fail.
    let _ = Reflect::set(&event, &"type".into(), &step.kind.name().into());
    let _ = Reflect::set(&event, &"data".into(), &step.data);
    event.into()
}

/// Code that runs, as `streamCode` hands it out.
#[wasm_bindgen]
pub struct CodeRun {
    scope: Scope,
    channel: Channel,
    outcome: Slot<task::Outcome>,
    /// Whether somebody reads the events. Otherwise `result` drops them, so that they hold nothing up.
    is_read: Cell<bool>,
}

#[wasm_bindgen]
impl CodeRun {
    /// Waits for the end of the run. May be called any number of times, during or after the iteration; without an iteration
    /// it reads everything itself.
    ///
    /// Rejects like `runCode`, and with a `SandboxError` of code `disconnected` after `cancel()` or when the loop was left.
    #[wasm_bindgen(unchecked_return_type = "Promise<Execution>")]
    pub fn result(&self) -> Promise {
        if !self.is_read.get() {
            self.channel.close();
        }
        let outcome = self.outcome.clone();
        task::promise(async move { outcome.wait().await })
    }

    /// Interrupts the code: an iteration ends, and `result()` rejects. Does nothing once the run has ended.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn cancel(&self) -> Promise {
        self.channel.close();
        if self.outcome.get().is_none() {
            let message = "The run was cancelled, or its iteration was left, before the code had ended";
            self.scope.end(Error::new(Kind::Sandbox, code::DISCONNECTED, message).into());
        }
        task::promise(async { Ok(JsValue::UNDEFINED) })
    }

    #[wasm_bindgen(js_name = _next, skip_typescript)]
    pub fn next(&self) -> Promise {
        self.is_read.set(true);
        let channel = self.channel.clone();
        task::promise(async move { Ok(channel.next().await?.unwrap_or(JsValue::UNDEFINED)) })
    }

    /// The iteration was left, or is over. One that never had events, because `result` has dropped them, ends nothing.
    #[wasm_bindgen(js_name = _leave, skip_typescript)]
    pub fn leave(&self) {
        if !self.channel.is_closed() {
            host::ignore(&self.cancel());
        }
    }
}

impl Drop for CodeRun {
    /// Nobody can read the events any more, and without room for them the run would wait for ever.
    fn drop(&mut self) {
        self.leave();
    }
}

fn stream(interpreter: Rc<Interpreter>, code: &JsValue, opts: JsValue) -> Result<CodeRun, Failure> {
    let channel = Channel::new(READER_CAPACITY);
    let run = Run::prepare(interpreter, Scope::new()?, code, opts, "streamCode", Some(channel.clone()))?;
    let outcome: Slot<task::Outcome> = Slot::new();
    let handle = CodeRun {
        scope: run.scope.clone(),
        channel: channel.clone(),
        outcome: outcome.clone(),
        is_read: Cell::default(),
    };
    let settle = move |result: task::Outcome| {
        // A reader that has left, or that never came, is told nothing; `result` tells.
        if !channel.is_closed() {
            channel.finish(result.as_ref().map(|_| ()).map_err(Failure::clone));
        }
        outcome.set(result);
    };
    let failed = settle.clone();
    task::spawn(
        async move {
            settle(run.drive().await.map_err(|failure| Failure::Thrown(failure.into_js())));
            Ok(())
        },
        // Only a bug ends the task without settling it.
        move |failure| failed(Err(failure)),
    );
    Ok(handle)
}

#[wasm_bindgen]
impl Sandbox {
    /// Runs code in a kernel that keeps its variables from run to run, and waits for its end.
    ///
    /// Code that fails is no rejection: `execution.error` tells. Rejects with a `TimeoutError` of code `execution_timeout` when
    /// `timeoutMs` runs out, a `NotFoundError` for an unknown context, a `ConnectionError` of code `stream_truncated` or
    /// `connection_lost` when the answer was cut, and of code `port_closed` when the sandbox has no code interpreter. Errors
    /// in the middle of a run have what had arrived as `execution`.
    #[wasm_bindgen(js_name = runCode, unchecked_return_type = "Promise<Execution>")]
    pub fn run_code(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] code: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RunCodeOpts")] opts: JsValue,
    ) -> Promise {
        let interpreter = self.state.interpreter.clone();
        task::promise(async move {
            let run = Run::prepare(interpreter, Scope::new()?, &code, opts, "runCode", None)?;
            run.drive().await
        })
    }

    /// Runs code and hands out its events as they come: `for await (const event of sandbox.streamCode(code))`. Leaving the
    /// loop interrupts the code. A slow loop slows the reading down, not the code, and `timeoutMs` goes on.
    ///
    /// Throws an `InvalidArgumentError` for wrong arguments; everything else is thrown by the loop, like the rejections of
    /// `runCode`.
    #[wasm_bindgen(js_name = streamCode)]
    pub fn stream_code(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] code: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RunCodeOpts")] opts: JsValue,
    ) -> Result<CodeRun, JsValue> {
        stream(self.state.interpreter.clone(), &code, opts).map_err(Failure::into_js)
    }
}

// `js/classes.js` builds these on `_next`, `_leave` and `cancel`.
#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/** A language that the sandbox has a kernel for. */
export type RunCodeLanguage = "python" | "javascript" | "typescript" | "r" | "java" | "bash" | (string & {});

export interface CodeRun extends AsyncIterable<ExecutionEvent> {
    /** Events as they come, for `for await`; there is one sequence of them, whoever reads. Leaving the loop interrupts the code. */
    [Symbol.asyncIterator](): AsyncIterator<ExecutionEvent, undefined, undefined>;
    /** Interrupts the code if it still runs: `await using run = sandbox.streamCode(code)`. */
    [Symbol.asyncDispose](): Promise<void>;
}
"#;
