//! Volumes: what an answer means that is not a success. Their requests are put together by `js/volume.js`.

use serde_json::Value;

use super::control::{Missing, worded};
use super::http::Head;
use crate::error::{Error, Kind, code};

/// What a request was about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A volume, or all of them: calls of the control plane.
    Volume,
    /// Something in a volume: calls of the content API.
    Path,
}

const NO_VOLUME: Missing =
    (Kind::VolumeNotFound, code::VOLUME_NOT_FOUND, "It was deleted, or belongs to another account; list the volumes.");

/// The error of an answer whose status is not 2xx. 401 → `Authentication`, 404 → `VolumeNotFound` or
/// `VolumePathNotFound`, 429 → `RateLimit`, 503 → `ServiceBusy`, 507 → `NotEnoughSpace`, others → `Volume`.
pub fn failure(head: &Head, body: &[u8], subject: Subject) -> Error {
    let meaning = match (head.status, subject) {
        (400, _) => (Kind::Volume, code::INVALID_ARGUMENT, "Correct the name, path or option that it names."),
        (401, Subject::Volume) => {
            (Kind::Authentication, code::UNAUTHENTICATED, "Check the API key, and that it belongs to this domain.")
        }
        (401, Subject::Path) => {
            (Kind::Authentication, code::UNAUTHENTICATED, "Connect to the volume again for another token.")
        }
        (403, _) => (Kind::Volume, code::PERMISSION_DENIED, "Check who owns it, and whether volumes are enabled."),
        (404, Subject::Volume) => NO_VOLUME,
        (404, Subject::Path) if is_about_volume(body) => NO_VOLUME,
        (404, Subject::Path) => {
            (Kind::VolumePathNotFound, code::FILE_NOT_FOUND, "Check the path, which starts at the top of the volume.")
        }
        (409, _) => (Kind::Volume, code::ALREADY_EXISTS, "Choose another path, or pass force."),
        (429, _) => (Kind::RateLimit, code::RATE_LIMITED, "Wait before trying again."),
        (503, _) => (Kind::ServiceBusy, code::SERVICE_BUSY, "The platform is busy at the moment; try again later."),
        (502 | 504, _) => (Kind::Volume, code::UNAVAILABLE, "The server does not answer; try again later."),
        (507, _) => (Kind::NotEnoughSpace, code::NOT_ENOUGH_SPACE, "Remove something from the volume, then try again."),
        _ => (Kind::Volume, code::SERVER_ERROR, "Read the server's words for the cause."),
    };
    let mut error = worded(head, body, meaning);
    if head.status == 409 {
        // Unlike the state of a sandbox, a name that is taken does not become free by waiting.
        error.retryable = false;
    }
    error
}

/// Whether the content API says that it is the volume that does not exist.
fn is_about_volume(body: &[u8]) -> bool {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    answer.is_some_and(|answer| answer.get("code").and_then(Value::as_str) == Some(code::VOLUME_NOT_FOUND))
}
