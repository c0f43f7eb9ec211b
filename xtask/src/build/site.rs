//! The demo site: the pages of `www/`, built with Vite over the installed package.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;

use anyhow::Result;

use super::{hash_file, hash_folder, package_stamp, timed};
use crate::shell::{self, note, npm_tool, step};
use crate::workspace;

/// The built site.
fn folder() -> PathBuf {
    workspace::scratch().join("www")
}

/// Builds the site, unless nothing of it has changed, and answers where it is.
pub(crate) fn site() -> Result<PathBuf> {
    step("demo site in build/www");
    let stamp = workspace::scratch().join("www.stamp");
    let wanted = fingerprint()?;
    if folder().exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        note("up to date");
        return Ok(folder());
    }
    let _ = fs::remove_file(&stamp);
    let mut vite = npm_tool("vite/bin/vite.js");
    timed("Vite", || shell::run(vite.args(["build", "www", "--logLevel", "warn"])))?;
    workspace::write(&stamp, wanted)?;
    Ok(folder())
}

/// Identifies everything that the site is made from: the pages, what they share with the elements, the package, the tools.
fn fingerprint() -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for folder in ["www", "elements"] {
        hash_folder(&workspace::root().join(folder), &mut hasher)?;
    }
    hash_file(&package_stamp(), &mut hasher)?;
    hash_file(&workspace::root().join("package-lock.json"), &mut hasher)?;
    Ok(format!("{:016x}\n", hasher.finish()))
}
