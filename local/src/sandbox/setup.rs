//! What is in a new sandbox before its creator gets it: what its template says. Plain data.

use std::collections::BTreeMap;

/// Files to put in place, and what is started. Copies of a sandbox have its files, and are started the same way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    /// A shell command that runs in the background.
    pub(crate) start: Option<String>,
    /// A shell command that is repeated until it succeeds; the sandbox is ready then.
    pub(crate) ready: Option<String>,
    /// Who runs both; the default user when absent.
    pub(crate) user: Option<String>,
    /// Default variables of every command; those of the create request win.
    pub(crate) envs: BTreeMap<String, String>,
    pub(crate) files: Vec<SetupFile>,
    /// The user of commands that name none; `user` when absent.
    pub(crate) default_user: Option<String>,
    /// The directory of commands that name none; the user's home when absent.
    pub(crate) workdir: Option<String>,
    /// The code interpreter runs inside.
    pub(crate) interpreter: bool,
}

/// A file that is written before anything starts.
#[derive(Debug, Clone)]
pub(crate) struct SetupFile {
    /// Absolute, or relative to the home directory.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl Setup {
    /// Who runs the start command.
    pub(crate) fn starter(&self) -> &str {
        self.user.as_deref().unwrap_or(self.commander())
    }

    /// Who runs commands that name no user.
    pub(crate) fn commander(&self) -> &str {
        self.default_user.as_deref().unwrap_or("user")
    }
}
