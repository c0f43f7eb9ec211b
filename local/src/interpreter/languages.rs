//! The languages: their names, the program that runs each, and how each sets environment variables. Pure.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A kind of kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Python,
    Bash,
    Node,
}

/// The language that requests without one mean.
pub(super) const DEFAULT: &str = "python";

/// The name under which a language is known.
pub(super) fn normalized(name: &str) -> String {
    match name.trim().to_lowercase().as_str() {
        "js" => "javascript".into(),
        "ts" => "typescript".into(),
        name => name.into(),
    }
}

impl Kernel {
    /// The kernel for a normalized name.
    pub(super) fn of(language: &str) -> Option<Kernel> {
        match language {
            "python" | "python3" => Some(Kernel::Python),
            "bash" => Some(Kernel::Bash),
            "javascript" | "typescript" => Some(Kernel::Node),
            _ => None,
        }
    }

    /// The program and its arguments, for the kernels installed in `folder`.
    pub(super) fn command(self, folder: &Path, connection_file: &Path) -> Vec<PathBuf> {
        let (program, script, kind) = match self {
            Kernel::Python => ("python/bin/python3", "python/launch.py", Some("python")),
            Kernel::Bash => ("python/bin/python3", "python/launch.py", Some("bash")),
            Kernel::Node => ("node/bin/node", "node/kernel.js", None),
        };
        let mut command = vec![folder.join(program), folder.join(script), connection_file.to_owned()];
        command.extend(kind.map(PathBuf::from));
        command
    }

    /// Where programs of the kernel's own are, which come before those of the system.
    pub(super) fn programs(self, folder: &Path) -> Option<PathBuf> {
        match self {
            Kernel::Python => Some(folder.join("python/bin")),
            Kernel::Bash | Kernel::Node => None,
        }
    }

    pub(super) fn is_installed(self, folder: &Path) -> bool {
        self.command(folder, Path::new("")).iter().take(2).all(|path| path.exists())
    }

    /// Whether a fresh kernel gets an (empty) run before the first of a client, which takes a number. Clients of
    /// JavaScript are used to the first run being number 2.
    pub(super) fn counts_preparation(self) -> bool {
        self == Kernel::Node
    }

    /// Code that sets variables, and removes those without a value.
    pub(super) fn set_variables(self, variables: &BTreeMap<String, Option<String>>) -> String {
        let mut code = String::new();
        for (name, value) in variables {
            // A JSON string is a literal in Python and JavaScript as well: no escape of it means anything else there.
            let quoted = |text: &str| serde_json::Value::from(text).to_string();
            let _ = match (self, value) {
                (Kernel::Python, Some(value)) => {
                    writeln!(code, "__import__('os').environ[{}] = {}", quoted(name), quoted(value))
                }
                (Kernel::Python, None) => writeln!(code, "__import__('os').environ.pop({}, None)", quoted(name)),
                (Kernel::Node, Some(value)) => writeln!(code, "process.env[{}] = {};", quoted(name), quoted(value)),
                (Kernel::Node, None) => writeln!(code, "delete process.env[{}];", quoted(name)),
                (Kernel::Bash, Some(value)) => writeln!(code, "export {name}={}", shell_quoted(value)),
                (Kernel::Bash, None) => writeln!(code, "unset {name}"),
            };
        }
        code
    }

    /// Why a variable cannot be set, if so.
    pub(super) fn refuses_variable(self, name: &str, value: &str) -> Option<String> {
        let word = |name: &str| {
            !name.starts_with(|first: char| first.is_ascii_digit())
                && name.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
        };
        if name.is_empty() || name.contains(['=', '\0']) || self == Kernel::Bash && !word(name) {
            return Some(format!("'{}' cannot be the name of an environment variable", name.escape_debug()));
        }
        value
            .contains('\0')
            .then(|| format!("the value of the environment variable '{name}' contains a null character"))
    }
}

/// A word that the shell takes literally. A newline inside would make the terminal ask for more.
fn shell_quoted(text: &str) -> String {
    let mut quoted = String::from("$'");
    for character in text.chars() {
        match character {
            '\'' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            character if character.is_ascii_control() => {
                let _ = write!(quoted, "\\{:03o}", u32::from(character));
            }
            character => quoted.push(character),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_normalized() {
        for (name, expected) in
            [("JS", "javascript"), (" ts ", "typescript"), ("Python", "python"), (" R ", "r"), ("python3", "python3")]
        {
            assert_eq!(normalized(name), expected);
        }
        assert_eq!(Kernel::of("cobol"), None);
    }

    #[test]
    fn values_are_taken_literally() {
        let variables = BTreeMap::from([("A".to_owned(), Some("it's \"$x\" \\ \n 世".to_owned())), ("B".into(), None)]);
        assert_eq!(Kernel::Bash.set_variables(&variables), "export A=$'it\\'s \"$x\" \\\\ \\012 世'\nunset B\n");
        assert_eq!(
            Kernel::Python.set_variables(&variables),
            "__import__('os').environ[\"A\"] = \"it's \\\"$x\\\" \\\\ \\n 世\"\n__import__('os').environ.pop(\"B\", None)\n"
        );
    }

    #[test]
    fn impossible_variables_are_refused() {
        for (kernel, name, value, possible) in [
            (Kernel::Python, "A", "x\ny", true),
            (Kernel::Python, "A-B", "", true),
            (Kernel::Bash, "A-B", "", false),
            (Kernel::Bash, "A;reboot", "", false),
            (Kernel::Bash, "1A", "", false),
            (Kernel::Python, "", "", false),
            (Kernel::Python, "A=B", "", false),
            (Kernel::Node, "A", "\0", false),
        ] {
            assert_eq!(kernel.refuses_variable(name, value).is_none(), possible, "{name:?}");
        }
    }
}
