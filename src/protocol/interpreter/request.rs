//! Which request a run, or a call about a context, becomes.
//!
//! Every request carries the access token: the interpreter has no authentication of its own, but uses the token of the
//! first run in a context to ask envd for the sandbox's environment variables, and never asks again.

use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::protocol::http::{Method, Request};
use crate::protocol::message::StringMap;
use crate::protocol::rpc::Endpoint;
use crate::protocol::url::join;

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Execute {
    /// May be empty.
    pub code: String,
    /// The context to run in; without one, the default context of `language`.
    pub context_id: Option<String>,
    /// Without one, Python.
    pub language: Option<String>,
    /// Environment variables of this run alone.
    pub envs: Option<StringMap>,
}

impl Execute {
    /// # Errors
    /// `invalid_argument` when both a context and a language are named: a context has a language already.
    pub fn check(&self) -> Result<(), Error> {
        if self.context_id.is_some() && self.language.is_some() {
            return Err(Error::invalid_argument(
                "Give runCode either a context or a language: a context has its own language already.",
            ));
        }
        Ok(())
    }
}

/// `POST /execute`; read the answer with [`Answer`](super::Answer).
///
/// # Errors
/// As [`Execute::check`].
pub fn execute(endpoint: &Endpoint, run: &Execute) -> Result<Request, Error> {
    run.check()?;
    let envs = run.envs.as_ref().map(|envs| {
        envs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect::<Map<_, _>>()
    });
    Ok(with_json(
        endpoint.request(Method::Post, "/execute"),
        &json!({
            "code": run.code,
            "context_id": run.context_id,
            "language": run.language,
            "env_vars": envs,
        }),
    ))
}

/// `POST /contexts`; read the answer with [`read_context`](super::read_context). What is not named is left to the server:
/// Python, and the user's home.
pub fn create_context(endpoint: &Endpoint, language: Option<&str>, cwd: Option<&str>) -> Request {
    let mut body = Map::new();
    for (name, value) in [("language", language), ("cwd", cwd)] {
        if let Some(value) = value {
            body.insert(name.to_owned(), value.into());
        }
    }
    with_json(endpoint.request(Method::Post, "/contexts"), &Value::Object(body))
}

/// `GET /contexts`; read the answer with [`read_contexts`](super::read_contexts).
pub fn list_contexts(endpoint: &Endpoint) -> Request {
    endpoint.request(Method::Get, "/contexts")
}

/// `POST /contexts/{id}/restart`; read the answer with [`read_done`](super::read_done).
///
/// # Errors
/// `invalid_argument` for an id that cannot be one.
pub fn restart_context(endpoint: &Endpoint, id: &str) -> Result<Request, Error> {
    Ok(endpoint.request(Method::Post, &format!("{}/restart", path_of(id)?)))
}

/// `DELETE /contexts/{id}`; read the answer with [`read_done`](super::read_done).
///
/// # Errors
/// `invalid_argument` for an id that cannot be one.
pub fn remove_context(endpoint: &Endpoint, id: &str) -> Result<Request, Error> {
    Ok(endpoint.request(Method::Delete, &path_of(id)?))
}

fn path_of(id: &str) -> Result<String, Error> {
    // Encoding leaves dots alone, and a segment of dots would be resolved away to another route.
    if matches!(id, "" | "." | "..") {
        return Err(Error::invalid_argument("The context id is empty or a path. Use the id of a created context."));
    }
    Ok(join("/contexts", &[id]))
}

fn with_json(mut request: Request, body: &Value) -> Request {
    request.headers.set("content-type", "application/json");
    request.body = Some(body.to_string().into_bytes());
    request
}
