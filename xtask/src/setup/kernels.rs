//! The Jupyter kernels of the local server's code interpreter, in `build/kernels`: a Python environment and a Node folder,
//! both with exactly the versions that the lock files in `local/kernels` name.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::apt_install;
use crate::shell::{self, command, note, step};
use crate::workspace;

/// The oldest Python for which the locked versions exist, and the one after the newest, as minor versions.
const PYTHON: std::ops::Range<u32> = 11..14;

/// Folders of this machine that sandboxes see. A program elsewhere cannot run inside.
const VISIBLE: [&str; 3] = ["/usr", "/opt", "/nix"];

/// Marks a finished installation: a copy of the lock file it was made from.
pub(super) const STAMP: &str = ".installed";

/// Where the server looks for them.
pub(crate) fn folder() -> PathBuf {
    workspace::scratch().join("kernels")
}

/// Installs all kernels.
pub(crate) fn install() -> Result<()> {
    step("Jupyter kernels for Python and bash, in build/kernels/python");
    python()?;
    step("Jupyter kernel for JavaScript and TypeScript, in build/kernels/node");
    node()
}

fn sources(name: &str) -> PathBuf {
    workspace::root().join("local/kernels").join(name)
}

/// Copies our own files, which are small, whether or not anything else has changed.
fn copy(from: &Path, to: &Path, names: &[&str]) -> Result<()> {
    fs::create_dir_all(to)?;
    for name in names {
        fs::copy(from.join(name), to.join(name)).with_context(|| format!("cannot copy {name} to {}", to.display()))?;
    }
    Ok(())
}

pub(super) fn is_installed(folder: &Path, lock: &Path) -> bool {
    matches!((fs::read(folder.join(STAMP)), fs::read(lock)), (Ok(found), Ok(wanted)) if found == wanted)
}

fn python() -> Result<()> {
    let (from, to) = (sources("python"), folder().join("python"));
    let lock = from.join("requirements.txt");
    if is_installed(&to, &lock) {
        note("present");
        return copy(&from, &to, &["launch.py", "formats.py"]);
    }
    let python = find_python()?;
    note(&format!("with {}", python.display()));
    workspace::remove(&to)?;
    shell::run(command(&python).args(["-m", "venv"]).arg(&to))?;
    let inside = to.join("bin/python3");
    let mut pip = command(&inside);
    pip.args(["-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "--no-input"]);
    shell::run(pip.arg("-r").arg(&lock))?;
    portable_programs(&to.join("bin"))?;
    copy(&from, &to, &["launch.py", "formats.py"])?;
    fs::copy(&lock, to.join(STAMP))?;
    Ok(())
}

/// The scripts that come with packages name this folder, which has another place inside of a sandbox. Only `pip` is wanted.
fn portable_programs(bin: &Path) -> Result<()> {
    for entry in fs::read_dir(bin)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.starts_with("python") {
            fs::remove_file(&path)?;
        }
    }
    for name in ["pip", "pip3"] {
        let path = bin.join(name);
        fs::write(&path, "#!/bin/sh\nexec \"$(dirname \"$0\")/python3\" -m pip \"$@\"\n")?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// A Python that sandboxes can see.
pub(super) fn find_python() -> Result<PathBuf> {
    let by_hand = format!(
        "Python 3.{} to 3.{} with its `venv` module is missing under {}: install the packages python3 and python3-venv",
        PYTHON.start,
        PYTHON.end - 1,
        VISIBLE.join(", ")
    );
    if let Some(found) = candidates().into_iter().find(|python| is_usable(python)) {
        return Ok(found);
    }
    apt_install(&["python3", "python3-venv"]).context(by_hand.clone())?;
    candidates().into_iter().find(|python| is_usable(python)).context(by_hand)
}

fn candidates() -> Vec<PathBuf> {
    let names = PYTHON.rev().map(|minor| format!("python3.{minor}")).chain(["python3".to_owned()]);
    names
        .flat_map(|name| {
            let system = ["/usr/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(&name));
            system.into_iter().chain(shell::find(&name))
        })
        .filter(|path| shell::is_program(path))
        .collect()
}

fn is_usable(python: &Path) -> bool {
    const QUESTION: &str =
        "import ensurepip, venv, sys; print(sys.version_info[0], sys.version_info[1], sys.base_prefix)";
    let Ok(answer) = shell::output(command(python).args(["-c", QUESTION])) else { return false };
    let mut words = answer.trim().splitn(3, ' ');
    let version = (words.next(), words.next().and_then(|minor| minor.parse().ok()));
    let supported = matches!(version, (Some("3"), Some(minor)) if PYTHON.contains(&minor));
    supported && words.next().is_some_and(|prefix| is_visible(Path::new(prefix)))
}

fn is_visible(path: &Path) -> bool {
    VISIBLE.iter().any(|folder| path.starts_with(folder))
}

fn node() -> Result<()> {
    const OURS: [&str; 2] = ["kernel.js", "translate.js"];
    let (from, to) = (sources("node"), folder().join("node"));
    let lock = from.join("package-lock.json");
    if is_installed(&to, &lock) {
        note("present");
        return copy(&from, &to, &OURS);
    }
    workspace::remove(&to)?;
    copy(&from, &to, &["package.json", "package-lock.json"])?;
    let mut npm = command("npm");
    npm.current_dir(&to).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    shell::run(&mut npm)?;
    copy(&from, &to, &OURS)?;
    let program = shell::output(command("node").args(["-p", "require('fs').realpathSync(process.execPath)"]))?;
    let program = Path::new(program.trim());
    fs::create_dir_all(to.join("bin"))?;
    let inside = to.join("bin/node");
    if is_visible(program) {
        symlink(program, &inside)?;
    } else {
        fs::copy(program, &inside).with_context(|| format!("cannot copy {}", program.display()))?;
    }
    let check = shell::output(command(&inside).current_dir(&to).args(["-e", "require('zeromq'); require('nel')"]));
    if let Err(error) = check {
        bail!("the kernel's packages do not load in this Node: {error:#}");
    }
    fs::copy(&lock, to.join(STAMP))?;
    Ok(())
}
