//! Calls of the daemon inside a sandbox: unary and streaming, in the encoding the daemon understands.

use std::cell::RefCell;

use super::call::Call;
use super::connection::{Client, EncodingChoice};
use super::renewal::{Renewal, Tokens};
use crate::error::{Error, code};
use crate::protocol::connect::{Context, Decoder, Frame, end_of_stream};
use crate::protocol::files;
use crate::protocol::http::{Head, Request};
use crate::protocol::message::Encoding;
use crate::protocol::rpc::{self, Endpoint, Rpc};
use crate::protocol::secret::Secret;
use crate::protocol::version::Version;
use crate::transport::{Body, Failure, Fetch, Payload, Response, Scope};

thread_local! {
    /// Which sandboxes have refused binary messages: each has a daemon of its own, also where all are reached at one address.
    static JSON_ONLY: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// How long the question "is the sandbox still there?" may take, in milliseconds.
const PROBE_MS: u64 = 5_000;

/// How much of an error page is read before the rest is given up, in bytes.
const ERROR_BODY: usize = 64 * 1024;

/// The daemon of one sandbox.
pub(super) struct Envd {
    /// Replaced when the sandbox gets a new token. Cloned for use, so that no borrow is held across a wait.
    endpoint: RefCell<Endpoint>,
    /// What other ports of the sandbox ask for. Replaced with the endpoint's token.
    traffic_token: RefCell<Option<Secret>>,
    renewal: Option<Renewal>,
    pub(super) sandbox_id: String,
    pub(super) version: Version,
    pub(super) fetch: Fetch,
    pub(super) encoding: EncodingChoice,
    /// The client's request clock; None: no limit.
    pub(super) request_timeout_ms: Option<u64>,
}

/// Writes a request message in either encoding.
pub(super) type Encode<'a> = &'a dyn Fn(Encoding) -> Vec<u8>;

impl Envd {
    pub(super) fn new(
        client: &Client,
        sandbox_id: String,
        endpoint: Endpoint,
        traffic_token: Option<Secret>,
        version: Version,
        renewal: Option<Renewal>,
    ) -> Self {
        Envd {
            endpoint: RefCell::new(endpoint),
            traffic_token: RefCell::new(traffic_token),
            renewal,
            sandbox_id,
            version,
            fetch: client.fetch.clone(),
            encoding: client.encoding,
            request_timeout_ms: client.config.request_timeout_ms,
        }
    }

    /// Where the daemon is, and with which token it is asked.
    pub(super) fn endpoint(&self) -> Endpoint {
        self.endpoint.borrow().clone()
    }

    /// What callers of the sandbox's other ports send, when public traffic is off.
    pub(super) fn traffic_token(&self) -> Option<Secret> {
        self.traffic_token.borrow().clone()
    }

    /// Uses other tokens from now on. A server that names no traffic token has not changed it.
    pub(super) fn set_tokens(&self, tokens: Tokens) {
        self.endpoint.borrow_mut().access_token = tokens.access;
        if tokens.traffic.is_some() {
            *self.traffic_token.borrow_mut() = tokens.traffic;
        }
    }

    /// A unary call. Answers the message and the encoding it is in.
    pub(super) async fn unary(
        &self,
        call: &Call,
        rpc: &Rpc,
        user: Option<&str>,
        encode: Encode<'_>,
    ) -> Result<(Vec<u8>, Encoding), Failure> {
        let request = |encoding| self.endpoint().unary(rpc, user, encode(encoding), encoding);
        let (encoding, response) = self.negotiate(&call.scope, rpc.context, &request).await?;
        if !rpc::is_unary_answer(&response.head, encoding) {
            return Err(self.refused(&call.scope, response, rpc.context).await);
        }
        let body = self.explained(response.body.read_all(&call.scope).await, Some(rpc.context)).await?;
        Ok((body, encoding))
    }

    /// Opens a stream. `timeout_ms` limits the whole stream on the server.
    pub(super) async fn open(
        &self,
        scope: &Scope,
        rpc: &Rpc,
        user: Option<&str>,
        encode: Encode<'_>,
        timeout_ms: Option<u64>,
    ) -> Result<Events, Failure> {
        let request = |encoding| self.endpoint().streaming(rpc, user, &encode(encoding), encoding, timeout_ms);
        let (encoding, response) = self.negotiate(scope, rpc.context, &request).await?;
        if !rpc::is_stream_answer(&response.head, encoding) {
            return Err(self.refused(scope, response, rpc.context).await);
        }
        Ok(Events { body: response.body, decoder: Decoder::new(), encoding, context: rpc.context })
    }

    /// Whether the sandbox answers.
    pub(super) async fn is_running(&self, call: &Call) -> Result<bool, Failure> {
        let (head, body) = self.fetch.call(files::health(&self.endpoint()), &Payload::Request, &call.scope).await?;
        Ok(files::read_health(&head, &body)?)
    }

    /// A request to a plain HTTP route, made by `request`; fails with `files::failure` for any status but 2xx.
    pub(super) async fn http(
        &self,
        scope: &Scope,
        request: &dyn Fn(&Endpoint) -> Result<Request, Error>,
        payload: &Payload,
    ) -> Result<Response, Failure> {
        self.renew_if_due(scope).await?;
        let used = self.endpoint();
        let mut response = self.send(scope, request(&used)?, payload, None).await?;
        // A stream has been used up by the first attempt.
        let again = !payload.is_stream() && self.renew_if_refused(scope, &response.head, &used).await?;
        if again {
            response = self.send(scope, request(&self.endpoint())?, payload, None).await?;
        }
        if response.head.is_success() {
            return Ok(response);
        }
        let (head, body) = read_error(scope, response).await?;
        Err(files::failure(&head, &body).into())
    }

    /// Sends what `request` makes, in binary unless this sandbox is known to want JSON. A daemon that answers 415 has not
    /// looked at the message, so sending it again in JSON repeats nothing; the same goes for a refused token.
    async fn negotiate(
        &self,
        scope: &Scope,
        context: Context,
        request: &dyn Fn(Encoding) -> Request,
    ) -> Result<(Encoding, Response), Failure> {
        self.renew_if_due(scope).await?;
        let daemon = format!("{} {}", self.endpoint.borrow().base_url, self.sandbox_id);
        let mut encoding = match self.encoding {
            EncodingChoice::Fixed(encoding) => encoding,
            EncodingChoice::Auto if is_json_only(&daemon) => Encoding::Json,
            EncodingChoice::Auto => Encoding::Proto,
        };
        let used = self.endpoint();
        let mut response = self.send(scope, request(encoding), &Payload::Request, Some(context)).await?;
        if self.renew_if_refused(scope, &response.head, &used).await? {
            response = self.send(scope, request(encoding), &Payload::Request, Some(context)).await?;
        }
        let may_fall_back = self.encoding == EncodingChoice::Auto && encoding == Encoding::Proto;
        if may_fall_back && rpc::refuses_encoding(&response.head) {
            JSON_ONLY.with(|known| known.borrow_mut().push(daemon));
            encoding = Encoding::Json;
            response = self.send(scope, request(encoding), &Payload::Request, Some(context)).await?;
        }
        Ok((encoding, response))
    }

    async fn send(
        &self,
        scope: &Scope,
        request: Request,
        payload: &Payload,
        context: Option<Context>,
    ) -> Result<Response, Failure> {
        self.explained(self.fetch.send(request, payload, scope).await, context).await
    }

    /// Asks for a new token when the old one is about to end.
    pub(super) async fn renew_if_due(&self, scope: &Scope) -> Result<(), Failure> {
        if let Some(renewal) = &self.renewal
            && renewal.is_due()
        {
            self.set_tokens(renewal.next(scope, &self.sandbox_id).await?);
        }
        Ok(())
    }

    /// Gets another token when `head` refuses the one that was `used`; whether there is another now. Calls whose refusals
    /// arrive after another call's renewal use what that one brought.
    async fn renew_if_refused(&self, scope: &Scope, head: &Head, used: &Endpoint) -> Result<bool, Failure> {
        let Some(renewal) = &self.renewal else { return Ok(false) };
        if head.status != 401 {
            return Ok(false);
        }
        let is_current = self.endpoint.borrow().access_token == used.access_token;
        if is_current {
            self.set_tokens(renewal.next(scope, &self.sandbox_id).await?);
        }
        Ok(true)
    }

    /// The error of an answer that is not the expected message.
    async fn refused(&self, scope: &Scope, response: Response, context: Context) -> Failure {
        match read_error(scope, response).await {
            Ok((head, body)) => rpc::failure(&head, &body, context).into(),
            Err(failure) => failure,
        }
    }

    /// Looks behind a network failure: runtimes report all of them alike, so the sandbox's health tells whether it is gone.
    /// `context` is what the call was about; None for the plain HTTP routes.
    pub(super) async fn explained<T>(
        &self,
        result: Result<T, Failure>,
        context: Option<Context>,
    ) -> Result<T, Failure> {
        match result {
            Ok(value) => Ok(value),
            Err(failure) => Err(self.explain(failure, context).await),
        }
    }

    async fn explain(&self, failure: Failure, context: Option<Context>) -> Failure {
        let network = [code::CONNECTION_FAILED, code::CONNECTION_LOST, code::STREAM_TRUNCATED];
        if !network.iter().any(|code| failure.has_code(code)) {
            return failure;
        }
        let Ok(call) = Call::unattended(PROBE_MS) else { return failure };
        let answer = self.fetch.call(files::health(&self.endpoint()), &Payload::Request, &call.scope).await;
        match (answer, failure) {
            (Ok((head, body)), Failure::Error { cause, .. }) if head.status == 502 => {
                let error = match context {
                    Some(context) => rpc::failure(&head, &body, context),
                    None => files::failure(&head, &body),
                };
                Failure::with_cause(error, cause)
            }
            (_, failure) => failure,
        }
    }
}

fn is_json_only(daemon: &str) -> bool {
    JSON_ONLY.with(|known| known.borrow().iter().any(|known| known == daemon))
}

/// The head and the beginning of the body of an answer that reports an error.
pub(super) async fn read_error(scope: &Scope, mut response: Response) -> Result<(Head, Vec<u8>), Failure> {
    let mut body = Vec::new();
    while body.len() < ERROR_BODY {
        // A body that breaks off still has a status in front of it, which says more than the break.
        let Ok(Some(chunk)) = response.body.next(scope).await else { break };
        body.extend(chunk.to_vec());
    }
    match scope.ended() {
        Some(failure) => Err(failure),
        None => Ok((response.head, body)),
    }
}

/// The messages of an open stream.
pub(super) struct Events {
    body: Body,
    decoder: Decoder,
    pub(super) encoding: Encoding,
    pub(super) context: Context,
}

/// What [`Events::read`] found.
pub(super) enum Progress {
    /// There may be more.
    More,
    /// The end marker, without an error.
    Done,
}

impl Events {
    /// Waits for the next network chunk and hands every message that it completes to `each`.
    ///
    /// # Errors
    /// The stream's own error, `stream_truncated` when it ends without its end marker, whatever ended `scope`, and what
    /// `each` fails with.
    pub(super) async fn read(
        &mut self,
        scope: &Scope,
        each: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Progress, Failure> {
        let Some(chunk) = self.body.next(scope).await? else {
            self.decoder.finish()?;
            return Ok(Progress::Done);
        };
        self.decoder.push_with(chunk.length() as usize, |buffer| chunk.copy_to(buffer));
        while let Some(frame) = self.decoder.next()? {
            match frame {
                Frame::Message(payload) => each(payload)?,
                Frame::End(payload) => {
                    return match end_of_stream(payload)? {
                        Some(error) => Err(error.into_error(self.context).into()),
                        None => Ok(Progress::Done),
                    };
                }
            }
        }
        Ok(Progress::More)
    }

    /// Reads what is left in the background, for at most `limit_ms`: the outcome is known, and the connection can be used again.
    pub(super) fn finish(self, limit_ms: u32) {
        self.body.finish(limit_ms);
    }

    /// From here on, "not found" is about a running process and not about starting one.
    pub(super) fn begun(&mut self) {
        if self.context == Context::ProcessStart {
            self.context = Context::Process;
        }
    }
}
