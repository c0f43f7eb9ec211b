//! Runs other programs and says so. Every child ends with xtask, however xtask ends.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Announces a step: what is about to run.
pub(crate) fn step(text: &str) {
    println!("==> {text}");
}

/// Says how a step ended, or that there was nothing to do.
pub(crate) fn note(text: &str) {
    println!("    {text}");
}

/// A command that starts in the root of the workspace and is ended when xtask dies.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace::root());
    end_with_xtask(&mut command);
    command
}

/// The cargo that started xtask, so that a toolchain given as `cargo +name xtask` is used throughout.
pub(crate) fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Node running a script of an npm development tool.
pub(crate) fn npm_tool(script: &str) -> Command {
    let mut node = command("node");
    node.arg(workspace::npm_file(script));
    node
}

/// Asks the kernel to end the child when xtask is gone, even by SIGKILL. Where there is no such service, the child still
/// gets the terminal's Ctrl-C.
fn end_with_xtask(command: &mut Command) {
    #[cfg(target_os = "linux")]
    // SAFETY: `prctl` is async-signal-safe and the closure touches nothing else.
    unsafe {
        command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM)?));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Runs a command with its output passed through; anything but success is an error that repeats the command line.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", line(command)))?;
    expect_success(command, status)
}

/// Runs a command quietly and returns its standard output. A failure repeats what it wrote to standard error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", line(command)))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        bail!("{} ended with {}\n{}", line(command), output.status, text.trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command can be started and succeeds. Its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs a command with its output passed through while `see` looks at each line of standard output.
pub(crate) fn watch(command: &mut Command, mut see: impl FnMut(&str)) -> Result<ExitStatus> {
    let mut child =
        command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", line(command)))?;
    let mut lines = BufReader::new(child.stdout.take().expect("standard output is piped"));
    let mut bytes = Vec::new();
    // Tests may print bytes that are no text, so lines are not required to be UTF-8.
    while lines.read_until(b'\n', &mut bytes)? > 0 {
        let text = String::from_utf8_lossy(&bytes);
        print!("{text}");
        see(text.trim_end());
        bytes.clear();
    }
    Ok(child.wait()?)
}

/// Runs a command and returns what it wrote to standard output and standard error, in the order in which it did.
pub(crate) fn collect(command: &mut Command) -> Result<(ExitStatus, String)> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", line(command)))?;
    // The command holds the other end, which would never close.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    Ok((child.wait()?, String::from_utf8_lossy(&bytes).into_owned()))
}

fn expect_success(command: &Command, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("{} ended with {status}", line(command));
    }
    Ok(())
}

/// The command line as a person would type it. Environment variables are left out: some hold keys.
pub(crate) fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Finds a program in `PATH`.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| is_program(path))
}

pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// A duration as a person reads it.
pub(crate) fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
