//! The standard clients that the local server is tested with, from their registries, with exactly the versions that the
//! lock files in `tests/clients` name.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::kernels::{STAMP, find_python, is_installed};
use crate::shell::{self, command, note, step};
use crate::workspace;

/// The Python that has the clients.
pub(crate) fn python() -> PathBuf {
    python_folder().join("bin/python3")
}

fn python_folder() -> PathBuf {
    workspace::scratch().join("clients/python")
}

/// Installs all clients.
pub(crate) fn install() -> Result<()> {
    for_node()?;
    step("standard Python clients, in build/clients/python");
    for_python()
}

/// Installs those for Node.
pub(crate) fn for_node() -> Result<()> {
    step("standard JavaScript clients, in tests/clients/node");
    let folder = workspace::root().join("tests/clients/node");
    let (lock, installed) = (folder.join("package-lock.json"), folder.join("node_modules"));
    if is_installed(&installed, &lock) {
        note("present");
        return Ok(());
    }
    let mut npm = command("npm");
    npm.current_dir(&folder).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    shell::run(&mut npm)?;
    fs::copy(&lock, installed.join(STAMP))?;
    Ok(())
}

fn for_python() -> Result<()> {
    environment(&python_folder(), &workspace::root().join("tests/clients/python/requirements.txt"))
}

/// Makes a Python environment in `folder` with what the lock file names, unless it is there.
pub(super) fn environment(folder: &Path, lock: &Path) -> Result<()> {
    if is_installed(folder, lock) {
        note("present");
        return Ok(());
    }
    let python = find_python()?;
    note(&format!("with {}", python.display()));
    workspace::remove(folder)?;
    shell::run(command(&python).args(["-m", "venv"]).arg(folder))?;
    let mut pip = command(folder.join("bin/python3"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--no-compile",
        "--no-input",
    ]);
    shell::run(pip.arg("-r").arg(lock))?;
    fs::copy(lock, folder.join(STAMP))?;
    Ok(())
}
