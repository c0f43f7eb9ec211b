//! What stands in for images of a container engine, which this server does not have: its own templates, and the programs that
//! are installed on this machine.

/// What an image becomes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StandIn {
    /// The template to begin with.
    pub(super) template: &'static str,
    /// A program that must be there, for there is no point without it.
    pub(super) program: Option<&'static str>,
}

/// The well-known images, without their tags.
const KNOWN: [(&str, StandIn); 8] = [
    ("e2bdev/base", StandIn { template: "base", program: None }),
    ("e2bdev/code-interpreter", StandIn { template: "code-interpreter-v1", program: None }),
    ("debian", StandIn { template: "base", program: Some("apt-get") }),
    ("ubuntu", StandIn { template: "base", program: Some("apt-get") }),
    ("python", StandIn { template: "base", program: Some("python3") }),
    ("node", StandIn { template: "base", program: Some("node") }),
    ("oven/bun", StandIn { template: "base", program: Some("bun") }),
    ("buildpack-deps", StandIn { template: "base", program: Some("cc") }),
];

/// What stands in for `image`, or what to say where nothing does.
pub(super) fn stand_in(image: &str) -> Result<&'static StandIn, String> {
    let name = image.split('@').next().unwrap_or("");
    // A colon before a slash belongs to a registry's port.
    let name = match name.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => name,
        _ => name,
    };
    let name = name.strip_prefix("docker.io/").unwrap_or(name);
    let name = name.strip_prefix("library/").unwrap_or(name);
    let found = KNOWN.iter().find(|(known, _)| *known == name).map(|(_, stand_in)| stand_in);
    found.ok_or_else(|| {
        let known: Vec<_> = KNOWN.iter().map(|(known, _)| *known).collect();
        format!(
            "The image '{image}' cannot be used: this server runs sandboxes without a container engine. Begin with \
             fromTemplate('base') or another template of this server, or with one of these images, for which this \
             machine's own programs stand in: {}",
            known.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_name() {
        for (image, expected) in [
            ("python:3.12-slim", Some(Some("python3"))),
            ("docker.io/library/debian", Some(Some("apt-get"))),
            ("e2bdev/base", Some(None)),
            ("node@sha256:0123", Some(Some("node"))),
            ("oven/bun:latest", Some(Some("bun"))),
            ("registry.example:5000/python", None),
            ("registry.example:5000/python:3", None),
            ("alpine", None),
            ("", None),
        ] {
            assert_eq!(stand_in(image).ok().map(|found| found.program), expected, "{image}");
        }
        assert!(stand_in("alpine:3").unwrap_err().contains("fromTemplate('base')"));
    }
}
