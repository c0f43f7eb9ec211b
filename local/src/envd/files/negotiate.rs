//! Which encoding an answer has: gzip or none.

/// The encodings of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    Identity,
    Gzip,
}

/// What an `Accept-Encoding` header admits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Accepted {
    /// The best one, if any is acceptable at all.
    pub(super) best: Option<Encoding>,
    /// Whether the plain bytes are acceptable.
    pub(super) identity: bool,
}

/// Reads the header: the highest weight wins, the earlier one among equals; `*` means plain bytes unless those were
/// refused; codings we do not have are passed over. Without any preference plain bytes serve.
pub(super) fn accepted(header: &str) -> Accepted {
    let mut choices: Vec<(&str, f32)> = Vec::new();
    for part in header.split(',') {
        let mut fields = part.split(';').map(str::trim);
        let name = fields.next().unwrap_or("");
        if name.is_empty() {
            continue;
        }
        let weight = fields
            .find_map(|field| field.strip_prefix("q=").or_else(|| field.strip_prefix("Q=")))
            .map_or(1.0, |weight| weight.trim().parse().unwrap_or(0.0));
        choices.push((name, weight));
    }
    let weight_of = |name: &str| choices.iter().find(|(choice, _)| choice.eq_ignore_ascii_case(name)).map(|c| c.1);
    let identity = match (weight_of("identity"), weight_of("*")) {
        (Some(weight), _) => weight > 0.0,
        (None, Some(weight)) => weight > 0.0,
        (None, None) => true,
    };
    let mut best: Option<(Encoding, f32)> = None;
    for (name, weight) in &choices {
        let encoding = match name.to_ascii_lowercase().as_str() {
            "gzip" => Encoding::Gzip,
            "identity" => Encoding::Identity,
            "*" if identity => Encoding::Identity,
            "*" => Encoding::Gzip,
            _ => continue,
        };
        if *weight > 0.0 && best.is_none_or(|(_, best)| *weight > best) {
            best = Some((encoding, *weight));
        }
    }
    let best = best.map(|(encoding, _)| encoding).or_else(|| identity.then_some(Encoding::Identity));
    Accepted { best, identity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_weighed() {
        use Encoding::{Gzip, Identity};
        for (header, best, identity) in [
            ("", Some(Identity), true),
            ("gzip", Some(Gzip), true),
            ("gzip, deflate, br", Some(Gzip), true),
            ("br, gzip;q=0.5", Some(Gzip), true),
            ("*", Some(Identity), true),
            ("identity, gzip;q=0.5", Some(Identity), true),
            ("deflate", Some(Identity), true),
            ("identity;q=0", None, false),
            ("*;q=0", None, false),
            ("*;q=0, gzip", Some(Gzip), false),
            ("identity;q=0, *", Some(Gzip), false),
            ("gzip;q=1,*;q=0", Some(Gzip), false),
            ("gzip;q=0", Some(Identity), true),
        ] {
            assert_eq!(accepted(header), Accepted { best, identity }, "{header:?}");
        }
    }
}
