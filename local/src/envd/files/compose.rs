//! `POST /files/compose`: several files become one, in order, and disappear.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{StatusCode, header};
use serde::Deserialize;

use super::{find_user, resolve};
use crate::envd::error::{HttpError, reason};
use crate::envd::filesystem::ensure_directories;
use crate::envd::state::Envd;
use crate::sandbox::users::User;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ComposeRequest {
    source_paths: Vec<String>,
    destination: String,
    username: Option<String>,
}

pub(in crate::envd) async fn compose(State(envd): State<Arc<Envd>>, body: Bytes) -> Response {
    let composed = tokio::task::spawn_blocking(move || run(&envd, &body)).await;
    let path = match composed {
        Ok(Ok(path)) => path,
        Ok(Err(error)) => return error.into_response(),
        Err(error) => return HttpError::internal(format!("the operation did not finish: {error}")).into_response(),
    };
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let entry = serde_json::json!({ "name": name, "path": path.to_string_lossy(), "type": "file" });
    ([(header::CONTENT_TYPE, "application/json")], format!("{entry}\n")).into_response()
}

fn run(envd: &Envd, body: &[u8]) -> Result<PathBuf, HttpError> {
    let request: ComposeRequest = serde_json::from_slice(body)
        .map_err(|error| HttpError::bad_request(format!("invalid request body: {error}")))?;
    if request.source_paths.is_empty() {
        return Err(HttpError::bad_request("source_paths must not be empty"));
    }
    if request.destination.is_empty() {
        return Err(HttpError::bad_request("destination is required"));
    }
    let user = find_user(envd, request.username.as_deref())?;
    let place = |path: &str| {
        resolve(envd, path, &user).map_err(|error| HttpError::bad_request(format!("error resolving path: {error}")))
    };
    let destination = place(&request.destination)?;
    let mut sources = Vec::new();
    for source in &request.source_paths {
        let path = place(source)?;
        if path == destination {
            let text = format!("source path \"{source}\" cannot be the same as destination");
            return Err(HttpError::bad_request(text));
        }
        match fs::metadata(&path) {
            Ok(meta) if meta.is_file() => sources.push(path),
            Ok(_) => {
                let text = format!("source path is not a regular file: {source}");
                return Err(HttpError::bad_request(text));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(HttpError::new(StatusCode::NOT_FOUND, format!("source file not found: {source}")));
            }
            Err(error) => return Err(HttpError::internal(format!("error opening source: {}", reason(&error)))),
        }
    }
    if let Some(parent) = destination.parent() {
        ensure_directories(parent, &user)
            .map_err(|error| HttpError::internal(format!("error ensuring directories: {error}")))?;
    }
    let mut name = destination.file_name().unwrap_or_default().to_owned();
    name.push(format!(".compose-{:016x}", rand::random::<u64>()));
    let temporary = destination.with_file_name(name);
    if let Err(error) = concatenate(&sources, &temporary, &destination, &user) {
        let _ = fs::remove_file(&temporary);
        return Err(match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                HttpError::new(StatusCode::INSUFFICIENT_STORAGE, "not enough disk space available")
            }
            _ => HttpError::internal(format!("error composing files: {}", reason(&error))),
        });
    }
    for source in sources {
        // The result is in place; a source that cannot be removed does not change that.
        let _ = fs::remove_file(source);
    }
    Ok(destination)
}

fn concatenate(sources: &[PathBuf], temporary: &Path, destination: &Path, user: &User) -> io::Result<()> {
    let mut output = File::create_new(temporary)?;
    for source in sources {
        io::copy(&mut File::open(source)?, &mut output)?;
    }
    chown(temporary, Some(user.uid), Some(user.gid))?;
    fs::rename(temporary, destination)
}
