//! The steps that use the built and installed package, as a user would.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::places::Place;
use super::report::Report;
use crate::server::Server;
use crate::setup::{self, browser};
use crate::shell::{self, command, npm_tool};
use crate::web::Web;
use crate::{build, demo, size, workspace};

/// The configurations of the type tests: module systems that resolve the package's types in different ways.
const TYPE_TESTS: [&str; 3] = ["tests/types/bundler.json", "tests/types/node.json", "tests/migration/tsconfig.json"];

pub(crate) fn types(report: &mut Report) {
    for project in TYPE_TESTS {
        report.check(project, || shell::run(npm_tool("typescript/bin/tsc").args(["--project", project])));
    }
    report.check("the README's table of methods", || shell::run(command("node").arg("xtask/methods.mjs")));
}

pub(crate) fn files(report: &mut Report, filter: Option<&str>) {
    report.runner("built files", &mut node("tests/harness/package.mjs", filter));
}

pub(crate) fn size(report: &mut Report) {
    if report.check("standard JavaScript clients, for their sizes", setup::clients::for_node) {
        report.check("sizes", || shell::run(&mut size::runner()?));
    }
}

/// The packed package in the hosts of `tests/packaging`: those that install quickly, or all.
pub(crate) fn hosts(report: &mut Report, surroundings: &Surroundings, all: bool, filter: Option<&str>) {
    let mut runner = surroundings.node("tests/packaging/run.mjs", filter);
    runner.env("TEST_TARBALL", build::tarball()).env("TEST_PACKAGING", if all { "all" } else { "" });
    report.runner("packaging", &mut runner);
}

pub(crate) fn demo_page(report: &mut Report, surroundings: &Surroundings, filter: Option<&str>) {
    report.runner("playground, Chromium", &mut surroundings.node("tests/harness/demo.mjs", filter));
}

/// In Chromium; in Firefox alone, and less of them, where that is named.
pub(crate) fn elements(report: &mut Report, surroundings: &Surroundings, chosen: &[Place], filter: Option<&str>) {
    let (name, script) = match chosen.contains(&Place::Firefox) {
        true => ("elements, Firefox", "tests/harness/elements-firefox.mjs"),
        false => ("elements, Chromium", "tests/harness/elements.mjs"),
    };
    report.runner(name, &mut surroundings.node(script, filter));
}

pub(crate) fn terminal(report: &mut Report, surroundings: &Surroundings, filter: Option<&str>) {
    report.runner("terminals", &mut surroundings.node("tests/terminal/run.mjs", filter));
}

pub(crate) fn migration(report: &mut Report, surroundings: &Surroundings, filter: Option<&str>) {
    if report.check("standard JavaScript clients", setup::clients::for_node) {
        let mut runner = surroundings.node("tests/migration/run.mjs", filter);
        runner
            .env("TEST_SCRATCH", migration_folder())
            .env("TEST_PEERS", workspace::root().join("tests/clients/node/node_modules"));
        report.runner("programs of the standard clients", &mut runner);
    }
}

/// Where the programs of `tests/migration` are bundled, and served to the page.
fn migration_folder() -> PathBuf {
    workspace::scratch().join("migration")
}

/// The servers that tests talk to.
pub(crate) struct Surroundings {
    pub(crate) server: Server,
    web: Web,
}

impl Surroundings {
    fn start() -> Result<Self> {
        let server = Server::start()?;
        let site = demo::site(&server)?
            .folder("/pkg/", workspace::installed_package())
            .folder("/tests/", workspace::root().join("tests"))
            .folder("/migration/", migration_folder());
        let web = site.serve(0)?;
        Ok(Self { server, web })
    }

    /// Node with a script that learns where things are; the scripts read nothing else of their environment.
    pub(crate) fn node(&self, script: &str, filter: Option<&str>) -> Command {
        let mut node = node(script, filter);
        node.env("TEST_API_URL", &self.server.url)
            .env("TEST_API_KEY", &self.server.api_key)
            .env("TEST_ORIGIN", &self.web.origin);
        node
    }
}

/// The steps that need a local sandbox server share a fresh one.
pub(crate) fn with_server(report: &mut Report, run: impl FnOnce(&mut Report, &Surroundings)) {
    let mut started = None;
    report.check("local sandbox server", || {
        started = Some(Surroundings::start()?);
        Ok(())
    });
    if let Some(surroundings) = started {
        run(report, &surroundings);
    }
}

fn node(script: &str, filter: Option<&str>) -> Command {
    let mut node = command("node");
    node.arg(script);
    // Without one a runner that needs it fails and says what is missing.
    if let Some(browser) = browser::find() {
        node.env("CHROME", browser.chromium);
    }
    if let Some(firefox) = browser::firefox() {
        node.env("FIREFOX", firefox);
    }
    if let Some(filter) = filter {
        node.env("TEST_FILTER", filter);
    }
    node
}
