//! What this machine can do to keep a sandbox apart, and what the operator asked for.

use std::fs;
use std::path::Path;

use super::boot::{Isolation, UserMap};

/// How many user ids a sandbox has.
pub(crate) const RANGE: u32 = 65536;

/// Far away from people, services, and the ranges that container tools hand out.
const PREFERRED_BASE: u32 = 0x7100_0000;

/// The operator's wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Choice {
    /// Namespaces where the machine has them; otherwise none, with a warning.
    Auto,
    /// Namespaces, or refuse to start.
    Namespaces,
    /// None: commands run as you, on your files.
    None,
}

/// The ways to isolate that are worth trying on this machine, best first. Whether they work is found out by starting
/// a sandbox; [`Isolation::None`] is never among them.
pub(crate) fn candidates() -> Vec<Isolation> {
    let euid = nix::unistd::geteuid();
    let mut maps = Vec::new();
    if euid.is_root() {
        let uid_map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        maps.extend(free_range(&uid_map).map(|base| UserMap::Range { base }));
    } else if Path::new("/usr/bin/newuidmap").exists() {
        let name = nix::unistd::User::from_uid(euid).ok().flatten().map_or_else(String::new, |user| user.name);
        let of = |file: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            subordinate_range(&text, &name, euid.as_raw())
        };
        if let (Some(uid_base), Some(gid_base)) = (of("/etc/subuid"), of("/etc/subgid")) {
            maps.push(UserMap::Subordinate { uid_base, gid_base });
        }
    }
    maps.push(UserMap::Single);
    maps.into_iter().map(|users| Isolation::Namespaces { users }).collect()
}

/// Where, among the ids this process can hand out, 65536 unused ones begin.
fn free_range(uid_map: &str) -> Option<u32> {
    let mut ranges = uid_map.lines().filter_map(|line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u64>().ok());
        Some((numbers.next()??, numbers.nth(1)??))
    });
    let end = |start: u64, count: u64| start + count;
    ranges.find_map(|(start, count)| {
        let preferred = u64::from(PREFERRED_BASE);
        let wanted = u64::from(RANGE);
        if start <= preferred && preferred + wanted <= end(start, count) {
            return Some(PREFERRED_BASE);
        }
        // The lowest ids of a range belong to the system this process runs in.
        (count >= 2 * wanted).then(|| u32::try_from(end(start, count) - wanted).ok()).flatten()
    })
}

/// The first range of at least 65536 ids that `/etc/subuid` or `/etc/subgid` gives to the user.
fn subordinate_range(text: &str, name: &str, uid: u32) -> Option<u32> {
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let owner = fields.next()?;
        if owner != name && owner.parse() != Ok(uid) {
            return None;
        }
        let base = fields.next()?.parse().ok()?;
        let count: u32 = fields.next()?.trim().parse().ok()?;
        (count >= RANGE).then_some(base)
    })
}

/// What to tell the operator about `isolation`.
pub(crate) fn describe(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Namespaces { users: UserMap::Range { .. } } => "namespaces, with users of their own",
        Isolation::Namespaces { users: UserMap::Subordinate { .. } } => {
            "namespaces, with subordinate user ids: `root` inside cannot change what belongs to this machine's root"
        }
        Isolation::Namespaces { users: UserMap::Single } => {
            "namespaces with a single user: `root` inside is the same user as `user` \
             (a range of ids in /etc/subuid and the program newuidmap lift this)"
        }
        Isolation::None => "none",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_stay_clear_of_the_system() {
        assert_eq!(free_range("         0          0 4294967295\n"), Some(PREFERRED_BASE));
        assert_eq!(free_range("0 100000 65536\n"), None);
        assert_eq!(free_range("0 1000 1\n1 100000 200000\n"), Some(1 + 200_000 - RANGE));
        assert_eq!(free_range("garbage\n\n"), None);
    }

    #[test]
    fn subordinate_ranges_are_found_by_name_or_number() {
        let text = "bob:100000:65536\n1001:200000:65536\ncarol:300000:100\n";
        assert_eq!(subordinate_range(text, "bob", 7), Some(100_000));
        assert_eq!(subordinate_range(text, "alice", 1001), Some(200_000));
        assert_eq!(subordinate_range(text, "carol", 9), None);
        assert_eq!(subordinate_range(text, "", 9), None);
    }
}
