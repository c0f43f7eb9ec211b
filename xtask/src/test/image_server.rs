//! The client of `agent-sandbox-web/server`: against recordings, and against the real server in a local sandbox.

use super::package::Surroundings;
use super::report::Report;
use crate::setup::image_server;

pub(super) fn run(report: &mut Report, surroundings: &Surroundings, filter: Option<&str>) {
    let mut parts = None;
    report.check("packages of agent-sandbox-server", || {
        parts = Some(image_server::parts()?);
        Ok(())
    });
    if let Some((python, packages)) = parts {
        let mut runner = surroundings.node("tests/server/run.mjs", filter);
        runner.env("TEST_SERVER_PYTHON", python).env("TEST_SERVER_PACKAGES", packages);
        report.runner("client of the in-image server", &mut runner);
    }
}
