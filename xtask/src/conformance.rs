//! The conformance checks of `tests/conformance`, against a local sandbox server of their own or against other servers.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::server::Server;
use crate::setup::{self, browser};
use crate::shell::{self, command, step};

const RUNNER: &str = "tests/conformance/run.mjs";

/// What checks need beside a server, by name.
pub(crate) type Variables = serde_json::Map<String, Value>;

#[derive(Args)]
pub(crate) struct Options {
    /// Run only these checks: sections and numbers such as `A,58,100-109`, or else a part of their titles
    checks: Option<String>,
    /// Check this daemon (envd) instead of a local server; it must be fresh, and its settings are changed
    #[arg(long, value_name = "URL")]
    envd: Option<String>,
    /// Check this control plane and its sandboxes instead of a local server; sandboxes are made and removed again
    #[arg(long, value_name = "URL", requires = "api_key")]
    control_plane: Option<String>,
    /// Check this code interpreter instead of those in sandboxes
    #[arg(long, value_name = "URL")]
    interpreter: Option<String>,
    /// API key for the control plane
    #[arg(long, value_name = "KEY", env = "E2B_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// Give a check what it needs, such as `other-api-key=e2b_…`; checks that are not run say what that is
    #[arg(long = "set", value_name = "NAME=VALUE")]
    variables: Vec<String>,
}

impl Options {
    fn others(&self) -> [(&'static str, Option<&str>); 3] {
        [
            ("TEST_ENVD_URL", self.envd.as_deref()),
            ("TEST_API_URL", self.control_plane.as_deref()),
            ("TEST_INTERPRETER_URL", self.interpreter.as_deref()),
        ]
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let own = options.others().iter().all(|(_, url)| url.is_none());
    setup::for_conformance(own)?;
    let server = if own { Some(start()?) } else { None };
    step("conformance checks");
    let mut runner = runner(options.checks.as_deref());
    let variables = variables(&options.variables)?;
    match &server {
        Some(server) => with_local(&mut runner, server, variables),
        None => {
            let urls = options.others().into_iter().filter_map(|(name, url)| Some((name, url?)));
            let key = options.api_key.as_deref().map(|key| ("TEST_API_KEY", key));
            runner.envs(urls).envs(key).env("TEST_VARIABLES", Value::Object(variables).to_string())
        }
    };
    shell::run(&mut runner)
}

/// The program that runs the checks.
pub(crate) fn runner(checks: Option<&str>) -> Command {
    let mut node = command("node");
    node.arg(RUNNER).envs(checks.map(|checks| ("TEST_FILTER", checks)));
    // Without it the checks from a page say that they were not run.
    node.envs(browser::find().map(|browser| ("CHROME", browser.chromium)));
    node
}

/// A local server on which a full disk is not many GiB.
pub(crate) fn start() -> Result<Server> {
    Server::start_with(&["--max-disk", "128"])
}

/// Points the runner at a server of [`start`] and at the sockets of its sandboxes.
pub(crate) fn with_local<'a>(runner: &'a mut Command, server: &Server, mut variables: Variables) -> &'a mut Command {
    variables.entry("small-mount").or_insert_with(|| "/dev/shm".into());
    runner.env("TEST_API_URL", &server.url).env("TEST_API_KEY", &server.api_key).env("TEST_RUNTIME_DIR", runtime_dir());
    runner.env("TEST_VARIABLES", Value::Object(variables).to_string())
}

/// Where the server puts the directory with the sockets of its sandboxes.
fn runtime_dir() -> PathBuf {
    let session = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_dir());
    session.unwrap_or_else(env::temp_dir)
}

/// `NAME=VALUE` pairs as an object.
fn variables(pairs: &[String]) -> Result<Variables> {
    let mut found = Variables::new();
    for pair in pairs {
        let (name, value) = pair.split_once('=').context("--set takes NAME=VALUE, and one has no =")?;
        if name.is_empty() {
            bail!("--set takes NAME=VALUE, and one has no name");
        }
        found.insert(name.to_owned(), value.into());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Value, variables};

    #[test]
    fn variables_are_pairs() {
        let check = |pairs: &[&str]| {
            variables(&pairs.iter().map(ToString::to_string).collect::<Vec<_>>())
                .ok()
                .map(|found| Value::Object(found).to_string())
        };
        assert_eq!(check(&[]).as_deref(), Some("{}"));
        assert_eq!(check(&["a=b", "c=d=e"]).as_deref(), Some(r#"{"a":"b","c":"d=e"}"#));
        assert_eq!(check(&["a"]), None);
        assert_eq!(check(&["=b"]), None);
    }
}
