//! `Sandbox`: what a sandbox is reached by. What the control plane does with sandboxes is in `js/control.js`.

use std::cell::OnceCell;
use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::call::{Call, RequestOpts};
use super::commands::Commands;
use super::filesystem::Filesystem;
use super::options::{self, Options};
use super::pty::Pty;
use super::state::State;
use crate::transport::{Failure, task};

/// A throw-away Linux machine.
#[wasm_bindgen]
pub struct Sandbox {
    pub(super) state: Rc<State>,
    // The same object each time, so that `sandbox.files === sandbox.files`.
    commands: OnceCell<JsValue>,
    files: OnceCell<JsValue>,
    pty: OnceCell<JsValue>,
}

pub(super) fn into_js(state: State) -> JsValue {
    Sandbox { state: Rc::new(state), commands: OnceCell::new(), files: OnceCell::new(), pty: OnceCell::new() }.into()
}

#[wasm_bindgen]
impl Sandbox {
    /// The sandbox's id.
    #[wasm_bindgen(getter, js_name = sandboxId)]
    pub fn sandbox_id(&self) -> String {
        self.state.sandbox_id.clone()
    }

    /// The domain below which the sandbox's ports are served.
    #[wasm_bindgen(getter, js_name = sandboxDomain)]
    pub fn sandbox_domain(&self) -> String {
        self.state.address.domain().to_owned()
    }

    /// What callers of the sandbox's ports must send as `e2b-traffic-access-token`, when public traffic is off.
    #[wasm_bindgen(getter, js_name = trafficAccessToken)]
    pub fn traffic_access_token(&self) -> Option<String> {
        self.state.envd.traffic_token().map(|token| token.expose().to_owned())
    }

    /// Starts, finds and feeds commands.
    #[wasm_bindgen(getter, unchecked_return_type = "Commands")]
    pub fn commands(&self) -> JsValue {
        self.commands.get_or_init(|| Commands::new(self.state.envd.clone()).into()).clone()
    }

    /// Reads, writes and lists files.
    #[wasm_bindgen(getter, unchecked_return_type = "Filesystem")]
    pub fn files(&self) -> JsValue {
        self.files.get_or_init(|| Filesystem::new(self.state.envd.clone()).into()).clone()
    }

    /// Opens terminals.
    #[wasm_bindgen(getter, unchecked_return_type = "Pty")]
    pub fn pty(&self) -> JsValue {
        self.pty.get_or_init(|| Pty::new(self.state.envd.clone()).into()).clone()
    }

    /// The host name (with a port, if the server has one) under which a port of the sandbox is served.
    ///
    /// Throws an `InvalidArgumentError` when `port` is not a port number.
    #[wasm_bindgen(js_name = getHost)]
    pub fn get_host(&self, #[wasm_bindgen(unchecked_param_type = "number")] port: JsValue) -> Result<String, JsValue> {
        let port = options::required_whole(&port, "port", "getHost", u32::from(u16::MAX));
        port.map(|port| self.state.address.host(port as u16)).map_err(|error| Failure::from(error).into_js())
    }

    /// Whether the sandbox answers: false once it has ended or is paused. Needs no API key.
    #[wasm_bindgen(js_name = isRunning, unchecked_return_type = "Promise<boolean>")]
    pub fn is_running(&self, #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue) -> Promise {
        let state = self.state.clone();
        task::promise(async move {
            let request = RequestOpts::read(&Options::new(opts, "isRunning")?)?;
            let call = Call::begin(&request, state.envd.request_timeout_ms)?;
            Ok(state.envd.is_running(&call).await?.into())
        })
    }
}
