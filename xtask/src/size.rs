//! How many bytes the package costs, and whether that is within the budget. What is measured, and how, is `tests/size`.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::shell::{self, command, step};
use crate::{build, setup, workspace};

#[derive(Args)]
pub(crate) struct Options {
    /// Make the sizes of now the budget
    #[arg(long)]
    write: bool,
}

/// Builds the package and prints its sizes.
pub(crate) fn run(options: &Options) -> Result<()> {
    setup::for_build()?;
    build::package()?;
    setup::clients::for_node()?;
    step("sizes");
    let mut runner = runner()?;
    if options.write {
        runner.env("TEST_WRITE_BUDGET", "1");
    }
    shell::run(&mut runner)
}

/// Measures the built package, and holds it against the budget where it was built as that was. Needs the standard clients.
pub(crate) fn runner() -> Result<Command> {
    let mut runner = command("node");
    if !build::is_built_for_size()? {
        runner.env("TEST_LARGER", "1");
    }
    runner
        .arg("tests/size/run.mjs")
        .env("TEST_DIST", workspace::pkg().join("dist"))
        .env("TEST_NAMED_CORE", build::named_core())
        .env("TEST_PEERS", workspace::root().join("tests/clients/node/node_modules"));
    Ok(runner)
}
