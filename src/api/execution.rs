//! The `Execution` of a run as it grows: instances of the classes in `js/code.js`, made from the events of the answer.

use wasm_bindgen::prelude::*;

use crate::error::Error;
use crate::protocol::interpreter::{Event, Output};
use crate::transport::Failure;

#[wasm_bindgen(module = "/js/code.js")]
extern "C" {
    #[wasm_bindgen(js_name = createExecution)]
    fn create_execution() -> JsValue;

    #[wasm_bindgen(js_name = addOutput)]
    fn add_output(execution: &JsValue, keep: bool, text: &str, timestamp: f64, is_error: bool) -> JsValue;

    #[wasm_bindgen(catch, js_name = addResult)]
    fn add_result(execution: &JsValue, keep: bool, line: &str) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(js_name = setError)]
    fn set_error(execution: &JsValue, name: &str, value: &str, traceback: &str) -> JsValue;

    #[wasm_bindgen(js_name = setCount)]
    fn set_count(execution: &JsValue, count: f64);
}

/// Which kind of event a [`Step`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StepKind {
    Stdout,
    Stderr,
    Result,
    Error,
    Count,
}

impl StepKind {
    /// The `type` of an `ExecutionEvent`.
    pub(super) fn name(self) -> &'static str {
        match self {
            StepKind::Stdout => "stdout",
            StepKind::Stderr => "stderr",
            StepKind::Result => "result",
            StepKind::Error => "error",
            StepKind::Count => "executionCount",
        }
    }
}

/// One event as its receivers get it.
pub(super) struct Step {
    pub(super) kind: StepKind,
    /// An `OutputMessage`, a `Result`, an `ExecutionError` or a number.
    pub(super) data: JsValue,
}

/// Collects events into an `Execution`.
pub(super) struct Recorder {
    pub(super) execution: JsValue,
    /// Whether output and results are kept; if not, only their receivers have them.
    keep: bool,
}

impl Recorder {
    pub(super) fn new(keep: bool) -> Self {
        Recorder { execution: create_execution(), keep }
    }

    /// Records `event`; None for one that nobody needs to know of.
    pub(super) fn take(&self, event: Event<'_>) -> Result<Option<Step>, Failure> {
        let (kind, data) = match event {
            Event::Stdout(output) => (StepKind::Stdout, self.output(&output, false)),
            Event::Stderr(output) => (StepKind::Stderr, self.output(&output, true)),
            Event::Result(line) => {
                let add = |text: &str| add_result(&self.execution, self.keep, text);
                let added = add(line.text()).or_else(|_| add(&line.repaired()));
                (StepKind::Result, added.map_err(unreadable)?)
            }
            Event::Error(error) => {
                let data = set_error(&self.execution, &error.name, &error.value, &error.traceback);
                (StepKind::Error, data)
            }
            Event::Count(count) => {
                set_count(&self.execution, count as f64);
                (StepKind::Count, JsValue::from_f64(count as f64))
            }
            Event::Keepalive | Event::End | Event::UnexpectedEnd | Event::Unknown => return Ok(None),
        };
        Ok(Some(Step { kind, data }))
    }

    fn output(&self, output: &Output, is_error: bool) -> JsValue {
        let timestamp = output.timestamp_ns.unwrap_or(f64::NAN);
        add_output(&self.execution, self.keep, &output.text, timestamp, is_error)
    }
}

/// The cause is left out: the words of some parsers quote the line, which can hold secrets.
fn unreadable(_: JsValue) -> Failure {
    let message = "The code interpreter sent a result that is not valid JSON, or is too large for this runtime. Check proxies \
                   and gateways between this client and the sandbox";
    Error::protocol(message).into()
}
