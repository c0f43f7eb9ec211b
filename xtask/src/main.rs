//! The commands of this workspace. `cargo xtask --help` explains them.
//!
//! | module | what it is for |
//! |---|---|
//! | [`setup`] | installs what a fresh machine lacks |
//! | [`build`] | assembles the npm package in `pkg/` |
//! | [`demo`] | the quick start and the demo site against a local sandbox server |
//! | [`test`] | all tests |
//! | [`bench`] | what things cost, in time and memory |
//! | [`soak`] | the local sandbox server under load |
//! | [`conformance`] | whether a server answers as the protocol wants |
//! | [`lock`] | one command at a time in a checkout |
//! | [`size`] | how many bytes the package costs |
//! | [`server`] | starts and ends a local sandbox server |
//! | [`web`] | a static web server for the demo site and the browser tests |
//! | [`shell`] | runs other programs and says so |
//! | [`workspace`] | where things are |

mod bench;
mod build;
mod conformance;
mod demo;
mod lock;
mod server;
mod setup;
mod shell;
mod size;
mod soak;
mod test;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, shows and tests the Agent Sandbox SDK and its local sandbox server.
///
/// Every command installs what it needs first (each step is named, and skipped when present), so on a machine with Rust
/// and Node the two to know are:
///
///   cargo xtask demo    the quick start in Node, then the demo site, against a local sandbox server
///   cargo xtask test    all tests
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", verbatim_doc_comment)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Installs what is missing: wasm target, npm tools, slirp4netns, browsers, other runtimes, Jupyter kernels
    Setup(SetupOptions),
    /// Builds the npm package into pkg/
    Build,
    /// Runs the quick start in Node through the built package, then serves the demo site until Ctrl-C
    Demo(demo::Options),
    /// Runs all tests: format, lints, native, conformance, wasm, types, package, size, its hosts, end to end, playground, elements, load, clients
    Test(test::Options),
    /// Checks request by request whether a server speaks the protocol: a local one of its own, or those that are given
    Conformance(conformance::Options),
    /// Prints how many bytes each entry of the package costs, what they are made of, and what the standard clients cost
    Size(size::Options),
    /// Measures and prints what things cost; the figures go to build/bench as well
    Bench(bench::Options),
    /// Puts the local sandbox server under load and looks for lost output and for leaks
    Soak(soak::Options),
}

#[derive(clap::Args)]
struct SetupOptions {
    /// Install only the kernels of the local server's code interpreter, into build/kernels
    #[arg(long)]
    kernels: bool,
}

fn main() -> ExitCode {
    let command = Cli::parse().command;
    let outcome = lock::Lock::take().and_then(|lock| match command {
        Command::Setup(SetupOptions { kernels: true }) => setup::kernels::install(),
        Command::Setup(SetupOptions { kernels: false }) => setup::everything(),
        Command::Build => setup::for_build().and_then(|()| build::package()),
        Command::Demo(options) => demo::run(&options, lock),
        Command::Test(options) => test::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Soak(options) => soak::run(&options),
        Command::Conformance(options) => conformance::run(&options),
        Command::Size(options) => size::run(&options),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nerror: {error:#}");
            ExitCode::FAILURE
        }
    }
}
