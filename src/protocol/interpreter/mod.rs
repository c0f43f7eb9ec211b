//! The code interpreter: a service of its own beside envd (port 49999) that keeps kernels and runs code in them.
//!
//! | module | what it knows |
//! |---|---|
//! | `request` | which request a run, or a call about a context, becomes |
//! | `context` | contexts, and the answers about them |
//! | `lines` | cuts the answer of a run into lines |
//! | `event` | what a line says |
//! | `answer` | the answer as a whole: events in order, and whether it was complete |
//! | `result` | a value or display in all of its formats |
//! | `chart` | the data behind a plot |
//! | `failure` | what a refusal means |
//!
//! A run is one `POST /execute`. Its answer is newline-delimited JSON that lasts as long as the code runs, with a keepalive
//! line after each 5 s of silence. There is no call to interrupt a run: closing the connection is the interrupt.

mod answer;
mod chart;
mod context;
mod event;
mod failure;
mod lines;
mod request;
mod result;

pub use answer::Answer;
pub use chart::{Axes, Bar, Chart, Plot, Quartiles, Scale, Series, Slice, Ticks};
pub use context::{CodeContext, read_context, read_contexts, read_done};
pub use event::{Event, ExecutionError, Output, ResultLine};
pub use failure::failure;
pub use lines::{DEFAULT_MAX_LINE, Line, Lines};
pub use request::{Execute, create_context, execute, list_contexts, remove_context, restart_context};
pub use result::RichResult;
