//! Which addresses outside a sandbox may reach, as the routes that say so. Pure.
//!
//! A route to the gateway opens a range, a rejecting one closes it, and the kernel takes the narrowest that fits: ranges
//! are nested or disjoint, so that is all the precedence there has to be.

use std::collections::BTreeMap;

use ipnet::Ipv4Net;

/// What a client asked for. Allowed ranges win over denied ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) allow: Vec<Ipv4Net>,
    pub(crate) deny: Vec<Ipv4Net>,
}

/// What happens to packets to a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// They go out.
    Gateway,
    /// Their sender is told that there is no way.
    Reject,
}

pub(super) type Routes = BTreeMap<Ipv4Net, Verdict>;

/// Private, shared, link-local, benchmark, multicast and reserved addresses: what is there is this machine's or its
/// neighbours' business. Loopback never leaves a sandbox.
const BLOCKED: [&str; 9] = [
    "10.0.0.0/8",
    "100.64.0.0/10",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
];

/// All of the internet.
pub(crate) fn everywhere() -> Ipv4Net {
    Ipv4Net::default()
}

/// An address, or a range of them.
pub(crate) fn range(text: &str) -> Option<Ipv4Net> {
    let whole = text.parse::<Ipv4Net>().ok();
    let range = whole.or_else(|| text.parse::<std::net::Ipv4Addr>().ok().map(Ipv4Net::from))?;
    Some(range.trunc())
}

impl Reach {
    /// Whether anything outside is open.
    pub(crate) fn is_closed(&self) -> bool {
        self.allow.is_empty() && self.deny.contains(&everywhere())
    }

    fn denies(&self, range: &Ipv4Net) -> bool {
        self.deny.iter().any(|denied| denied.contains(range))
            && !self.allow.iter().any(|allowed| allowed.contains(range))
    }

    /// The routes that enforce this. `own` are this machine's addresses, which are closed like the [`BLOCKED`] ones, and
    /// `opened` the exceptions that the operator makes from both.
    pub(super) fn routes(&self, own: &[Ipv4Net], opened: &[Ipv4Net]) -> Routes {
        let mut routes = Routes::from([(everywhere(), Verdict::Gateway)]);
        for denied in &self.deny {
            if !self.allow.iter().any(|allowed| allowed.contains(denied)) {
                routes.insert(*denied, Verdict::Reject);
            }
        }
        let blocked = BLOCKED.iter().filter_map(|text| range(text)).chain(own.iter().copied()).collect::<Vec<_>>();
        for allowed in &self.allow {
            if !blocked.iter().any(|blocked| blocked.contains(allowed)) {
                routes.insert(*allowed, Verdict::Gateway);
            }
        }
        routes.extend(blocked.into_iter().map(|range| (range, Verdict::Reject)));
        let opened = opened.iter().filter(|range| !self.denies(range));
        routes.extend(opened.map(|range| (*range, Verdict::Gateway)));
        routes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the narrowest route that fits `address` leads out.
    fn open(routes: &Routes, address: &str) -> bool {
        let address = range(address).unwrap();
        let fitting = routes.iter().filter(|(range, _)| range.contains(&address));
        fitting.max_by_key(|(range, _)| range.prefix_len()).is_some_and(|(_, verdict)| *verdict == Verdict::Gateway)
    }

    #[test]
    fn the_narrowest_route_decides_as_the_rules_want_it() {
        let ranges = |texts: &[&str]| texts.iter().map(|text| range(text).unwrap()).collect::<Vec<_>>();
        let own = ranges(&["203.0.113.7"]);
        type Case<'a> = (&'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let cases: [Case<'_>; 7] = [
            // allow, deny, opened by the operator; then what is open and what is closed
            (
                &[],
                &[],
                &[],
                &["1.1.1.1", "203.0.113.8"],
                &["10.0.0.1", "192.168.1.1", "169.254.169.254", "203.0.113.7"],
            ),
            (&[], &["0.0.0.0/0"], &["192.168.1.0/24"], &[], &["1.1.1.1", "192.168.1.1", "203.0.113.7"]),
            (&["1.1.1.1"], &["0.0.0.0/0"], &[], &["1.1.1.1"], &["1.1.1.2"]),
            (&["1.1.0.0/16"], &["1.1.1.0/24", "2.0.0.0/8"], &[], &["1.1.1.1", "3.0.0.0"], &["2.3.4.5"]),
            (&["1.1.1.1/24"], &["1.1.0.0/16"], &[], &["1.1.1.200"], &["1.1.2.1"]),
            (&["10.1.1.1", "0.0.0.0/0"], &[], &[], &["1.1.1.1"], &["10.1.1.1"]),
            (
                &[],
                &["192.168.1.7"],
                &["192.168.1.0/24", "203.0.113.7"],
                &["192.168.1.6", "203.0.113.7"],
                &["192.168.1.7"],
            ),
        ];
        for (allow, deny, opened, reachable, closed) in cases {
            let reach = Reach { allow: ranges(allow), deny: ranges(deny) };
            let routes = reach.routes(&own, &ranges(opened));
            for address in reachable {
                assert!(open(&routes, address), "{reach:?}: {address} is closed");
            }
            for address in closed {
                assert!(!open(&routes, address), "{reach:?}: {address} is open");
            }
        }
        assert!(Reach { allow: vec![], deny: ranges(&["0.0.0.0/0"]) }.is_closed());
        assert!(!Reach::default().is_closed());
    }
}
