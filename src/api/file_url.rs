//! URLs of a sandbox's files, which work without any header.

use js_sys::{Date, Promise};
use tsify::Tsify;
use wasm_bindgen::prelude::*;

use super::options::{self, Options};
use super::sandbox::Sandbox;
use super::state::State;
use crate::protocol::signature::{FileUrl, Operation};
use crate::transport::{Failure, task};

/// Options of `downloadUrl` and `uploadUrl`.
#[derive(Tsify)]
#[serde(rename_all = "camelCase")]
pub struct SandboxUrlOpts {
    /// The user whose home directory a relative path starts from. Default: the sandbox's default user.
    #[tsify(optional, type = "string")]
    pub user: Option<String>,
    /// Seconds until the URL stops working. Default: it works as long as the sandbox.
    #[tsify(optional, type = "number")]
    pub use_signature_expiration: Option<u64>,
}

#[wasm_bindgen]
impl Sandbox {
    /// A URL under which a file can be fetched without any header, for links and `<img>`. Signed when the sandbox has a
    /// token. Sends no request.
    ///
    /// Rejects with an `InvalidArgumentError` for an expiration when the sandbox has no token.
    #[wasm_bindgen(js_name = downloadUrl, unchecked_return_type = "Promise<string>")]
    pub fn download_url(
        &self,
        #[wasm_bindgen(unchecked_param_type = "string")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "SandboxUrlOpts")] opts: JsValue,
    ) -> Promise {
        let state = self.state.clone();
        task::promise(async move {
            let path = options::required_string(&path, "path", "downloadUrl")?;
            Ok(state.file_url(Operation::Read, &path, opts, "downloadUrl")?.into())
        })
    }

    /// A URL to which a form with one or more parts named `file` can be posted without any header. Without a path each part
    /// names its own file.
    ///
    /// Rejects with an `InvalidArgumentError` for an expiration when the sandbox has no token.
    #[wasm_bindgen(js_name = uploadUrl, unchecked_return_type = "Promise<string>")]
    pub fn upload_url(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "string | undefined")] path: JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "SandboxUrlOpts")] opts: JsValue,
    ) -> Promise {
        let state = self.state.clone();
        task::promise(async move {
            let path = path.as_string().unwrap_or_default();
            Ok(state.file_url(Operation::Write, &path, opts, "uploadUrl")?.into())
        })
    }
}

impl State {
    fn file_url(
        &self,
        operation: Operation,
        path: &str,
        opts: JsValue,
        owner: &'static str,
    ) -> Result<String, Failure> {
        let options = Options::new(opts, owner)?;
        let endpoint = self.envd.endpoint();
        let user = options.string("user")?;
        let now_s = (Date::now() / 1000.0).floor() as i64;
        let lifetime_s = options.whole("useSignatureExpiration", 0)?;
        let url = FileUrl {
            base_url: &self.address.envd_direct_url(),
            path,
            user: endpoint.effective_user(user.as_deref()),
            operation,
            token: endpoint.access_token.as_ref(),
            expiration: lifetime_s.map(|seconds| now_s.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX))),
        };
        Ok(url.build()?)
    }
}
