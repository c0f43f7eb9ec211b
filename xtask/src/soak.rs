//! The local sandbox server under load: `tests/load/soak.mjs` against a server of its own.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::server;
use crate::shell::{self, command, step};

/// Enough for every kind of load to meet every other.
const SHORT: u32 = 5;

#[derive(Args)]
pub(crate) struct Options {
    /// How long the load lasts, in seconds; filling, settling and looking take about 30 s more
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// How many sandboxes there are at a time
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    sandboxes: u32,
    /// How many commands run at a time
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    commands: u32,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let program = server::build_release()?;
    step("soak: local sandbox server");
    let mut node = soak(&program);
    node.env("SOAK_SECONDS", options.seconds.to_string()).env("SOAK_SANDBOXES", options.sandboxes.to_string());
    shell::run(node.env("SOAK_COMMANDS", options.commands.to_string()))
}

/// What `cargo xtask test` runs.
pub(crate) fn short(program: &Path) -> Command {
    let mut node = soak(program);
    node.env("SOAK_SECONDS", SHORT.to_string());
    node
}

fn soak(program: &Path) -> Command {
    let mut node = command("node");
    node.arg("tests/load/soak.mjs").env("LOAD_SERVER", program);
    node
}
