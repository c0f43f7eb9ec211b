//! Volumes: making and finding them, mounting them into new sandboxes, and the way to their content.

use std::collections::HashSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq;
use tokio::net::UnixStream;

use super::Api;
use super::body::JsonBody;
use super::catalog::new_build_id;
use super::error::ApiError;
use crate::proxy;
use crate::sandbox::volumes::{Mount, Volume, VolumeError};
use crate::volumes::Refusal;

/// A sandbox may have so many.
const MOST_MOUNTS: usize = 32;

const LONGEST_NAME: usize = 128;

/// Where nothing can be mounted: the sandbox could not be used any more. Nor below the first three, which the kernel
/// fills.
const OCCUPIED: [&str; 14] =
    ["/proc", "/sys", "/dev", "/", "/bin", "/etc", "/lib", "/lib32", "/lib64", "/nix", "/run", "/sbin", "/tmp", "/usr"];
const OF_THE_KERNEL: usize = 3;

#[derive(Debug, Deserialize)]
pub(super) struct NewVolume {
    name: String,
}

/// An entry of `volumeMounts`.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct NewMount {
    name: String,
    path: String,
}

fn listed(volume: &Volume) -> Value {
    json!({ "volumeID": volume.id, "name": volume.name })
}

impl Api {
    /// What create and get answer: the token comes along, and the domain below which the content is served.
    fn opened(&self, volume: &Volume) -> Value {
        let mut body = listed(volume);
        body["token"] = self.registry.volume_token(&volume.id).into();
        body["domain"] = self.domain.clone().into();
        body
    }

    fn require_volumes(&self) -> Result<(), ApiError> {
        match self.registry.has_volumes() {
            true => Ok(()),
            false => Err(ApiError::new(StatusCode::FORBIDDEN, "use of volumes is not enabled")),
        }
    }

    /// The volumes that a new sandbox asks for. Everything that is wrong with them is said at once.
    pub(super) fn mounts(&self, wanted: Option<Vec<NewMount>>) -> Result<Vec<Mount>, ApiError> {
        let wanted = wanted.unwrap_or_default();
        if !wanted.is_empty() && !self.registry.has_volumes() {
            return Err(ApiError::bad_request("Volume mounts are not enabled."));
        }
        let mut faults = Vec::new();
        if wanted.len() > MOST_MOUNTS {
            faults.push(format!("there are more than {MOST_MOUNTS}"));
        }
        let volumes = self.registry.volumes();
        let mut paths = HashSet::new();
        let mut mounts = Vec::new();
        for NewMount { name, path } in wanted.into_iter().take(MOST_MOUNTS) {
            let volume = volumes.iter().find(|volume| volume.name == name);
            if volume.is_none() {
                faults.push(format!("volume '{name}' not found"));
            }
            let path = match mount_path(&path) {
                Err(fault) => {
                    faults.push(fault);
                    continue;
                }
                Ok(path) => path,
            };
            if !paths.insert(path.clone()) {
                faults.push(format!("path '{path}' is already used"));
            }
            mounts.extend(volume.map(|volume| Mount { volume: Arc::clone(volume), path }));
        }
        if !faults.is_empty() {
            return Err(invalid_mounts(&faults));
        }
        // One inside of another needs the outer one first.
        mounts.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(mounts)
    }
}

pub(super) fn invalid_mounts(faults: &[String]) -> ApiError {
    ApiError::bad_request(format!("invalid mounts:\n{}", faults.join("\n")))
}

/// A path that something can be mounted at, without a slash at its end.
fn mount_path(path: &str) -> Result<String, String> {
    let plain = |part: &str| !matches!(part, "" | "." | "..");
    let clean = path.trim_end_matches('/');
    let absolute = path.strip_prefix('/').is_some_and(|_| clean.is_empty() || clean[1..].split('/').all(plain));
    if !absolute || path.contains('\0') || path.len() > 4095 {
        return Err(format!("path '{}' is not an absolute path without '.' and '..'", path.escape_debug()));
    }
    let clean = if clean.is_empty() { "/" } else { clean };
    let below = |top: &str| clean.strip_prefix(top).is_some_and(|rest| rest.starts_with('/'));
    if OCCUPIED.contains(&clean) || OCCUPIED[..OF_THE_KERNEL].iter().any(|top| below(top)) {
        return Err(format!("path '{clean}' belongs to the system"));
    }
    Ok(clean.to_owned())
}

fn check_name(name: &str) -> Result<(), ApiError> {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(letter) {
        let text = format!("Invalid volume name: it must be 1 to {LONGEST_NAME} letters, digits, '-' and '_'");
        return Err(ApiError::bad_request(text));
    }
    Ok(())
}

fn no_volume(id: &str) -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, format!("Volume \"{id}\" doesn't exist or you don't have access to it"))
}

pub(super) async fn list(State(api): State<Arc<Api>>) -> Result<Json<Value>, ApiError> {
    api.require_volumes()?;
    Ok(Json(api.registry.volumes().iter().map(|volume| listed(volume)).collect()))
}

pub(super) async fn create(
    State(api): State<Arc<Api>>,
    JsonBody(NewVolume { name }): JsonBody<NewVolume>,
) -> Result<Response, ApiError> {
    api.require_volumes()?;
    check_name(&name)?;
    let volume = api.registry.create_volume(new_build_id(), name.clone()).await.map_err(|error| match error {
        VolumeError::Taken => ApiError::bad_request(format!("Volume with name '{name}' already exists")),
        VolumeError::Failed(error) => failed("create", &error),
    })?;
    Ok((StatusCode::CREATED, Json(api.opened(&volume))).into_response())
}

pub(super) async fn info(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<Json<Value>, ApiError> {
    api.require_volumes()?;
    let volume = api.registry.volume(&id).ok_or_else(|| no_volume(&id))?;
    Ok(Json(api.opened(&volume)))
}

pub(super) async fn delete(State(api): State<Arc<Api>>, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    api.require_volumes()?;
    match api.registry.delete_volume(id.clone()).await {
        Ok(true) => Ok(StatusCode::NO_CONTENT),
        Ok(false) => Err(no_volume(&id)),
        Err(error) => Err(failed("delete", &error)),
    }
}

fn failed(what: &str, error: &anyhow::Error) -> ApiError {
    tracing::error!("cannot {what} a volume: {error:#}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, format!("Failed to {what} volume: {error:#}"))
}

/// Relays a request for a volume's content to the process that has it, for the holder of the volume's token.
pub(super) async fn content(
    State(api): State<Arc<Api>>,
    Path((id, _)): Path<(String, String)>,
    mut request: Request,
) -> Result<Response, Refusal> {
    let given = request.headers_mut().remove(header::AUTHORIZATION);
    let given = given.as_ref().and_then(|value| value.as_bytes().strip_prefix(b"Bearer "));
    let given = given.ok_or_else(Refusal::unauthorized)?;
    if !bool::from(given.ct_eq(api.registry.volume_token(&id).as_bytes())) {
        return Err(Refusal::unauthorized());
    }
    if api.registry.volume(&id).is_none() {
        return Err(Refusal::no_volume(&id));
    }
    let unreachable = |error: String| Refusal::internal(format!("the volume cannot be reached: {error}"));
    let stream = UnixStream::connect(api.registry.volumes_socket()).await;
    let stream = stream.map_err(|error| unreachable(error.to_string()))?;
    proxy::relay(stream, request).await.map_err(|error| unreachable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_paths_leave_the_system_alone() {
        for (path, expected) in [
            ("/mnt/data", Some("/mnt/data")),
            ("/mnt/data/", Some("/mnt/data")),
            ("/home/user/.cache", Some("/home/user/.cache")),
            ("/usr/local/share", Some("/usr/local/share")),
            ("/device", Some("/device")),
            ("", None),
            ("/", None),
            ("//", None),
            ("relative", None),
            ("/a//b", None),
            ("/a/../b", None),
            ("/a/.", None),
            ("/a\0b", None),
            ("/etc", None),
            ("/etc/", None),
            ("/proc/self", None),
            ("/dev/shm", None),
        ] {
            assert_eq!(mount_path(path).ok().as_deref(), expected, "{path:?}");
        }
    }

    #[test]
    fn names_are_plain() {
        assert!(check_name("My_volume-1").is_ok());
        for wrong in ["", "a b", "a/b", "ü", "a.b", &"x".repeat(LONGEST_NAME + 1)] {
            assert!(check_name(wrong).is_err(), "{wrong}");
        }
    }
}
