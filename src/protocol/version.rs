//! envd versions and what they can do.

use std::cmp::Ordering;

use crate::error::{Error, Kind, code};

/// The version of a sandbox's daemon. Compared number by number; a pre-release comes before its release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    numbers: [u32; 3],
    pre_release: bool,
}

/// What not every daemon can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// 0.1.0: the oldest daemon this client works with.
    Supported,
    /// 0.1.4
    RecursiveWatch,
    /// 0.1.5
    Metrics,
    /// 0.3.0: `stdin: false` spelled out by the caller.
    StdinOption,
    /// 0.4.0
    DefaultUser,
    /// 0.5.2
    CloseStdin,
    /// 0.5.7: raw bodies in uploads, gzip among them.
    RawUpload,
    /// 0.6.2
    FileMetadata,
    /// 0.6.3
    WatchEntries,
    /// 0.6.4
    WatchNetworkMounts,
}

impl Feature {
    /// The first version with the feature, what to call the feature, and the class of the error below it.
    fn gate(self) -> ([u32; 3], &'static str, Kind) {
        match self {
            Feature::Supported => ([0, 1, 0], "This package", Kind::Template),
            Feature::RecursiveWatch => ([0, 1, 4], "Watching recursively", Kind::Template),
            Feature::Metrics => ([0, 1, 5], "Metrics", Kind::Template),
            Feature::StdinOption => ([0, 3, 0], "The option stdin", Kind::Sandbox),
            Feature::DefaultUser => ([0, 4, 0], "A default user", Kind::Template),
            Feature::CloseStdin => ([0, 5, 2], "Closing standard input", Kind::Sandbox),
            Feature::RawUpload => ([0, 5, 7], "Uploading raw bodies", Kind::Template),
            Feature::FileMetadata => ([0, 6, 2], "File metadata", Kind::Template),
            Feature::WatchEntries => ([0, 6, 3], "The option includeEntry", Kind::Template),
            Feature::WatchNetworkMounts => ([0, 6, 4], "The option allowNetworkMounts", Kind::Template),
        }
    }
}

impl Version {
    /// What an unreadable version counts as, and what debug mode assumes.
    pub const NEWEST: Version = Version { numbers: [99, 99, 99], pre_release: false };

    /// Reads `0.6.5`, `v0.6.5`, `0.6.5-rc.1`. What cannot be read counts as the newest, so that an odd name never
    /// switches anything off.
    pub fn parse(text: &str) -> Version {
        Self::read(text.trim()).unwrap_or(Self::NEWEST)
    }

    fn read(text: &str) -> Option<Version> {
        let text = text.strip_prefix('v').unwrap_or(text);
        // What follows a plus is build information and does not count.
        let text = text.split('+').next()?;
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (numbers, suffix) = text.split_at(end);
        let mut version = Version { numbers: [0; 3], pre_release: !suffix.is_empty() };
        let mut parts = numbers.split('.');
        for number in &mut version.numbers {
            match parts.next() {
                Some(part) => *number = part.parse().ok()?,
                None => break,
            }
        }
        Some(version)
    }

    /// Whether the daemon is new enough for `feature`.
    pub fn supports(&self, feature: Feature) -> bool {
        let (first, ..) = feature.gate();
        match self.numbers.cmp(&first) {
            Ordering::Less => false,
            Ordering::Equal => !self.pre_release,
            Ordering::Greater => true,
        }
    }

    /// # Errors
    /// `unsupported_by_sandbox`, which names both versions. Class `Template`, or `Sandbox` for standard input features.
    pub fn require(&self, feature: Feature) -> Result<(), Error> {
        if self.supports(feature) {
            return Ok(());
        }
        let ([major, minor, patch], what, kind) = feature.gate();
        let [a, b, c] = self.numbers;
        Err(Error::new(
            kind,
            code::UNSUPPORTED_BY_SANDBOX,
            format!(
                "{what} needs envd {major}.{minor}.{patch} or newer inside the sandbox, but it has {a}.{b}.{c}. Rebuild the \
                 template to update it."
            ),
        ))
    }

    /// The user to name when the caller names none: `user` before 0.4.0, afterwards the daemon knows.
    pub fn default_user(&self) -> Option<&'static str> {
        if self.supports(Feature::DefaultUser) { None } else { Some("user") }
    }
}
