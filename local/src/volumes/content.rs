//! The content API, as the keeper serves it: `/volumecontent/{id}/path`, `/dir` and `/file`. The server has checked the
//! token.

use axum::Json;
use axum::body::{Body, to_bytes};
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::response::{IntoResponse, Response};
use axum::routing::{Router, get};
use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{StatusCode, header};
use serde::Deserialize;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::io::ReaderStream;

use super::Refusal;
use super::keeper::mount_point;
use super::tree::{Attributes, Entry, EntryPath, Tree, Upload};

const CHUNK: usize = 64 * 1024;

/// Bodies of JSON may be this long.
const LONGEST_BODY: usize = 64 * 1024;

/// How much of a body is read whose request was refused: who is still sending would not see the answer.
const LONGEST_DRAIN: usize = 64 * 1024 * 1024;

pub(super) fn router() -> Router {
    Router::new()
        .route("/volumecontent/{id}/path", get(stat).patch(update).delete(remove))
        .route("/volumecontent/{id}/dir", get(list).post(make_dir))
        .route("/volumecontent/{id}/file", get(read).put(write))
}

type Parameters = Result<Query<Parsed>, QueryRejection>;
type Id = axum::extract::Path<String>;

/// Query parameters; each call looks at its own.
#[derive(Debug, Deserialize)]
struct Parsed {
    path: String,
    depth: Option<u32>,
    uid: Option<u32>,
    gid: Option<u32>,
    mode: Option<u32>,
    force: Option<bool>,
}

impl Parsed {
    fn attributes(&self) -> Result<Attributes, Refusal> {
        Attributes { uid: self.uid, gid: self.gid, mode: self.mode }.check()
    }

    fn force(&self) -> bool {
        self.force.unwrap_or(false)
    }
}

/// A request taken apart: the volume it is about, the path there, and everything else.
struct Call {
    id: String,
    path: EntryPath,
    parameters: Parsed,
}

impl Call {
    fn read(id: Id, parameters: Parameters) -> Result<Self, Refusal> {
        let Query(parameters) =
            parameters.map_err(|error| Refusal::invalid(format!("validation error: {}", error.body_text())))?;
        Ok(Call { id: id.0, path: EntryPath::parse(&parameters.path)?, parameters })
    }

    /// Does something with the volume's files on a thread that may block.
    async fn run<T: Send + 'static>(
        self,
        job: impl FnOnce(Tree, EntryPath, Parsed) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        blocking(move || {
            let Call { id, path, parameters } = self;
            let tree =
                mount_point(&id).and_then(|mount| Tree::open(&mount).ok()).ok_or_else(|| Refusal::no_volume(&id))?;
            job(tree, path, parameters)
        })
        .await
    }
}

async fn blocking<T: Send + 'static>(job: impl FnOnce() -> Result<T, Refusal> + Send + 'static) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(job).await.unwrap_or_else(|error| Err(Refusal::internal(error.to_string())))
}

async fn stat(id: Id, parameters: Parameters) -> Result<Json<Entry>, Refusal> {
    Call::read(id, parameters)?.run(|tree, path, _| tree.stat(&path)).await.map(Json)
}

async fn update(id: Id, parameters: Parameters, body: Body) -> Result<Json<Entry>, Refusal> {
    #[derive(Deserialize)]
    struct Changes {
        uid: Option<u32>,
        gid: Option<u32>,
        mode: Option<u32>,
    }
    let call = Call::read(id, parameters)?;
    let body =
        to_bytes(body, LONGEST_BODY).await.map_err(|_| Refusal::invalid("the body is too long or was cut off"))?;
    let Changes { uid, gid, mode } =
        serde_json::from_slice(&body).map_err(|error| Refusal::invalid(format!("validation error: {error}")))?;
    let attributes = Attributes { uid, gid, mode }.check()?;
    call.run(move |tree, path, _| tree.update(&path, attributes)).await.map(Json)
}

async fn remove(id: Id, parameters: Parameters) -> Result<StatusCode, Refusal> {
    Call::read(id, parameters)?.run(|tree, path, _| tree.remove(&path)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list(id: Id, parameters: Parameters) -> Result<Json<Vec<Entry>>, Refusal> {
    let call = Call::read(id, parameters)?;
    call.run(|tree, path, parameters| tree.list(&path, parameters.depth.unwrap_or(1))).await.map(Json)
}

async fn make_dir(id: Id, parameters: Parameters) -> Result<(StatusCode, Json<Entry>), Refusal> {
    let call = Call::read(id, parameters)?;
    let entry = call.run(|tree, path, parameters| tree.make_dir(&path, parameters.force(), parameters.attributes()?));
    Ok((StatusCode::CREATED, Json(entry.await?)))
}

async fn read(id: Id, parameters: Parameters) -> Result<Response, Refusal> {
    let (file, size) = Call::read(id, parameters)?.run(|tree, path, _| tree.read(&path)).await?;
    // A file that becomes shorter meanwhile breaks the answer off, which is better than one that looks whole.
    let body = Body::from_stream(ReaderStream::with_capacity(File::from_std(file).take(size), CHUNK));
    let headers =
        [(header::CONTENT_TYPE, "application/octet-stream".to_owned()), (header::CONTENT_LENGTH, size.to_string())];
    Ok((headers, body).into_response())
}

async fn write(id: Id, parameters: Parameters, body: Body) -> Result<Response, Refusal> {
    let mut body = body.into_data_stream();
    let written = async {
        let call = Call::read(id, parameters)?;
        let upload = call.run(|tree, path, parameters| tree.begin(path, parameters.force(), parameters.attributes()?));
        let upload = upload.await?;
        receive(&upload, &mut body).await?;
        blocking(move || upload.finish()).await
    };
    let written = written.await;
    if written.is_err() {
        drain(&mut body).await;
    }
    Ok((StatusCode::CREATED, Json(written?)).into_response())
}

type Chunks = axum::body::BodyDataStream;

/// Writes a body to its end. One that is cut off is an error: nothing of it will be seen.
async fn receive(upload: &Upload, body: &mut Chunks) -> Result<(), Refusal> {
    let failed = |error: std::io::Error| Refusal::of_io(&error, &upload.shown());
    let mut file = File::from_std(upload.file().map_err(failed)?);
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| Refusal::invalid(format!("the body was cut off: {error}")))?;
        file.write_all(&chunk).await.map_err(failed)?;
    }
    file.flush().await.map_err(failed)
}

async fn drain(body: &mut (impl Stream<Item = Result<Bytes, axum::Error>> + Unpin)) {
    let mut drained = 0;
    while let Some(Ok(chunk)) = body.next().await {
        drained += chunk.len();
        if drained > LONGEST_DRAIN {
            return;
        }
    }
}
