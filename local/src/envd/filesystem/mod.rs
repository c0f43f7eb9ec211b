//! `filesystem.Filesystem`: entries, directories, moves and removals. Everything runs with the daemon's privileges;
//! the caller only decides what `~` and relative paths mean and who owns new directories.

mod ops;
mod watch;
mod watchers;

use std::path::PathBuf;
use std::sync::Arc;

use connectrpc::{ConnectError, RequestContext, Response, ServiceRequest, ServiceResult, ServiceStream};
use futures::{StreamExt, stream};
use tokio::time::Instant;

pub(super) use ops::ensure_directories;
pub(super) use watchers::Watchers;

use super::paths;
use super::process::keepalive_interval;
use super::state::Envd;
use crate::protocol::filesystem as proto;
use crate::sandbox::users::User;
use watch::{Watcher, Wishes};

/// The service.
pub(super) struct FilesystemService {
    envd: Arc<Envd>,
}

impl FilesystemService {
    pub(super) fn new(envd: Arc<Envd>) -> Self {
        FilesystemService { envd }
    }

    fn resolve(&self, path: &str, user: &User) -> Result<PathBuf, ConnectError> {
        let workdir = self.envd.settings().default_workdir.clone();
        paths::resolve(path, user, workdir.as_deref()).map_err(ConnectError::invalid_argument)
    }

    /// Runs file system work where it may take its time.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Envd) -> Result<T, ConnectError> + Send + 'static,
    ) -> Result<T, ConnectError> {
        let envd = Arc::clone(&self.envd);
        tokio::task::spawn_blocking(move || work(&envd))
            .await
            .map_err(|error| ConnectError::internal(format!("the operation did not finish: {error}")))?
    }
}

/// Whether the client is an old one that cannot cope with fields it does not know.
fn legacy(context: &RequestContext) -> bool {
    context.header(http::header::USER_AGENT).is_some_and(|agent| agent == "connect-python")
}

/// The entry as the client gets to see it.
fn shown(context: &RequestContext, entry: proto::EntryInfo) -> proto::EntryInfo {
    if !legacy(context) {
        return entry;
    }
    proto::EntryInfo { name: entry.name, r#type: entry.r#type, path: entry.path, ..Default::default() }
}

/// The answer, marked when it was shortened.
fn answer<M>(context: &RequestContext, message: M) -> ServiceResult<M> {
    let response = Response::new(message);
    Ok(if legacy(context) { response.with_header("x-e2b-legacy-sdk", "true") } else { response })
}

#[allow(refining_impl_trait, reason = "concrete types say more than the generated `impl Encodable`")]
impl proto::Filesystem for FilesystemService {
    async fn stat(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::StatRequest>,
    ) -> ServiceResult<proto::StatResponse> {
        let path = self.resolve(request.path, &self.envd.caller(&context)?)?;
        let entry = self.blocking(move |envd| ops::stat(&path, &envd.users)).await?;
        answer(&context, proto::StatResponse { entry: shown(&context, entry).into(), ..Default::default() })
    }

    async fn make_dir(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::MakeDirRequest>,
    ) -> ServiceResult<proto::MakeDirResponse> {
        let user = self.envd.caller(&context)?;
        let path = self.resolve(request.path, &user)?;
        let entry = self.blocking(move |envd| ops::make_dir(&path, &user, &envd.users)).await?;
        answer(&context, proto::MakeDirResponse { entry: shown(&context, entry).into(), ..Default::default() })
    }

    async fn r#move(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::MoveRequest>,
    ) -> ServiceResult<proto::MoveResponse> {
        let user = self.envd.caller(&context)?;
        let source = self.resolve(request.source, &user)?;
        let destination = self.resolve(request.destination, &user)?;
        let entry = self.blocking(move |envd| ops::rename(&source, &destination, &user, &envd.users)).await?;
        answer(&context, proto::MoveResponse { entry: shown(&context, entry).into(), ..Default::default() })
    }

    async fn list_dir(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::ListDirRequest>,
    ) -> ServiceResult<proto::ListDirResponse> {
        let path = self.resolve(request.path, &self.envd.caller(&context)?)?;
        let depth = request.depth.max(1);
        let entries = self.blocking(move |envd| ops::list(&path, depth, &envd.users)).await?;
        let entries = entries.into_iter().map(|entry| shown(&context, entry)).collect();
        answer(&context, proto::ListDirResponse { entries, ..Default::default() })
    }

    async fn remove(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::RemoveRequest>,
    ) -> ServiceResult<proto::RemoveResponse> {
        let path = self.resolve(request.path, &self.envd.caller(&context)?)?;
        self.blocking(move |_| ops::remove(&path)).await?;
        Response::ok(proto::RemoveResponse::default())
    }

    async fn watch_dir(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::WatchDirRequest>,
    ) -> ServiceResult<ServiceStream<proto::WatchDirResponse>> {
        use proto::__buffa::oneof::watch_dir_response::Event;
        use proto::watch_dir_response::{KeepAlive, StartEvent};
        let path = self.resolve(request.path, &self.envd.caller(&context)?)?;
        let wishes = Wishes {
            recursive: request.recursive,
            include_entry: request.include_entry,
            allow_network_mounts: request.allow_network_mounts,
        };
        let watcher = Watcher::new(&path, wishes, self.envd.users.clone())?;
        let silence = keepalive_interval(&context);
        let deadline = context.deadline().map(Instant::from_std);
        let message = |event| proto::WatchDirResponse { event: Some(event), ..Default::default() };
        let start = stream::once(async move { Ok(message(Event::from(StartEvent::default()))) });
        let events = stream::try_unfold(watcher, move |mut watcher| async move {
            let keepalive = Instant::now() + silence;
            let wake = deadline.map_or(keepalive, |deadline| deadline.min(keepalive));
            let event = match tokio::time::timeout_at(wake, watcher.next()).await {
                Ok(event) => Event::from(event?),
                Err(_) if deadline == Some(wake) => {
                    return Err(ConnectError::deadline_exceeded("context deadline exceeded"));
                }
                Err(_) => Event::from(KeepAlive::default()),
            };
            Ok(Some((message(event), watcher)))
        });
        Response::stream_ok(start.chain(events))
    }

    async fn create_watcher(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::CreateWatcherRequest>,
    ) -> ServiceResult<proto::CreateWatcherResponse> {
        let path = self.resolve(request.path, &self.envd.caller(&context)?)?;
        let wishes = Wishes {
            recursive: request.recursive,
            include_entry: request.include_entry,
            allow_network_mounts: request.allow_network_mounts,
        };
        let watcher_id = self.envd.watchers.add(Watcher::new(&path, wishes, self.envd.users.clone())?);
        Response::ok(proto::CreateWatcherResponse { watcher_id, ..Default::default() })
    }

    async fn get_watcher_events(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, proto::GetWatcherEventsRequest>,
    ) -> ServiceResult<proto::GetWatcherEventsResponse> {
        let events = self.envd.watchers.take(request.watcher_id)?;
        Response::ok(proto::GetWatcherEventsResponse { events, ..Default::default() })
    }

    async fn remove_watcher(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, proto::RemoveWatcherRequest>,
    ) -> ServiceResult<proto::RemoveWatcherResponse> {
        self.envd.watchers.remove(request.watcher_id)?;
        Response::ok(proto::RemoveWatcherResponse::default())
    }
}
