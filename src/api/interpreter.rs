//! The code interpreter of a sandbox: its calls, and the methods about contexts.

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Date, Promise};
use serde::Serialize;
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::call::{Call, RequestOpts};
use super::envd::{Envd, read_error};
use super::options::{self, Options};
use super::sandbox::Sandbox;
use super::types;
use crate::error::Error;
use crate::protocol::http::{Head, Request};
use crate::protocol::interpreter::{self as wire, CodeContext};
use crate::protocol::rpc::{Endpoint, Routing};
use crate::transport::timer::Timer;
use crate::transport::{Failure, Payload, Response, Scope, Slot, task};

/// How long an interrupt takes until the kernel has it, in milliseconds. Known servers lose a run that overtakes it.
const INTERRUPT_MS: f64 = 150.0;

/// The code interpreter of one sandbox.
pub(super) struct Interpreter {
    base_url: String,
    routing: Option<Routing>,
    /// The daemon of the same sandbox: it has the current token, and knows whether the sandbox is still there.
    pub(super) envd: Rc<Envd>,
    /// Until when an interrupt that was caused here may be on its way, in milliseconds since the epoch.
    busy_until: Cell<f64>,
}

impl Interpreter {
    pub(super) fn new((base_url, routing): (String, Option<Routing>), envd: Rc<Envd>) -> Self {
        Interpreter { base_url, routing, envd, busy_until: Cell::new(0.0) }
    }

    /// A connection was closed to interrupt a run.
    pub(super) fn interrupted(&self) {
        self.busy_until.set(Date::now() + INTERRUPT_MS);
    }

    /// Waits until no interrupt is on its way.
    pub(super) async fn calm(&self, scope: &Scope) -> Result<(), Failure> {
        let left_ms = self.busy_until.get() - Date::now();
        if left_ms > 0.0 {
            let passed = Slot::new();
            let done = passed.clone();
            // A clock that was set back must not make it longer.
            let _timer = Timer::after(left_ms.min(INTERRUPT_MS) as u64, move || done.set(()));
            scope.run(passed.wait()).await?;
        }
        Ok(())
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint {
            base_url: self.base_url.clone(),
            access_token: self.envd.endpoint().access_token,
            traffic_token: self.envd.traffic_token(),
            routing: self.routing.clone(),
            default_user: None,
        }
    }

    /// Sends what `request` makes and waits for the head of an answer that is a success.
    pub(super) async fn open(
        &self,
        scope: &Scope,
        request: &dyn Fn(&Endpoint) -> Result<Request, Error>,
    ) -> Result<Response, Failure> {
        self.envd.renew_if_due(scope).await?;
        let sent = self.envd.fetch.send(request(&self.endpoint())?, &Payload::Request, scope).await;
        let response = self.explained(sent).await?;
        // A page in place of an answer, such as one that asks to log in.
        let is_page = response.head.has_media_type("text/html");
        if response.head.is_success() && !is_page {
            return Ok(response);
        }
        let (head, body) = read_error(scope, response).await?;
        Err(if head.is_success() { head.unexpected(&body) } else { wire::failure(&head, &body) }.into())
    }

    /// Looks behind a network failure, as [`Envd::explained`].
    pub(super) async fn explained<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        self.envd.explained(result, None).await
    }

    async fn call(
        &self,
        options: &Options<'_>,
        request: &dyn Fn(&Endpoint) -> Result<Request, Error>,
    ) -> Result<(Head, Vec<u8>), Failure> {
        let call = Call::begin(&RequestOpts::read(options)?, self.envd.request_timeout_ms)?;
        let response = self.open(&call.scope, request).await?;
        let body = self.explained(response.body.read_all(&call.scope).await).await?;
        Ok((response.head, body))
    }
}

/// A kernel of the sandbox that keeps its variables from run to run.
#[derive(Tsify, Serialize)]
pub struct Context {
    pub id: String,
    /// The language as the server calls it: `python`, `javascript` and so on.
    pub language: String,
    /// The working directory it was created with.
    pub cwd: String,
}

fn context_to_js(context: CodeContext) -> JsValue {
    types::to_js(&Context { id: context.id, language: context.language, cwd: context.cwd })
}

/// The id of a context that is given as such, or as its id.
pub(super) fn context_id(context: &JsValue) -> Result<String, Error> {
    let id = context.as_string().or_else(|| Options::new(context.clone(), "context").ok()?.string("id").ok()?);
    id.filter(|id| !id.is_empty()).ok_or_else(|| {
        let kind = options::kind(context);
        Error::invalid_argument(format!(
            "The context must be one of createCodeContext, or its id as a string, not {kind}"
        ))
    })
}

/// Options of `createCodeContext`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct CreateCodeContextOpts {
    /// The working directory. Default: the user's home.
    #[tsify(optional, type = "string")]
    pub cwd: Option<String>,
    /// Default `"python"`.
    #[tsify(optional, type = "RunCodeLanguage")]
    pub language: Option<String>,
    #[serde(flatten)]
    pub request: RequestOpts,
}

#[wasm_bindgen]
impl Sandbox {
    /// Starts a kernel of its own for `runCode`.
    ///
    /// Rejects with a `SandboxError` when the sandbox has no kernel for the language.
    #[wasm_bindgen(js_name = createCodeContext, unchecked_return_type = "Promise<Context>")]
    pub fn create_code_context(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "CreateCodeContextOpts")] opts: JsValue,
    ) -> Promise {
        let interpreter = self.state.interpreter.clone();
        task::promise(async move {
            let options = Options::new(opts, "createCodeContext")?;
            let (language, cwd) = (options.string("language")?, options.string("cwd")?);
            let request = |endpoint: &Endpoint| Ok(wire::create_context(endpoint, language.as_deref(), cwd.as_deref()));
            let (head, body) = interpreter.call(&options, &request).await?;
            Ok(context_to_js(wire::read_context(&head, &body)?))
        })
    }

    /// All contexts, the default ones of each language included.
    #[wasm_bindgen(js_name = listCodeContexts, unchecked_return_type = "Promise<Context[]>")]
    pub fn list_code_contexts(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        let interpreter = self.state.interpreter.clone();
        task::promise(async move {
            let options = Options::new(opts, "listCodeContexts")?;
            let (head, body) = interpreter.call(&options, &|endpoint| Ok(wire::list_contexts(endpoint))).await?;
            Ok(wire::read_contexts(&head, &body)?.into_iter().map(context_to_js).collect::<Array>().into())
        })
    }

    /// Restarts a context: its id stays, its variables are gone, and its working directory is the user's home again. Code that
    /// runs there ends with an error.
    ///
    /// Rejects with a `NotFoundError` when there is no such context.
    #[wasm_bindgen(js_name = restartCodeContext, unchecked_return_type = "Promise<void>")]
    pub fn restart_code_context(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Context | string")] context: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        manage(self.state.interpreter.clone(), context, opts, "restartCodeContext", wire::restart_context)
    }

    /// Ends a context and its kernel. Code that runs there ends with an error.
    ///
    /// Rejects with a `NotFoundError` when there is no such context.
    #[wasm_bindgen(js_name = removeCodeContext, unchecked_return_type = "Promise<void>")]
    pub fn remove_code_context(
        &self,
        #[wasm_bindgen(unchecked_param_type = "Context | string")] context: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "RequestOpts")] opts: JsValue,
    ) -> Promise {
        manage(self.state.interpreter.clone(), context, opts, "removeCodeContext", wire::remove_context)
    }
}

/// A call about one context whose answer says nothing.
fn manage(
    interpreter: Rc<Interpreter>,
    context: JsValue,
    opts: JsValue,
    owner: &'static str,
    request: fn(&Endpoint, &str) -> Result<Request, Error>,
) -> Promise {
    task::promise(async move {
        let id = context_id(&context)?;
        let options = Options::new(opts, owner)?;
        let (head, body) = interpreter.call(&options, &|endpoint| request(endpoint, &id)).await?;
        wire::read_done(&head, &body)?;
        Ok(JsValue::UNDEFINED)
    })
}
