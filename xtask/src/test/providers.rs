//! The provider family of `agent-sandbox-web/providers`: against stand-ins, and against the local server.

use super::package::Surroundings;
use super::report::Report;

/// What `tests/providers` calls the runtimes.
const PLACES: &str = "node,workerd";

pub(super) fn run(report: &mut Report, surroundings: &Surroundings, filter: Option<&str>) {
    let mut runner = surroundings.node("tests/providers/run.mjs", filter);
    runner.env("TEST_PLACES", PLACES);
    report.runner("providers", &mut runner);
}
