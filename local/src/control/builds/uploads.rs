//! Archives that clients upload for their builds: files without a name, kept as long as there is room.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::body::Body;
use futures::StreamExt;
use hmac::{Hmac, KeyInit, Mac};
use http::StatusCode;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use time::OffsetDateTime;
use tokio::io::AsyncWriteExt;

use crate::control::error::ApiError;

/// The largest archive, in bytes.
pub(super) const LARGEST: u64 = 1 << 30;

/// All archives together, in bytes. The oldest give way; whoever needs one uploads it again.
const ROOM: u64 = 4 << 30;

/// How long a link for an upload is good.
const LINK_LIFE: Duration = Duration::from_secs(3600);

/// The archives of a server.
pub(in crate::control) struct Uploads {
    kept: Mutex<VecDeque<Upload>>,
    seed: [u8; 32],
}

struct Upload {
    template_id: String,
    hash: String,
    archive: Arc<File>,
    size: u64,
}

impl Uploads {
    pub(in crate::control) fn new() -> Self {
        Uploads { kept: Mutex::default(), seed: rand::random() }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Upload>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, template_id: &str, hash: &str) -> Option<Arc<File>> {
        let kept = self.kept();
        let found = kept.iter().find(|upload| upload.template_id == template_id && upload.hash == hash);
        found.map(|upload| Arc::clone(&upload.archive))
    }

    pub(in crate::control) fn forget_template(&self, template_id: &str) {
        self.kept().retain(|upload| upload.template_id != template_id);
    }

    /// The query of a link with which the archive can be uploaded, for a while and without a key.
    pub(super) fn permit(&self, template_id: &str, hash: &str) -> String {
        let expires = OffsetDateTime::now_utc().unix_timestamp() + LINK_LIFE.as_secs() as i64;
        format!("expires={expires}&signature={}", self.sign(template_id, hash, expires))
    }

    pub(super) fn is_permitted(&self, template_id: &str, hash: &str, expires: i64, signature: &str) -> bool {
        let good = self.sign(template_id, hash, expires);
        let signed: bool = good.as_bytes().ct_eq(signature.as_bytes()).into();
        signed && expires >= OffsetDateTime::now_utc().unix_timestamp()
    }

    fn sign(&self, template_id: &str, hash: &str, expires: i64) -> String {
        use std::fmt::Write;
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.seed) else {
            unreachable!("HMAC takes keys of any length")
        };
        mac.update(format!("{template_id}/{hash}/{expires}").as_bytes());
        mac.finalize().into_bytes().iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    /// Keeps `body`, all of it or nothing.
    pub(super) async fn receive(&self, template_id: &str, hash: &str, body: Body) -> Result<(), ApiError> {
        let failed = |error: std::io::Error| {
            tracing::error!("an upload cannot be kept: {error}");
            ApiError::new(StatusCode::INSUFFICIENT_STORAGE, format!("the upload cannot be kept: {error}"))
        };
        let archive = tempfile::tempfile().map_err(failed)?;
        let mut out = tokio::fs::File::from_std(archive.try_clone().map_err(failed)?);
        let mut size = 0;
        let mut chunks = body.into_data_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| ApiError::bad_request("the upload was cut off"))?;
            size += chunk.len() as u64;
            if size > LARGEST {
                return Err(too_large());
            }
            out.write_all(&chunk).await.map_err(failed)?;
        }
        out.flush().await.map_err(failed)?;
        let upload = Upload { template_id: template_id.into(), hash: hash.into(), archive: Arc::new(archive), size };
        self.keep(upload);
        Ok(())
    }

    fn keep(&self, upload: Upload) {
        let mut kept = self.kept();
        kept.retain(|other| other.template_id != upload.template_id || other.hash != upload.hash);
        kept.push_back(upload);
        while kept.iter().map(|upload| upload.size).sum::<u64>() > ROOM {
            kept.pop_front();
        }
    }
}

pub(super) fn too_large() -> ApiError {
    let text = format!("the archive is larger than {} MiB", LARGEST >> 20);
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_for_one_archive_and_one_time() {
        let uploads = Uploads::new();
        let query = uploads.permit("t", "h");
        let (expires, signature) = query.strip_prefix("expires=").unwrap().split_once("&signature=").unwrap();
        let expires: i64 = expires.parse().unwrap();
        assert!(uploads.is_permitted("t", "h", expires, signature));
        assert!(!uploads.is_permitted("t", "x", expires, signature));
        assert!(!uploads.is_permitted("u", "h", expires, signature));
        assert!(!uploads.is_permitted("t", "h", expires + 1, signature));
        assert!(!uploads.is_permitted("t", "h", 0, &uploads.sign("t", "h", 0)), "long over");
        assert!(!Uploads::new().is_permitted("t", "h", expires, signature));
    }

    #[test]
    fn the_oldest_archives_give_way() {
        let uploads = Uploads::new();
        let keep = |hash: &str, size| {
            let archive = Arc::new(tempfile::tempfile().unwrap());
            uploads.keep(Upload { template_id: "t".into(), hash: hash.into(), archive, size });
        };
        keep("a", ROOM / 2);
        keep("b", ROOM / 2);
        assert!(uploads.get("t", "a").is_some());
        keep("c", 1);
        assert!(uploads.get("t", "a").is_none() && uploads.get("t", "b").is_some() && uploads.get("u", "b").is_none());
        uploads.forget_template("t");
        assert!(uploads.get("t", "b").is_none());
    }
}
