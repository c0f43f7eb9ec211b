//! The server that template images bring with them, from its registry, with exactly the versions that the lock file in
//! `tests/server/python` names.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::clients;
use crate::shell::{self, command, step};
use crate::workspace;

fn folder() -> PathBuf {
    workspace::scratch().join("server/python")
}

/// Installs it.
pub(crate) fn install() -> Result<()> {
    step("agent-sandbox-server, in build/server/python");
    clients::environment(&folder(), &workspace::root().join("tests/server/python/requirements.txt"))
}

/// The Python that it was installed with, and the folder of its packages: a sandbox sees the one, and gets copies of the other.
pub(crate) fn parts() -> Result<(PathBuf, PathBuf)> {
    const QUESTION: &str =
        "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path('purelib'))";
    let answer = shell::output(command(folder().join("bin/python3")).args(["-c", QUESTION]))?;
    let mut lines = answer.lines().map(PathBuf::from);
    let parts = lines.next().zip(lines.next()).context("Python does not say where its packages are")?;
    fs::metadata(parts.1.join("agent_sandbox"))
        .context("agent-sandbox-server is not installed: run `cargo xtask setup`")?;
    Ok(parts)
}
