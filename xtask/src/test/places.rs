//! The end-to-end suite in the runtimes, several at a time: most of its time it waits for clocks and other programs.

use std::process::Command;

use clap::ValueEnum;

use super::package::Surroundings;
use super::report::Report;
use crate::demo;

/// How many places run the suite at once.
const AT_ONCE: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Place {
    Node,
    /// A page in Chromium
    Chromium,
    /// A module Web Worker in Chromium
    ChromiumWorker,
    /// A page in Firefox
    Firefox,
    Deno,
    Bun,
    /// The runtime of Cloudflare Workers, without nodejs_compat
    Workerd,
    /// Vercel's
    EdgeRuntime,
}

/// Where the suite runs unless told otherwise: what needs no other program than the rest of the tests.
const USUAL: [Place; 3] = [Place::Node, Place::Chromium, Place::ChromiumWorker];

impl Place {
    /// Whether it needs a program that has to be installed for it.
    pub(super) fn is_extra(self) -> bool {
        !USUAL.contains(&self)
    }
}

/// Runs the suite in the `chosen` places, in the usual when none is, and the quick start where Node is among them.
pub(super) fn run(report: &mut Report, surroundings: &Surroundings, chosen: &[Place], filter: Option<&str>) {
    let places = if chosen.is_empty() { &USUAL[..] } else { chosen };
    if places.contains(&Place::Node) {
        report.check("quick start", || demo::quick_start(&surroundings.server));
    }
    let runner = |place: &Place| {
        let name = place.to_possible_value().expect("every place has a name").get_name().to_owned();
        let mut command: Command = surroundings.node("tests/harness/e2e.mjs", filter);
        command.env("TEST_PLACE", &name);
        (format!("end to end, {name}"), command)
    };
    report.runners(places.iter().map(runner).collect(), AT_ONCE);
}
