//! All tests of the workspace, one step after the other. A step that cannot run fails; none is skipped silently.
//!
//! | module | what it is for |
//! |---|---|
//! | [`report`] | counts tests in what the runners print, and sums them up |
//! | [`clients`] | the standard clients of other languages and makers against the local sandbox server |
//! | [`rust`] | format, lints, native tests, conformance checks, wasm tests in headless Chromium |
//! | [`package`] | type tests, checks of the built files, their sizes, its hosts, the playground, the elements |
//! | [`broker`] | the broker in the runtimes of back ends, and from a page |
//! | [`providers`] | the provider family in Node and workerd |
//! | [`image_server`] | the client of the server that images bring |
//! | [`places`] | end to end, in every runtime |

mod broker;
mod clients;
mod image_server;
mod package;
mod places;
mod providers;
mod report;
mod rust;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};

use self::places::Place;
use self::report::Report;
use crate::{bench, build, server, setup, soak};

#[derive(Args)]
pub(crate) struct Options {
    /// Run only these steps (repeat it, or separate them with commas)
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Step>,
    /// Run only the tests whose name contains this text, in the steps that have named tests
    #[arg(long)]
    filter: Option<String>,
    /// Run the end-to-end suite in these places instead of Node and Chromium
    #[arg(long, value_enum, value_delimiter = ',')]
    runtime: Vec<Place>,
    /// Run the package in every host of tests/packaging, also in those that take long to install; nothing else unless --only
    /// names it
    #[arg(long)]
    packaging: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// cargo fmt --check
    Format,
    /// clippy for the host and for wasm; warnings are errors
    Lint,
    /// cargo test of all crates on this machine
    Native,
    /// The conformance checks against a fresh local server
    Conformance,
    /// The wasm tests of the SDK in headless Chromium
    Wasm,
    /// A strict TypeScript consumer of the built package
    Types,
    /// The built files: what they contain, and what importing them touches
    Package,
    /// How many bytes each entry costs, held against tests/size/budget.json
    Size,
    /// The packed package in bundlers, runtimes and pages, against a fresh local server
    Packaging,
    /// The end-to-end suite in every runtime, against a fresh local server
    E2e,
    /// The broker of `agent-sandbox-web/edge` in Node, workerd and a page, or in the places of --runtime
    Broker,
    /// The provider family of `agent-sandbox-web/providers` in Node and workerd
    Providers,
    /// The client of `agent-sandbox-web/server` against recordings and the real server
    Server,
    /// Terminals over WebSockets: against scripted servers, the local server, and in a page
    Terminal,
    /// The playground of the demo site in Chromium
    Page,
    /// The custom elements in Chromium, or with `--runtime firefox` in Firefox
    Elements,
    /// Programs written for the standard JavaScript clients, with them and with this package, in Node and a page
    Migration,
    /// Every benchmark of the package, once and with little to do: whether it runs and nothing is lost, not how fast
    Bench,
    /// The local server under load for a few seconds: lost output, leaks
    Soak,
    /// The standard JavaScript and Python clients against the local server, with nothing but environment variables
    Clients,
}

/// What needs the built package and no server.
const OF_PACKAGE: [Step; 4] = [Step::Types, Step::Package, Step::Size, Step::Bench];

/// What needs the built package and a local server, which they share.
const WITH_SERVER: [Step; 9] = [
    Step::Packaging,
    Step::E2e,
    Step::Broker,
    Step::Providers,
    Step::Server,
    Step::Terminal,
    Step::Page,
    Step::Elements,
    Step::Migration,
];

pub(crate) fn run(options: &Options) -> Result<()> {
    let wanted = |step: Step| match step {
        Step::Packaging if options.packaging => true,
        _ if options.only.is_empty() => !options.packaging,
        _ => options.only.contains(&step),
    };
    let filter = options.filter.as_deref();
    setup::everything()?;
    if wanted(Step::Packaging) || options.runtime.iter().any(|place| place.is_extra()) {
        setup::for_hosts()?;
    } else if wanted(Step::Broker) || wanted(Step::Providers) {
        setup::for_workerd()?;
    }

    let mut report = Report::default();
    if wanted(Step::Format) {
        rust::format(&mut report);
    }
    if wanted(Step::Lint) {
        rust::lint(&mut report);
    }
    if wanted(Step::Native) {
        rust::native(&mut report, filter);
    }
    if wanted(Step::Conformance) {
        rust::conformance(&mut report, filter);
    }
    if wanted(Step::Wasm) {
        rust::wasm(&mut report, filter);
    }
    if OF_PACKAGE.iter().chain(&WITH_SERVER).any(|step| wanted(*step))
        && report.check("build of the package", build::package)
    {
        if wanted(Step::Types) {
            package::types(&mut report);
        }
        if wanted(Step::Package) {
            package::files(&mut report, filter);
        }
        if wanted(Step::Size) {
            package::size(&mut report);
        }
        if wanted(Step::Bench) && report.check("standard JavaScript clients", setup::clients::for_node) {
            report.runner("benchmarks, briefly", &mut bench::smoke());
        }
        if WITH_SERVER.iter().any(|step| wanted(*step)) {
            package::with_server(&mut report, |report, surroundings| {
                for step in WITH_SERVER.into_iter().filter(|step| wanted(*step)) {
                    match step {
                        Step::Packaging => package::hosts(report, surroundings, options.packaging, filter),
                        Step::E2e => places::run(report, surroundings, &options.runtime, filter),
                        Step::Broker => broker::run(report, surroundings, &options.runtime, filter),
                        Step::Providers => providers::run(report, surroundings, filter),
                        Step::Server => image_server::run(report, surroundings, filter),
                        Step::Terminal => package::terminal(report, surroundings, filter),
                        Step::Page => package::demo_page(report, surroundings, filter),
                        Step::Elements => package::elements(report, surroundings, &options.runtime, filter),
                        Step::Migration => package::migration(report, surroundings, filter),
                        _ => unreachable!("it needs no server"),
                    }
                }
            });
        }
    }
    if wanted(Step::Soak) {
        under_load(&mut report);
    }
    if wanted(Step::Clients) {
        clients::run(&mut report);
    }
    report.print();
    if !report.is_success() {
        bail!("some tests failed");
    }
    Ok(())
}

fn under_load(report: &mut Report) {
    let mut program = None;
    let built = report.check("build of the local sandbox server", || {
        program = Some(server::build()?);
        Ok(())
    });
    if let Some(program) = program.filter(|_| built) {
        report.runner("local sandbox server under load", &mut soak::short(&program));
    }
}
