//! Credentials of the control plane that only exist when a request is sent: signatures, and what a callback answers.

use std::rc::Rc;

use js_sys::{Date, Function, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::call::Call;
use super::options::Options;
use crate::error::{Error, code};
use crate::protocol::access_key::AccessKey;
use crate::protocol::http::Request;
use crate::protocol::secret::Secret;
use crate::transport::{Failure, host};

/// The option `auth`.
#[derive(Clone)]
pub enum Auth {
    AccessKey(Rc<AccessKey>),
    Bearer(Secret),
    Headers(Function),
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = r#"
/**
 * How calls of the control plane prove who makes them, instead of or beside `apiKey`: an access key, which signs each request and is
 * refused in pages; a bearer token; or a function that answers headers for each request.
 */
export type SandboxAuth =
    | {
          accessKeyId: string;
          accessKeySecret: string;
          /** Of temporary credentials. */
          securityToken?: string | undefined;
          /** Lets an access key be used in a page, where everybody can read it. Default false. */
          dangerouslyAllowInPage?: boolean | undefined;
      }
    | { bearer: string }
    | (() => Record<string, string> | Promise<Record<string, string>>);
"#;

impl Auth {
    pub(super) fn read(options: &Options) -> Result<Option<Auth>, Error> {
        let Some(value) = options.get("auth") else { return Ok(None) };
        if value.is_function() {
            return Ok(Some(Auth::Headers(value.unchecked_into())));
        }
        let auth = Options::new(value, "auth")?;
        let text = |name| auth.string(name).map(|text| text.filter(|text| !text.is_empty()));
        if auth.get("bearer").is_some() && auth.get("accessKeyId").is_some() {
            return Err(Error::invalid_argument("Option auth must have either bearer or accessKeyId, not both"));
        }
        if let Some(token) = text("bearer")? {
            return Ok(Some(Auth::Bearer(Secret::new(token))));
        }
        let (Some(id), Some(secret)) = (text("accessKeyId")?, text("accessKeySecret")?) else {
            return Err(Error::invalid_argument(
                "Option auth must have accessKeyId and accessKeySecret, or bearer, or be a function that answers headers",
            ));
        };
        if host::in_page() && !auth.boolean("dangerouslyAllowInPage")?.unwrap_or(false) {
            let mut error = Error::invalid_argument(
                "An access key opens a whole account and must not be in a page. Let your back end create sandboxes and attach to \
                 them (Sandbox.attach), or set auth.dangerouslyAllowInPage if nobody else sees this page",
            );
            error.code = code::ACCESS_KEY_IN_PAGE;
            return Err(error);
        }
        let security_token = text("securityToken")?.map(Secret::new);
        Ok(Some(Auth::AccessKey(Rc::new(AccessKey { id, secret: Secret::new(secret), security_token }))))
    }

    /// Adds the credentials to a request that is about to be sent.
    pub(super) async fn authorize(&self, call: &Call, request: &mut Request) -> Result<(), Failure> {
        match self {
            Auth::AccessKey(key) => {
                let now = String::from(Date::new_0().to_iso_string());
                let date = format!("{}Z", now.split('.').next().unwrap_or_default());
                key.sign(request, &date, &host::new_id());
            }
            Auth::Bearer(token) => request.headers.set("authorization", format!("Bearer {}", token.expose())),
            Auth::Headers(callback) => {
                let answer = callback.call0(&JsValue::UNDEFINED).map_err(Failure::Thrown)?;
                let promise = JsFuture::from(Promise::resolve(&answer));
                let headers = call.scope.run(promise).await?.map_err(Failure::Thrown)?;
                if headers.is_undefined() || headers.is_null() {
                    return Ok(());
                }
                for (name, value) in Options::new(JsValue::UNDEFINED, "auth")?.strings_of("headers", headers)? {
                    request.headers.set(name.to_ascii_lowercase(), value);
                }
            }
        }
        Ok(())
    }
}
