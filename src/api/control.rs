//! Calls of the control plane.

use std::pin::Pin;

use super::call::Call;
use super::connection::Client;
use crate::error::code;
use crate::protocol::http::{Head, Method, Request};
use crate::transport::{Failure, Payload, Response};

/// How long the first repetition waits when the server does not say, in milliseconds. Each further one waits twice as long.
const FIRST_WAIT_MS: f64 = 250.0;

/// Sends `request`, again as often as the option `retries` allows where [`wait_ms`] permits it. All of it is under the call's
/// clock: what would be repeated after its end is answered at once. The body of the answer is left to be read. A stream is never
/// sent again.
pub(super) fn open<'a>(
    client: &'a Client,
    call: &'a Call,
    mut request: Request,
    payload: &'a Payload,
) -> Pin<Box<dyn Future<Output = Result<Response, Failure>> + 'a>> {
    // Behind a pointer, so that it is compiled once and not into everyone who waits for it.
    Box::pin(async move {
        loop {
            authorize(client, call, &mut request).await?;
            let answer = client.fetch.send(request.clone(), payload, &call.scope).await;
            let wait_ms = match payload {
                Payload::Stream(_) => None,
                _ => wait_ms(client, call, &request, answer.as_ref().map(|response| &response.head)),
            };
            match wait_ms {
                Some(wait_ms) => call.scope.pause(wait_ms).await?,
                None => return answer,
            }
            request.attempt += 1;
        }
    })
}

/// Adds credentials that belong to one sending, such as a signature with its time.
async fn authorize(client: &Client, call: &Call, request: &mut Request) -> Result<(), Failure> {
    match client.auth().filter(|_| request.authorizes_late) {
        Some(auth) => auth.authorize(call, request).await,
        None => Ok(()),
    }
}

/// How long to wait before the request may be sent again, in milliseconds; None: it may not. A request that only reads may
/// always be repeated; any other only when the server refused it unread (429) and said for how long.
fn wait_ms(client: &Client, call: &Call, request: &Request, answer: Result<&Head, &Failure>) -> Option<u64> {
    let reads = request.method == Method::Get;
    // Not every attempt of every client at the same moment.
    let backoff = || {
        let longest_ms = FIRST_WAIT_MS * f64::from(1_u32 << (request.attempt - 1).min(16));
        longest_ms * (0.5 + js_sys::Math::random() / 2.0)
    };
    let wait_ms = match answer {
        Ok(head) => match (head.status, retry_after_ms(head)) {
            (429, Some(wait_ms)) => Some(wait_ms),
            (429 | 502 | 503 | 504, told) if reads => Some(told.unwrap_or_else(backoff)),
            _ => None,
        },
        Err(failure) => {
            let network = failure.has_code(code::CONNECTION_FAILED) || failure.has_code(code::CONNECTION_LOST);
            (reads && network).then(backoff)
        }
    }?;
    (request.attempt <= client.retries && call.has_time_for(wait_ms)).then_some(wait_ms as u64)
}

/// What `Retry-After` asks for: seconds, or a date.
fn retry_after_ms(head: &Head) -> Option<f64> {
    if let Some(ms) = head.retry_after_ms() {
        return Some(ms as f64);
    }
    let until = js_sys::Date::parse(head.headers.get("retry-after")?);
    if until.is_nan() { None } else { Some((until - js_sys::Date::now()).max(0.0)) }
}
