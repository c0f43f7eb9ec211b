//! `process.Process`: requests in, events out. What a process *is* lives in `table`, how it starts in `spawn`.

mod child;
mod direct;
mod events;
mod spawn;
mod status;
pub(super) mod table;
pub(super) mod terminal;

use std::sync::Arc;
use std::time::Duration;

use connectrpc::{ConnectError, RequestContext, Response, ServiceRequest, ServiceResult, ServiceStream};
use futures::StreamExt;
use tokio::time::Instant;

use super::state::Envd;
use crate::protocol::process as proto;
use crate::protocol::process::__buffa::oneof;
use table::Process;

/// The service.
pub(super) struct ProcessService {
    envd: Arc<Envd>,
}

impl ProcessService {
    pub(super) fn new(envd: Arc<Envd>) -> Self {
        ProcessService { envd }
    }

    fn select(&self, selector: &proto::ProcessSelector) -> Result<Arc<Process>, ConnectError> {
        self.envd.processes.live(&Selector::new(selector)?)
    }
}

/// Which process a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selector {
    Pid(u32),
    Tag(String),
}

impl Selector {
    fn new(selector: &proto::ProcessSelector) -> Result<Self, ConnectError> {
        match &selector.selector {
            Some(oneof::process_selector::Selector::Pid(pid)) => Ok(Selector::Pid(*pid)),
            Some(oneof::process_selector::Selector::Tag(tag)) => Ok(Selector::Tag(tag.clone())),
            None => Err(ConnectError::unimplemented("invalid input type *process.ProcessSelector")),
        }
    }

    fn not_found(&self) -> ConnectError {
        ConnectError::not_found(match self {
            Selector::Pid(pid) => format!("process with pid {pid} not found"),
            Selector::Tag(tag) => format!("process with tag {tag} not found"),
        })
    }
}

/// How long a stream may be silent: `Keepalive-Ping-Interval` in seconds, 90 when absent or not a positive number.
pub(super) fn keepalive_interval(context: &RequestContext) -> Duration {
    const DEFAULT: u64 = 90;
    let asked = context.header("keepalive-ping-interval").and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    Duration::from_secs(asked.filter(|seconds| *seconds > 0).unwrap_or(DEFAULT))
}

/// When a process is to be killed. A limit of 0 is none: only the call itself ends at once.
fn process_deadline(context: &RequestContext) -> Option<Instant> {
    let zero = context.header("connect-timeout-ms").and_then(|value| value.to_str().ok()?.parse().ok()) == Some(0u64);
    if zero { None } else { deadline(context) }
}

fn deadline(context: &RequestContext) -> Option<Instant> {
    context.deadline().map(Instant::from_std)
}

#[allow(refining_impl_trait, reason = "concrete types say more than the generated `impl Encodable`")]
impl proto::Process for ProcessService {
    async fn list(
        &self,
        _context: RequestContext,
        _request: ServiceRequest<'_, proto::ListRequest>,
    ) -> ServiceResult<proto::ListResponse> {
        Response::ok(proto::ListResponse { processes: self.envd.processes.list(), ..Default::default() })
    }

    async fn start(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::StartRequest>,
    ) -> ServiceResult<ServiceStream<proto::StartResponse>> {
        let user = self.envd.caller(&context)?;
        let (process, subscription) =
            spawn::start(&self.envd, &user, request.to_owned_message(), process_deadline(&context)).await?;
        let events = events::stream(&process, subscription, keepalive_interval(&context), deadline(&context));
        Response::stream_ok(events.map(|event| Ok(proto::StartResponse { event: event?.into(), ..Default::default() })))
    }

    async fn connect(
        &self,
        context: RequestContext,
        request: ServiceRequest<'_, proto::ConnectRequest>,
    ) -> ServiceResult<ServiceStream<proto::ConnectResponse>> {
        let request = request.to_owned_message();
        let process = self.envd.processes.known(&Selector::new(&request.process)?)?;
        let subscription = process.subscribe();
        let events = events::stream(&process, subscription, keepalive_interval(&context), deadline(&context));
        Response::stream_ok(
            events.map(|event| Ok(proto::ConnectResponse { event: event?.into(), ..Default::default() })),
        )
    }

    async fn update(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, proto::UpdateRequest>,
    ) -> ServiceResult<proto::UpdateResponse> {
        let request = request.to_owned_message();
        let process = self.select(&request.process)?;
        if let Some(pty) = request.pty.as_option() {
            process.resize(pty.size.cols, pty.size.rows)?;
        }
        Response::ok(proto::UpdateResponse::default())
    }

    async fn stream_input(
        &self,
        _context: RequestContext,
        mut requests: connectrpc::InboundStream<proto::StreamInputRequest>,
    ) -> ServiceResult<proto::StreamInputResponse> {
        use oneof::stream_input_request::Event;
        let mut process = None;
        while let Some(request) = requests.next().await {
            match request?.to_owned_message().event {
                Some(Event::Start(start)) => process = Some(self.select(&start.process)?),
                Some(Event::Data(data)) => {
                    let process = process
                        .as_ref()
                        .ok_or_else(|| ConnectError::invalid_argument("the first message must select a process"))?;
                    process.write(&data.input).await?;
                }
                Some(Event::Keepalive(_)) => {}
                None => return Err(ConnectError::unimplemented("invalid event type <nil>")),
            }
        }
        Response::ok(proto::StreamInputResponse::default())
    }

    async fn send_input(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, proto::SendInputRequest>,
    ) -> ServiceResult<proto::SendInputResponse> {
        let request = request.to_owned_message();
        self.select(&request.process)?.write(&request.input).await?;
        Response::ok(proto::SendInputResponse::default())
    }

    async fn send_signal(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, proto::SendSignalRequest>,
    ) -> ServiceResult<proto::SendSignalResponse> {
        let request = request.to_owned_message();
        let process = self.select(&request.process)?;
        let signal = match request.signal.as_known() {
            Some(proto::Signal::SIGNAL_SIGKILL) => libc::SIGKILL,
            Some(proto::Signal::SIGNAL_SIGTERM) => libc::SIGTERM,
            _ => return Err(ConnectError::unimplemented(format!("invalid signal: {}", request.signal))),
        };
        if !process.signal(signal) {
            return Err(Selector::new(&request.process)?.not_found());
        }
        Response::ok(proto::SendSignalResponse::default())
    }

    async fn close_stdin(
        &self,
        _context: RequestContext,
        request: ServiceRequest<'_, proto::CloseStdinRequest>,
    ) -> ServiceResult<proto::CloseStdinResponse> {
        let request = request.to_owned_message();
        self.select(&request.process)?.close_stdin()?;
        Response::ok(proto::CloseStdinResponse::default())
    }
}
