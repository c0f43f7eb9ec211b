//! Assembles the npm package in `pkg/`: cargo → wasm-bindgen → wasm-opt → loaders and entry points of `pkg-template/`.
//!
//! | module | what it is for |
//! |---|---|
//! | [`toolchain`] | which Rust compiles to wasm |
//! | [`core`] | the crate as `core.wasm` and its generated glue |
//! | [`glue`] | makes the generated glue free to import |
//! | [`types`] | the public type declarations |
//! | [`entries`] | the entry points, bundled one file each |
//! | [`install`] | the packed package, installed for the tests |
//! | [`site`] | the demo site over the installed package |

mod core;
mod entries;
mod glue;
mod install;
mod site;
pub(crate) mod toolchain;
mod types;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result, bail};

pub(crate) use self::core::{is_built_for_size, named as named_core};
pub(crate) use self::install::tarball;
pub(crate) use self::site::site;
use crate::shell::{note, seconds, step};
use crate::workspace;

/// Builds `pkg/` and installs its packed form into `node_modules/`. Skips what has not changed since the last time.
pub(crate) fn package() -> Result<()> {
    let wasm = core::compile()?;

    step("npm package in pkg/");
    let stamp = package_stamp();
    let wanted = fingerprint(&wasm)?;
    let installed = workspace::installed_package().join("package.json").exists();
    if installed && workspace::pkg().exists() && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        note("up to date");
        return Ok(());
    }
    // Removed first, so that a build that fails half-way is not taken for a finished one.
    let _ = fs::remove_file(&stamp);
    workspace::remove(&workspace::pkg())?;

    let stage = workspace::scratch().join("stage");
    workspace::remove(&stage)?;
    let bindings = timed("wasm-bindgen", || core::bind(&wasm, &stage))?;
    timed("wasm-opt", || core::optimize(&stage))?;
    timed("entries", || entries::bundle(&stage, &bindings))?;
    timed("types", || types::assemble(&stage, &bindings))?;
    timed("npm pack and install", || manifest().and_then(|()| install::packed()))?;

    workspace::write(&stamp, wanted)
}

/// Says what the package in `pkg/` was made from.
fn package_stamp() -> PathBuf {
    workspace::scratch().join("package.stamp")
}

/// Runs one part of the assembly and says how long it took.
fn timed<T>(name: &str, run: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let result = run()?;
    note(&format!("{name}: {}", seconds(start.elapsed())));
    Ok(result)
}

/// Stands in the template where the version of the workspace belongs.
const NO_VERSION: &str = "\"version\": \"0.0.0\"";

/// `package.json` with the version of the workspace, the README and the licence.
fn manifest() -> Result<()> {
    let template = workspace::root().join("pkg-template");
    let manifest = workspace::read(&template.join("package.json"))?;
    // Replaced as text: the order of the export conditions decides, and a parser would lose it.
    let Some((before, after)) = manifest.split_once(NO_VERSION) else {
        bail!("pkg-template/package.json has no `{NO_VERSION}` to put the version in");
    };
    let manifest = format!("{before}\"version\": \"{}\"{after}", workspace::VERSION);
    workspace::write(&workspace::pkg().join("package.json"), manifest)?;
    for (from, name) in [(template, "README.md"), (workspace::root().to_owned(), "LICENSE")] {
        fs::copy(from.join(name), workspace::pkg().join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(())
}

/// Identifies everything that `pkg/` is made from: the compiled crate, the templates, the tools, and xtask itself.
fn fingerprint(wasm: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    hash_file(wasm, &mut hasher)?;
    hash_folder(&workspace::root().join("pkg-template"), &mut hasher)?;
    hash_folder(&workspace::root().join("js"), &mut hasher)?;
    hash_folder(&workspace::root().join("elements"), &mut hasher)?;
    hash_file(&workspace::root().join("package-lock.json"), &mut hasher)?;
    let xtask = fs::metadata(env::current_exe()?)?;
    (xtask.len(), xtask.modified()?).hash(&mut hasher);
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn hash_folder(folder: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        path.hash(hasher);
        if path.is_dir() { hash_folder(&path, hasher)? } else { hash_file(&path, hasher)? }
    }
    Ok(())
}

fn hash_file(path: &Path, hasher: &mut DefaultHasher) -> Result<()> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))?.hash(hasher);
    Ok(())
}
