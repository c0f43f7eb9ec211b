//! Where things are in this workspace. Touches nothing but the manifest that holds the version.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result};

/// The name of the npm package, and of the crate it is made from.
pub(crate) const PACKAGE: &str = "agent-sandbox-web";

/// The root of the checkout: the folder of the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask/ lies in the root of the workspace")
}

/// The npm package as it is published.
pub(crate) fn pkg() -> PathBuf {
    root().join("pkg")
}

/// Intermediate products of `cargo xtask`, safe to delete at any time.
pub(crate) fn scratch() -> PathBuf {
    root().join("build")
}

/// The packed package, unpacked where Node, TypeScript and bundlers look for it: what a user would have installed.
pub(crate) fn installed_package() -> PathBuf {
    root().join("node_modules").join(PACKAGE)
}

/// A file of an npm development tool.
pub(crate) fn npm_file(path: &str) -> PathBuf {
    root().join("node_modules").join(path)
}

/// Where cargo puts what it builds. Commands are started in the root, so a relative folder is relative to the root.
pub(crate) fn target() -> PathBuf {
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The version of the package: the one of the workspace, which xtask shares.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

/// Removes a folder and what is in it; it may be missing.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
