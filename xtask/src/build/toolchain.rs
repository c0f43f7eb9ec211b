//! Which Rust compiles to wasm: the one that started xtask when it has the target, else the packages of Debian, which come
//! as sources of the standard library and no linker.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::shell::{self, cargo, command};

pub(crate) const TARGET: &str = "wasm32-unknown-unknown";

/// Rust with the sources of its standard library, and a linker for wasm.
pub(crate) const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

pub(crate) enum Toolchain {
    /// The target is installed for the compiler in use, by rustup or by the system.
    Installed,
    /// Debian's compiler builds the standard library itself.
    Debian { linker: PathBuf },
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Toolchain::Installed => f.write_str("the target of the Rust in use"),
            Toolchain::Debian { linker } => write!(f, "Debian's rustc-web with {}", linker.display()),
        }
    }
}

pub(crate) fn find() -> Option<Toolchain> {
    // For testing the second way on a machine that has the first.
    let skip_installed = std::env::var_os("XTASK_WASM_FROM_DEBIAN").is_some();
    if !skip_installed && installed().unwrap_or(false) {
        return Some(Toolchain::Installed);
    }
    debian()
}

fn installed() -> Result<bool> {
    let libraries = shell::output(command("rustc").args(["--print", "target-libdir", "--target", TARGET]))?;
    Ok(Path::new(libraries.trim()).is_dir())
}

fn debian() -> Option<Toolchain> {
    let has_sources = shell::succeeds(command("dpkg").args(["--status", "rust-web-src"]));
    let has_compiler = Path::new("/usr/bin/rustc").exists() && Path::new("/usr/bin/cargo").exists();
    if !has_sources || !has_compiler {
        return None;
    }
    let linker = rustup_linker().or_else(|| shell::find("wasm-ld"))?;
    Some(Toolchain::Debian { linker })
}

/// The linker that rustup installs with every toolchain, whatever its targets.
fn rustup_linker() -> Option<PathBuf> {
    let sysroot = shell::output(command("rustc").args(["--print", "sysroot"])).ok()?;
    let host = shell::output(command("rustc").args(["--print", "host-tuple"])).ok()?;
    let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin/rust-lld");
    shell::is_program(&linker).then_some(linker)
}

/// What rustc is told for the published file: a panic is nothing but a trap, without its text and the code that makes it. Only
/// with a standard library of the same kind.
const TRAPPING: [&str; 2] = ["-Zunstable-options", "-Cpanic=immediate-abort"];

impl Toolchain {
    /// A cargo command that builds the published file. With the sources of the standard library, that is built for size as
    /// well; without them the result is larger, and `true` is not answered.
    pub(crate) fn cargo_for_size(&self) -> Result<(Command, bool)> {
        let mut cargo = self.cargo("build", false);
        let rustc = cargo.get_envs().find(|(name, _)| *name == "RUSTC").and_then(|(_, value)| value);
        let rustc = rustc.unwrap_or("rustc".as_ref()).to_owned();
        let sysroot = shell::output(command(&rustc).args(["--print", "sysroot"]))?;
        let has_sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir();
        let mut probe = command(&rustc);
        probe.env("RUSTC_BOOTSTRAP", "1").args(TRAPPING).args(["--target", TARGET, "--print", "cfg"]);
        if !has_sources || !shell::succeeds(&mut probe) {
            return Ok((cargo, false));
        }
        cargo
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", TRAPPING.join(" "))
            // These would take its place.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS");
        if matches!(self, Toolchain::Installed) {
            cargo.arg("-Zbuild-std=std,panic_abort");
        }
        cargo.arg("-Zbuild-std-features=optimize_for_size");
        Ok((cargo, true))
    }

    /// A cargo command for the wasm target. `tests` says whether the standard library must include the test harness.
    pub(crate) fn cargo(&self, subcommand: &str, tests: bool) -> Command {
        let mut cargo = match self {
            Toolchain::Installed => {
                let mut cargo = cargo();
                cargo.arg(subcommand);
                cargo
            }
            Toolchain::Debian { linker } => {
                let mut cargo = command("/usr/bin/cargo");
                let parts = if tests { "std,panic_abort,test" } else { "std,panic_abort" };
                cargo
                    .env("RUSTC", "/usr/bin/rustc")
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                    // rustup names the toolchain in these, and Debian's cargo would follow them.
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .env_remove("RUSTC_WRAPPER")
                    .args([subcommand, &format!("-Zbuild-std={parts}")]);
                cargo
            }
        };
        cargo.args(["--target", TARGET]);
        cargo
    }
}
