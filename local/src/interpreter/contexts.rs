//! All contexts of a sandbox, and the one that a request means.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use uuid::Uuid;

use super::Host;
use super::context::{Context, Description};
use super::kernel::StartError;
use super::languages::{self, Kernel};

/// The name by which the default Python context is known beside its id.
const DEFAULT_ID: &str = "default";

/// Why there is no context.
#[derive(Debug)]
pub(super) enum ContextError {
    NotFound(String),
    /// The text says all.
    NotCreated(String),
}

/// The contexts that exist.
pub(super) struct Contexts {
    host: Arc<Host>,
    known: Mutex<Known>,
    /// Two requests for the first run of a language must not both create its context.
    creating_default: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Known {
    /// In the order of creation.
    contexts: Vec<Arc<Context>>,
    /// The ids of the default contexts by language.
    defaults: HashMap<String, String>,
}

impl Known {
    fn get(&self, id: &str) -> Option<Arc<Context>> {
        self.contexts.iter().find(|context| context.description.id == id).cloned()
    }
}

impl Contexts {
    /// The two contexts that exist from the start. Python's kernel is started in the background, because most first runs
    /// are for it; the other one waits for its first run.
    pub(super) fn new(host: Arc<Host>) -> Arc<Self> {
        let contexts = Contexts { host, known: Mutex::default(), creating_default: tokio::sync::Mutex::default() };
        for language in [languages::DEFAULT, "javascript"] {
            let Ok((kind, description)) = contexts.describe(language, None) else { continue };
            let context = Context::new(Arc::clone(&contexts.host), kind, description);
            contexts.add(&context, true);
            if language == languages::DEFAULT {
                tokio::spawn(async move {
                    if let Err(error) = context.start().await {
                        // The first run tries again, and reports.
                        eprintln!("the Python kernel did not start: {error:?}");
                    }
                });
            }
        }
        Arc::new(contexts)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, context: &Arc<Context>, default: bool) {
        let mut known = self.known();
        known.contexts.push(Arc::clone(context));
        if default {
            let Description { id, language, .. } = context.description.clone();
            known.defaults.insert(language, id);
        }
    }

    pub(super) fn list(&self) -> Vec<Description> {
        self.known().contexts.iter().map(|context| context.description.clone()).collect()
    }

    /// The context with this id.
    pub(super) async fn get(&self, id: &str) -> Result<Arc<Context>, ContextError> {
        if id == DEFAULT_ID {
            return self.default(languages::DEFAULT).await;
        }
        self.known().get(id).ok_or_else(|| ContextError::NotFound(id.into()))
    }

    /// The context for runs that name only a language. Its kernel is started by now, unless it has been there before.
    pub(super) async fn default(&self, language: &str) -> Result<Arc<Context>, ContextError> {
        let language = languages::normalized(language);
        let _turn = self.creating_default.lock().await;
        let existing = {
            let known = self.known();
            known.defaults.get(&language).and_then(|id| known.get(id))
        };
        if let Some(context) = existing {
            return Ok(context);
        }
        let (kind, description) = self.describe(&language, None)?;
        self.create_described(kind, description, true).await
    }

    pub(super) async fn create(&self, language: &str, cwd: Option<String>) -> Result<Description, ContextError> {
        let (kind, description) = self.describe(language, cwd)?;
        Ok(self.create_described(kind, description, false).await?.description.clone())
    }

    async fn create_described(
        &self,
        kind: Kernel,
        description: Description,
        default: bool,
    ) -> Result<Arc<Context>, ContextError> {
        let context = Context::new(Arc::clone(&self.host), kind, description);
        context.start().await.map_err(|error| {
            ContextError::NotCreated(match error {
                StartError::Directory => "Failed to set working directory".into(),
                StartError::Failed(reason) => refusal(&reason, "the kernel did not start"),
            })
        })?;
        self.add(&context, default);
        Ok(context)
    }

    /// What a new context is to be, if there is a kernel for it.
    fn describe(&self, language: &str, cwd: Option<String>) -> Result<(Kernel, Description), ContextError> {
        let language = languages::normalized(language);
        let Some(kind) = Kernel::of(&language) else {
            let reason = format!(
                "The '{language}' kernel is not available. Please pick another suitable kernel instead, or install that \
                 kernel."
            );
            return Err(ContextError::NotCreated(refusal(&reason, &format!("{language} not found"))));
        };
        if !kind.is_installed(&self.host.kernels) {
            let reason = format!(
                "The '{language}' kernel is not installed. Run `cargo xtask setup --kernels` in the project, or start the \
                 server with --kernels and the folder that holds the kernels."
            );
            return Err(ContextError::NotCreated(refusal(&reason, &format!("{language} not installed"))));
        }
        let cwd = cwd.unwrap_or_else(|| self.host.home.to_string_lossy().into_owned());
        Ok((kind, Description { id: Uuid::new_v4().to_string(), language, cwd }))
    }

    /// Forgets a context, and ends its kernel.
    pub(super) async fn delete(&self, id: &str) -> Result<(), ContextError> {
        let context = self.get(id).await?;
        let removed = {
            let mut known = self.known();
            let before = known.contexts.len();
            known.contexts.retain(|other| !Arc::ptr_eq(other, &context));
            known.defaults.retain(|_, default| *default != context.description.id);
            known.contexts.len() < before
        };
        if !removed {
            return Err(ContextError::NotFound(id.into()));
        }
        context.delete().await;
        Ok(())
    }
}

/// The text of an answer about a context that cannot be created, as the Jupyter server would put it.
fn refusal(message: &str, short: &str) -> String {
    let quoted = |text: &str| Value::from(text).to_string();
    format!("Failed to create context: {{\"message\": {}, \"short_message\": {}}}", quoted(message), quoted(short))
}

impl ContextError {
    /// Status and text of the answer.
    pub(super) fn answer(self) -> (http::StatusCode, String) {
        match self {
            ContextError::NotFound(id) => (http::StatusCode::NOT_FOUND, format!("Context {id} not found")),
            ContextError::NotCreated(text) => (http::StatusCode::INTERNAL_SERVER_ERROR, text),
        }
    }
}
