//! `/files`: whole files over plain HTTP, by token or by signed URL.

pub(super) mod compose;
mod download;
mod negotiate;
mod signature;
mod upload;

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{Method, StatusCode};

use super::error::{HttpError, text};
use super::paths;
use super::state::Envd;
use crate::sandbox::users::User;

/// The query of a `/files` request, percent-decoded.
#[derive(Debug, Default)]
struct Query {
    path: Option<String>,
    username: Option<String>,
    signature: Option<String>,
    /// Unix seconds.
    signature_expiration: Option<i64>,
}

impl Query {
    /// The error is the answer's text: it is plain, unlike all others of this endpoint.
    fn parse(query: &str) -> Result<Self, String> {
        let mut parsed = Query::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let slot = match &*name {
                "path" => &mut parsed.path,
                "username" => &mut parsed.username,
                "signature" => &mut parsed.signature,
                "signature_expiration" => {
                    let number = value.parse().map_err(|_| {
                        // Clients may match on the original's words, strange as they are.
                        format!(
                            "Invalid format for parameter signature_expiration: error binding string parameter: \
                             strconv.ParseInt: parsing \"{value}\": invalid syntax\n"
                        )
                    })?;
                    parsed.signature_expiration.get_or_insert(number);
                    continue;
                }
                _ => continue,
            };
            slot.get_or_insert_with(|| value.into_owned());
        }
        Ok(parsed)
    }
}

pub(super) async fn files(State(envd): State<Arc<Envd>>, request: Request) -> Response {
    let query = match Query::parse(request.uri().query().unwrap_or("")) {
        Ok(query) => query,
        Err(message) => return text(StatusCode::BAD_REQUEST, message),
    };
    let operation =
        if request.method() == Method::GET { signature::Operation::Read } else { signature::Operation::Write };
    let answer = match signature::check(&envd, &query, operation, request.headers()) {
        Err(refusal) => Err(refusal),
        Ok(()) if operation == signature::Operation::Read => download::download(&envd, &query, request.headers()).await,
        Ok(()) => upload::upload(&envd, &query, request).await,
    };
    answer.unwrap_or_else(IntoResponse::into_response)
}

/// The user that relative paths belong to: the parameter's, or the default.
fn find_user(envd: &Envd, name: Option<&str>) -> Result<User, HttpError> {
    let name = match name {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => envd.settings().default_user.clone(),
    };
    envd.users
        .by_name(&name)
        .ok_or_else(|| HttpError::unauthorized(format!("error looking up user '{name}': user: unknown user {name}")))
}

fn resolve(envd: &Envd, path: &str, user: &User) -> Result<PathBuf, String> {
    let workdir = envd.settings().default_workdir.clone();
    paths::resolve(path, user, workdir.as_deref())
}
