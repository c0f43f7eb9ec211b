//! Contexts: kernels with a name, and the answers about them.

use serde_json::Value;

use super::failure::failure;
use crate::error::Error;
use crate::protocol::http::Head;

/// A kernel that keeps its variables from run to run. What the server leaves out is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeContext {
    pub id: String,
    /// Lower case, as the server normalises it: `python`, `javascript` …
    pub language: String,
    /// The working directory it was created with; a restart does not return to it.
    pub cwd: String,
}

/// Reads the answer to create.
///
/// # Errors
/// [`failure`] for any status but 2xx; `protocol_error` for a body without an id.
pub fn read_context(head: &Head, body: &[u8]) -> Result<CodeContext, Error> {
    context(&answer(head, body)?).ok_or_else(|| head.unexpected(body))
}

/// Reads the answer to list. Entries without an id are left out: nothing could be done with them.
///
/// # Errors
/// [`failure`] for any status but 2xx; `protocol_error` for a body that is no list.
pub fn read_contexts(head: &Head, body: &[u8]) -> Result<Vec<CodeContext>, Error> {
    match answer(head, body)? {
        Value::Array(entries) => Ok(entries.iter().filter_map(context).collect()),
        _ => Err(head.unexpected(body)),
    }
}

/// Reads the answer to restart and remove, whose body says nothing.
///
/// # Errors
/// [`failure`] for any status but 2xx.
pub fn read_done(head: &Head, body: &[u8]) -> Result<(), Error> {
    if head.is_success() { Ok(()) } else { Err(failure(head, body)) }
}

fn answer(head: &Head, body: &[u8]) -> Result<Value, Error> {
    read_done(head, body)?;
    serde_json::from_slice(body).map_err(|_| head.unexpected(body))
}

fn context(entry: &Value) -> Option<CodeContext> {
    let text = |name| entry.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
    let id = text("id");
    (!id.is_empty()).then(|| CodeContext { id, language: text("language"), cwd: text("cwd") })
}
