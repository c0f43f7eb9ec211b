//! The broker of `agent-sandbox-web/edge` in the runtimes that back ends have, and from a page.

use super::package::Surroundings;
use super::places::Place;
use super::report::Report;

/// Where the broker is tested unless told otherwise.
const USUAL: [Place; 3] = [Place::Node, Place::Workerd, Place::Chromium];

/// What `tests/broker` calls a place; None where no broker runs.
fn name(place: Place) -> Option<&'static str> {
    match place {
        Place::Node => Some("node"),
        Place::Deno => Some("deno"),
        Place::Bun => Some("bun"),
        Place::Workerd => Some("workerd"),
        Place::EdgeRuntime => Some("edge-runtime"),
        Place::Chromium => Some("page"),
        Place::ChromiumWorker | Place::Firefox => None,
    }
}

pub(super) fn run(report: &mut Report, surroundings: &Surroundings, chosen: &[Place], filter: Option<&str>) {
    let places = if chosen.is_empty() { &USUAL[..] } else { chosen };
    let names: Vec<_> = places.iter().copied().filter_map(name).collect();
    if names.is_empty() {
        return;
    }
    let mut runner = surroundings.node("tests/broker/run.mjs", filter);
    runner.env("TEST_PLACES", names.join(","));
    report.runner("broker", &mut runner);
}
