//! What a `Sandbox` object holds.

use std::rc::Rc;

use super::call::{Call, RequestOpts};
use super::connection::{Client, ConnectionOpts};
use super::envd::Envd;
use super::interpreter::Interpreter;
use super::renewal::Renewal;
use crate::config::SandboxAddress;
use crate::error::Error;
use crate::protocol::control::SandboxRecord;
use crate::protocol::rpc::Endpoint;
use crate::protocol::version::Version;
use crate::transport::Failure;

/// What a `Sandbox` object holds.
pub(super) struct State {
    pub(super) sandbox_id: String,
    pub(super) client: Client,
    pub(super) address: SandboxAddress,
    pub(super) envd: Rc<Envd>,
    pub(super) interpreter: Rc<Interpreter>,
    /// As the server named it, for [`State::token`].
    pub(super) envd_version: String,
}

impl State {
    pub(super) fn new(client: Client, record: SandboxRecord, renewal: Option<Renewal>) -> Result<State, Error> {
        let address = client.config.sandbox(&record.sandbox_id, record.domain.as_deref(), Client::origin())?;
        let (base_url, routing) = address.envd();
        let version = Version::parse(&record.envd_version);
        let endpoint = Endpoint {
            base_url,
            access_token: record.envd_access_token,
            traffic_token: None,
            routing,
            default_user: version.default_user(),
        };
        let traffic_token = record.traffic_access_token;
        let envd = Rc::new(Envd::new(&client, record.sandbox_id.clone(), endpoint, traffic_token, version, renewal));
        let interpreter = Interpreter::new(address.code_interpreter(), envd.clone());
        Ok(State {
            sandbox_id: record.sandbox_id,
            client,
            address,
            envd,
            interpreter: Rc::new(interpreter),
            envd_version: record.envd_version,
        })
    }
}

/// Starts the clock of a request to the control plane.
pub(super) fn begin(client: &Client, connection: &ConnectionOpts) -> Result<Call, Failure> {
    let request = RequestOpts { request_timeout_ms: connection.request_timeout_ms, signal: connection.signal.clone() };
    Call::begin(&request, client.config.request_timeout_ms)
}
