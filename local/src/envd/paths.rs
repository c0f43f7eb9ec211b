//! How a path or a working directory in a request becomes an absolute path.

use std::path::{Path, PathBuf};

use crate::sandbox::users::User;

/// Expands `path` for `user`: empty means the default working directory or else the home, `~` and `~/…` are the home,
/// a relative path is relative to the *home*, and an absolute path is taken literally. Another user's home cannot be
/// named.
pub(super) fn resolve(path: &str, user: &User, default_workdir: Option<&str>) -> Result<PathBuf, String> {
    if path.is_empty() {
        return match default_workdir {
            Some(workdir) if !workdir.is_empty() => resolve(workdir, user, None),
            _ => Ok(user.home.clone()),
        };
    }
    if let Some(rest) = path.strip_prefix('~') {
        return match rest.strip_prefix('/') {
            _ if rest.is_empty() => Ok(user.home.clone()),
            Some("") => Ok(user.home.clone()),
            Some(rest) => Ok(user.home.join(rest.trim_start_matches('/'))),
            None => Err(format!(
                "failed to expand path '{path}' for user '{}': cannot expand user-specific home dir",
                user.name
            )),
        };
    }
    if Path::new(path).is_absolute() {
        return Ok(PathBuf::from(path));
    }
    Ok(user.home.join(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_relative_to_home() {
        let user =
            User { name: "user".into(), uid: 1000, gid: 1000, groups: vec![1000], home: PathBuf::from("/home/user") };
        for (path, workdir, expected) in [
            ("", None, Ok("/home/user")),
            ("", Some("/srv"), Ok("/srv")),
            ("~", Some("/srv"), Ok("/home/user")),
            ("~/", None, Ok("/home/user")),
            ("~/a/b", None, Ok("/home/user/a/b")),
            ("~//a", None, Ok("/home/user/a")),
            ("a", Some("/srv"), Ok("/home/user/a")),
            ("/x/../y", None, Ok("/x/../y")),
            (
                "~other",
                None,
                Err("failed to expand path '~other' for user 'user': cannot expand user-specific home dir"),
            ),
            (
                "~other/x",
                None,
                Err("failed to expand path '~other/x' for user 'user': cannot expand user-specific home dir"),
            ),
        ] {
            let resolved = resolve(path, &user, workdir);
            let resolved = resolved.as_ref().map(|path| path.to_str().unwrap()).map_err(String::as_str);
            assert_eq!(resolved, expected, "{path:?} with {workdir:?}");
        }
    }
}
