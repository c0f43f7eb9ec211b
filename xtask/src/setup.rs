//! Installs what a fresh machine lacks. Each step is named, and skipped when there is nothing to do; a step that cannot run
//! here says what to install by hand.

use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::build::toolchain;
use crate::shell::{self, command, note, step};
use crate::workspace;

pub(crate) mod clients;
pub(crate) mod image_server;
pub(crate) mod kernels;
mod runtimes;

/// Node 20 is the oldest that the package supports, and the tools with it.
const OLDEST_NODE: u32 = 20;

/// Everything that any command needs.
pub(crate) fn everything() -> Result<()> {
    for_build()?;
    for_server()?;
    for_test()?;
    kernels::install()?;
    image_server::install()
}

/// What `cargo xtask build` needs.
pub(crate) fn for_build() -> Result<()> {
    wasm_target()?;
    node()?;
    npm_tools()
}

/// What the local sandbox server needs to run.
pub(crate) fn for_server() -> Result<()> {
    step("slirp4netns, which gives each sandbox of the local server a network of its own");
    if shell::find("slirp4netns").is_some() {
        note("present");
        return Ok(());
    }
    // The server says loudly that its sandboxes share the machine's network, so this is no reason to stop.
    if let Err(error) = apt_install(&["slirp4netns"]) {
        note(&format!("not installed: {error:#}"));
    }
    Ok(())
}

/// What `cargo xtask conformance` needs; `own` when it starts a server itself.
pub(crate) fn for_conformance(own: bool) -> Result<()> {
    node()?;
    npm_tools()?;
    if own {
        for_server()?;
        chromium()?;
        kernels::install()?;
    }
    Ok(())
}

/// What `cargo xtask test` needs on top of the others.
pub(crate) fn for_test() -> Result<()> {
    rust_component("rustfmt", "fmt")?;
    rust_component("clippy", "clippy")?;
    chromium()
}

/// What the tests of the broker need besides the usual.
pub(crate) fn for_workerd() -> Result<()> {
    runtimes::install()
}

/// What hosts need that are not among the usual ones.
pub(crate) fn for_hosts() -> Result<()> {
    firefox()?;
    runtimes::install()
}

fn wasm_target() -> Result<()> {
    step("Rust for wasm32-unknown-unknown");
    if let Some(found) = toolchain::find() {
        note(&format!("present: {found}"));
        return standard_library();
    }
    if shell::find("rustup").is_some() {
        let mut add = command("rustup");
        add.args(["target", "add", toolchain::TARGET]);
        if shell::run(&mut add).is_ok() && toolchain::find().is_some() {
            return standard_library();
        }
        note("rustup could not install it; trying the packages of Debian");
    }
    apt_install(&toolchain::DEBIAN_PACKAGES).context(
        "Rust cannot compile to WebAssembly here. With rustup: `rustup target add wasm32-unknown-unknown`; without: install \
         your system's package for that target",
    )?;
    match toolchain::find() {
        Some(found) => note(&format!("installed: {found}")),
        None => {
            bail!("The packages of Debian are installed, but no Rust compiler for wasm32-unknown-unknown was found")
        }
    }
    Ok(())
}

/// The sources of the standard library, with which `core.wasm` is smaller. The package can be built without them.
fn standard_library() -> Result<()> {
    let sysroot = shell::output(command("rustc").args(["--print", "sysroot"]))?;
    if Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir() || shell::find("rustup").is_none() {
        return Ok(());
    }
    if let Err(error) = shell::run(command("rustup").args(["component", "add", "rust-src"])) {
        note(&format!("the sources of the standard library are missing, so core.wasm will be larger: {error:#}"));
    }
    Ok(())
}

fn node() -> Result<()> {
    step("Node.js");
    let version = shell::output(command("node").arg("--version"))
        .with_context(|| format!("Node.js is missing: install version {OLDEST_NODE} or newer"))?;
    let version = version.trim();
    let major = version.trim_start_matches('v').split('.').next().and_then(|number| number.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => note(&format!("present: {version}")),
        _ => bail!("Node.js {version} is too old: install version {OLDEST_NODE} or newer"),
    }
    Ok(())
}

fn npm_tools() -> Result<()> {
    step("npm development tools: esbuild, Vite, binaryen, TypeScript, Playwright, a reader for TOML");
    npm_ci(workspace::root(), || Ok(()))
}

/// Installs what the lock file of a folder names, unless it is there, and then does what is left to do.
fn npm_ci(folder: &Path, complete: impl FnOnce() -> Result<()>) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let installed = folder.join("node_modules/.installed-lock.json");
    let wanted = fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        note("present");
        return Ok(());
    }
    let mut npm = command("npm");
    npm.current_dir(folder);
    // Scripts of packages are not run: a tool that needs one says so to `complete`.
    shell::run(npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
    complete()?;
    workspace::write(&installed, wanted)
}

fn rust_component(name: &str, subcommand: &str) -> Result<()> {
    step(name);
    if shell::succeeds(shell::cargo().args([subcommand, "--version"])) {
        note("present");
        return Ok(());
    }
    shell::run(command("rustup").args(["component", "add", name]))
        .with_context(|| format!("cargo {subcommand} is missing: install the Rust component {name}"))
}

fn chromium() -> Result<()> {
    step("Chromium and its driver");
    if let Some(found) = browser::find() {
        note(&format!("present: {}", found.chromium.display()));
        return Ok(());
    }
    apt_install(&["chromium", "chromium-driver"]).context(
        "Chromium is missing. Install it together with chromedriver, or set CHROME and CHROMEDRIVER to their paths",
    )?;
    if browser::find().is_none() {
        bail!(
            "Chromium was installed but not found: set CHROME and CHROMEDRIVER to the paths of chromium and chromedriver"
        );
    }
    Ok(())
}

fn firefox() -> Result<()> {
    step("Firefox");
    if let Some(found) = browser::firefox() {
        note(&format!("present: {}", found.display()));
        return Ok(());
    }
    apt_install(&["firefox-esr"]).context("Firefox is missing. Install it, or set FIREFOX to its path")?;
    if browser::firefox().is_none() {
        bail!("Firefox was installed but not found: set FIREFOX to its path");
    }
    Ok(())
}

/// Where the browsers of the tests are.
pub(crate) mod browser {
    use super::{Path, PathBuf, env, shell};

    pub(crate) struct Browser {
        pub(crate) chromium: PathBuf,
        pub(crate) driver: PathBuf,
    }

    /// Chromium: `CHROME` and `CHROMEDRIVER` win; else the usual names in `PATH`.
    pub(crate) fn find() -> Option<Browser> {
        let chromium = given("CHROME").or_else(|| {
            ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"].into_iter().find_map(shell::find)
        })?;
        let driver = given("CHROMEDRIVER").or_else(|| shell::find("chromedriver"))?;
        Some(Browser { chromium, driver })
    }

    /// Firefox: `FIREFOX` wins; else the usual names in `PATH`.
    pub(crate) fn firefox() -> Option<PathBuf> {
        given("FIREFOX").or_else(|| ["firefox-esr", "firefox"].into_iter().find_map(shell::find))
    }

    fn given(variable: &str) -> Option<PathBuf> {
        env::var_os(variable).map(PathBuf::from).filter(|path| shell::is_program(Path::new(path)))
    }
}

/// Installs packages of Debian, where that is possible without asking anybody.
fn apt_install(packages: &[&str]) -> Result<()> {
    static UPDATE: Once = Once::new();
    let by_hand = format!("apt-get install --no-install-recommends {}", packages.join(" "));
    if shell::find("apt-get").is_none() {
        bail!("this machine has no apt-get, so xtask cannot install {}", packages.join(", "));
    }
    if !nix::unistd::geteuid().is_root() {
        bail!("installing needs root: run `sudo {by_hand}`, then this command again");
    }
    let mut updated = Ok(());
    UPDATE.call_once(|| updated = shell::run(apt().arg("update").arg("-qq")));
    updated?;
    shell::run(apt().args(["install", "-y", "-qq", "--no-install-recommends"]).args(packages))
        .with_context(|| format!("run `{by_hand}` by hand and see why it fails"))
}

fn apt() -> std::process::Command {
    let mut apt = command("apt-get");
    apt.env("DEBIAN_FRONTEND", "noninteractive");
    apt
}
