//! What a client asks to be built, checked before anything is done.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::control::error::ApiError;

/// A build may have so many steps.
const MOST_STEPS: usize = 1000;

/// The body that starts a build. What only concerns a cache (`force`) is not looked at: nothing is cached here.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::control) struct StartRequest {
    from_image: Option<String>,
    from_template: Option<String>,
    steps: Vec<RequestedStep>,
    start_cmd: Option<String>,
    ready_cmd: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedStep {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    args: Vec<String>,
    files_hash: Option<String>,
}

/// A build to be carried out.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) base: Base,
    pub(super) steps: Vec<Step>,
    pub(super) start: Option<String>,
    pub(super) ready: Option<String>,
}

/// What it begins with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Base {
    Image(String),
    Template(String),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Run { command: String, user: Option<String> },
    Copy { source: String, target: String, owner: Option<String>, mode: Option<String>, hash: String },
    Env(Vec<(String, String)>),
    Workdir(String),
    User { name: String, sudo: bool },
}

impl Step {
    /// What it is, for the log.
    pub(super) fn title(&self) -> String {
        match self {
            Step::Run { command, .. } => format!("RUN {command}"),
            Step::Copy { source, target, .. } => format!("COPY {source} {target}"),
            // Values may be secret.
            Step::Env(pairs) => {
                format!("ENV {}", pairs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" "))
            }
            Step::Workdir(path) => format!("WORKDIR {path}"),
            Step::User { name, .. } => format!("USER {name}"),
        }
    }
}

impl StartRequest {
    pub(super) fn check(self) -> Result<Plan, ApiError> {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let base = match (filled(self.from_image), filled(self.from_template)) {
            (Some(image), None) => Base::Image(image),
            (None, Some(template)) => Base::Template(template),
            (None, None) => Base::Template("base".into()),
            (Some(_), Some(_)) => return Err(ApiError::bad_request("fromImage and fromTemplate exclude each other")),
        };
        if self.steps.len() > MOST_STEPS {
            return Err(ApiError::bad_request(format!("A build cannot have more than {MOST_STEPS} steps")));
        }
        let steps = self.steps.into_iter().enumerate();
        let steps = steps.map(|(index, step)| {
            step.check().map_err(|why| ApiError::bad_request(format!("Invalid step {}: {why}", index + 1)))
        });
        let steps = steps.collect::<Result<_, _>>()?;
        Ok(Plan { base, steps, start: filled(self.start_cmd), ready: filled(self.ready_cmd) })
    }
}

impl RequestedStep {
    fn check(self) -> Result<Step, String> {
        if self.args.iter().any(|arg| arg.contains('\0')) {
            return Err("an argument has a zero byte".into());
        }
        let mut args = self.args.into_iter();
        let mut required = |what: &str| args.next().filter(|arg| !arg.is_empty()).ok_or(format!("it needs {what}"));
        match self.kind.to_ascii_uppercase().as_str() {
            "RUN" => {
                let command = required("a command")?;
                Ok(Step::Run { command, user: optional(args.next()) })
            }
            "COPY" => {
                let source = relative(&required("a source")?)?;
                let target = required("a destination")?;
                let (owner, mode) = (optional(args.next()), optional(args.next()));
                if mode.as_ref().is_some_and(|mode| mode.len() > 4 || !mode.bytes().all(|b| (b'0'..=b'7').contains(&b)))
                {
                    return Err("its mode is not octal".into());
                }
                let hash = self.files_hash.ok_or("it needs filesHash")?;
                Ok(Step::Copy { source, target, owner, mode, hash })
            }
            "ENV" => pairs(args).map(Step::Env),
            "WORKDIR" => required("a path").map(Step::Workdir),
            "USER" => {
                let name = required("a name")?;
                Ok(Step::User { name, sudo: args.next().as_deref() == Some("true") })
            }
            other => Err(format!("{other:?} is none of RUN, COPY, ENV, WORKDIR, USER")),
        }
    }
}

fn optional(arg: Option<String>) -> Option<String> {
    arg.filter(|arg| !arg.is_empty())
}

/// The path of a source without its dots; empty for everything.
fn relative(source: &str) -> Result<String, String> {
    let mut parts = Vec::new();
    for part in source.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop().ok_or("its source leads out of the files")?;
            }
            part => parts.push(part),
        }
    }
    if source.starts_with('/') { Err("its source is not relative".into()) } else { Ok(parts.join("/")) }
}

fn pairs(args: impl Iterator<Item = String>) -> Result<Vec<(String, String)>, String> {
    let args: Vec<_> = args.collect();
    let name_like = |name: &String| {
        !name.is_empty()
            && !name.as_bytes()[0].is_ascii_digit()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if args.is_empty() || args.len() % 2 != 0 {
        return Err("it needs pairs of names and values".into());
    }
    args.chunks(2)
        .map(|pair| match name_like(&pair[0]) {
            true => Ok((pair[0].clone(), pair[1].clone())),
            false => Err(format!("{:?} is no name of a variable", pair[0])),
        })
        .collect()
}

/// `text` with `$NAME` and `${NAME}` replaced; `\$` is a dollar sign. Unknown names are empty, as for a shell.
pub(super) fn expand(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        if let Some(before) = before.strip_suffix('\\') {
            out.push_str(before);
            out.push('$');
            rest = after;
            continue;
        }
        out.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (name, remainder) = braced.unwrap_or_else(|| {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            after.split_at(end)
        });
        if name.is_empty() {
            out.push('$');
        } else {
            out.push_str(values.get(name).map_or("", String::as_str));
        }
        rest = remainder;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn step(value: Value) -> Result<Step, String> {
        serde_json::from_value::<RequestedStep>(value).unwrap().check()
    }

    #[test]
    fn steps_are_checked() {
        let run = step(json!({ "type": "RUN", "args": ["x", ""] })).unwrap();
        assert_eq!(run, Step::Run { command: "x".into(), user: None });
        let copy = step(json!({ "type": "COPY", "args": ["./a//b", "/d/", "", "0755"], "filesHash": "h" })).unwrap();
        let (source, target, mode) = ("a/b".into(), "/d/".into(), Some("0755".into()));
        assert_eq!(copy, Step::Copy { source, target, owner: None, mode, hash: "h".into() });
        for (bad, what) in [
            (json!({ "type": "RUN" }), "a command"),
            (json!({ "type": "RUN", "args": ["a\u{0}b"] }), "zero byte"),
            (json!({ "type": "COPY", "args": ["a", "/"] }), "filesHash"),
            (json!({ "type": "COPY", "args": ["../a", "/"], "filesHash": "h" }), "leads out"),
            (json!({ "type": "COPY", "args": ["/a", "/"], "filesHash": "h" }), "not relative"),
            (json!({ "type": "COPY", "args": ["a", "/", "", "u+x"], "filesHash": "h" }), "octal"),
            (json!({ "type": "ENV", "args": ["A"] }), "pairs"),
            (json!({ "type": "ENV", "args": ["A-B", "1"] }), "no name"),
            (json!({ "type": "EXPOSE", "args": ["80"] }), "none of"),
        ] {
            let error = step(bad.clone()).unwrap_err();
            assert!(error.contains(what), "{bad}: {error}");
        }
    }

    #[test]
    fn variables_are_replaced() {
        let values = BTreeMap::from([("A".to_owned(), "1".to_owned()), ("PATH".to_owned(), "/bin".to_owned())]);
        for (text, expected) in [
            ("plain", "plain"),
            ("$A", "1"),
            ("${PATH}:/x", "/bin:/x"),
            ("$A$A-$B.", "11-."),
            ("\\$A", "$A"),
            ("5$", "5$"),
            ("${A", "${A"),
            ("$(id)", "$(id)"),
        ] {
            assert_eq!(expand(text, &values), expected, "{text}");
        }
    }
}
