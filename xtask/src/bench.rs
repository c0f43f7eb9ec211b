//! What things cost. A suite prints a table and leaves its figures as JSON: `server` measures the local sandbox server, the
//! others the built package beside the standard client, a plain loop and `fetch` alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use serde_json::{Map, Value};

use crate::setup::browser;
use crate::shell::{self, command, note, step};
use crate::{build, server, setup, workspace};

#[derive(Args)]
pub(crate) struct Options {
    /// What to measure; everything if not given
    #[arg(value_enum)]
    suites: Vec<Suite>,
    /// How often everything is measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Write the figures of all suites into this file as well
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Do little of everything, once: shows that it runs, and says nothing about cost
    #[arg(long)]
    quick: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// The local sandbox server: starting, creating, running commands, output, memory
    Server,
    /// Commands through the package: events, bytes, memory, latency, and how they grow
    Sdk,
    /// Importing the package, and the first call
    Import,
    /// Files up and down
    Files,
    /// Code: many lines, and very long ones
    Code,
    /// Events in a page, in workerd, in Deno and in Bun
    Runtimes,
}

/// What needs nothing that the other tests do not install.
const SMOKE: [Suite; 5] = [Suite::Sdk, Suite::Import, Suite::Files, Suite::Code, Suite::Runtimes];

impl Suite {
    fn name(self) -> String {
        self.to_possible_value().expect("every suite has a name").get_name().to_owned()
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let suites = if options.suites.is_empty() { Suite::value_variants() } else { &options.suites };
    if suites.contains(&Suite::Server) {
        of_server(if options.quick { 1 } else { options.repetitions })?;
    }
    let of_package: Vec<Suite> = suites.iter().copied().filter(|suite| *suite != Suite::Server).collect();
    if !of_package.is_empty() {
        package(options, &of_package)?;
    }
    match &options.json {
        Some(file) => collect(suites, file),
        None => Ok(()),
    }
}

/// Where each suite leaves its figures.
fn results() -> PathBuf {
    workspace::scratch().join("bench")
}

fn of_server(repetitions: u32) -> Result<()> {
    let program = server::build_release()?;
    step("bench: local sandbox server");
    let mut node = command("node");
    node.arg("tests/load/bench.mjs").env("LOAD_SERVER", program).env("BENCH_RESULTS", results());
    shell::run(node.env("BENCH_REPETITIONS", repetitions.to_string()))
}

fn package(options: &Options, suites: &[Suite]) -> Result<()> {
    setup::for_build()?;
    build::package()?;
    setup::clients::for_node()?;
    if suites.contains(&Suite::Runtimes) {
        setup::for_test()?;
        setup::for_hosts()?;
    }
    let mut node = runner(suites);
    node.env("BENCH_REPETITIONS", options.repetitions.to_string());
    if options.quick {
        node.env("BENCH_QUICK", "1");
    }
    if suites.contains(&Suite::Sdk) {
        setup::for_server()?;
        node.env("LOAD_SERVER", if options.quick { server::build()? } else { server::build_release()? });
    }
    step("bench: the package");
    shell::run(&mut node)
}

/// What `cargo xtask test` runs: little of everything, whose results are counted and not timed.
pub(crate) fn smoke() -> Command {
    let mut node = runner(&SMOKE);
    node.env("BENCH_QUICK", "1").env("BENCH_PLACES", "chromium");
    node
}

fn runner(suites: &[Suite]) -> Command {
    let names: Vec<String> = suites.iter().map(|suite| suite.name()).collect();
    let mut node = command("node");
    node.arg("tests/bench/run.mjs").env("BENCH_SUITES", names.join(",")).env("BENCH_RESULTS", results());
    if let Some(browser) = browser::find() {
        node.env("CHROME", browser.chromium);
    }
    node
}

/// Puts what the suites have just left into one file.
fn collect(suites: &[Suite], file: &Path) -> Result<()> {
    let mut all = Map::new();
    for suite in suites {
        let path = results().join(format!("{}.json", suite.name()));
        let figures: Value = serde_json::from_str(&workspace::read(&path)?)
            .with_context(|| format!("{} is not JSON", path.display()))?;
        all.insert(suite.name(), figures);
    }
    fs::write(file, format!("{:#}\n", Value::from(all))).with_context(|| format!("cannot write {}", file.display()))?;
    note(&format!("written to {}", file.display()));
    Ok(())
}
