//! Installs the package where Node, TypeScript and bundlers look for it, from its packed form: what the tests import is what
//! a user would get.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::shell::{self, command};
use crate::workspace;

/// The folder of the packed package.
fn folder() -> PathBuf {
    workspace::scratch().join("packed")
}

/// The packed package, as it would be published.
pub(crate) fn tarball() -> PathBuf {
    folder().join(format!("{}-{}.tgz", workspace::PACKAGE, workspace::VERSION))
}

pub(crate) fn packed() -> Result<()> {
    let folder = folder();
    workspace::remove(&folder)?;
    fs::create_dir_all(&folder)?;
    let mut pack = command("npm");
    pack.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]).arg(&folder).arg(workspace::pkg());
    shell::output(&mut pack)?;
    let target = workspace::installed_package();
    workspace::remove(&target)?;
    fs::create_dir_all(&target).with_context(|| format!("cannot create {}", target.display()))?;
    shell::run(command("tar").arg("-xzf").arg(tarball()).args(["--strip-components=1", "-C"]).arg(&target))
}
